/*
 * gsort.c
 *	  The front of the device API: checks, bookkeeping, and the operations
 *	  table's calls.
 *
 * In:  the calls of gsort.h, from the one thread that owns the device.
 * Out: calls of the implementation's operations, with arguments it can trust.
 *
 * What is here is what must not differ between devices: which calls are
 * refused, how grants are counted, where a chunk goes in the arena, how a long
 * row's pieces join, how a directory is made, and whether a run's keys are kept.  The one thing left to the
 * device itself is the check of each row's offset, which would cost a pass
 * over every row here.
 */
#include "api/gsort_device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

gsort_status
gsort_fail(gsort_device *device, gsort_status status, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(device->error_text, sizeof(device->error_text), format, args);
	va_end(args);
	if (status == GSORT_DEVICE_LOST)
		device->lost = 1;
	return status;
}

static gsort_status
bad_argument(gsort_device *device, const char *what)
{
	return gsort_fail(device, GSORT_BAD_ARG, "bad argument: %s", what);
}

/* Asked once by each call that may lose the device. */
static int
is_lost(gsort_device *device)
{
	if (!device->lost && gsort_fails_now(&device->faults, GSORT_FAIL_CALLS))
		gsort_fail(device, GSORT_DEVICE_LOST, "a test wants this call to lose the device");
	return device->lost;
}

/* --- device ------------------------------------------------------------ */

static const gsort_device_ops *
ops_of(gsort_kind kind)
{
	switch (kind)
	{
		case GSORT_KIND_HOST:
			return &gsort_host_ops;
		case GSORT_KIND_CUDA:
#ifdef GSORT_WITH_CUDA
			return &gsort_cuda_ops;
#else
			return NULL;
#endif
	}
	return NULL;
}

gsort_status
gsort_open(const gsort_device_options *options, gsort_device **device,
		   char *reason, size_t reason_bytes)
{
	char		unused[1];
	const gsort_device_ops *ops = ops_of(options->kind);
	gsort_status status;

	*device = NULL;
	if (reason == NULL)
	{
		reason = unused;
		reason_bytes = sizeof(unused);
	}
	reason[0] = '\0';
	if (options->struct_bytes != sizeof(*options))
		return GSORT_BAD_ARG;
	if (ops == NULL)
	{
		snprintf(reason, reason_bytes, "built without CUDA");
		return GSORT_UNSUPPORTED;
	}
	if (options->n_ordinals > 1)
	{
		snprintf(reason, reason_bytes, "several devices at once are not supported");
		return GSORT_UNSUPPORTED;
	}
	status = ops->open(options, device, reason, reason_bytes);
	if (status != GSORT_OK)
		return status;
	(*device)->ops = ops;
	gsort_set_budget(*device, options->budget_bytes);
	return GSORT_OK;
}

gsort_status
gsort_pin(gsort_device *device, void *base, size_t bytes)
{
	return device->ops->pin(device, base, bytes);
}

int
gsort_fd(gsort_device *device)
{
	return device->ops->fd(device);
}

int
gsort_poll(gsort_device *device, gsort_event *out, int max)
{
	return device->ops->poll(device, out, max);
}

void
gsort_device_get_info(gsort_device *device, gsort_device_info *info)
{
	memset(info, 0, sizeof(*info));
	info->struct_bytes = sizeof(*info);
	device->ops->get_info(device, info);
	info->budget_bytes = device->budget_bytes;
	info->granted_bytes = device->granted_bytes;
	info->lost = device->lost;
	info->fail_at = device->faults.fail_at;
	info->fail_count = __atomic_load_n(&device->faults.count, __ATOMIC_RELAXED);
}

void
gsort_set_budget(gsort_device *device, uint64_t budget_bytes)
{
	device->budget_bytes = budget_bytes != 0 ? budget_bytes : device->ops->default_budget(device);
}

void
gsort_set_fail_at(gsort_device *device, uint64_t n, uint32_t kinds)
{
	__atomic_store_n(&device->faults.fail_at, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&device->faults.count, 0, __ATOMIC_RELAXED);
	device->faults.kinds = kinds;
	__atomic_store_n(&device->faults.fail_at, n, __ATOMIC_RELEASE);
}

const char *
gsort_error_text(gsort_device *device)
{
	return device->error_text;
}

void
gsort_shut(gsort_device *device)
{
	device->ops->shut(device);
}

/* --- jobs: opening and grants ---------------------------------------------- */

static int
job_options_valid(const gsort_job_options *options)
{
	uint32_t	columns = options->key_columns;

	return options->struct_bytes == sizeof(*options) &&
		columns >= 1 && columns <= GSORT_MAX_KEY_COLUMNS &&
		options->null_mask >> columns == 0 &&
		options->window_bytes >= 4096 && options->window_bytes % 8 == 0 &&
		options->window_bytes <= GSORT_WINDOW_BYTES_MAX &&
		options->engine < GSORT_ENGINES &&
		(options->flags & ~(uint32_t) GSORT_TIES) == 0;
}

gsort_status
gsort_job_open(gsort_device *device, const gsort_job_options *options, gsort_job **job)
{
	gsort_job	blank;

	*job = NULL;
	if (is_lost(device))
		return GSORT_DEVICE_LOST;
	if (!job_options_valid(options))
		return bad_argument(device, "the job's options");
	memset(&blank, 0, sizeof(blank));
	blank.device = device;
	blank.options = *options;
	blank.stats.struct_bytes = sizeof(blank.stats);
	blank.stats.keys_kept = 1;
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
	{
		key_stats_init(&blank.column_stats[c]);
		key_stats_init(&blank.ended_stats[c]);
	}
	return device->ops->job_open(device, &blank, job);
}

/* Counts what the job now stands for: by its run's grants, and by what it keeps beside. */
static void
set_granted(gsort_job *job, uint64_t run_bytes, uint64_t kept_bytes)
{
	gsort_device *device = job->device;

	device->granted_bytes -= job->granted_bytes + job->kept_bytes;
	device->granted_bytes += run_bytes + kept_bytes;
	device->kept_bytes += kept_bytes - job->kept_bytes;
	job->granted_bytes = run_bytes;
	job->kept_bytes = kept_bytes;
	job->stats.granted_bytes = run_bytes + kept_bytes;
}

/* The budget less what other jobs have been granted. */
static uint64_t
room_for_job(const gsort_job *job)
{
	const gsort_device *device = job->device;
	uint64_t	others = device->granted_bytes - job->granted_bytes - job->kept_bytes;

	return device->budget_bytes > others ? device->budget_bytes - others : 0;
}

/* Gives the run's grants back, but for what a job with no rows takes. */
static void
give_grants_back(gsort_job *job, uint64_t kept_bytes)
{
	set_granted(job, job->granted_bytes > 0 ? job->device->ops->job_bytes(job, 0, 0) : 0,
				kept_bytes);
	job->granted_rows = 0;
	job->granted_units = 0;
}

/* Arena units that hold so many units of rows: the tails of extents that a chunk
 * did not fit are lost. */
static uint64_t
arena_units_for(const gsort_job *job, uint64_t units)
{
	uint64_t	usable = GSORT_EXTENT_UNITS - job->options.window_bytes / 8;

	return (units + usable - 1) / usable * GSORT_EXTENT_UNITS;
}

/* All that a run is granted. */
typedef struct run_grant
{
	uint64_t	rows;
	uint64_t	units;
	uint64_t	arena_units;
	uint64_t	bytes;			/* device memory */
} run_grant;

static run_grant
grant_with_more(const gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	run_grant	all = {
		.rows = min_u64(job->granted_rows + min_u64(rows, GSORT_RUN_ROWS_MAX), GSORT_RUN_ROWS_MAX),
		.units = min_u64(job->granted_units + (min_u64(row_bytes, GSORT_RUN_BYTES_MAX) + 7) / 8,
						 GSORT_RUN_BYTES_MAX / 8),
	};

	all.arena_units = arena_units_for(job, all.units);
	all.bytes = job->device->ops->job_bytes(job, all.rows, all.arena_units);
	return all;
}

uint64_t
gsort_job_grant_bytes(const gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	uint64_t	bytes = grant_with_more(job, rows, row_bytes).bytes;

	return bytes > job->granted_bytes ? bytes - job->granted_bytes : 0;
}

gsort_status
gsort_job_grant(gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	gsort_device *device = job->device;
	run_grant	all;
	gsort_status status;

	if (is_lost(device))
		return GSORT_DEVICE_LOST;
	if (job->state != GSORT_RUN_FEEDING || job->closing)
		return bad_argument(device, "grant for a run that has been cut");
	all = grant_with_more(job, rows, row_bytes);
	if (all.bytes > job->granted_bytes &&
		device->granted_bytes + (all.bytes - job->granted_bytes) > device->budget_bytes)
		return gsort_fail(device, GSORT_NOMEM,
						  "a grant of %llu bytes more exceeds the budget of %llu bytes, of which %llu are granted",
						  (unsigned long long) (all.bytes - job->granted_bytes),
						  (unsigned long long) device->budget_bytes,
						  (unsigned long long) device->granted_bytes);
	status = device->ops->job_reserve(job, all.rows, all.arena_units);
	if (status != GSORT_OK)
		return status;
	set_granted(job, all.bytes, job->kept_bytes);
	job->granted_rows = all.rows;
	job->granted_units = all.units;
	return GSORT_OK;
}

/* --- jobs: feeding --------------------------------------------------------- */

static gsort_status
bad_chunk(gsort_job *job, const char *what)
{
	return gsort_fail(job->device, GSORT_BAD_DATA, "bad chunk: %s", what);
}

/* What a chunk must be for its pointers to be read at all. */
static gsort_status
check_chunk_shape(gsort_job *job, const gsort_chunk *chunk)
{
	const gsort_feeder *feeder;

	if (chunk->feeder >= GSORT_FEEDERS_MAX)
		return bad_chunk(job, "feeder number");
	if (chunk->data_bytes % 8 != 0 || chunk->more_bytes % 8 != 0 || chunk->data_bytes == 0 ||
		chunk->data_bytes > job->options.window_bytes)
		return bad_chunk(job, "its size");
	if (chunk->rows > chunk->data_bytes / 8)
		return bad_chunk(job, "more rows than it has room for");
	if (chunk->more_bytes > GSORT_ROW_BYTES_MAX - chunk->data_bytes)
		return bad_chunk(job, "a row too long");
	feeder = &job->feeders[chunk->feeder];
	if (feeder->missing_units > 0)
	{
		if (chunk->rows != 0 || chunk->more_bytes != 0 ||
			chunk->data_bytes / 8 > feeder->missing_units)
			return bad_chunk(job, "it should continue a row");
	}
	else if (chunk->rows == 0)
		return bad_chunk(job, "no rows");
	else if (chunk->more_bytes > 0 && chunk->rows != 1)
		return bad_chunk(job, "rows before a row that continues");
	return GSORT_OK;
}

/*
 * Where units of rows go: not over an extent's end if a window could hold them.
 * Longer rows do run over it, so that no extent loses more than a window's
 * size, which is what arena_units_for counts on.
 */
static uint64_t
place(const gsort_job *job, uint64_t units)
{
	uint64_t	used = job->arena_units % GSORT_EXTENT_UNITS;

	if (units <= job->options.window_bytes / 8 && used + units > GSORT_EXTENT_UNITS)
		return job->arena_units + (GSORT_EXTENT_UNITS - used);
	return job->arena_units;
}

static int
make_room_for_chunk(gsort_job *job)
{
	uint64_t	room;
	gsort_placed_chunk *chunks;

	if (job->n_chunks < job->chunks_room)
		return 1;
	room = job->chunks_room == 0 ? 64 : 2 * job->chunks_room;
	chunks = realloc(job->chunks, room * sizeof(*chunks));
	if (chunks == NULL)
		return 0;
	job->chunks = chunks;
	job->chunks_room = room;
	return 1;
}

static void
note_chunk(gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit, uint32_t window_flags)
{
	gsort_placed_chunk *placed = &job->chunks[job->n_chunks++];

	placed->first_unit = first_unit;
	placed->units = (uint32_t) (chunk->data_bytes / 8);
	placed->rows = chunk->rows;
	placed->window_flags = window_flags;
	placed->feeder = chunk->feeder;
	job->stats.bytes_in += chunk->data_bytes + chunk->rows *
		(sizeof(uint32_t) + job->options.key_columns * sizeof(uint64_t) +
		 (job->options.null_mask != 0 ? sizeof(uint32_t) : 0));
}

static gsort_status
append_rest_of_row(gsort_job *job, const gsort_chunk *chunk)
{
	gsort_feeder *feeder = &job->feeders[chunk->feeder];
	uint64_t	units = chunk->data_bytes / 8;
	uint32_t	flags = GSORT_WINDOW_CONTINUED;
	gsort_status status = job->device->ops->job_append(job, chunk, feeder->next_unit);

	if (status != GSORT_OK)
		return status;
	if (units < feeder->missing_units)
		flags |= GSORT_WINDOW_CONTINUES;
	note_chunk(job, chunk, feeder->next_unit, flags);
	feeder->next_unit += units;
	feeder->missing_units -= units;
	if (feeder->missing_units == 0)
		job->incomplete_rows--;
	return GSORT_OK;
}

static gsort_status
append_rows(gsort_job *job, const gsort_chunk *chunk)
{
	gsort_feeder *feeder = &job->feeders[chunk->feeder];
	uint64_t	units = chunk->data_bytes / 8;
	uint64_t	more_units = chunk->more_bytes / 8;
	uint64_t	first_unit = place(job, units + more_units);
	gsort_status status;

	if (job->rows + chunk->rows > GSORT_RUN_ROWS_MAX ||
		first_unit + units + more_units > GSORT_RUN_BYTES_MAX / 8)
		return gsort_fail(job->device, GSORT_UNSUPPORTED, "more rows than one run holds");
	if (job->rows + chunk->rows > job->granted_rows ||
		job->fed_units + units + more_units > job->granted_units)
		return bad_argument(job->device, "an append beyond the grant");
	status = job->device->ops->job_append(job, chunk, first_unit);
	if (status != GSORT_OK)
		return status;
	note_chunk(job, chunk, first_unit, more_units > 0 ? GSORT_WINDOW_CONTINUES : 0);
	for (uint32_t c = 0; c < job->options.key_columns; c++)
		key_stats_fold(&job->column_stats[c], &chunk->stats[c]);
	job->rows += chunk->rows;
	job->stats.rows = job->rows;
	job->fed_units += units + more_units;
	job->arena_units = first_unit + units + more_units;
	if (more_units > 0)
	{
		feeder->next_unit = first_unit + units;
		feeder->missing_units = more_units;
		job->incomplete_rows++;
	}
	return GSORT_OK;
}

gsort_status
gsort_job_append(gsort_job *job, const gsort_chunk *chunk)
{
	gsort_status status;

	if (is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (chunk->struct_bytes != sizeof(*chunk) || job->closing ||
		job->state != GSORT_RUN_FEEDING)
		return bad_argument(job->device, "append");
	status = check_chunk_shape(job, chunk);
	if (status != GSORT_OK)
		return status;
	if (!make_room_for_chunk(job))
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the list of chunks");
	if (chunk->rows == 0)
		return append_rest_of_row(job, chunk);
	return append_rows(job, chunk);
}

/* --- jobs: cutting and windows --------------------------------------------- */

gsort_status
gsort_job_cut(gsort_job *job, gsort_cut_how how)
{
	gsort_status status;

	if (is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FEEDING ||
		(how != GSORT_SORTED && how != GSORT_AS_FED && how != GSORT_SORTED_RUN))
		return bad_argument(job->device, "cut");
	if (how != GSORT_AS_FED && job->incomplete_rows > 0)
		return bad_argument(job->device, "cut with a row incomplete");
	job->cut_how = how;
	job->state = GSORT_RUN_CUTTING;
	status = job->device->ops->job_cut(job, how);
	if (status != GSORT_OK)
		job->state = GSORT_RUN_FEEDING;
	return status;
}

static gsort_status
make_as_fed_directory(gsort_job *job)
{
	uint64_t	first_row = 0;

	job->windows = malloc((job->n_chunks + 1) * sizeof(gsort_window));
	if (job->windows == NULL)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the directory");
	for (uint64_t i = 0; i < job->n_chunks; i++)
	{
		const gsort_placed_chunk *placed = &job->chunks[i];
		gsort_window *window = &job->windows[i];

		window->first_row = first_row;
		window->rows = placed->rows;
		window->flags = placed->window_flags;
		window->row_bytes = placed->units * 8;
		window->bytes = window->row_bytes;
		window->feeder = placed->feeder;
		window->unused = 0;
		first_row += placed->rows;
	}
	job->n_windows = job->n_chunks;
	return GSORT_OK;
}

gsort_status
gsort_cut_done(gsort_job *job, gsort_status status)
{
	if (status == GSORT_OK && job->cut_how == GSORT_AS_FED)
		status = make_as_fed_directory(job);
	if (status == GSORT_OK)
		job->state = GSORT_RUN_CUT;
	else if (status == GSORT_NOMEM)
		job->state = GSORT_RUN_FEEDING;
	else
		job->state = GSORT_RUN_FAILED;
	return status;
}

static uint64_t
windows_of_row(const window_cut *cut, uint64_t units)
{
	return (units + cut->piece_units - 1) / cut->piece_units;
}

/* The windows of one stretch of the sorted stream that begins a window. */
static gsort_window *
write_windows(const gsort_job *job, const window_cut *cut, gsort_window *window,
			  uint64_t first_row, uint64_t rows, uint64_t units)
{
	uint64_t	pieces = rows == 1 ? windows_of_row(cut, units) : 1;
	int			with_ties = (job->options.flags & GSORT_TIES) != 0;

	for (uint64_t piece = 0; piece < pieces; piece++, window++)
	{
		uint64_t	piece_units = pieces == 1 ? units : min_u64(units, cut->piece_units);

		window->first_row = piece == 0 ? first_row : first_row + 1;
		window->rows = piece == 0 ? (uint32_t) rows : 0;
		window->flags = (piece > 0 ? GSORT_WINDOW_CONTINUED : 0) |
			(piece + 1 < pieces ? GSORT_WINDOW_CONTINUES : 0);
		window->row_bytes = (uint32_t) (piece_units * 8);
		window->bytes = window->row_bytes;
		window->feeder = 0;
		window->unused = 0;
		if (with_ties)
			window->bytes += (window->rows + 63) / 64 * 8;
		units -= piece_units;
	}
	return window;
}

gsort_status
gsort_make_directory(gsort_job *job, const uint32_t *begin_rows, const uint64_t *begin_units,
					 uint64_t n, uint64_t total_rows, uint64_t total_units)
{
	window_cut	cut = window_cut_make(job->options.window_bytes,
									  (job->options.flags & GSORT_TIES) != 0, 0);
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

static int
directory_stands(const gsort_job *job)
{
	return job->state == GSORT_RUN_CUT || job->state == GSORT_RUN_MERGED;
}

gsort_status
gsort_job_windows(gsort_job *job, const gsort_window **windows, uint64_t *n)
{
	if (!directory_stands(job))
		return bad_argument(job->device, "windows of a run that has not been cut");
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

	if (is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || !directory_stands(job) || number >= job->n_windows)
		return bad_argument(job->device, "fetch");
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

/* --- jobs: several runs ---------------------------------------------------- */

static key_plan
plan_of_ended_runs(const gsort_job *job)
{
	return key_plan_make(job->options.key_columns, job->options.null_first_mask,
						 job->ended_stats);
}

static int
any_null_so_far(const gsort_job *job)
{
	for (uint32_t c = 0; c < job->options.key_columns; c++)
	{
		if (job->ended_stats[c].nulls > 0)
			return 1;
	}
	return 0;
}

/*
 * What to keep of the run that ends; ended_stats and ended_rows hold it already.  Kept keys
 * leave half of the budget to runs, whosesoever they are: jobs that hold nothing but
 * keys would wait for each other.
 */
static gsort_keep
what_to_keep(const gsort_job *job)
{
	const gsort_device_ops *ops = job->device->ops;
	gsort_keep	keep = any_null_so_far(job) ? GSORT_KEEP_KEYS_AND_NULLS : GSORT_KEEP_KEYS;
	uint32_t	runs = job->stats.runs + 1;
	uint64_t	others_kept_bytes = job->device->kept_bytes - job->kept_bytes;
	uint64_t	kept_bytes;
	uint64_t	bytes;

	if (!job->stats.keys_kept || runs > GSORT_MERGE_RUNS_MAX ||
		plan_of_ended_runs(job).words > 1)
		return GSORT_KEEP_NOTHING;
	kept_bytes = job->kept_bytes + ops->kept_bytes(job, job->rows, keep);
	bytes = kept_bytes + ops->merge_bytes(job, job->ended_rows, runs);
	if (others_kept_bytes + bytes > job->device->budget_bytes / 2 || bytes > room_for_job(job))
		return GSORT_KEEP_NOTHING;
	return keep;
}

gsort_status
gsort_job_next_run(gsort_job *job)
{
	gsort_column_stats before[GSORT_MAX_KEY_COLUMNS];
	gsort_status status;

	if (is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_CUT || job->cut_how != GSORT_SORTED_RUN ||
		job->fetches > 0)
		return bad_argument(job->device, "next run");
	memcpy(before, job->ended_stats, sizeof(before));
	for (uint32_t c = 0; c < job->options.key_columns; c++)
		key_stats_fold(&job->ended_stats[c], &job->column_stats[c]);
	job->ended_rows += job->rows;
	job->keep = what_to_keep(job);
	job->state = GSORT_RUN_ENDING;
	status = job->device->ops->job_next_run(job);
	if (status != GSORT_OK)
	{
		job->state = GSORT_RUN_CUT;
		job->ended_rows -= job->rows;
		memcpy(job->ended_stats, before, sizeof(before));
	}
	return status;
}

static void
free_directory(gsort_job *job)
{
	free(job->windows);
	job->windows = NULL;
	job->n_windows = 0;
}

static void
begin_run(gsort_job *job)
{
	free_directory(job);
	memset(job->feeders, 0, sizeof(job->feeders));
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
		key_stats_init(&job->column_stats[c]);
	job->n_chunks = 0;
	job->rows = 0;
	job->fed_units = 0;
	job->arena_units = 0;
	job->stats.rows = 0;
	job->stats.bytes_in = 0;
	job->state = GSORT_RUN_FEEDING;
}

void
gsort_run_begun(gsort_job *job, gsort_status status, int kept)
{
	if (status != GSORT_OK)
	{
		job->state = GSORT_RUN_FAILED;
		return;
	}
	job->stats.runs++;
	job->stats.keys_kept = kept;
	give_grants_back(job, kept ? job->kept_bytes +
					 job->device->ops->kept_bytes(job, job->rows, job->keep) : 0);
	begin_run(job);
}

static gsort_status
make_order_directory(gsort_job *job)
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
		window->rows = (uint32_t) min_u64(each, job->ended_rows - window->first_row);
		window->row_bytes = (window->rows + 7) / 8 * 8;
		window->bytes = window->row_bytes;
	}
	job->n_windows = n;
	return GSORT_OK;
}

gsort_status
gsort_job_merge(gsort_job *job)
{
	const gsort_device_ops *ops = job->device->ops;
	uint64_t	run_bytes;
	uint64_t	bytes;
	key_plan	plan;
	gsort_status status;

	if (is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FEEDING || job->n_chunks > 0)
		return bad_argument(job->device, "merge");
	if (job->stats.runs == 0 || !job->stats.keys_kept)
		return gsort_fail(job->device, GSORT_UNSUPPORTED, "the keys of %u runs are not kept",
						  job->stats.runs);
	plan = plan_of_ended_runs(job);
	run_bytes = job->granted_bytes > 0 ? ops->job_bytes(job, 0, 0) : 0;
	bytes = job->kept_bytes + ops->merge_bytes(job, job->ended_rows, job->stats.runs);
	if (run_bytes + bytes > room_for_job(job))
		return gsort_fail(job->device, GSORT_NOMEM,
						  "a merge in %llu bytes exceeds the budget of %llu bytes, of which other jobs have all but %llu",
						  (unsigned long long) bytes,
						  (unsigned long long) job->device->budget_bytes,
						  (unsigned long long) room_for_job(job));
	/* before the merge, which may use the keys up */
	status = make_order_directory(job);
	if (status != GSORT_OK)
		return status;
	job->state = GSORT_RUN_MERGING;
	status = ops->job_merge(job, &plan);
	if (status == GSORT_OK)
		give_grants_back(job, bytes);
	else
	{
		free_directory(job);
		job->state = GSORT_RUN_FEEDING;
	}
	return status;
}

void
gsort_merge_done(gsort_job *job, gsort_status status)
{
	const gsort_device_ops *ops = job->device->ops;

	if (status == GSORT_OK)
	{
		job->state = GSORT_RUN_MERGED;
		job->stats.rows = job->ended_rows;
		set_granted(job, job->granted_bytes, ops->order_bytes(job, job->ended_rows));
		return;
	}
	free_directory(job);
	set_granted(job, job->granted_bytes, job->kept_bytes -
				ops->merge_bytes(job, job->ended_rows, job->stats.runs));
	job->state = status == GSORT_NOMEM ? GSORT_RUN_FEEDING : GSORT_RUN_FAILED;
}

void
gsort_job_get_stats(const gsort_job *job, gsort_job_stats *stats)
{
	*stats = job->stats;
}

void
gsort_job_dispose(gsort_job *job)
{
	set_granted(job, 0, 0);
	free_directory(job);
	free(job->chunks);
	job->chunks = NULL;
}

void
gsort_job_close(gsort_job *job)
{
	if (job->closing)
		return;
	job->closing = 1;
	job->device->ops->job_close(job);
}

/* --- pairs -------------------------------------------------------------- */

static int
pairs_valid(const gsort_pairs *pairs)
{
	return pairs->struct_bytes == sizeof(*pairs) &&
		(pairs->key_bits == 32 || pairs->key_bits == 64) &&
		pairs->begin_bit <= pairs->end_bit && pairs->end_bit <= pairs->key_bits &&
		pairs->n <= GSORT_RUN_ROWS_MAX &&
		pairs->engine < GSORT_ENGINES &&
		(pairs->n == 0 || (pairs->d_keys != NULL && pairs->d_rows_out != NULL));
}

size_t
gsort_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	return pairs_valid(pairs) ? device->ops->pairs_scratch_bytes(device, pairs) : 0;
}

gsort_status
gsort_pairs_sort(gsort_device *device, const gsort_pairs *pairs,
				 void *d_scratch, size_t scratch_bytes, void *stream)
{
	if (is_lost(device))
		return GSORT_DEVICE_LOST;
	if (!pairs_valid(pairs))
		return bad_argument(device, "pairs");
	if (pairs->n == 0)
		return GSORT_OK;
	return device->ops->pairs_sort(device, pairs, d_scratch, scratch_bytes, stream);
}
