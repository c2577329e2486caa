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
key_extent_bytes_of(const gsort_job *job)
{
	return key_extent_bytes(job->options.key_columns, job->options.null_mask);
}

/* Number of extents in a job's tables, limited by the device's memory. */
static uint64_t
row_table_entries(const cuda_device *device)
{
	return gsort_min_u64(GSORT_RUN_EXTENTS_MAX, device->memory_bytes / GSORT_EXTENT_BYTES + 1);
}

static uint64_t
word_table_entries(const cuda_device *device)
{
	return gsort_min_u64(GSORT_RUN_KEY_EXTENTS_MAX, device->memory_bytes / word_extent_bytes() + 1);
}

static uint64_t
key_table_entries(const cuda_device *device, const gsort_job *job)
{
	return gsort_min_u64(GSORT_RUN_KEY_EXTENTS_MAX,
						 device->memory_bytes / key_extent_bytes_of(job) + 1);
}

uint64_t
cuda_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units)
{
	cuda_device *device = (cuda_device *) job->device;

	return sizeof(run_header) +
		(row_table_entries(device) + word_table_entries(device) + key_table_entries(device, job)) *
		sizeof(void *) +
		arena_extents_for(units) * GSORT_EXTENT_BYTES +
		key_extents_of_rows(rows) * (word_extent_bytes() + key_extent_bytes_of(job)) +
		cuda_sort_bytes(job, rows, units);
}

static gsort_status
make_table(cuda_job *job, extent_list *list)
{
	if (list->table.pointer != NULL)
		return GSORT_OK;
	return cuda_allocate((cuda_device *) job->common.device, job, &list->table,
						 list->capacity * sizeof(void *));
}

/* Allocates the job's device memory with the first reservation, which accounts
 * for it. */
static gsort_status
make_tables(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	GSORT_TRY_STATUS(make_table(job, &job->row_extents));
	GSORT_TRY_STATUS(make_table(job, &job->word_extents));
	GSORT_TRY_STATUS(make_table(job, &job->key_extents));
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

static int
make_list(extent_list *list, uint64_t capacity)
{
	list->extents = (void **) calloc(capacity, sizeof(void *));
	list->capacity = capacity;
	return list->extents != NULL;
}

static gsort_status
make_job(cuda_device *device, cuda_job *job)
{
	if (!make_list(&job->row_extents, row_table_entries(device)) ||
		!make_list(&job->word_extents, word_table_entries(device)) ||
		!make_list(&job->key_extents, key_table_entries(device, &job->common)))
		return gsort_fail(&device->common, GSORT_NOMEM, "out of memory for a job");
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

/* Adds extents to a list up to wanted. */
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

/* Publishes the addresses of new extents in the list's table on the device. */
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

	/* memory made by a failed reservation stays for the next one */
	GSORT_TRY_STATUS(make_tables(job));
	GSORT_TRY_STATUS(add_extents(job, &job->row_extents, arena_extents_for(units),
								 GSORT_EXTENT_BYTES));
	GSORT_TRY_STATUS(add_extents(job, &job->word_extents, key_extents_of_rows(rows),
								 word_extent_bytes()));
	GSORT_TRY_STATUS(add_extents(job, &job->key_extents, key_extents_of_rows(rows),
								 key_extent_bytes_of(base)));
	GSORT_TRY_STATUS(publish_extents(device, &job->row_extents));
	GSORT_TRY_STATUS(publish_extents(device, &job->word_extents));
	GSORT_TRY_STATUS(publish_extents(device, &job->key_extents));
	GSORT_TRY(device, cudaEventRecord(job->memory_ready, device->memory_stream));
	return GSORT_OK;
}

static void
free_extents(cuda_job *job, extent_list *list, size_t bytes)
{
	cuda_device *device = (cuda_device *) job->common.device;

	while (list->n > 0)
	{
		cuda_array	extent = {list->extents[--list->n], bytes};

		cuda_release(device, job, &extent);
	}
	list->n_published = 0;
}

void
cuda_job_free_keys(cuda_job *job)
{
	free_extents(job, &job->key_extents, key_extent_bytes_of(&job->common));
}

void
cuda_job_free_rows(cuda_job *job)
{
	free_extents(job, &job->row_extents, GSORT_EXTENT_BYTES);
	free_extents(job, &job->word_extents, word_extent_bytes());
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

	cuda_finish_free(job);
	cuda_runs_free(job);
	cuda_job_free_keys(job);
	cuda_job_free_rows(job);
	cuda_release(device, job, &job->header);
	cuda_release(device, job, &job->row_extents.table);
	cuda_release(device, job, &job->word_extents.table);
	cuda_release(device, job, &job->key_extents.table);
	destroy_event(job->memory_ready);
	destroy_event(job->work_began);
	destroy_event(job->work_ended);
	free(job->row_extents.extents);
	free(job->word_extents.extents);
	free(job->key_extents.extents);
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

word_table
cuda_job_word_table(const cuda_job *job)
{
	word_table	table = {(uint64_t *const *) job->word_extents.table.pointer};

	return table;
}

key_table
cuda_job_key_table(const cuda_job *job)
{
	key_table	table;

	table.extents = (uint64_t *const *) job->key_extents.table.pointer;
	table.columns = job->common.options.key_columns;
	table.null_mask = job->common.options.null_mask;
	return table;
}

const uint32_t *
cuda_job_order(const cuda_job *job)
{
	return job->sorted_as_fed ? NULL : (const uint32_t *) job->sort[SORT_ORDER].pointer;
}
