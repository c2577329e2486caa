/*
 * cuda_transfers.cu
 *	  Appends and fetches: chunks of rows into a job's extents, and output
 *	  blocks of a run or of the merge order to the host.
 *
 * In:  a chunk and its place, which cuda/api has assigned within the job's
 *	    reservations; or an output block of the job's directory.
 * Out: the chunk's rows, row words, keys and NULL bits in the job's extents; or
 *	    the output block in the caller's buffer.  An operation in its lane's
 *	    queue, with a CUDA event behind its last work (cuda_work.cu).
 *
 * Operations are made when the device is opened and when memory is pinned, and
 * are reused.  Memory outside the range of gsort_pin passes through a pinned
 * slot, which the operation holds until it ends, so that the caller never waits
 * for the device.  Keys pass through the lane's device staging.  The append
 * kernel checks and files them there, where no other process can change them.
 */
#include "device/cuda_device.cuh"

#include <stdlib.h>
#include <string.h>

#include "device/transfer_rows.cuh"
#include "rows/block_cut.h"
#include "sort/launch.cuh"

/* --- the pool of operations ---------------------------------------------- */

static void
make_free(cuda_device *device, cuda_operation *operation)
{
	operation->next = device->free_operations;
	device->free_operations = operation;
}

static gsort_status
make_event(cuda_device *device, cudaEvent_t *event)
{
	GSORT_TRY(device, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
	return GSORT_OK;
}

static gsort_status
add_operation(cuda_device *device)
{
	cuda_operation *operation = (cuda_operation *) calloc(1, sizeof(cuda_operation));
	gsort_status status;

	if (operation == NULL)
		return gsort_fail(&device->common, GSORT_NOMEM, "out of memory for appends and fetches");
	status = make_event(device, &operation->done);
	if (status != GSORT_OK)
	{
		if (operation->done != NULL)
			cudaEventDestroy(operation->done);
		free(operation);
		return status;
	}
	make_free(device, operation);
	return GSORT_OK;
}

gsort_status
cuda_operations_reserve(cuda_device *device, uint64_t n)
{
	while (n-- > 0)
		GSORT_TRY_STATUS(add_operation(device));
	return GSORT_OK;
}

void
cuda_operations_free(cuda_device *device)
{
	while (device->free_operations != NULL)
	{
		cuda_operation *operation = device->free_operations;

		device->free_operations = operation->next;
		cudaEventDestroy(operation->done);
		free(operation);
	}
}

/* --- one operation ------------------------------------------------------- */

/* slot_bytes: the staging that it needs, or 0.  NOMEM changes nothing. */
static gsort_status
begin_operation(cuda_job *job, gsort_event_kind kind, uint64_t tag, size_t slot_bytes,
				cuda_operation **begun)
{
	cuda_device *device = (cuda_device *) job->common.device;
	cuda_operation *operation;

	/* neither waits for the device, but host memory may be exhausted */
	if (device->free_operations == NULL)
		GSORT_TRY_STATUS(add_operation(device));
	operation = device->free_operations;
	if (slot_bytes > 0)
		GSORT_TRY_STATUS(cuda_slot_take(device, &operation->slot, slot_bytes));
	device->free_operations = operation->next;
	operation->next = NULL;
	operation->job = job;
	operation->kind = kind;
	operation->tag = tag;
	operation->unpinned_dst = NULL;
	*begun = operation;
	return GSORT_OK;
}

void
cuda_operation_drop(cuda_device *device, cuda_operation *operation)
{
	cuda_slot_give(device, &operation->slot);
	make_free(device, operation);
}

/* Records the operation's event and enqueues the wake-up of the caller. */
static gsort_status
finish_operation(cuda_device *device, cuda_lane *lane, cuda_operation *operation)
{
	GSORT_TRY(device, cudaEventRecord(operation->done, lane->stream));
	GSORT_TRY(device, cudaStreamWaitEvent(lane->notices, operation->done, 0));
	GSORT_TRY(device, cudaLaunchHostFunc(lane->notices, cuda_wake, device));
	if (lane->oldest == NULL)
		lane->oldest = operation;
	else
		lane->newest->next = operation;
	lane->newest = operation;
	operation->job->in_flight++;
	return GSORT_OK;
}

/* Waits for all enqueued work of a lane, the part of a refused operation
 * included. */
static gsort_status
quiet_lane(cuda_device *device, cuda_lane *lane)
{
	cudaError_t error;

	if (device->common.lost)	/* now it is */
		return GSORT_DEVICE_LOST;
	error = cudaStreamSynchronize(lane->stream);
	return error == cudaSuccess ? GSORT_OK :
		cuda_lose(device, error, "cudaStreamSynchronize", __FILE__, __LINE__);
}

/* Enqueues the work of an operation and its end.  If the device refuses, tries
 * once more, since appended rows exist nowhere else.  On failure every enqueued
 * part has ended, and the operation is dropped. */
template<typename Enqueue>
static gsort_status
enqueue_operation(cuda_device *device, cuda_lane *lane, cuda_operation *operation,
				  const Enqueue &enqueue)
{
	gsort_status status = GSORT_NOMEM;

	for (int attempt = 0; attempt < 2 && status == GSORT_NOMEM; attempt++)
	{
		status = enqueue();
		if (status == GSORT_OK)
			status = finish_operation(device, lane, operation);
		if (status == GSORT_NOMEM && quiet_lane(device, lane) != GSORT_OK)
			status = GSORT_DEVICE_LOST;
	}
	if (status != GSORT_OK)
		cuda_operation_drop(device, operation);
	return status;
}

static gsort_status
copy(cuda_device *device, cuda_lane *lane, void *to, const void *from, size_t bytes,
		  cudaMemcpyKind kind)
{
	GSORT_TRY(device, cudaMemcpyAsync(to, from, bytes, kind, lane->stream));
	return GSORT_OK;
}

/* Copies host memory to a stretch of the job's rows, extent by extent. */
static gsort_status
copy_rows(cuda_job *job, cuda_lane *lane, uint64_t first_unit, uint64_t units, const char *host)
{
	cuda_device *device = (cuda_device *) job->common.device;

	while (units > 0)
	{
		uint64_t	now = arena_stretch(first_unit, units);
		uint64_t   *rows = arena_unit((extent_table) job->extents[ROW_EXTENTS].extents, first_unit);

		GSORT_TRY_STATUS(copy(device, lane, rows, host, now * 8, cudaMemcpyHostToDevice));
		host += now * 8;
		first_unit += now;
		units -= now;
	}
	return GSORT_OK;
}

/* --- appends -------------------------------------------------------------- */

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

	if (source->slot == NULL || cuda_is_pinned(source->device, memory, bytes))
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

	if (cuda_is_pinned(device, chunk->data, chunk->data_bytes) &&
		(chunk->rows == 0 ||
		 (cuda_is_pinned(device, chunk->keys, keys_bytes) &&
		  cuda_is_pinned(device, chunk->row_start, start_bytes) &&
		  (nulls_bytes == 0 || cuda_is_pinned(device, chunk->nulls, nulls_bytes)))))
		return 0;
	return aligned_bytes(chunk->data_bytes) + aligned_bytes(keys_bytes) +
		aligned_bytes(start_bytes) + aligned_bytes(nulls_bytes);
}

static gsort_status
file_rows(cuda_job *job, cuda_lane *lane, const gsort_chunk *chunk, chunk_source *source,
		  uint64_t first_unit)
{
	cuda_device *device = (cuda_device *) job->common.device;
	key_table	table = cuda_job_key_table(job);
	uint32_t	long_units = (uint32_t) block_cut_long_units(job->common.options.block_bytes);
	size_t		start_bytes = chunk->rows * sizeof(uint32_t);
	size_t		keys_bytes = (size_t) chunk->rows * table.columns * sizeof(uint64_t);
	const char *row_start = copyable(source, chunk->row_start, start_bytes);
	const char *keys = copyable(source, chunk->keys, keys_bytes);
	const appended_chunk appended = {
		(const uint32_t *) lane->row_start.pointer, (const uint64_t *) lane->keys.pointer,
		(const uint32_t *) lane->nulls.pointer, chunk->rows, chunk->data_bytes / 8,
		(chunk->data_bytes + chunk->more_bytes) / 8, first_unit, job->common.rows
	};

	GSORT_TRY_STATUS(copy(device, lane, lane->row_start.pointer, row_start, start_bytes,
						  cudaMemcpyHostToDevice));
	GSORT_TRY_STATUS(copy(device, lane, lane->keys.pointer, keys, keys_bytes,
						  cudaMemcpyHostToDevice));
	if (table.null_mask != 0)
		GSORT_TRY_STATUS(copy(device, lane, lane->nulls.pointer,
							  copyable(source, chunk->nulls, start_bytes), start_bytes,
							  cudaMemcpyHostToDevice));
	GSORT_LAUNCH(device, chunk->rows, lane->stream, append_rows_kernel, appended,
				 cuda_job_extents(job, WORD_EXTENTS), table, long_units,
				 (run_header *) job->header.pointer);
	return GSORT_OK;
}

static gsort_status
enqueue_chunk(cuda_job *job, cuda_lane *lane, char *slot, const gsort_chunk *chunk,
			  uint64_t first_unit)
{
	cuda_device *device = (cuda_device *) job->common.device;
	chunk_source source = {device, slot, 0};
	const char *data = copyable(&source, chunk->data, chunk->data_bytes);

	GSORT_TRY(device, cudaStreamWaitEvent(lane->stream, job->memory_ready, 0));
	GSORT_TRY_STATUS(copy_rows(job, lane, first_unit, chunk->data_bytes / 8, data));
	return chunk->rows > 0 ? file_rows(job, lane, chunk, &source, first_unit) : GSORT_OK;
}

gsort_status
cuda_job_append(gsort_job *base, const gsort_chunk *chunk, uint64_t first_unit)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	cuda_lane  *lane = &device->lanes[device->next_append_lane++ % APPEND_LANES];
	cuda_operation *operation;

	GSORT_TRY_STATUS(begin_operation(job, GSORT_EVENT_APPENDED, chunk->tag,
									 chunk_slot_bytes(device, base, chunk), &operation));
	return enqueue_operation(device, lane, operation, [&]() {
		return enqueue_chunk(job, lane, operation->slot.memory, chunk, first_unit);
	});
}

/* --- fetches -------------------------------------------------------------- */

static gsort_status
gather_output_block(cuda_job *job, cuda_lane *lane, const gsort_block *block)
{
	cuda_device *device = (cuda_device *) job->common.device;
	const sorted_run run = {
		cuda_job_extents(job, WORD_EXTENTS), cuda_job_order(job),
		(const uint32_t *) job->sort[SORT_LOW_OFFSETS].pointer,
		(const uint32_t *) job->sort[SORT_TIES].pointer, job->common.rows
	};
	extent_table table = cuda_job_extents(job, ROW_EXTENTS);
	uint64_t   *out = (uint64_t *) lane->block.pointer;
	uint32_t	units = block->row_bytes / 8;

	if (block->rows > 1)
	{
		uint32_t	lanes_log2 = gather_lanes_log2(units, block->rows);

		GSORT_LAUNCH(device, (uint64_t) block->rows << lanes_log2, lane->stream, gather_rows_kernel,
					 run, table, block->first_row, block->rows, lanes_log2, out);
	}
	else
	{
		/* first_row of a continued output block is the row after the split
		 * one */
		uint64_t	row = block->first_row - (block->rows == 0 ? 1 : 0);

		GSORT_LAUNCH(device, units, lane->stream, gather_piece_kernel, run, table, row,
					 block_units_before(block), units, out);
	}
	if (block->bytes > block->row_bytes)
		GSORT_LAUNCH(device, tie_words_of_block(block->rows), lane->stream, gather_ties_kernel, run,
					 block->first_row, block->rows, out + units);
	return GSORT_OK;
}

static gsort_status
enqueue_block(cuda_job *job, cuda_lane *lane, const gsort_block *block, void *to)
{
	const void *from = (const char *) job->order.pointer + block->first_row;

	if (job->common.state != GSORT_RUN_MERGED)
	{
		GSORT_TRY_STATUS(gather_output_block(job, lane, block));
		from = lane->block.pointer;
	}
	return copy((cuda_device *) job->common.device, lane, to, from, block->bytes,
				cudaMemcpyDeviceToHost);
}

gsort_status
cuda_job_fetch(gsort_job *base, const gsort_block *block, void *dst, uint64_t tag)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	cuda_lane  *lane = &device->lanes[APPEND_LANES + device->next_fetch_lane++ % FETCH_LANES];
	bool		is_pinned = cuda_is_pinned(device, dst, block->bytes);
	cuda_operation *operation;

	GSORT_TRY_STATUS(begin_operation(job, GSORT_EVENT_FETCHED, tag, is_pinned ? 0 : block->bytes,
									 &operation));
	operation->unpinned_dst = is_pinned ? NULL : dst;
	return enqueue_operation(device, lane, operation, [&]() {
		return enqueue_block(job, lane, block, is_pinned ? dst : operation->slot.memory);
	});
}
