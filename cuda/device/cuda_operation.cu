/*
 * cuda_operation.cu
 *	  The common part of appends and fetches: an operation on a lane, from its
 *	  begin to its end.
 *
 * In:  a job, a kind and a tag; copies between the host and the job's rows.
 * Out: an operation in its lane's queue, with a CUDA event behind its last
 *	    work, which cuda_poll.cu turns into an event.
 *
 * Operations are made when the device is opened and when memory is pinned, and
 * are reused.  Host memory inside the gsort_pin range is copied directly.
 * Other memory passes through a pinned slot, which the operation holds until it
 * ends, so that the caller never waits for the device.
 */
#include "device/cuda_device.cuh"


#include <stdlib.h>

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
	device->n_operations++;
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

gsort_status
cuda_operation_begin(cuda_job *job, gsort_event_kind kind, uint64_t tag, size_t slot_bytes,
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
	operation->unpinned_bytes = 0;
	*begun = operation;
	return GSORT_OK;
}

void
cuda_operation_drop(cuda_device *device, cuda_operation *operation)
{
	cuda_slot_give(device, &operation->slot);
	make_free(device, operation);
}

gsort_status
cuda_operation_finish(cuda_device *device, cuda_lane *lane, cuda_operation *operation)
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

gsort_status
cuda_lane_quiet(cuda_device *device, cuda_lane *lane)
{
	cudaError_t error;

	if (device->common.lost)	/* now it is */
		return GSORT_DEVICE_LOST;
	error = cudaStreamSynchronize(lane->stream);
	return error == cudaSuccess ? GSORT_OK :
		cuda_lose(device, error, "cudaStreamSynchronize", __FILE__, __LINE__);
}

/* --- copies --------------------------------------------------------------- */

gsort_status
cuda_copy(cuda_device *device, cuda_lane *lane, void *to, const void *from, size_t bytes,
		  cudaMemcpyKind kind)
{
	GSORT_TRY(device, cudaMemcpyAsync(to, from, bytes, kind, lane->stream));
	return GSORT_OK;
}

gsort_status
cuda_copy_rows(cuda_job *job, cuda_lane *lane, uint64_t first_unit, uint64_t units,
			   const char *host)
{
	cuda_device *device = (cuda_device *) job->common.device;

	while (units > 0)
	{
		uint64_t	now = arena_stretch(first_unit, units);
		uint64_t   *rows = arena_unit((extent_table) job->extents[ROW_EXTENTS].extents, first_unit);

		GSORT_TRY_STATUS(cuda_copy(device, lane, rows, host, now * 8, cudaMemcpyHostToDevice));
		host += now * 8;
		first_unit += now;
		units -= now;
	}
	return GSORT_OK;
}
