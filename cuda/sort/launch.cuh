/*
 * launch.cuh
 *	  Starting a kernel, on a device or in the emulator.
 *
 * The kernels of the sort include this instead of the CUDA headers: built with
 * GSORT_EMULATE, the same source runs on the CPU (test/emulator/emulator.h).
 * Host thread; nothing is owned here.
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
/* Of a kernel, on every device; each argument may be padded to 8. */
#define ARGUMENT_BYTES_MAX	4096

/* For tests: asked before each launch that this thread makes; an error that it
 * answers is returned in the launch's place. */
struct launch_hook
{
	cudaError_t (*refusal) (void *device);	/* NULL: none */
	void	   *device;
};

inline thread_local launch_hook watching_launches = {NULL, NULL};

/* Asks the tests' refusal, and for so much shared memory. */
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

/* Enqueues the kernel; an error is the launch's own, and nothing was
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

/* The same, with an attribute, or none. */
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

/* Enqueues the zeroing of device memory. */
static inline cudaError_t
clear(void *memory, size_t bytes, cudaStream_t stream)
{
	return cudaMemsetAsync(memory, 0, bytes, stream);
}

#endif							/* GSORT_LAUNCH_CUH */
