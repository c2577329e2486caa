/*
 * cuda_runs.cu
 *	  Several runs of one job: the keys retained from each, and their merge.
 *
 * In:  a run that was finished SORTED_RUN: its order, and its key extents.
 * Out: its raw keys in sorted order; finally, from the keys of all runs, the
 *	    run that each row of the whole order comes from.
 *
 * The run's rows are freed before memory for its keys is requested.  If that
 * memory is refused all the same, the retained keys of all runs are dropped,
 * and the job goes on without a merge.  The keys stay raw, because only the
 * statistics of all runs determine their significant bits.
 */
#include "device/cuda_device.cuh"

#include "sort/launch.cuh"
#include "sort/order_merge.h"
#include "device/run_keys.cuh"

/* --- memory --------------------------------------------------------------- */

static void
free_retained_keys(cuda_job *job)
{
	while (job->n_retained > 0)
		cuda_release((cuda_device *) job->common.device, job,
					 &job->retained[--job->n_retained].keys);
}

void
cuda_runs_free(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	free_retained_keys(job);
	cuda_release(device, job, &job->order);
	cuda_release(device, job, &job->merge_scratch);
}

/* Orders recent allocations before later work on the work stream. */
static gsort_status
wait_for_memory(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	GSORT_TRY(device, cudaEventRecord(job->memory_ready, device->memory_stream));
	GSORT_TRY(device, cudaStreamWaitEvent(job->work_stream, job->memory_ready, 0));
	return GSORT_OK;
}

/* --- the end of a run ----------------------------------------------------- */

static gsort_status
enqueue_keys(cuda_job *job, const retained_run *retained)
{
	cuda_device *device = (cuda_device *) job->common.device;
	uint64_t	rows = job->common.rows;
	uint64_t   *keys = (uint64_t *) retained->keys.pointer;
	uint8_t    *nulls = retained->has_nulls ? (uint8_t *) (keys + rows *
													   job->common.options.key_columns) : NULL;

	GSORT_TRY_STATUS(wait_for_memory(job));
	GSORT_TRY_LAUNCH(device, launch(gather_keys_kernel, blocks_for(rows), LAUNCH_THREADS, 0,
									job->work_stream, cuda_job_key_table(job), cuda_job_order(job),
									rows, keys, nulls));
	return cuda_work_record_end(job);
}

/* Retains the run's keys.  NOMEM: no keys of the run are retained, and no work
 * runs. */
static gsort_status
retain_keys(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;
	retained_run   *retained = &job->retained[job->n_retained];
	int			has_nulls = job->common.retain == GSORT_RETAIN_KEYS_AND_NULLS;

	GSORT_TRY_STATUS(cuda_allocate(device, job, &retained->keys,
								   retained_keys_bytes(job->common.options.key_columns,
													   job->common.rows, has_nulls)));
	retained->rows = (uint32_t) job->common.rows;
	retained->has_nulls = has_nulls;
	job->n_retained++;
	if (retained->rows == 0)
		return GSORT_OK;
	cuda_take_sort_stream(job);
	return cuda_work_enqueued(job, enqueue_keys(job, retained));
}

/* Handles the end of a run.  OK and NOMEM leave the job as it was before its
 * first append; NOMEM without retained keys. */
void
cuda_run_ended(cuda_job *job, gsort_status status)
{
	if (status != GSORT_OK)
	{
		job->common.retain = GSORT_RETAIN_NOTHING;
		free_retained_keys(job);
	}
	cuda_job_free_keys(job);
	cuda_finish_free(job);
	job->header_used = 1;
	job->work_status = status == GSORT_DEVICE_LOST ? status : GSORT_OK;
}

gsort_status
cuda_job_next_run(gsort_job *base)
{
	cuda_job   *job = (cuda_job *) base;
	gsort_status status = GSORT_NOMEM;

	cuda_job_free_rows(job);
	cuda_finish_free_all_but_order(job);
	if (base->retain != GSORT_RETAIN_NOTHING)
		status = retain_keys(job);
	if (status == GSORT_DEVICE_LOST)
		return status;
	/* there are no keys to gather */
	if (!job->work_on_device)
		cuda_run_ended(job, status);
	cuda_work_begun(job, GSORT_EVENT_RUN_BEGUN, GSORT_OK);
	return GSORT_OK;
}

/* --- the merge ------------------------------------------------------------ */

static gsort_status
allocate_order(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;
	uint64_t	rows = job->common.ended_rows;

	GSORT_TRY_STATUS(cuda_allocate(device, job, &job->order, merge_order_bytes(rows)));
	return cuda_allocate(device, job, &job->merge_scratch,
						 order_merge_scratch_bytes(rows, job->n_retained));
}

static void
describe_runs(const cuda_job *job, merge_run *runs)
{
	uint32_t	columns = job->common.options.key_columns;

	for (uint32_t r = 0; r < job->n_retained; r++)
	{
		const retained_run *retained = &job->retained[r];
		const uint64_t *keys = (const uint64_t *) retained->keys.pointer;

		runs[r].keys = keys;
		runs[r].nulls = retained->has_nulls ?
			(const uint8_t *) (keys + (size_t) columns * retained->rows) : NULL;
		runs[r].count = retained->rows;
		runs[r].first_sample = 0;
	}
}

/* Enqueues the merge behind the allocations that it needs. */
static gsort_status
enqueue_merge(cuda_job *job, const key_plan *plan)
{
	cuda_device *device = (cuda_device *) job->common.device;
	merge_run	runs[GSORT_MERGE_RUNS_MAX];

	describe_runs(job, runs);
	cuda_take_sort_stream(job);
	GSORT_TRY_STATUS(wait_for_memory(job));
	GSORT_TRY(device, cudaEventRecord(job->work_began, job->work_stream));
	GSORT_TRY(device, order_merge(plan, runs, job->n_retained, job->merge_scratch.pointer,
								  (uint8_t *) job->order.pointer, job->work_stream));
	return cuda_work_record_end(job);
}

void
cuda_merge_ended(cuda_job *job, gsort_status status)
{
	cuda_device *device = (cuda_device *) job->common.device;

	cuda_release(device, job, &job->merge_scratch);
	if (status == GSORT_OK)
	{
		if (job->common.ended_rows > 0)
			job->common.stats.merge_ms = cuda_work_ms(job);
		free_retained_keys(job);
	}
	else
		cuda_release(device, job, &job->order);
	job->work_status = status;
}

gsort_status
cuda_job_merge(gsort_job *base, const key_plan *plan)
{
	cuda_job   *job = (cuda_job *) base;
	gsort_status status;

	cuda_job_free_rows(job);
	cuda_job_free_keys(job);
	status = allocate_order(job);
	if (status == GSORT_OK && base->ended_rows > 0)
		status = cuda_work_enqueued(job, enqueue_merge(job, plan));
	if (status == GSORT_DEVICE_LOST)
		return status;
	/* no memory, no rows, or refused and drained */
	if (!job->work_on_device)
		cuda_merge_ended(job, status);
	cuda_work_begun(job, GSORT_EVENT_MERGED, status);
	return GSORT_OK;
}
