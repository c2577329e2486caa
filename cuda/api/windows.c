/*
 * windows.c
 *	  The end of a run, its directory of windows, and their fetches.
 *
 * In:  the window begins of a sorted run, or the row count of a merge order.
 * Out: job->windows, which is malloc'd; fetches of the windows.
 */
#include "api/api_internal.h"
#include "rows/tie_bits.h"

#include <stdlib.h>

/* --- cutting -------------------------------------------------------------- */

gsort_status
gsort_job_cut(gsort_job *job, gsort_cut_how how)
{
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FEEDING ||
		(how != GSORT_SORTED && how != GSORT_SORTED_RUN))
		return gsort_bad_argument(job->device, "cut");
	if (job->incomplete_rows > 0)
		return gsort_bad_argument(job->device, "cut with a row incomplete");
	job->cut_how = how;
	job->state = GSORT_RUN_CUTTING;
	status = job->device->ops->job_cut(job);
	if (status != GSORT_OK)
		job->state = GSORT_RUN_FEEDING;
	return status;
}

void
gsort_cut_done(gsort_job *job, gsort_status status)
{
	if (status == GSORT_OK)
		job->state = GSORT_RUN_CUT;
	else if (status == GSORT_NOMEM)
		job->state = GSORT_RUN_FEEDING;
	else
		job->state = GSORT_RUN_FAILED;
}

/* --- directories ---------------------------------------------------------- */

static uint64_t
windows_of_row(const window_cut *cut, uint64_t units)
{
	return (units + cut->piece_units - 1) / cut->piece_units;
}

/* Makes the windows of one stretch of the sorted stream; the stretch begins a
 * window. */
static gsort_window *
write_windows(const gsort_job *job, const window_cut *cut, gsort_window *window,
			  uint64_t first_row, uint64_t rows, uint64_t units)
{
	uint64_t	pieces = rows == 1 ? windows_of_row(cut, units) : 1;
	int			with_ties = tie_bits_wanted(&job->options);

	for (uint64_t piece = 0; piece < pieces; piece++, window++)
	{
		uint64_t	piece_units = pieces == 1 ? units : gsort_min_u64(units, cut->piece_units);

		window->first_row = piece == 0 ? first_row : first_row + 1;
		window->rows = piece == 0 ? (uint32_t) rows : 0;
		window->flags = (piece > 0 ? GSORT_WINDOW_CONTINUED : 0) |
			(piece + 1 < pieces ? GSORT_WINDOW_CONTINUES : 0);
		window->row_bytes = (uint32_t) (piece_units * 8);
		window->bytes = window->row_bytes;
		if (with_ties)
			window->bytes += tie_words_of_window(window->rows) * 8;
		units -= piece_units;
	}
	return window;
}

gsort_status
gsort_make_directory(gsort_job *job, const uint32_t *begin_rows, const uint64_t *begin_units,
					 uint64_t n, uint64_t total_rows, uint64_t total_units)
{
	window_cut	cut = window_cut_make(job->options.window_bytes,
									  tie_bits_wanted(&job->options), 0);
	uint64_t	windows = 0;
	gsort_window *window;

#define ROWS_OF(i) ((i + 1 < n ? begin_rows[i + 1] : total_rows) - begin_rows[i])
#define UNITS_OF(i) ((i + 1 < n ? begin_units[i + 1] : total_units) - begin_units[i])
	for (uint64_t i = 0; i < n; i++)
		windows += ROWS_OF(i) == 1 ? windows_of_row(&cut, UNITS_OF(i)) : 1;
	job->windows = malloc((windows + 1) * sizeof(gsort_window));
	if (job->windows == NULL)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the directory");
	window = job->windows;
	for (uint64_t i = 0; i < n; i++)
		window = write_windows(job, &cut, window, begin_rows[i], ROWS_OF(i), UNITS_OF(i));
#undef ROWS_OF
#undef UNITS_OF
	job->n_windows = windows;
	return GSORT_OK;
}

gsort_status
gsort_make_order_directory(gsort_job *job)
{
	uint64_t	each = job->options.window_bytes;
	uint64_t	n = (job->ended_rows + each - 1) / each;

	job->windows = calloc(n + 1, sizeof(gsort_window));
	if (job->windows == NULL)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the directory");
	for (uint64_t i = 0; i < n; i++)
	{
		gsort_window *window = &job->windows[i];

		window->first_row = i * each;
		window->rows = (uint32_t) gsort_min_u64(each, job->ended_rows - window->first_row);
		window->row_bytes = (window->rows + 7) / 8 * 8;
		window->bytes = window->row_bytes;
	}
	job->n_windows = n;
	return GSORT_OK;
}

void
gsort_free_directory(gsort_job *job)
{
	free(job->windows);
	job->windows = NULL;
	job->n_windows = 0;
}

/* --- fetching ------------------------------------------------------------- */

static int
directory_stands(const gsort_job *job)
{
	return job->state == GSORT_RUN_CUT || job->state == GSORT_RUN_MERGED;
}

gsort_status
gsort_job_windows(gsort_job *job, const gsort_window **windows, uint64_t *n)
{
	if (!directory_stands(job))
		return gsort_bad_argument(job->device, "windows of a run that has not been cut");
	*windows = job->windows;
	*n = job->n_windows;
	return GSORT_OK;
}

gsort_status
gsort_job_fetch(gsort_job *job, uint64_t number, void *dst, uint64_t tag)
{
	const gsort_device_ops *ops = job->device->ops;
	const gsort_window *window;
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || !directory_stands(job) || number >= job->n_windows)
		return gsort_bad_argument(job->device, "fetch");
	window = &job->windows[number];
	if (job->state == GSORT_RUN_MERGED)
		status = ops->job_fetch_order(job, window->first_row, window->bytes, dst, tag);
	else
		status = ops->job_fetch(job, number, dst, tag);
	if (status == GSORT_OK)
	{
		job->fetches++;
		job->stats.bytes_out += window->bytes;
	}
	return status;
}

void
gsort_fetch_done(gsort_job *job)
{
	job->fetches--;
}
