/*
 * cuda_poll.cu
 *	  Completed work of the CUDA device, as events.
 *
 * In:  the operations of the lanes, and each job's work, with a CUDA event
 *	    behind each.
 * Out: events; released buffers and memory.
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

/* --- completed work ------------------------------------------------------ */

static gsort_event
make_event(const cuda_job *job, gsort_event_kind kind, gsort_status status, uint64_t tag)
{
	gsort_event event;

	event.kind = kind;
	event.status = status;
	event.job_tag = job->common.options.tag;
	event.tag = tag;
	return event;
}

static gsort_event
end_operation(cuda_device *device, cuda_lane *lane, gsort_status status)
{
	cuda_operation *operation = lane->oldest;
	gsort_event event = make_event(operation->job, operation->kind, status, operation->tag);

	if (status == GSORT_OK && operation->unpinned_dst != NULL)
		memcpy(operation->unpinned_dst, operation->slot.memory, operation->unpinned_bytes);
	operation->job->in_flight--;
	if (operation->kind == GSORT_EVENT_FETCHED)
		gsort_fetch_done(&operation->job->common);
	lane->oldest = operation->next;
	cuda_operation_drop(device, operation);
	return event;
}

int
cuda_event_passed(cuda_device *device, cudaEvent_t event)
{
	cudaError_t error = cuda_checked_query(device, cudaEventQuery(event));

	/* 'not ready' may count as a last error too */
	(void) cudaGetLastError();
	if (error != cudaSuccess && error != cudaErrorNotReady)
		(void) cuda_lose(device, error, "cudaEventQuery", __FILE__, __LINE__);
	return error == cudaSuccess;
}

static int
poll_lane(cuda_device *device, cuda_lane *lane, gsort_event *out, int max)
{
	int			n = 0;

	while (n < max && lane->oldest != NULL)
	{
		if (!device->common.lost && !cuda_event_passed(device, lane->oldest->done))
			break;
		out[n++] = end_operation(device, lane, device->common.lost ? GSORT_DEVICE_LOST : GSORT_OK);
	}
	return n;
}

/* Applies the end of a job's work to the job; returns its event's status. */
static gsort_status
end_work(cuda_job *job)
{
	gsort_job  *common = &job->common;

	job->work_pending = 0;
	/* a release of memory may lose the device after work that succeeded */
	if (common->device->lost)
		job->work_status = GSORT_DEVICE_LOST;
	if (job->work_kind == GSORT_EVENT_RUN_FINISHED)
		gsort_finish_done(common, job->work_status);
	else if (job->work_kind == GSORT_EVENT_RUN_BEGUN)
		gsort_run_begun(common, job->work_status, job->keys_retained);
	else
		gsort_merge_done(common, job->work_status);
	return job->work_status;
}

/* Ends a job's work, then returns its CLOSED.  May free the job. */
static int
poll_job(cuda_device *device, cuda_job *job, gsort_event *out, int max)
{
	int			n = 0;

	if (job->work_on_device)
		cuda_work_advance(job);
	if (n < max && job->work_pending && !job->work_on_device)
	{
		gsort_status status = end_work(job);

		out[n++] = make_event(job, job->work_kind, status, 0);
	}
	if (n < max && job->common.closing && job->in_flight == 0 && !job->work_pending)
	{
		out[n++] = make_event(job, GSORT_EVENT_CLOSED,
							  device->common.lost ? GSORT_DEVICE_LOST : GSORT_OK, 0);
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
	for (int i = 0; i < APPEND_LANES; i++)
		n += poll_lane(device, &device->append_lanes[i], out + n, max - n);
	for (int i = 0; i < FETCH_LANES; i++)
		n += poll_lane(device, &device->fetch_lanes[i], out + n, max - n);
	for (cuda_job *job = device->jobs; job != NULL; job = next)
	{
		next = job->next;
		n += poll_job(device, job, out + n, max - n);
	}
	cuda_memory_trim(device);
	return n;
}
