/*
 * launch_together.cuh
 *	  Cooperative kernels, whose blocks all run at once and share a barrier.
 */
#ifndef GSORT_LAUNCH_TOGETHER_CUH
#define GSORT_LAUNCH_TOGETHER_CUH

#include "sort/launch.cuh"

#ifdef GSORT_EMULATE
static inline void
await_all_blocks(uint32_t *arrived, uint32_t turn)
{
	__syncthreads();
	if (threadIdx.x == 0)
	{
		atomicAdd(arrived, 1u);
		emulator::progress = true;
		while (*(volatile uint32_t *) arrived < turn * gridDim.x)
			emulator::yield();
	}
	__syncthreads();
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_together(void (*kernel) (Parameters...), unsigned blocks, unsigned threads,
				size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
{
	cudaError_t error;

	emulator::together = true;
	error = launch(kernel, blocks, threads, shared_bytes, stream, arguments...);
	emulator::together = false;
	return error;
}
#else
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

#endif							/* GSORT_LAUNCH_TOGETHER_CUH */
