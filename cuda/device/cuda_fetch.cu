/*
 * cuda_fetch.cu
 *	  Fetches: an output block of a run, or of the merge order, to the host.
 *
 * In:  an output block of the job's directory.
 * Out: its bytes in the caller's buffer, or in a slot until polling copies them
 *	    to the buffer.
 *
 * Rows of a sorted run are gathered into the lane's output block on the device
 * first.  Split rows and the merge order are contiguous and need no gather.
 */
#include "device/cuda_device.cuh"

#include "device/gather_rows.cuh"
#include "sort/launch.cuh"

static sorted_run
sorted_run_of(const cuda_job *job)
{
	sorted_run	run;

	run.words = cuda_job_extents(job, WORD_EXTENTS);
	run.order = cuda_job_order(job);
	run.low_offsets = (const uint32_t *) job->sort[SORT_LOW_OFFSETS].pointer;
	run.ties = (const uint32_t *) job->sort[SORT_TIES].pointer;
	run.rows = job->common.rows;
	return run;
}

static gsort_status
gather_output_block(cuda_job *job, cuda_lane *lane, const gsort_block *block)
{
	cuda_device *device = (cuda_device *) job->common.device;
	sorted_run	run = sorted_run_of(job);
	extent_table table = cuda_job_extents(job, ROW_EXTENTS);
	uint64_t   *out = (uint64_t *) lane->block.pointer;
	uint32_t	units = block->row_bytes / 8;

	if (block->rows > 1)
	{
		uint32_t	lanes_log2 = gather_lanes_log2(units, block->rows);

		GSORT_TRY_LAUNCH(device, launch(gather_rows_kernel,
										blocks_for((uint64_t) block->rows << lanes_log2),
										LAUNCH_THREADS, 0, lane->stream, run, table,
										block->first_row, block->rows, lanes_log2, out));
	}
	else
	{
		/* first_row of a continued output block is the row after the split
		 * one */
		uint64_t	row = block->first_row - (block->rows == 0 ? 1 : 0);

		GSORT_TRY_LAUNCH(device, launch(gather_piece_kernel, blocks_for(units), LAUNCH_THREADS, 0,
										lane->stream, run, table, row, block_units_before(block),
										units, out));
	}
	if (block->bytes > block->row_bytes)
		GSORT_TRY_LAUNCH(device, launch(gather_ties_kernel,
										blocks_for(tie_words_of_block(block->rows)),
										LAUNCH_THREADS, 0, lane->stream, run, block->first_row,
										block->rows, out + units));
	return GSORT_OK;
}

typedef struct fetch_source
{
	const gsort_block *block;	/* NULL: the merge order */
	uint64_t	first_row;		/* in the merge order */
	uint32_t	bytes;
} fetch_source;

static gsort_status
enqueue_source(cuda_job *job, cuda_lane *lane, const fetch_source *source, char *to)
{
	cuda_device *device = (cuda_device *) job->common.device;

	if (source->block == NULL)
		return cuda_copy(device, lane, to, (const char *) job->order.pointer + source->first_row,
						 source->bytes, cudaMemcpyDeviceToHost);
	GSORT_TRY_STATUS(gather_output_block(job, lane, source->block));
	return cuda_copy(device, lane, to, lane->block.pointer, source->bytes, cudaMemcpyDeviceToHost);
}

/* Enqueues a fetch.  On failure, every enqueued part has ended. */
static gsort_status
try_fetch(cuda_job *job, cuda_lane *lane, const fetch_source *source, cuda_operation *operation,
		  void *dst)
{
	cuda_device *device = (cuda_device *) job->common.device;
	gsort_status status = enqueue_source(job, lane, source,
										 operation->unpinned_dst != NULL ? operation->slot.memory :
										 (char *) dst);

	if (status == GSORT_OK)
		status = cuda_operation_finish(device, lane, operation);
	if (status == GSORT_NOMEM)
		GSORT_TRY_STATUS(cuda_lane_quiet(device, lane));
	return status;
}

/* Enqueues a fetch, and retries once if the device refuses memory. */
static gsort_status
fetch(cuda_job *job, const fetch_source *source, void *dst, uint64_t tag)
{
	cuda_device *device = (cuda_device *) job->common.device;
	cuda_lane  *lane = &device->fetch_lanes[device->next_fetch_lane++ % FETCH_LANES];
	int			is_pinned = cuda_region_holds(device, dst, source->bytes);
	cuda_operation *operation;
	gsort_status status;

	GSORT_TRY_STATUS(cuda_operation_begin(job, GSORT_EVENT_FETCHED, tag, is_pinned ? 0 :
										  source->bytes, &operation));
	if (!is_pinned)
	{
		operation->unpinned_dst = dst;
		operation->unpinned_bytes = source->bytes;
	}
	status = try_fetch(job, lane, source, operation, dst);
	/* these rows exist nowhere else */
	if (status == GSORT_NOMEM)
		status = try_fetch(job, lane, source, operation, dst);
	if (status != GSORT_OK)
		cuda_operation_drop(device, operation);
	return status;
}

gsort_status
cuda_job_fetch(gsort_job *base, uint64_t number, void *dst, uint64_t tag)
{
	const gsort_block *block = &base->blocks[number];
	fetch_source source = {block, 0, block->bytes};

	return fetch((cuda_job *) base, &source, dst, tag);
}

gsort_status
cuda_job_fetch_order(gsort_job *base, uint64_t first_row, uint32_t bytes, void *dst, uint64_t tag)
{
	fetch_source source = {NULL, first_row, bytes};

	return fetch((cuda_job *) base, &source, dst, tag);
}
