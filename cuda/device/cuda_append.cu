/*
 * cuda_append.cu
 *	  Appends: a chunk of rows from the host into a job's extents.
 *
 * In:  a chunk and its place, which cuda/api has assigned within the job's
 *	    reservations.
 * Out: its rows in the job's row extents; row words in its word extents; keys
 *	    and NULL bits in its key extents.
 *
 * Keys pass through the lane's device staging, one slice at a time.  The append
 * kernel checks and files them there, where no other process can change them.
 */
#include "device/cuda_device.cuh"

#include "device/append_rows.cuh"
#include "rows/block_cut.h"
#include "sort/launch.cuh"

#include <string.h>

/* A chunk's share of one operation's staging slot, from its begin on. */
typedef struct chunk_source
{
	cuda_device *device;
	char	   *slot;			/* NULL: the whole chunk is pinned */
	size_t		slot_used;
} chunk_source;

/* An address that the device can copy from: the memory itself if it is pinned,
 * otherwise a copy in the slot. */
static const char *
copyable(chunk_source *source, const void *memory, size_t bytes)
{
	char	   *copy;

	if (source->slot == NULL || cuda_region_holds(source->device, memory, bytes))
		return (const char *) memory;
	copy = source->slot + source->slot_used;
	memcpy(copy, memory, bytes);
	source->slot_used += aligned_bytes(bytes);
	return copy;
}

/* Slot bytes for the arrays of a chunk; 0 if all are pinned. */
static size_t
chunk_slot_bytes(const cuda_device *device, const gsort_job *job, const gsort_chunk *chunk)
{
	size_t		keys_bytes = (size_t) chunk->rows * job->options.key_columns * sizeof(uint64_t);
	size_t		start_bytes = (size_t) chunk->rows * sizeof(uint32_t);
	size_t		nulls_bytes = job->options.null_mask != 0 ? start_bytes : 0;

	if (cuda_region_holds(device, chunk->data, chunk->data_bytes) &&
		(chunk->rows == 0 ||
		 (cuda_region_holds(device, chunk->keys, keys_bytes) &&
		  cuda_region_holds(device, chunk->row_start, start_bytes) &&
		  (nulls_bytes == 0 || cuda_region_holds(device, chunk->nulls, nulls_bytes)))))
		return 0;
	return aligned_bytes(chunk->data_bytes) + aligned_bytes(keys_bytes) +
		aligned_bytes(start_bytes) + aligned_bytes(nulls_bytes);
}

static gsort_status
file_slice(cuda_job *job, cuda_lane *lane, const append_slice *slice, const char *row_start,
		   const char *keys, const char *nulls)
{
	cuda_device *device = (cuda_device *) job->common.device;
	key_table	table = cuda_job_key_table(job);
	uint32_t	starts = slice->rows + (slice->ends_chunk ? 0 : 1);
	uint32_t	long_units = (uint32_t) block_cut_long_units(job->common.options.block_bytes);

	GSORT_TRY_STATUS(cuda_copy(device, lane, lane->row_start.pointer, row_start,
							   starts * sizeof(uint32_t), cudaMemcpyHostToDevice));
	GSORT_TRY_STATUS(cuda_copy(device, lane, lane->keys.pointer, keys,
							   (size_t) slice->rows * table.columns * sizeof(uint64_t),
							   cudaMemcpyHostToDevice));
	if (table.null_mask != 0)
		GSORT_TRY_STATUS(cuda_copy(device, lane, lane->nulls.pointer, nulls,
								   slice->rows * sizeof(uint32_t), cudaMemcpyHostToDevice));
	GSORT_TRY_LAUNCH(device, launch(append_rows_kernel, blocks_for(slice->rows), LAUNCH_THREADS, 0,
									lane->stream, *slice,
									cuda_job_extents(job, WORD_EXTENTS), table, long_units,
									(run_header *) job->header.pointer));
	return GSORT_OK;
}

/* Files a chunk's rows slice by slice, because the staging holds one slice of
 * the keys. */
static gsort_status
file_rows(cuda_job *job, cuda_lane *lane, const gsort_chunk *chunk, chunk_source *source,
		  uint64_t first_unit)
{
	uint32_t	columns = job->common.options.key_columns;
	int			has_nulls = job->common.options.null_mask != 0;
	const char *row_start = copyable(source, chunk->row_start, chunk->rows * sizeof(uint32_t));
	const char *keys = copyable(source, chunk->keys,
								(size_t) chunk->rows * columns * sizeof(uint64_t));
	const char *nulls = has_nulls ?
		copyable(source, chunk->nulls, chunk->rows * sizeof(uint32_t)) : NULL;

	for (uint32_t done = 0; done < chunk->rows; done += SLICE_ROWS)
	{
		append_slice slice;
		size_t		at = (size_t) done * sizeof(uint32_t);

		slice.row_start = (const uint32_t *) lane->row_start.pointer;
		slice.keys = (const uint64_t *) lane->keys.pointer;
		slice.nulls = (const uint32_t *) lane->nulls.pointer;
		slice.rows = (chunk->rows - done < SLICE_ROWS ? chunk->rows - done : SLICE_ROWS);
		slice.begins_chunk = done == 0;
		slice.ends_chunk = done + slice.rows == chunk->rows;
		slice.data_units = chunk->data_bytes / 8;
		slice.end_units = (chunk->data_bytes + chunk->more_bytes) / 8;
		slice.first_unit = first_unit;
		slice.first_row = job->common.rows + done;
		GSORT_TRY_STATUS(file_slice(job, lane, &slice, row_start + at,
									keys + (size_t) done * columns * sizeof(uint64_t),
									has_nulls ? nulls + at : NULL));
	}
	return GSORT_OK;
}

static gsort_status
enqueue_chunk(cuda_job *job, cuda_lane *lane, cuda_operation *operation, const gsort_chunk *chunk,
			  uint64_t first_unit)
{
	cuda_device *device = (cuda_device *) job->common.device;
	chunk_source source = {device, operation->slot.memory, 0};
	const char *data = copyable(&source, chunk->data, chunk->data_bytes);

	GSORT_TRY(device, cudaStreamWaitEvent(lane->stream, job->memory_ready, 0));
	GSORT_TRY_STATUS(cuda_copy_rows(job, lane, first_unit, chunk->data_bytes / 8, data));
	GSORT_TRY_STATUS(file_rows(job, lane, chunk, &source, first_unit));
	return cuda_operation_finish(device, lane, operation);
}

/* Enqueues an append.  On failure, every enqueued part has ended.  A second
 * call repeats the first one as a whole. */
static gsort_status
try_chunk(cuda_job *job, cuda_lane *lane, cuda_operation *operation, const gsort_chunk *chunk,
		  uint64_t first_unit)
{
	gsort_status status = enqueue_chunk(job, lane, operation, chunk, first_unit);

	if (status == GSORT_NOMEM)
		GSORT_TRY_STATUS(cuda_lane_quiet((cuda_device *) job->common.device, lane));
	return status;
}

gsort_status
cuda_job_append(gsort_job *base, const gsort_chunk *chunk, uint64_t first_unit)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	cuda_lane  *lane = &device->append_lanes[device->next_append_lane++ % APPEND_LANES];
	cuda_operation *operation;
	gsort_status status;

	GSORT_TRY_STATUS(cuda_operation_begin(job, GSORT_EVENT_APPENDED, chunk->tag,
										  chunk_slot_bytes(device, base, chunk), &operation));
	status = try_chunk(job, lane, operation, chunk, first_unit);
	if (status == GSORT_NOMEM)
		status = try_chunk(job, lane, operation, chunk, first_unit);
	if (status != GSORT_OK)
		cuda_operation_drop(device, operation);
	return status;
}
