/*
 * cuda_errors.cu
 *	  Classifies CUDA errors: one operation fails, or the device is lost.
 *
 * In:  the error of a call or a launch.
 * Out: NOMEM, and the device goes on; or DEVICE_LOST, and none of its work runs
 *	    any more.
 *
 * After most errors the context is dead, and every later call repeats the
 * error.  Some errors only mean that one call was refused, mostly because other
 * programs occupy the GPU's memory.  A list names these errors, and a query
 * then verifies that the device still answers.
 *
 * CUDA keeps the last error of a thread until it is taken, and CUB checks it
 * after its launches.  Therefore each error is taken where it occurs.
 */
#include "device/cuda_device.cuh"

#include "sort/launch.cuh"

#include <string.h>

/* --- injected errors ----------------------------------------------------- */

/* The error that a test injects here, or cudaSuccess. */
static cudaError_t
wanted_error(cuda_device *device, bool is_launch)
{
	gsort_faults *faults = &device->common.faults;
	bool		refuses = (faults->kinds & GSORT_FAIL_LAUNCHES) != 0 &&
		(is_launch || (faults->kinds & GSORT_FAIL_CALLS) == 0);

	if (!gsort_fails_now(faults, refuses ? GSORT_FAIL_LAUNCHES : GSORT_FAIL_CALLS))
		return cudaSuccess;
	if (!refuses)
		return cudaErrorLaunchFailure;
	return is_launch ? cudaErrorLaunchOutOfResources : cudaErrorMemoryAllocation;
}

static cudaError_t
refuse_launch(void *device)
{
	return wanted_error((cuda_device *) device, true);
}

void
cuda_watch_launches(cuda_device *device)
{
	watching_launches = {device != NULL ? refuse_launch : NULL, device};
}

cudaError_t
cuda_checked(cuda_device *device, cudaError_t error)
{
	return error == cudaSuccess ? wanted_error(device, false) : error;
}

cudaError_t
cuda_checked_query(cuda_device *device, cudaError_t error)
{
	if (error == cudaSuccess && gsort_fails_now(&device->common.faults, GSORT_FAIL_CALLS))
		return cudaErrorLaunchFailure;
	return error;
}

/* --- errors --------------------------------------------------------------- */

static bool
is_refusal(cudaError_t error)
{
	switch (error)
	{
		case cudaErrorCooperativeLaunchTooLarge:
		case cudaErrorMemoryAllocation:
		case cudaErrorLaunchOutOfResources:
		case cudaErrorInvalidConfiguration:
		case cudaErrorInvalidDeviceFunction:
		case cudaErrorInvalidResourceHandle:
		case cudaErrorInvalidValue:
		case cudaErrorNoKernelImageForDevice:
		case cudaErrorNotSupported:
			return true;
		default:
			return false;
	}
}

/* True if the context is alive.  In a dead context every call returns the error
 * of the call that failed first. */
static bool
device_answers(cuda_device *device)
{
	cudaError_t error;

	if (device->memory_stream == NULL)	/* the device is still being opened */
		return true;
	error = cudaStreamQuery(device->memory_stream);
	(void) cudaGetLastError();
	return error == cudaSuccess || error == cudaErrorNotReady;
}

static void
record_error(cuda_device *device, gsort_status status, const char *what, cudaError_t error,
			 const char *expression, const char *file, int line)
{
	const char *name = strrchr(file, '/');

	gsort_fail(&device->common, status, "%s: %s (%s, in %s at %s:%d)", what,
			   cudaGetErrorString(error), cudaGetErrorName(error), expression, name != NULL ?
			   name + 1 : file, line);
}

gsort_status
cuda_fail(cuda_device *device, cudaError_t error, const char *expression, const char *file,
		  int line)
{
	(void) cudaGetLastError();
	if (device->common.lost || !is_refusal(error) || !device_answers(device))
		return cuda_lose(device, error, expression, file, line);
	record_error(device, GSORT_NOMEM, "the device refuses", error, expression, file, line);
	return GSORT_NOMEM;
}

gsort_status
cuda_lose(cuda_device *device, cudaError_t error, const char *expression, const char *file,
		  int line)
{
	(void) cudaGetLastError();
	if (!device->common.lost)
		record_error(device, GSORT_DEVICE_LOST, "CUDA", error, expression, file, line);
	cuda_drain(device);
	/* the caller may wait for an event that would never come */
	cuda_wake(device);
	return GSORT_DEVICE_LOST;
}

void
cuda_drain(cuda_device *device)
{
	if (device->drained)
		return;
	(void) cudaDeviceSynchronize();
	(void) cudaGetLastError();
	device->drained = 1;
}
