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
#include <atomic>

#include <cuda_runtime.h>
#endif

/* A stream whose kernels may start early, if early: all that are enqueued so call await_kernel_ahead, or
 * await_end_of_kernel_ahead, before they touch memory. */
struct early_stream
{
	cudaStream_t stream;
	bool		early;
};

#ifdef GSORT_EMULATE
static inline void
await_end_of_kernel_ahead(void)
{
	emulator::waits++;
}

static inline void
await_kernel_ahead(void)
{
	await_end_of_kernel_ahead();
}

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

static inline cudaError_t
find_early_launches(const void *, bool *early)
{
	*early = false;
	return cudaSuccess;
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
	   const early_stream &stream, Arguments... arguments)
{
	cudaError_t error;

	emulator::early = true;
	error = launch(kernel, blocks, threads, shared_bytes, stream.stream, arguments...);
	emulator::early = false;
	return error;
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_together(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
				cudaStream_t stream, Arguments... arguments)
{
	cudaError_t error;

	emulator::together = true;
	error = launch(kernel, blocks, threads, shared_bytes, stream, arguments...);
	emulator::together = false;
	return error;
}
#else
/* Dynamic shared memory of a kernel, 16-byte aligned. */
#define SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]

#define SHARED_BYTES_WITHOUT_ASKING (48 << 10)
#define EARLY_LAUNCH_ARCH	900		/* architectures from this on let a kernel start before the one ahead of it has ended */
#define ARGUMENT_BYTES_MAX	4096	/* of a kernel, on every device; each argument may be padded to 8 */

/* A kernel may be on its multiprocessors before the one ahead of it has ended: waits until that is done, and all that it
 * wrote is seen. */
static __device__ __forceinline__ void
await_end_of_kernel_ahead(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= EARLY_LAUNCH_ARCH
	asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

/*
 * What each kernel of an early_stream calls before anything else: waits, and lets the next kernel come in its turn, which
 * hides most of the time from one kernel's end to the next one's start.
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
 * The blocks of a kernel that launch_together started wait for each other, for the turn-th time, from 1 on; what each
 * wrote before, all see behind it.  arrived: 0 when the kernel starts.  The whole block calls.
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

#define DEVICES_KEPT_IN_MIND	32

/* Whether kernels may start early: so the code that the device runs was made for an architecture on which it waits.  That is
 * not so where the driver makes it from PTX of older ones, on whatever device.  All kernels are compiled alike, so each device is asked
 * once: the question takes as long as a tile's load. */
static inline cudaError_t
find_early_launches(const void *kernel, bool *early)
{
	enum answer {UNKNOWN, EARLY, IN_TURN};
	static std::atomic<answer> answers[DEVICES_KEPT_IN_MIND];
	cudaFuncAttributes attributes = {};
	int			ordinal = 0;
	cudaError_t error = cudaGetDevice(&ordinal);
	bool		kept = error == cudaSuccess && ordinal < DEVICES_KEPT_IN_MIND;
	answer		known = kept ? answers[ordinal].load(std::memory_order_relaxed) : UNKNOWN;

	*early = known == EARLY;
	if (error != cudaSuccess || known != UNKNOWN)
		return error;
	error = cudaFuncGetAttributes(&attributes, kernel);
	*early = error == cudaSuccess && attributes.ptxVersion * 10 >= EARLY_LAUNCH_ARCH;
	if (error == cudaSuccess && kept)
		answers[ordinal].store(*early ? EARLY : IN_TURN, std::memory_order_relaxed);
	return error;
}

/* For tests: asked before each launch that this thread makes; an error that it answers is returned in the launch's
 * place. */
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
	static_assert((0 + ... + (sizeof(Parameters) + 8)) <= ARGUMENT_BYTES_MAX, "arguments of a kernel");
	launch_hook hook = watching_launches;
	cudaError_t error = hook.refusal != NULL ? hook.refusal(hook.device) : cudaSuccess;

	if (error == cudaSuccess && shared_bytes > SHARED_BYTES_WITHOUT_ASKING)
		error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared_bytes);
	return error;
}

/* Enqueues the kernel; an error is the launch's own, and nothing was enqueued. */
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
launch_with(cudaLaunchAttribute *attribute, void (*kernel) (Parameters...), unsigned blocks, unsigned threads,
			size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
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

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
	   const early_stream &stream, Arguments... arguments)
{
	cudaLaunchAttribute attribute = {};

	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	return launch_with(stream.early ? &attribute : NULL, kernel, blocks, threads, shared_bytes, stream.stream, arguments...);
}

/* All blocks run at once, so that they may wait for each other; an error if the device has no room for so many. */
template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_together(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
				cudaStream_t stream, Arguments... arguments)
{
	cudaLaunchAttribute attribute = {};

	attribute.id = cudaLaunchAttributeCooperative;
	attribute.val.cooperative = 1;
	return launch_with(&attribute, kernel, blocks, threads, shared_bytes, stream, arguments...);
}
#endif

/* Enqueues the zeroing of device memory. */
static inline cudaError_t
clear(void *memory, size_t bytes, cudaStream_t stream)
{
	return cudaMemsetAsync(memory, 0, bytes, stream);
}

#endif							/* GSORT_LAUNCH_CUH */
