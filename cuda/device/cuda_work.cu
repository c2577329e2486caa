/*
 * cuda_work.cu
 *	  The common part of finishes, ends of runs and merges: a job's work on a
 *	  sort stream, one at a time, from its begin to its event.
 *
 * In:  work that was enqueued, wholly or in part.
 * Out: its end, reported to the file that enqueued it; then the job's event.
 *
 * If the device refuses a launch midway, the earlier part still runs on memory
 * of the job.  Therefore the work ends normally behind that part, and only then
 * fails and frees.
 */
#include "device/cuda_device.cuh"

void
cuda_take_sort_stream(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	job->work_stream = device->sort_streams[device->next_sort_stream++ % SORT_STREAMS];
}

gsort_status
cuda_work_record_end(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	GSORT_TRY(device, cudaEventRecord(job->work_ended, job->work_stream));
	GSORT_TRY(device, cudaLaunchHostFunc(job->work_stream, cuda_wake, device));
	job->work_on_device = 1;
	return GSORT_OK;
}

gsort_status
cuda_work_enqueued(cuda_job *job, gsort_status status)
{
	cuda_device *device = (cuda_device *) job->common.device;
	gsort_status finished;
	cudaError_t error;

	if (status == GSORT_OK || status == GSORT_DEVICE_LOST)
		return status;
	finished = cuda_work_record_end(job);
	if (finished != GSORT_NOMEM)
	{
		job->work_failed = status;
		return finished;
	}
	/* without an end marker, nothing else shows when its memory is free */
	error = cudaStreamSynchronize(job->work_stream);
	return error == cudaSuccess ? status :
		cuda_lose(device, error, "cudaStreamSynchronize", __FILE__, __LINE__);
}

void
cuda_work_begun(cuda_job *job, gsort_event_kind kind, gsort_status status)
{
	job->work_kind = kind;
	job->work_pending = 1;
	job->work_status = status;
	if (!job->work_on_device)
		cuda_wake(job->common.device);
}

/* Queries the device; false while the work is in progress. */
static int
work_has_ended(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	return device->common.lost ? device->drained : cuda_event_passed(device, job->work_ended);
}

void
cuda_work_advance(cuda_job *job)
{
	gsort_status status;

	if (!work_has_ended(job))
		return;
	status = job->common.device->lost ? GSORT_DEVICE_LOST : job->work_failed;
	job->work_on_device = 0;
	job->work_failed = GSORT_OK;
	if (job->work_kind == GSORT_EVENT_RUN_FINISHED)
		cuda_finish_ended(job, status);
	else if (job->work_kind == GSORT_EVENT_RUN_BEGUN)
		cuda_run_ended(job, status);
	else
		cuda_merge_ended(job, status);
}

static gsort_status
elapsed(cuda_job *job, float *ms)
{
	GSORT_TRY((cuda_device *) job->common.device,
			  cudaEventElapsedTime(ms, job->work_began, job->work_ended));
	return GSORT_OK;
}

double
cuda_work_ms(cuda_job *job)
{
	float		ms = 0;

	return elapsed(job, &ms) == GSORT_OK ? ms : 0;
}
