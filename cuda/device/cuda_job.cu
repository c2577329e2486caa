/*
 * cuda_job.cu
 *	  Jobs on the CUDA device: opening, their extents, and their end.
 *
 * In:  options; reservations.
 * Out: extents for rows, their words and keys, with tables of their addresses
 *	    on the device.
 *
 * A job owns its extents, tables and header, and the memory of its finishes and
 * merges.  All of it is freed when the last of its work and of its operations
 * has ended.
 */
#include "device/cuda_device.cuh"

#include <stdlib.h>

/* --- extents -------------------------------------------------------------- */

static size_t
extent_bytes(const gsort_job *job, int kind)
{
	return kind == ROW_EXTENTS ? GSORT_EXTENT_BYTES : kind == WORD_EXTENTS ? word_extent_bytes() :
		key_extent_bytes(job->options.key_columns, job->options.null_mask);
}

/* Number of entries in a job's table, limited by the device's memory. */
static uint64_t
table_entries(const gsort_job *job, int kind)
{
	const cuda_device *device = (const cuda_device *) job->device;

	return gsort_min_u64(kind == ROW_EXTENTS ? GSORT_RUN_EXTENTS_MAX : GSORT_RUN_KEY_EXTENTS_MAX,
						 device->facts.memory_bytes / extent_bytes(job, kind) + 1);
}

static uint64_t
extents_for(int kind, uint64_t rows, uint64_t units)
{
	return kind == ROW_EXTENTS ? arena_extents_for(units) : key_extents_of_rows(rows);
}

uint64_t
cuda_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units)
{
	uint64_t	bytes = sizeof(run_header) + cuda_sort_bytes(job, rows, units);

	for (int kind = 0; kind < EXTENT_KINDS; kind++)
		bytes += table_entries(job, kind) * sizeof(void *) +
			extents_for(kind, rows, units) * extent_bytes(job, kind);
	return bytes;
}

uint64_t
cuda_job_held_bytes(const gsort_job *job)
{
	return ((const cuda_job *) job)->allocated_bytes;
}

/* Allocates the job's device memory with the first reservation, which accounts
 * for it. */
static gsort_status
make_tables(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	for (extent_list &list : job->extents)
	{
		if (list.table.pointer == NULL)
			GSORT_TRY_STATUS(cuda_allocate(device, job, &list.table,
										   list.capacity * sizeof(void *)));
	}
	if (job->header.pointer == NULL)
	{
		GSORT_TRY_STATUS(cuda_allocate(device, job, &job->header, sizeof(run_header)));
		job->header_used = 1;
	}
	/* each run begins with a reservation */
	if (job->header_used)
	{
		GSORT_TRY(device, cudaMemsetAsync(job->header.pointer, 0, sizeof(run_header),
										  device->memory_stream));
		job->header_used = 0;
	}
	return GSORT_OK;
}

static gsort_status
make_job(cuda_device *device, cuda_job *job)
{
	for (int kind = 0; kind < EXTENT_KINDS; kind++)
	{
		extent_list *list = &job->extents[kind];

		list->capacity = table_entries(&job->common, kind);
		list->extents = (void **) calloc(list->capacity, sizeof(void *));
		if (list->extents == NULL)
			return gsort_fail(&device->common, GSORT_NOMEM, "out of memory for a job");
	}
	GSORT_TRY_STATUS(cuda_enter(device));
	GSORT_TRY(device, cudaEventCreateWithFlags(&job->memory_ready, cudaEventDisableTiming));
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

static gsort_status
add_extents(cuda_job *job, extent_list *list, uint64_t wanted, size_t bytes)
{
	cuda_device *device = (cuda_device *) job->common.device;

	if (wanted > list->capacity)
		return gsort_fail(&device->common, GSORT_NOMEM, "more than the device's memory");
	while (list->n < wanted)
	{
		cuda_array	extent;

		GSORT_TRY_STATUS(cuda_allocate(device, job, &extent, bytes));
		list->extents[list->n++] = extent.pointer;
	}
	return GSORT_OK;
}

static gsort_status
publish_extents(cuda_device *device, extent_list *list)
{
	if (list->n > list->n_published)
		GSORT_TRY(device, cudaMemcpyAsync((void **) list->table.pointer + list->n_published,
										  list->extents + list->n_published,
										  (list->n - list->n_published) * sizeof(void *),
										  cudaMemcpyHostToDevice, device->memory_stream));
	list->n_published = list->n;
	return GSORT_OK;
}

gsort_status
cuda_job_reserve(gsort_job *base, uint64_t rows, uint64_t units)
{
	cuda_job   *job = (cuda_job *) base;
	cuda_device *device = (cuda_device *) base->device;
	gsort_status status = make_tables(job);

	for (int kind = 0; status == GSORT_OK && kind < EXTENT_KINDS; kind++)
		status = add_extents(job, &job->extents[kind], extents_for(kind, rows, units),
							 extent_bytes(base, kind));
	/* nothing accounts for memory of a refused reservation */
	for (int kind = 0; status != GSORT_OK && kind < EXTENT_KINDS; kind++)
		cuda_job_free_extents(job, (extent_kind) kind, job->extents[kind].n_published);
	GSORT_TRY_STATUS(status);
	for (extent_list &list : job->extents)
		GSORT_TRY_STATUS(publish_extents(device, &list));
	GSORT_TRY(device, cudaEventRecord(job->memory_ready, device->memory_stream));
	return GSORT_OK;
}

void
cuda_job_free_extents(cuda_job *job, extent_kind kind, uint64_t kept)
{
	cuda_device *device = (cuda_device *) job->common.device;
	extent_list *list = &job->extents[kind];

	while (list->n > kept)
	{
		cuda_array	extent = {list->extents[--list->n], extent_bytes(&job->common, kind)};

		cuda_release(device, job, &extent);
	}
	list->n_published = kept;
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

	cuda_finish_free(job, 0);
	cuda_runs_free(job);
	for (int kind = 0; kind < EXTENT_KINDS; kind++)
		cuda_job_free_extents(job, (extent_kind) kind, 0);
	cuda_release(device, job, &job->header);
	for (extent_list &list : job->extents)
	{
		cuda_release(device, job, &list.table);
		free(list.extents);
	}
	destroy_event(job->memory_ready);
	destroy_event(job->work_began);
	destroy_event(job->work_ended);
	unlink_job(device, job);
	gsort_job_dispose(&job->common);
	free(job);
}

void
cuda_job_close(gsort_job *job)
{
	/* polling reads job->closing, and waits until all work has ended */
	cuda_wake(job->device);
}

extent_table
cuda_job_extents(const cuda_job *job, extent_kind kind)
{
	return (extent_table) job->extents[kind].table.pointer;
}

key_table
cuda_job_key_table(const cuda_job *job)
{
	key_table	table;

	table.extents = cuda_job_extents(job, KEY_EXTENTS);
	table.columns = job->common.options.key_columns;
	table.null_mask = job->common.options.null_mask;
	return table;
}

const uint32_t *
cuda_job_order(const cuda_job *job)
{
	return job->sorted_as_fed ? NULL : (const uint32_t *) job->sort[SORT_ORDER].pointer;
}
