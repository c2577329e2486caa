/*
 * service_fetch.c
 *	  Blocks of sorted rows on their way to sessions.
 *
 * In:  buffers for blocks; FETCHED events.
 * Out: blocks in buffers; or the job failed.
 *
 * Runs in the service alone.
 *
 * A device may lack memory for a fetch, which needs staging if the buffers are
 * not pinned.  A sorted run has no other way out.  So the buffer stays
 * FETCHING, and the device is asked again in each turn (service_requests.c),
 * for the job's oldest block first, until other transfers have ended.
 */
#include "postgres.h"

#include "service/service_internal.h"

void
gpusort_service_handle_fetched(int job, int buffer, gsort_status status)
{
	if (status == GSORT_OK)
		pg_atomic_fetch_add_u64(&gpusort_shared->counters.bytes_from_device,
								gpusort_buffers[buffer].block.bytes);
	gpusort_service_apply_status(job, status);
	gpusort_service_return_buffer(buffer, status == GSORT_OK ?
								 GPUSORT_BUFFER_OUTPUT_BLOCK : GPUSORT_BUFFER_IDLE);
}

/* Stops at the first block that the device cannot fetch now. */
void
gpusort_service_fetch_blocks(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	while (mine->fetches.first != GPUSORT_NO_BUFFER)
	{
		int			buffer = mine->fetches.first;
		gsort_status status = gsort_job_fetch(mine->job, gpusort_buffers[buffer].block_number,
											  gpusort_buffer_memory(buffer), buffer);

		if (status == GSORT_NOMEM && gpusort_service_asks_again(mine))
			return;
		(void) gpusort_service_take(&mine->fetches);
		if (status != GSORT_OK)
		{
			gpusort_service_handle_fetched(job, buffer, status);
			return;
		}
		mine->refused_since_us = 0;
		gpusort_service_operation_began(job);
	}
}

/* For bsearch: is the row before the block, in it, or behind it? */
static int
compare_with_block(const void *row, const void *block)
{
	const gsort_block *other = block;
	uint64		number = *(const uint64 *) row;

	return number < other->first_row ? -1 : number >= other->first_row + other->rows;
}

/* Notes in the buffer which block it is for. */
static gsort_status
find_block(int job, GpuSortBuffer *buffer)
{
	const gsort_block *blocks;
	const gsort_block *block = NULL;
	uint64		n;
	gsort_status status = gsort_job_blocks(gpusort_service_jobs[job].job, &blocks, &n);

	if (status != GSORT_OK)
		return status;
	if (buffer->by_row)
		block = bsearch(&buffer->block_number, blocks, n, sizeof(gsort_block), compare_with_block);
	else if (buffer->block_number < n)
		block = &blocks[buffer->block_number];
	if (block == NULL)
		return GSORT_BAD_ARG;
	buffer->block = *block;
	buffer->block_number = block - blocks;
	return GSORT_OK;
}

/* Blocks are fetched in the order in which they were asked for. */
void
gpusort_service_handle_fetch(int job, int buffer)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];
	gsort_status status;

	if (gpusort_service_slot(job)->state != GPUSORT_JOB_READY || mine->job == NULL)
	{
		gpusort_service_return_buffer(buffer, GPUSORT_BUFFER_IDLE);
		return;
	}
	status = find_block(job, &gpusort_buffers[buffer]);
	if (status != GSORT_OK)
	{
		gpusort_service_handle_fetched(job, buffer, status);
		return;
	}
	gpusort_service_queue(&mine->fetches, buffer);
	/* otherwise the device has refused an earlier one */
	if (mine->fetches.first == buffer)
		gpusort_service_fetch_blocks(job);
}
