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

/* Enqueues the kernel, with an optional attribute.  On an error, which is the
 * launch's own or the test's, nothing was enqueued. */
template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_with(cudaLaunchAttribute *attribute, void (*kernel) (Parameters...), unsigned blocks,
			unsigned threads, size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
{
	static_assert((0 + ... + (sizeof(Parameters) + 8)) <= ARGUMENT_BYTES_MAX,
				  "arguments of a kernel");
	launch_hook hook = watching_launches;
	cudaError_t error = hook.refusal != NULL ? hook.refusal(hook.device) : cudaSuccess;
	cudaLaunchConfig_t config = {};

	if (error == cudaSuccess && shared_bytes > SHARED_BYTES_WITHOUT_ASKING)
		error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
									 (int) shared_bytes);
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

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
	   cudaStream_t stream, Arguments... arguments)
{
	return launch_with(NULL, kernel, blocks, threads, shared_bytes, stream, arguments...);
}

/* --- early launch --------------------------------------------------------- */

/* A stream whose kernels start before their predecessors end, if early.  This
 * hides the latency between two kernels.  Every kernel on it calls
 * await_kernel_ahead or await_end_of_kernel_ahead before it accesses memory. */
struct early_stream
{
	cudaStream_t stream;
	bool		early;
};

#define EARLY_LAUNCH_ARCH	900		/* minimum architecture */

/* Waits for the end of the predecessor and makes all of its writes visible.
 * Required, because a kernel may occupy multiprocessors before its predecessor
 * ends. */
static __device__ __forceinline__ void
await_end_of_kernel_ahead(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= EARLY_LAUNCH_ARCH
	asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

/*
 * Waits for the predecessor, and lets the next kernel launch early.  Each
 * kernel of an early_stream calls it first, unless it calls
 * await_end_of_kernel_ahead.  Early launch hides most of the launch latency.
 */
static __device__ __forceinline__ void
await_kernel_ahead(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= EARLY_LAUNCH_ARCH
	asm volatile("griddepcontrol.launch_dependents;");
#endif
	await_end_of_kernel_ahead();
}

/*
 * Determines whether kernels may launch early.  Early launch is safe only if
 * the loaded code was compiled for 9.0 or later and so contains
 * griddepcontrol.wait.  Code made from older PTX does not, even on a 9.0 chip.
 * All kernels are compiled alike, so one query per device suffices; it takes as
 * long as a tile's load.
 */
static inline cudaError_t
find_early_launches(const void *kernel, bool *early)
{
	static thread_local int known_ordinal = -1;
	static thread_local bool known_early;
	cudaFuncAttributes attributes = {};
	int			ordinal;
	cudaError_t error = cudaGetDevice(&ordinal);

	if (error == cudaSuccess && ordinal != known_ordinal)
	{
		error = cudaFuncGetAttributes(&attributes, kernel);
		known_early = attributes.ptxVersion * 10 >= EARLY_LAUNCH_ARCH;
		known_ordinal = error == cudaSuccess ? ordinal : -1;
	}
	*early = known_early;
	return error;
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
	   const early_stream &stream, Arguments... arguments)
{
	cudaLaunchAttribute attribute = {};

	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	return launch_with(stream.early ? &attribute : NULL, kernel, blocks, threads, shared_bytes,
					   stream.stream, arguments...);
}

/* --- cooperative kernels -------------------------------------------------- */

/*
 * A grid barrier for kernels of launch_together; turn counts the barriers from
 * 1.  Writes before the barrier are visible to all blocks behind it. arrived is
 * 0 when the kernel starts.  The whole block calls.
 */
static __device__ __forceinline__ void
await_all_blocks(uint32_t *arrived, uint32_t turn)
{
	__syncthreads();
	if (threadIdx.x == 0)
	{
		__threadfence();
		atomicAdd(arrived, 1u);
		while (*(volatile uint32_t *) arrived < turn * gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
}

/* Launches a kernel whose blocks all run at once, as a grid barrier requires.
 * Returns an error if the device has no room for all of them. */
template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_together(void (*kernel) (Parameters...), unsigned blocks, unsigned threads,
				size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
{
	cudaLaunchAttribute attribute = {};

	attribute.id = cudaLaunchAttributeCooperative;
	attribute.val.cooperative = 1;
	return launch_with(&attribute, kernel, blocks, threads, shared_bytes, stream, arguments...);
}
#endif

#endif							/* GSORT_LAUNCH_CUH */
