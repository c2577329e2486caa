/*
 * job.c
 *	  A job's beginning and end, and the memory reserved for it.
 *
 * In:  a job's options; requests for reservations; the memory left by the end
 *	    of a run or of a merge.
 * Out: each job's share of the budget, which no other file counts.
 *
 * A reservation covers device memory at the job's peak, its sort included.
 * Therefore an append within a reservation never fails for memory.  The
 * device's totals are the sums over its open jobs.
 */
#include "api/api_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- opening -------------------------------------------------------------- */

static int
job_options_valid(const gsort_job_options *options)
{
	uint32_t	columns = options->key_columns;

	return options->struct_bytes == sizeof(*options) &&
		columns >= 1 && columns <= GSORT_MAX_KEY_COLUMNS &&
		options->null_mask >> columns == 0 && options->null_first_mask >> columns == 0 &&
		options->inexact_mask >> columns == 0 &&
		options->block_bytes >= 4096 && options->block_bytes % 8 == 0 &&
		options->block_bytes <= GSORT_BLOCK_BYTES_MAX &&
		options->engine < GSORT_ENGINES &&
		(options->flags & ~(uint32_t) GSORT_TIES) == 0;
}

gsort_status
gsort_job_open(gsort_device *device, const gsort_job_options *options, gsort_job **job)
{
	gsort_job	blank;

	*job = NULL;
	if (gsort_is_lost(device))
		return GSORT_DEVICE_LOST;
	if (!job_options_valid(options))
		return gsort_bad_argument(device, "the job's options");
	memset(&blank, 0, sizeof(blank));
	blank.device = device;
	blank.options = *options;
	blank.stats.struct_bytes = sizeof(blank.stats);
	blank.stats.keys_retained = options->inexact_mask == 0;
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
	{
		key_stats_init(&blank.column_stats[c]);
		key_stats_init(&blank.ended_stats[c]);
	}
	return device->ops->job_open(device, &blank, job);
}

/* --- reservations --------------------------------------------------------- */

void
gsort_set_reserved(gsort_job *job, uint64_t run_bytes, uint64_t retained_bytes)
{
	gsort_device *device = job->device;

	device->reserved_bytes -= job->reserved_bytes + job->retained_bytes;
	device->reserved_bytes += run_bytes + retained_bytes;
	device->retained_bytes += retained_bytes - job->retained_bytes;
	job->reserved_bytes = run_bytes;
	job->retained_bytes = retained_bytes;
	job->stats.reserved_bytes = run_bytes + retained_bytes;
}

uint64_t
gsort_budget_for_job(const gsort_job *job)
{
	const gsort_device *device = job->device;
	uint64_t	others = device->reserved_bytes - job->reserved_bytes - job->retained_bytes;

	return device->budget_bytes > others ? device->budget_bytes - others : 0;
}

void
gsort_end_reservations(gsort_job *job, uint64_t run_bytes, uint64_t retained_bytes)
{
	gsort_set_reserved(job, run_bytes, retained_bytes);
	job->reserved_rows = 0;
	job->reserved_units = 0;
}

uint64_t
gsort_least_bytes(const gsort_job *job)
{
	uint64_t	row_bytes = 8 + sizeof(uint32_t) + job->options.key_columns * sizeof(uint64_t);

	return job->device->ops->job_bytes(job, job->options.block_bytes / row_bytes,
									   arena_units_for(job->options.block_bytes / 8,
													   job->options.block_bytes));
}

typedef struct run_reservation
{
	uint64_t	rows;
	uint64_t	units;
	uint64_t	arena_units;
	uint64_t	more_bytes;		/* additional device memory */
} run_reservation;

/* The run's reservations after this request, and the additional bytes that the
 * job then needs. */
static run_reservation
reserve_with_more(const gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	run_reservation	all = {
		.rows = gsort_min_u64(job->reserved_rows + gsort_min_u64(rows, GSORT_RUN_ROWS_MAX),
							  GSORT_RUN_ROWS_MAX),
		.units = gsort_min_u64(job->reserved_units +
							   (gsort_min_u64(row_bytes, GSORT_RUN_BYTES_MAX) + 7) / 8,
						 GSORT_RUN_BYTES_MAX / 8),
	};
	uint64_t	bytes;

	all.arena_units = arena_units_for(all.units, job->options.block_bytes);
	bytes = job->device->ops->job_bytes(job, all.rows, all.arena_units);
	all.more_bytes = bytes > job->reserved_bytes ? bytes - job->reserved_bytes : 0;
	return all;
}

uint64_t
gsort_job_reservation_bytes(const gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	return reserve_with_more(job, rows, row_bytes).more_bytes;
}

gsort_status
gsort_job_reserve(gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	gsort_device *device = job->device;
	run_reservation	all;
	gsort_status status;

	if (gsort_is_lost(device))
		return GSORT_DEVICE_LOST;
	if (job->state != GSORT_RUN_FEEDING || job->closing)
		return gsort_bad_argument(device, "reservation for a run that has been finished");
	all = reserve_with_more(job, rows, row_bytes);
	if (all.more_bytes > 0 && device->reserved_bytes + all.more_bytes > device->budget_bytes)
		return gsort_fail(device, GSORT_NOMEM,
						  "a reservation of %llu bytes more exceeds the budget of %llu bytes, "
						  "of which %llu are reserved",
						  (unsigned long long) all.more_bytes,
						  (unsigned long long) device->budget_bytes,
						  (unsigned long long) device->reserved_bytes);
	status = device->ops->job_reserve(job, all.rows, all.arena_units);
	if (status != GSORT_OK)
		return status;
	gsort_set_reserved(job, job->reserved_bytes + all.more_bytes, job->retained_bytes);
	job->reserved_rows = all.rows;
	job->reserved_units = all.units;
	return GSORT_OK;
}

/* --- statistics and the end ----------------------------------------------- */

void
gsort_job_get_stats(const gsort_job *job, gsort_job_stats *stats)
{
	*stats = job->stats;
	stats->row_bytes = job->fed_units * 8;
	stats->reserved_rows = job->reserved_rows;
	stats->reserved_row_bytes = job->reserved_units * 8;
	stats->incomplete_rows = job->incomplete_rows;
}

void
gsort_job_dispose(gsort_job *job)
{
	gsort_set_reserved(job, 0, 0);
	gsort_free_directory(job);
}

void
gsort_job_close(gsort_job *job)
{
	if (job->closing)
		return;
	job->closing = 1;
	job->device->ops->job_close(job);
}
