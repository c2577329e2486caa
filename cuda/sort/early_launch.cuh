/*
 * early_launch.cuh
 *	  Programmatic early launch: a kernel starts before its predecessor ends.
 *
 * Early launch hides the latency between the end of one kernel and the start of
 * the next.  The host asks once whether the device supports it, and enqueues
 * the kernels on an early_stream.  Each of these kernels waits for its
 * predecessor before it accesses memory.
 */
#ifndef GSORT_EARLY_LAUNCH_CUH
#define GSORT_EARLY_LAUNCH_CUH

#include "sort/launch.cuh"

#ifndef GSORT_EMULATE
#include <atomic>
#endif

/* A stream whose kernels start early, if early.  Every kernel on it calls
 * await_kernel_ahead or await_end_of_kernel_ahead before it accesses memory. */
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
#else
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

#define DEVICES_CACHED	32

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
	enum answer {UNKNOWN, EARLY, IN_TURN};
	static std::atomic<answer> answers[DEVICES_CACHED];
	cudaFuncAttributes attributes = {};
	int			ordinal = 0;
	cudaError_t error = cudaGetDevice(&ordinal);
	bool		cached = error == cudaSuccess && ordinal < DEVICES_CACHED;
	answer		known = cached ? answers[ordinal].load(std::memory_order_relaxed) : UNKNOWN;

	*early = known == EARLY;
	if (error != cudaSuccess || known != UNKNOWN)
		return error;
	error = cudaFuncGetAttributes(&attributes, kernel);
	*early = error == cudaSuccess && attributes.ptxVersion * 10 >= EARLY_LAUNCH_ARCH;
	if (error == cudaSuccess && cached)
		answers[ordinal].store(*early ? EARLY : IN_TURN, std::memory_order_relaxed);
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
#endif

#endif							/* GSORT_EARLY_LAUNCH_CUH */
