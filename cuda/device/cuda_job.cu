/*
 * cuda_job.cu
 *	  Jobs on the CUDA device: their room, appends, fetches, and their end.
 *
 * In:  chunks of rows in host memory; windows to fetch, of rows or of the merge order.
 * Out: rows in the job's extents, keys in its key extents; windows in host memory.
 *
 * A job owns its extents, tables and header.  Host memory that gsort_pin covers
 * is copied from and to directly; other memory goes through a pinned slot, which the
 * operation holds until it ends, so that the caller never waits for the device.
 * If the host has no memory to pin either, the copy is a pageable one.
 */
#include "device/cuda_device.cuh"

#include "rows/append.cuh"
#include "rows/rows.cuh"

#include <stdlib.h>
#include <string.h>

#define ROW_EXTENTS_MAX		(GSORT_RUN_BYTES_MAX / GSORT_EXTENT_BYTES)
#define KEY_EXTENTS_MAX		(((uint64_t) GSORT_RUN_ROWS_MAX + GSORT_KEY_EXTENT_ROWS) / GSORT_KEY_EXTENT_ROWS)

/* --- room ------------------------------------------------------------------- */

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static size_t
key_extent_bytes_of(const gsort_job *job)
{
	return key_extent_bytes(job->options.key_columns, job->options.null_mask);
}

/* Extents of a job's tables: more than the device's memory holds cannot be. */
static uint64_t
row_table_entries(const cuda_device *device)
{
	return min_u64(ROW_EXTENTS_MAX, device->memory_bytes / GSORT_EXTENT_BYTES + 1);
}

static uint64_t
key_table_entries(const cuda_device *device, const gsort_job *job)
{
	return min_u64(KEY_EXTENTS_MAX, device->memory_bytes / key_extent_bytes_of(job) + 1);
}

static uint64_t
row_extents_for(uint64_t units)
{
	return min_u64(ROW_EXTENTS_MAX, (units + GSORT_EXTENT_UNITS - 1) / GSORT_EXTENT_UNITS);
}

static uint64_t
key_extents_for(uint64_t rows)
{
	return (rows + GSORT_KEY_EXTENT_ROWS - 1) / GSORT_KEY_EXTENT_ROWS;
}

uint64_t
cuda_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units)
{
	cuda_device *device = (cuda_device *) job->device;

	return sizeof(run_header) +
		(row_table_entries(device) + key_table_entries(device, job)) * sizeof(void *) +
		row_extents_for(units) * GSORT_EXTENT_BYTES +
		key_extents_for(rows) * key_extent_bytes_of(job) +
		cuda_sort_bytes(job, rows, units);
}

/* Device memory comes with the first grant, which pays for it. */
static gsort_status
make_tables(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;
	size_t		row_bytes = row_table_entries(device) * sizeof(void *);
	size_t		key_bytes = key_table_entries(device, &job->common) * sizeof(void *);

	if (job->row_table.pointer == NULL)
		GSORT_TRY_STATUS(cuda_allocate(device, job, &job->row_table, row_bytes));
	if (job->key_table.pointer == NULL)
		GSORT_TRY_STATUS(cuda_allocate(device, job, &job->key_table, key_bytes));
	if (job->header.pointer == NULL)
	{
		GSORT_TRY_STATUS(cuda_allocate(device, job, &job->header, sizeof(run_header)));
		GSORT_TRY(device, cudaMemsetAsync(job->header.pointer, 0, sizeof(run_header),
										  device->memory_stream));
	}
	return GSORT_OK;
}

static gsort_status
make_job(cuda_device *device, cuda_job *job)
{
	uint64_t	row_entries = row_table_entries(device);
	uint64_t	key_entries = key_table_entries(device, &job->common);

	job->row_extents = (void **) calloc(row_entries, sizeof(void *));
	job->key_extents = (void **) calloc(key_entries, sizeof(void *));
	if (job->row_extents == NULL || job->key_extents == NULL)
		return gsort_fail(&device->common, GSORT_NOMEM, "out of memory for a job");
	GSORT_TRY(device, cudaEventCreateWithFlags(&job->room, cudaEventDisableTiming));
	GSORT_TRY(device, cudaEventCreate(&job->work_began));
	GSORT_TRY(device, cudaEventCreate(&job->work_ended));
	return GSORT_OK;
}

gsort_status
cuda_job_open(gsort_device *base, const gsort_job *blank, gsort_job **opened)
{
	cuda_device *device = (cuda_device *) base;
	cuda_job   *job = (cuda_job *) calloc(1, sizeof(cuda_job));
	gsort_status status;

	if (job == NULL)
		return gsort_fail(base, GSORT_NOMEM, "out of memory for a job");
	job->common = *blank;
	job->next = device->jobs;
	device->jobs = job;
	status = make_job(device, job);
	if (status != GSORT_OK)
	{
		cuda_job_free(job);
		return status;
	}
	*opened = &job->common;
	return GSORT_OK;
}

/* Adds extents to one of the two lists until it has wanted, and their addresses to
 * the list's copy on the device. */
static gsort_status
add_extents(cuda_job *job, void **extents, uint64_t *n, uint64_t wanted, size_t bytes,
			const cuda_array *table)
{
	cuda_device *device = (cuda_device *) job->common.device;
	uint64_t	before = *n;
	gsort_status status = GSORT_OK;

	if (wanted > table->bytes / sizeof(void *))
		return gsort_fail(&device->common, GSORT_NOMEM, "more than the device's memory");
	while (*n < wanted && status == GSORT_OK)
	{
		cuda_array	extent;

		status = cuda_allocate(device, job, &extent, bytes);
		if (status == GSORT_OK)
			extents[(*n)++] = extent.pointer;
	}
	/* also those made before one failed: they stay */
	if (*n > before)
		GSORT_TRY(device, cudaMemcpyAsync((void **) table->pointer + before, extents + before,
										  (*n - before) * sizeof(void *), cudaMemcpyHostToDevice,
										  device->memory_stream));
	return status;
}

gsort_status
cuda_job_reserve(gsort_job *base, uint64_t rows, uint64_t units)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	gsort_status status = make_tables(job);

	if (status == GSORT_OK)
		status = add_extents(job, job->row_extents, &job->n_row_extents, row_extents_for(units),
							 GSORT_EXTENT_BYTES, &job->row_table);
	if (status == GSORT_OK)
		status = add_extents(job, job->key_extents, &job->n_key_extents, key_extents_for(rows),
							 key_extent_bytes_of(base), &job->key_table);
	if (!base->device->lost)
		GSORT_TRY(device, cudaEventRecord(job->room, device->memory_stream));
	return status;
}

static void
free_extents(cuda_job *job, void **extents, uint64_t *n, size_t bytes)
{
	cuda_device *device = (cuda_device *) job->common.device;

	while (*n > 0)
	{
		cuda_array	extent = {extents[--*n], bytes};

		cuda_release(device, job, &extent);
	}
}

void
cuda_job_free_keys(cuda_job *job)
{
	free_extents(job, job->key_extents, &job->n_key_extents, key_extent_bytes_of(&job->common));
}

void
cuda_job_free_rows(cuda_job *job)
{
	free_extents(job, job->row_extents, &job->n_row_extents, GSORT_EXTENT_BYTES);
}

static void
unlink_job(cuda_device *device, const cuda_job *job)
{
	cuda_job  **link = &device->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
}

static void
destroy_event(cudaEvent_t event)
{
	if (event != NULL)
		cudaEventDestroy(event);
}

void
cuda_job_free(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	cuda_cut_free(job);
	cuda_runs_free(job);
	cuda_job_free_keys(job);
	cuda_job_free_rows(job);
	cuda_release(device, job, &job->header);
	cuda_release(device, job, &job->row_table);
	cuda_release(device, job, &job->key_table);
	destroy_event(job->room);
	destroy_event(job->work_began);
	destroy_event(job->work_ended);
	free(job->row_extents);
	free(job->key_extents);
	unlink_job(device, job);
	gsort_job_dispose(&job->common);
	free(job);
}

void
cuda_job_close(gsort_job *job)
{
	/* polling sees job->closing, and when the rest has ended */
	cuda_wake(job->device);
}

key_table
cuda_job_key_table(const cuda_job *job)
{
	key_table	table;

	table.extents = (uint64_t *const *) job->key_table.pointer;
	table.columns = job->common.options.key_columns;
	table.null_mask = job->common.options.null_mask;
	return table;
}

/* --- operations ----------------------------------------------------------------- */

static cuda_operation *
take_operation(cuda_device *device)
{
	cuda_operation *operation = device->free_operations;

	if (operation != NULL)
	{
		device->free_operations = operation->next;
		return operation;
	}
	operation = (cuda_operation *) malloc(sizeof(cuda_operation));
	if (operation == NULL)
		return NULL;
	if (cudaEventCreateWithFlags(&operation->done, cudaEventDisableTiming) != cudaSuccess)
	{
		(void) cudaGetLastError();
		free(operation);
		return NULL;
	}
	return operation;
}

/* slot_bytes: of staging that it needs, 0 for none. */
static cuda_operation *
begin_operation(cuda_job *job, gsort_event_kind kind, uint64_t tag, size_t slot_bytes)
{
	cuda_device *device = (cuda_device *) job->common.device;
	cuda_operation *operation = take_operation(device);

	if (operation == NULL)
		return NULL;
	operation->next = NULL;
	operation->job = job;
	operation->kind = kind;
	operation->tag = tag;
	operation->slot = slot_bytes > 0 ? cuda_slot_take(device, slot_bytes) : NULL;
	operation->unpinned_dst = NULL;
	operation->unpinned_bytes = 0;
	return operation;
}

static void
drop_operation(cuda_device *device, cuda_operation *operation)
{
	if (operation->slot != NULL)
		cuda_slot_give(device, operation->slot);
	operation->next = device->free_operations;
	device->free_operations = operation;
}

/* Behind the operation's last work: its event, and what wakes the caller. */
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

/* --- appends -------------------------------------------------------------------- */

/* Staging that a chunk takes from one operation's slot, from its begin on. */
typedef struct chunk_source
{
	cuda_device *device;
	pinned_slot *slot;
	size_t		slot_used;
} chunk_source;

/* Where the device can copy from: the memory itself if it is pinned, else a copy. */
static const char *
copyable(chunk_source *source, const void *memory, size_t bytes)
{
	char	   *copy;

	if (source->slot == NULL || cuda_region_holds(source->device, memory, bytes))
		return (const char *) memory;
	copy = source->slot->memory + source->slot_used;
	memcpy(copy, memory, bytes);
	source->slot_used += aligned_bytes(bytes);
	return copy;
}

/* Slot bytes for the arrays of a chunk, 0 if all of them are pinned. */
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
copy_in(cuda_device *device, cuda_lane *lane, void *d_to, const void *from, size_t bytes)
{
	GSORT_TRY(device, cudaMemcpyAsync(d_to, from, bytes, cudaMemcpyHostToDevice, lane->stream));
	return GSORT_OK;
}

/* One copy for each extent that the units lie in. */
static gsort_status
copy_data_in(cuda_job *job, cuda_lane *lane, const char *data, uint64_t first_unit, uint64_t units)
{
	cuda_device *device = (cuda_device *) job->common.device;

	while (units > 0)
	{
		uint64_t	place = first_unit % GSORT_EXTENT_UNITS;
		uint64_t	part = min_u64(units, GSORT_EXTENT_UNITS - place);
		char	   *extent = (char *) job->row_extents[first_unit / GSORT_EXTENT_UNITS];

		GSORT_TRY_STATUS(copy_in(device, lane, extent + place * 8, data, part * 8));
		data += part * 8;
		first_unit += part;
		units -= part;
	}
	return GSORT_OK;
}

/* One slice of a chunk: to the lane's staging, then filed. */
static gsort_status
file_slice(cuda_job *job, cuda_lane *lane, const append_slice *slice, const char *row_start,
		   const char *keys, const char *nulls)
{
	cuda_device *device = (cuda_device *) job->common.device;
	key_table	table = cuda_job_key_table(job);
	uint32_t	starts = slice->rows + (slice->ends_chunk ? 0 : 1);

	GSORT_TRY_STATUS(copy_in(device, lane, lane->row_start.pointer, row_start,
							 starts * sizeof(uint32_t)));
	GSORT_TRY_STATUS(copy_in(device, lane, lane->keys.pointer, keys,
							 (size_t) slice->rows * table.columns * sizeof(uint64_t)));
	if (table.null_mask != 0)
		GSORT_TRY_STATUS(copy_in(device, lane, lane->nulls.pointer, nulls,
								 slice->rows * sizeof(uint32_t)));
	append_rows_kernel<<<blocks_for(slice->rows), LAUNCH_THREADS, 0, lane->stream>>>
		(*slice, table, (run_header *) job->header.pointer);
	GSORT_TRY(device, cudaGetLastError());
	return GSORT_OK;
}

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
		slice.rows = (uint32_t) min_u64(SLICE_ROWS, chunk->rows - done);
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
	chunk_source source = {device, operation->slot, 0};

	GSORT_TRY(device, cudaStreamWaitEvent(lane->stream, job->room, 0));
	GSORT_TRY_STATUS(copy_data_in(job, lane, copyable(&source, chunk->data, chunk->data_bytes),
								  first_unit, chunk->data_bytes / 8));
	GSORT_TRY_STATUS(file_rows(job, lane, chunk, &source, first_unit));
	return finish_operation(device, lane, operation);
}

gsort_status
cuda_job_append(gsort_job *base, const gsort_chunk *chunk, uint64_t first_unit)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	cuda_lane  *lane = &device->append_lanes[device->next_append_lane++ % APPEND_LANES];
	cuda_operation *operation = begin_operation(job, GSORT_EVENT_APPENDED, chunk->tag,
												chunk_slot_bytes(device, base, chunk));
	gsort_status status;

	if (operation == NULL)
		return gsort_fail(base->device, GSORT_NOMEM, "out of memory for an append");
	status = enqueue_chunk(job, lane, operation, chunk, first_unit);
	if (status != GSORT_OK)
		drop_operation(device, operation);
	return status;
}

/* --- fetches --------------------------------------------------------------------- */

static gsort_status
copy_out(cuda_device *device, cuda_lane *lane, void *to, const void *d_from, size_t bytes)
{
	GSORT_TRY(device, cudaMemcpyAsync(to, d_from, bytes, cudaMemcpyDeviceToHost, lane->stream));
	return GSORT_OK;
}

/* A window of a run cut AS_FED: one chunk, where it lies. */
static gsort_status
copy_chunk_out(cuda_job *job, cuda_lane *lane, const gsort_placed_chunk *chunk, char *to)
{
	cuda_device *device = (cuda_device *) job->common.device;
	uint64_t	unit = chunk->first_unit;
	uint64_t	units = chunk->units;

	while (units > 0)
	{
		uint64_t	place = unit % GSORT_EXTENT_UNITS;
		uint64_t	part = min_u64(units, GSORT_EXTENT_UNITS - place);
		const char *extent = (const char *) job->row_extents[unit / GSORT_EXTENT_UNITS];

		GSORT_TRY_STATUS(copy_out(device, lane, to, extent + place * 8, part * 8));
		to += part * 8;
		unit += part;
		units -= part;
	}
	return GSORT_OK;
}

static sorted_run
sorted_run_of(const cuda_job *job)
{
	sorted_run	run;

	run.words = (const uint64_t *) job->sort[SORT_WORDS].pointer;
	run.low_offsets = (const uint32_t *) job->sort[SORT_LOW_OFFSETS].pointer;
	run.ties = (const uint32_t *) job->sort[SORT_TIES].pointer;
	run.rows = job->common.rows;
	return run;
}

/* Units of a split row that the windows before this one hold. */
static uint64_t
units_before(const gsort_window *window)
{
	uint64_t	units = 0;

	while (window->flags & GSORT_WINDOW_CONTINUED)
	{
		window--;
		units += window->row_bytes / 8;
	}
	return units;
}

static gsort_status
gather_window(cuda_job *job, cuda_lane *lane, const gsort_window *window)
{
	cuda_device *device = (cuda_device *) job->common.device;
	sorted_run	run = sorted_run_of(job);
	row_table	table = {(uint64_t *const *) job->row_table.pointer};
	uint64_t   *out = (uint64_t *) lane->window.pointer;
	uint32_t	units = window->row_bytes / 8;

	if (window->rows > 1)
	{
		uint32_t	lanes_log2 = gather_lanes_log2(units, window->rows);

		gather_rows_kernel<<<blocks_for((uint64_t) window->rows << lanes_log2), LAUNCH_THREADS, 0,
			lane->stream>>>(run, table, window->first_row, window->rows, lanes_log2, out);
	}
	else
	{
		/* first_row of a continued window is the row after the split one */
		uint64_t	row = window->first_row - (window->rows == 0 ? 1 : 0);

		gather_piece_kernel<<<blocks_for(units), LAUNCH_THREADS, 0, lane->stream>>>
			(run, table, row, units_before(window), units, out);
	}
	GSORT_TRY(device, cudaGetLastError());
	if (window->bytes > window->row_bytes)
	{
		gather_ties_kernel<<<blocks_for((window->rows + 63) / 64), LAUNCH_THREADS, 0,
			lane->stream>>>(run, window->first_row, window->rows, out + units);
		GSORT_TRY(device, cudaGetLastError());
	}
	return GSORT_OK;
}

static gsort_status
enqueue_window(cuda_job *job, cuda_lane *lane, cuda_operation *operation, uint64_t number,
			   char *to)
{
	cuda_device *device = (cuda_device *) job->common.device;
	const gsort_window *window = &job->common.windows[number];

	if (job->common.cut_how == GSORT_AS_FED)
		GSORT_TRY_STATUS(copy_chunk_out(job, lane, &job->common.chunks[number], to));
	else
	{
		GSORT_TRY_STATUS(gather_window(job, lane, window));
		GSORT_TRY_STATUS(copy_out(device, lane, to, lane->window.pointer, window->bytes));
	}
	return finish_operation(device, lane, operation);
}

/* A fetch of bytes to dst, and where the device is to copy them. */
static cuda_operation *
begin_fetch(cuda_job *job, void *dst, uint32_t bytes, uint64_t tag, char **to)
{
	cuda_device *device = (cuda_device *) job->common.device;
	int			is_pinned = cuda_region_holds(device, dst, bytes);
	cuda_operation *operation = begin_operation(job, GSORT_EVENT_FETCHED, tag,
												is_pinned ? 0 : bytes);

	*to = (char *) dst;
	if (operation == NULL)
		gsort_fail(&device->common, GSORT_NOMEM, "out of memory for a fetch");
	else if (operation->slot != NULL)
	{
		operation->unpinned_dst = dst;
		operation->unpinned_bytes = bytes;
		*to = operation->slot->memory;
	}
	return operation;
}

static cuda_lane *
next_fetch_lane(cuda_device *device)
{
	return &device->fetch_lanes[device->next_fetch_lane++ % FETCH_LANES];
}

gsort_status
cuda_job_fetch(gsort_job *base, uint64_t number, void *dst, uint64_t tag)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	char	   *to;
	cuda_operation *operation = begin_fetch(job, dst, base->windows[number].bytes, tag, &to);
	gsort_status status;

	if (operation == NULL)
		return GSORT_NOMEM;
	status = enqueue_window(job, next_fetch_lane(device), operation, number, to);
	if (status != GSORT_OK)
		drop_operation(device, operation);
	return status;
}

static gsort_status
enqueue_order(cuda_job *job, cuda_lane *lane, cuda_operation *operation, uint64_t first_row,
			  uint32_t bytes, char *to)
{
	cuda_device *device = (cuda_device *) job->common.device;

	GSORT_TRY_STATUS(copy_out(device, lane, to, (const char *) job->order.pointer + first_row, bytes));
	return finish_operation(device, lane, operation);
}

gsort_status
cuda_job_fetch_order(gsort_job *base, uint64_t first_row, uint32_t bytes, void *dst, uint64_t tag)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	char	   *to;
	cuda_operation *operation = begin_fetch(job, dst, bytes, tag, &to);
	gsort_status status;

	if (operation == NULL)
		return GSORT_NOMEM;
	status = enqueue_order(job, next_fetch_lane(device), operation, first_row, bytes, to);
	if (status != GSORT_OK)
		drop_operation(device, operation);
	return status;
}

/* --- cuts, ends of runs, merges ------------------------------------------------------ */

void
cuda_take_sort_stream(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	job->work_stream = device->sort_streams[device->next_sort_stream++ % SORT_STREAMS];
}

gsort_status
cuda_finish_work(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	GSORT_TRY(device, cudaEventRecord(job->work_ended, job->work_stream));
	GSORT_TRY(device, cudaLaunchHostFunc(job->work_stream, cuda_wake, device));
	job->work_on_device = 1;
	return GSORT_OK;
}

/* False while it goes on; true also where the device is lost. */
static int
work_has_ended(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;
	cudaError_t error;

	if (device->common.lost)
		return device->drained;
	error = cuda_checked(device, cudaEventQuery(job->work_ended));
	if (error != cudaSuccess && error != cudaErrorNotReady)
		cuda_fail(device, error, "cudaEventQuery", __FILE__, __LINE__);
	return error == cudaSuccess;
}

void
cuda_work_advance(cuda_job *job)
{
	if (!work_has_ended(job))
		return;
	job->work_on_device = 0;
	if (job->work_kind == GSORT_EVENT_CUT)
		cuda_cut_ended(job);
	else if (job->work_kind == GSORT_EVENT_RUN_BEGUN)
		cuda_run_ended(job);
	else
		cuda_merge_ended(job);
}
