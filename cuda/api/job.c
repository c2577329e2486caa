/*
 * job.c
 *	  A job's beginning and end, the memory reserved for it, and its chunks.
 *
 * In:  a job's options; requests for reservations; the memory left by a finish,
 *	    by the end of a run or of a merge; chunks of a job's feeders, in the
 *	    order that makes the sort stable.
 * Out: each job's share of the budget, which no other file counts; validated
 *	    chunks with their places in the arena, except for the offset and key of
 *	    each row.  A check of these here would cost a pass over all rows, so the
 *	    device does it.
 *
 * A reservation covers device memory at the job's peak, its sort included.
 * Therefore an append within a reservation never fails for memory.  After the
 * sort it covers what is left.  The
 * device's totals are the sums over its open jobs.
 */
#include "api/api_internal.h"

#include <string.h>

/* --- opening -------------------------------------------------------------- */

static int
job_options_valid(const gsort_job_options *options)
{
	uint32_t	columns = options->key_columns;

	return columns >= 1 && columns <= GSORT_MAX_KEY_COLUMNS &&
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

/* --- checks --------------------------------------------------------------- */

static gsort_status
bad_chunk(gsort_job *job, const char *what)
{
	return gsort_fail(job->device, GSORT_BAD_DATA, "bad chunk: %s", what);
}

static int
stats_are_possible(const gsort_job *job, const gsort_chunk *chunk)
{
	for (uint32_t c = 0; c < job->options.key_columns; c++)
	{
		/* nulls is NULL if no column is nullable */
		uint64_t	most_nulls = job->options.null_mask >> c & 1 ? chunk->rows : 0;

		if (!key_stats_are_possible(&chunk->stats[c], most_nulls))
			return 0;
	}
	return 1;
}

/* Checks the parts of a chunk that make its pointers and statistics safe to
 * use. */
static gsort_status
check_chunk_shape(gsort_job *job, const gsort_chunk *chunk)
{
	const gsort_feeder *feeder;

	if (chunk->feeder >= GSORT_FEEDERS_MAX)
		return bad_chunk(job, "feeder number");
	if (chunk->data_bytes % 8 != 0 || chunk->more_bytes % 8 != 0 || chunk->data_bytes == 0 ||
		chunk->data_bytes > job->options.block_bytes)
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
	else if (!stats_are_possible(job, chunk))
		return bad_chunk(job, "its statistics");
	return GSORT_OK;
}

gsort_status
gsort_fail_bad_data(gsort_device *device, uint32_t what)
{
	return gsort_fail(device, GSORT_BAD_DATA, what == GSORT_BAD_KEYS ?
					  "bad chunk: keys beyond its statistics" :
					  "bad chunk: row offsets not rising, or out of range");
}

/* --- appends -------------------------------------------------------------- */

static void
count_bytes(gsort_job *job, const gsort_chunk *chunk)
{
	job->stats.bytes_in += chunk->data_bytes + chunk->rows *
		(sizeof(uint32_t) + job->options.key_columns * sizeof(uint64_t) +
		 (job->options.null_mask != 0 ? sizeof(uint32_t) : 0));
}

/* Appends a chunk that continues its feeder's incomplete row, behind the row's
 * earlier bytes. */
static gsort_status
append_rest_of_row(gsort_job *job, const gsort_chunk *chunk)
{
	gsort_feeder *feeder = &job->feeders[chunk->feeder];
	uint64_t	units = chunk->data_bytes / 8;
	gsort_status status = job->device->ops->job_append(job, chunk, feeder->next_unit);

	if (status != GSORT_OK)
		return status;
	count_bytes(job, chunk);
	feeder->next_unit += units;
	feeder->missing_units -= units;
	if (feeder->missing_units == 0)
		job->incomplete_rows--;
	return GSORT_OK;
}

/* Appends a chunk of whole rows at the next place of the arena.  The last row
 * may be incomplete. */
static gsort_status
append_rows(gsort_job *job, const gsort_chunk *chunk)
{
	gsort_feeder *feeder = &job->feeders[chunk->feeder];
	uint64_t	units = chunk->data_bytes / 8;
	uint64_t	more_units = chunk->more_bytes / 8;
	uint64_t	first_unit = arena_place(job->arena_units, units + more_units,
										 job->options.block_bytes);
	gsort_status status;

	if (job->rows + chunk->rows > GSORT_RUN_ROWS_MAX ||
		first_unit + units + more_units > GSORT_RUN_BYTES_MAX / 8)
		return gsort_fail(job->device, GSORT_UNSUPPORTED, "more rows than one run holds");
	if (job->rows + chunk->rows > job->reserved_rows ||
		job->fed_units + units + more_units > job->reserved_units)
		return gsort_bad_argument(job->device, "an append beyond the reservation");
	status = job->device->ops->job_append(job, chunk, first_unit);
	if (status != GSORT_OK)
		return status;
	count_bytes(job, chunk);
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

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FEEDING)
		return gsort_bad_argument(job->device, "append");
	status = check_chunk_shape(job, chunk);
	if (status != GSORT_OK)
		return status;
	if (chunk->rows == 0)
		return append_rest_of_row(job, chunk);
	return append_rows(job, chunk);
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
