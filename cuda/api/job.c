/*
 * job.c
 *	  A job's beginning and end, and the memory granted to it.
 *
 * In:  a job's options; requests for room; the memory left by the end of a run
 *	    or of a merge.
 * Out: each job's share of the budget, which no other file counts.
 *
 * A grant covers device memory at the job's peak, its sort included.  Therefore
 * an append within a grant never fails for memory.  The device's totals are the
 * sums over its open jobs.
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
	blank.stats.keys_kept = options->inexact_mask == 0;
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
	{
		key_stats_init(&blank.column_stats[c]);
		key_stats_init(&blank.ended_stats[c]);
	}
	return device->ops->job_open(device, &blank, job);
}

/* --- grants --------------------------------------------------------------- */

void
gsort_set_granted(gsort_job *job, uint64_t run_bytes, uint64_t kept_bytes)
{
	gsort_device *device = job->device;

	device->granted_bytes -= job->granted_bytes + job->kept_bytes;
	device->granted_bytes += run_bytes + kept_bytes;
	device->kept_bytes += kept_bytes - job->kept_bytes;
	job->granted_bytes = run_bytes;
	job->kept_bytes = kept_bytes;
	job->stats.granted_bytes = run_bytes + kept_bytes;
}

uint64_t
gsort_room_for_job(const gsort_job *job)
{
	const gsort_device *device = job->device;
	uint64_t	others = device->granted_bytes - job->granted_bytes - job->kept_bytes;

	return device->budget_bytes > others ? device->budget_bytes - others : 0;
}

void
gsort_end_grants(gsort_job *job, uint64_t run_bytes, uint64_t kept_bytes)
{
	gsort_set_granted(job, run_bytes, kept_bytes);
	job->granted_rows = 0;
	job->granted_units = 0;
}

uint64_t
gsort_least_bytes(const gsort_job *job)
{
	uint64_t	row_bytes = 8 + sizeof(uint32_t) + job->options.key_columns * sizeof(uint64_t);

	return job->device->ops->job_bytes(job, job->options.block_bytes / row_bytes,
									   arena_units_for(job->options.block_bytes / 8,
													   job->options.block_bytes));
}

/* The total grants of a run. */
typedef struct run_grant
{
	uint64_t	rows;
	uint64_t	units;
	uint64_t	arena_units;
	uint64_t	more_bytes;		/* additional device memory */
} run_grant;

/* The run's grants after this request, and the additional bytes that the job
 * then needs. */
static run_grant
grant_with_more(const gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	run_grant	all = {
		.rows = gsort_min_u64(job->granted_rows + gsort_min_u64(rows, GSORT_RUN_ROWS_MAX),
							  GSORT_RUN_ROWS_MAX),
		.units = gsort_min_u64(job->granted_units +
							   (gsort_min_u64(row_bytes, GSORT_RUN_BYTES_MAX) + 7) / 8,
						 GSORT_RUN_BYTES_MAX / 8),
	};
	uint64_t	bytes;

	all.arena_units = arena_units_for(all.units, job->options.block_bytes);
	bytes = job->device->ops->job_bytes(job, all.rows, all.arena_units);
	all.more_bytes = bytes > job->granted_bytes ? bytes - job->granted_bytes : 0;
	return all;
}

uint64_t
gsort_job_grant_bytes(const gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	return grant_with_more(job, rows, row_bytes).more_bytes;
}

gsort_status
gsort_job_grant(gsort_job *job, uint64_t rows, uint64_t row_bytes)
{
	gsort_device *device = job->device;
	run_grant	all;
	gsort_status status;

	if (gsort_is_lost(device))
		return GSORT_DEVICE_LOST;
	if (job->state != GSORT_RUN_FEEDING || job->closing)
		return gsort_bad_argument(device, "grant for a run that has been cut");
	all = grant_with_more(job, rows, row_bytes);
	if (all.more_bytes > 0 && device->granted_bytes + all.more_bytes > device->budget_bytes)
		return gsort_fail(device, GSORT_NOMEM,
						  "a grant of %llu bytes more exceeds the budget of %llu bytes, "
						  "of which %llu are granted",
						  (unsigned long long) all.more_bytes,
						  (unsigned long long) device->budget_bytes,
						  (unsigned long long) device->granted_bytes);
	status = device->ops->job_reserve(job, all.rows, all.arena_units);
	if (status != GSORT_OK)
		return status;
	gsort_set_granted(job, job->granted_bytes + all.more_bytes, job->kept_bytes);
	job->granted_rows = all.rows;
	job->granted_units = all.units;
	return GSORT_OK;
}

/* --- statistics and the end ----------------------------------------------- */

void
gsort_job_get_stats(const gsort_job *job, gsort_job_stats *stats)
{
	*stats = job->stats;
	stats->row_bytes = job->fed_units * 8;
	stats->granted_rows = job->granted_rows;
	stats->granted_row_bytes = job->granted_units * 8;
	stats->incomplete_rows = job->incomplete_rows;
}

void
gsort_job_dispose(gsort_job *job)
{
	gsort_set_granted(job, 0, 0);
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
