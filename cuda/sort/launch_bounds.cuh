/*
 * launch_bounds.cuh
 *	  The launch bounds of the kernels, which depend on the target chip.
 */
#ifndef GSORT_LAUNCH_BOUNDS_CUH
#define GSORT_LAUNCH_BOUNDS_CUH

/*
 * Shared memory per multiprocessor; CUDA reserves BLOCK_SHARED_BYTES for each
 * block.  The bounds request a tuning row's number of blocks if they fit.  If
 * they do not fit, the kernels must not sacrifice registers for them.
 */
#define BLOCK_SHARED_BYTES		1024

#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
#define CHIP_SHARED_BYTES		(228 << 10)
#elif __CUDA_ARCH__ < 800
#define CHIP_SHARED_BYTES		(64 << 10)
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
#define CHIP_SHARED_BYTES		(164 << 10)
#else
#define CHIP_SHARED_BYTES		(100 << 10)
#endif

template<typename Memory>
constexpr int
blocks_that_fit(int wanted)
{
	int			fit = CHIP_SHARED_BYTES / (int) (sizeof(Memory) + BLOCK_SHARED_BYTES);

	return fit < 1 ? 1 : fit < wanted ? fit : wanted;
}

/* The bounds were measured on compute capability 9.0.  On other chips, 0 leaves
 * the registers to the compiler.  With bounds, the compiler would spill
 * registers there rather than run fewer threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#define BLOCKS_UNLESS_MEASURED(measured, blocks)	(blocks)
#else
#define BLOCKS_UNLESS_MEASURED(measured, blocks)	(measured)
#endif

#endif							/* GSORT_LAUNCH_BOUNDS_CUH */
