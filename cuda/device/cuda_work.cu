/*
 * cuda_work.cu
 *	  Work of the CUDA device from its begin to its event: the operations of the
 *	  lanes, and each job's finishes, ends of runs and merges, which run on a
 *	  sort stream, one at a time.
 *
 * In:  work that was enqueued, wholly or in part, with a CUDA event behind it.
 * Out: its end, reported to the file that enqueued it; then the job's event;
 *	    released buffers and memory.
 *
 * If the device refuses a launch midway, the work ends normally behind the
 * earlier part, which still runs on memory of the job, and only then fails and
 * frees.
 *
 * A host function on a stream beside each lane makes the eventfd readable, so
 * that no copy waits for a thread of the host.  Polling queries the CUDA
 * events, oldest first in each lane, and never waits.  On a lost device, all
 * pending work ends as DEVICE_LOST once none of it runs.
 */
#include "device/cuda_device.cuh"

#include <string.h>
#include <unistd.h>

/* --- waking --------------------------------------------------------------- */

void CUDART_CB
cuda_wake(void *device)
{
	uint64_t	one = 1;
	ssize_t		written = write(((cuda_device *) device)->event_fd, &one, sizeof(one));

	/* the write fails only if the descriptor is readable already */
	(void) written;
}

static void
clear_wakes(cuda_device *device)
{
	uint64_t	count;
	ssize_t		got = read(device->event_fd, &count, sizeof(count));

	(void) got;
}

/* --- finishes, ends of runs, merges --------------------------------------- */

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

/* True if the device has passed the event.  False also if the query loses the
 * device. */
static int
event_passed(cuda_device *device, cudaEvent_t event)
{
	cudaError_t error = cuda_checked_query(device, cudaEventQuery(event));

	/* 'not ready' may count as a last error too */
	(void) cudaGetLastError();
	if (error != cudaSuccess && error != cudaErrorNotReady)
		(void) cuda_lose(device, error, "cudaEventQuery", __FILE__, __LINE__);
	return error == cudaSuccess;
}

static int
work_has_ended(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	return device->common.lost ? device->drained : event_passed(device, job->work_ended);
}

/* Checks whether the device has finished the work, and if so takes its
 * outcome. */
static void
advance_work(cuda_job *job)
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

/* --- events --------------------------------------------------------------- */

static gsort_event
end_operation(cuda_device *device, cuda_lane *lane, gsort_status status)
{
	cuda_operation *operation = lane->oldest;
	gsort_event event = gsort_operation_ended(&operation->job->common, operation->kind, status,
											  operation->tag);

	if (status == GSORT_OK && operation->unpinned_dst != NULL)
		memcpy(operation->unpinned_dst, operation->slot.memory, operation->slot.bytes);
	operation->job->in_flight--;
	lane->oldest = operation->next;
	cuda_operation_drop(device, operation);
	return event;
}

static int
poll_lane(cuda_device *device, cuda_lane *lane, gsort_event *out, int max)
{
	int			n = 0;

	while (n < max && lane->oldest != NULL)
	{
		if (!device->common.lost && !event_passed(device, lane->oldest->done))
			break;
		out[n++] = end_operation(device, lane, device->common.lost ? GSORT_DEVICE_LOST : GSORT_OK);
	}
	return n;
}

/* Ends a job's work, then returns its CLOSED.  May free the job. */
static int
poll_job(cuda_device *device, cuda_job *job, gsort_event *out, int max)
{
	int			n = 0;

	if (job->work_on_device)
		advance_work(job);
	if (n < max && job->work_pending && !job->work_on_device)
	{
		job->work_pending = 0;
		/* a release of memory may lose the device after work that succeeded */
		out[n++] = gsort_operation_ended(&job->common, job->work_kind, device->common.lost ?
										 GSORT_DEVICE_LOST : job->work_status, 0);
	}
	if (n < max && job->common.closing && job->in_flight == 0 && !job->work_pending)
	{
		out[n++] = gsort_operation_ended(&job->common, GSORT_EVENT_CLOSED, device->common.lost ?
										 GSORT_DEVICE_LOST : GSORT_OK, 0);
		cuda_job_free(job);
		if (device->jobs == NULL && !device->common.lost)
			cuda_memory_idle(device);
	}
	return n;
}

int
cuda_poll(gsort_device *base, gsort_event *out, int max)
{
	cuda_device *device = (cuda_device *) base;
	cuda_job   *next;
	int			n = 0;

	clear_wakes(device);
	if (device->common.lost)
		cuda_drain(device);
	for (cuda_lane &lane : device->lanes)
		n += poll_lane(device, &lane, out + n, max - n);
	for (cuda_job *job = device->jobs; job != NULL; job = next)
	{
		next = job->next;
		n += poll_job(device, job, out + n, max - n);
	}
	cuda_memory_trim(device);
	return n;
}
