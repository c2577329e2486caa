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
#include "device/run_keys.cuh"

/* --- memory --------------------------------------------------------------- */

static void
free_retained_keys(cuda_job *job)
{
	while (job->n_retained > 0)
		cuda_release((cuda_device *) job->common.device, job,
					 &job->retained_keys[--job->n_retained]);
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
enqueue_keys(cuda_job *job, const merge_run *run)
{
	GSORT_TRY_STATUS(wait_for_memory(job));
	GSORT_LAUNCH((cuda_device *) job->common.device, run->count, job->work_stream,
				 gather_keys_kernel, cuda_job_key_table(job), cuda_job_order(job), run->count,
				 (uint64_t *) run->keys, (uint8_t *) run->nulls);
	return cuda_work_record_end(job);
}

/* Retains the run's keys: [columns][rows] uint64, then optionally [rows] uint8.
 * NOMEM: no keys of the run are retained, and no work runs. */
static gsort_status
retain_keys(cuda_job *job)
{
	const gsort_job *common = &job->common;
	uint32_t	columns = common->options.key_columns;
	int			with_nulls = common->retain == GSORT_RETAIN_KEYS_AND_NULLS;
	cuda_array *array = &job->retained_keys[job->n_retained];
	merge_run  *run = &job->retained[job->n_retained];

	GSORT_TRY_STATUS(cuda_allocate((cuda_device *) common->device, job, array,
								   retained_keys_bytes(columns, common->rows, with_nulls)));
	job->n_retained++;
	run->keys = array->pointer;
	run->nulls = with_nulls ? (uint8_t *) ((uint64_t *) array->pointer + columns * common->rows) :
		NULL;
	run->count = (uint32_t) common->rows;
	if (run->count == 0)
		return GSORT_OK;
	cuda_take_sort_stream(job);
	return cuda_work_enqueued(job, enqueue_keys(job, run));
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
	cuda_job_free_extents(job, KEY_EXTENTS, 0);
	cuda_finish_free(job, 0);
	job->header_used = 1;
	job->work_status = status == GSORT_DEVICE_LOST ? status : GSORT_OK;
}

gsort_status
cuda_job_next_run(gsort_job *base)
{
	cuda_job   *job = (cuda_job *) base;
	gsort_status status = GSORT_NOMEM;

	cuda_job_free_extents(job, ROW_EXTENTS, 0);
	cuda_job_free_extents(job, WORD_EXTENTS, 0);
	cuda_finish_free(job, 1u << SORT_ORDER);
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

static gsort_status
enqueue_merge(cuda_job *job, const key_plan *plan)
{
	cuda_device *device = (cuda_device *) job->common.device;

	cuda_take_sort_stream(job);
	GSORT_TRY_STATUS(wait_for_memory(job));
	GSORT_TRY(device, cudaEventRecord(job->work_began, job->work_stream));
	GSORT_TRY(device, order_merge(plan, job->retained, job->n_retained, job->merge_scratch.pointer,
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

	cuda_job_free_extents(job, ROW_EXTENTS, 0);
	cuda_job_free_extents(job, WORD_EXTENTS, 0);
	cuda_job_free_extents(job, KEY_EXTENTS, 0);
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
