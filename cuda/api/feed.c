/*
 * feed.c
 *	  Incoming chunks: validates each one and assigns its place in the arena.
 *
 * In:  chunks of a job's feeders, in the order that makes the sort stable.
 * Out: validated chunks, except for the offset and key of each row.  A check of
 *	    these here would cost a pass over all rows, so the device does it.
 */
#include "api/api_internal.h"

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
	if (chunk->struct_bytes != sizeof(*chunk) || job->closing ||
		job->state != GSORT_RUN_FEEDING)
		return gsort_bad_argument(job->device, "append");
	status = check_chunk_shape(job, chunk);
	if (status != GSORT_OK)
		return status;
	if (chunk->rows == 0)
		return append_rest_of_row(job, chunk);
	return append_rows(job, chunk);
}
