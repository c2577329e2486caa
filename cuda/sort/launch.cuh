/*
 * launch.cuh
 *	  Kernel launches, on a device or in the emulator.
 *
 * The sort's kernels include this file instead of the CUDA headers.  With
 * GSORT_EMULATE, the same source runs on the CPU (test/emulator/emulator.h).
 * The code runs on a host thread and owns nothing.
 */
#ifndef GSORT_LAUNCH_CUH
#define GSORT_LAUNCH_CUH

#ifdef GSORT_EMULATE
#include "emulator.h"
#else
#include <cuda_runtime.h>

/* Dynamic shared memory of a kernel, 16-byte aligned. */
#define SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]

#define SHARED_BYTES_WITHOUT_ASKING (48 << 10)
/* Limit of a kernel's arguments on every device; each may be padded to 8. */
#define ARGUMENT_BYTES_MAX	4096

/* For tests: called before each launch of this thread.  An error that it
 * returns replaces the launch. */
struct launch_hook
{
	cudaError_t (*refusal) (void *device);	/* NULL: none */
	void	   *device;
};

inline thread_local launch_hook watching_launches = {NULL, NULL};

/* Calls the test's hook, and raises the kernel's limit of shared memory. */
template<typename... Parameters>
static cudaError_t
prepare_launch(void (*kernel) (Parameters...), size_t shared_bytes)
{
	static_assert((0 + ... + (sizeof(Parameters) + 8)) <= ARGUMENT_BYTES_MAX,
				  "arguments of a kernel");
	launch_hook hook = watching_launches;
	cudaError_t error = hook.refusal != NULL ? hook.refusal(hook.device) : cudaSuccess;

	if (error == cudaSuccess && shared_bytes > SHARED_BYTES_WITHOUT_ASKING)
		error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
									 (int) shared_bytes);
	return error;
}

/* Enqueues the kernel.  On an error, which is the launch's own, nothing was
 * enqueued. */
template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
	   cudaStream_t stream, Arguments... arguments)
{
	cudaError_t error = prepare_launch(kernel, shared_bytes);

	if (error != cudaSuccess)
		return error;
	kernel<<<blocks, threads, shared_bytes, stream>>>(arguments...);
	return cudaGetLastError();
}

/* The same, with an optional attribute. */
template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_with(cudaLaunchAttribute *attribute, void (*kernel) (Parameters...), unsigned blocks,
			unsigned threads, size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
{
	cudaError_t error = prepare_launch(kernel, shared_bytes);
	cudaLaunchConfig_t config = {};

	if (error != cudaSuccess)
		return error;
	config.gridDim = dim3(blocks);
	config.blockDim = dim3(threads);
	config.dynamicSmemBytes = shared_bytes;
	config.stream = stream;
	config.attrs = attribute;
	config.numAttrs = attribute != NULL ? 1 : 0;
	return cudaLaunchKernelEx(&config, kernel, arguments...);
}
#endif

/* Enqueues zeroing of device memory. */
static inline cudaError_t
clear(void *memory, size_t bytes, cudaStream_t stream)
{
	return cudaMemsetAsync(memory, 0, bytes, stream);
}

#endif							/* GSORT_LAUNCH_CUH */
