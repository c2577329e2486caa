/*
 * launch_bounds.cuh
 *	  The launch bounds of the kernels, which depend on the chip that is
 *	  compiled for.
 */
#ifndef GSORT_LAUNCH_BOUNDS_CUH
#define GSORT_LAUNCH_BOUNDS_CUH

/*
 * Shared memory of a multiprocessor, of which CUDA takes BLOCK_SHARED_BYTES for
 * each block.  A tuning row's blocks are as many as it is to have where there
 * is room.  Where there is none for so many, none of their registers are to be
 * given up for them.
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

/* Bounds were measured on chips of compute capability 9.0.  0 leaves the
 * registers to the compiler, which on others would rather spill some than have
 * fewer threads at once: there they have room. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#define BLOCKS_UNLESS_MEASURED(measured, blocks)	(blocks)
#else
#define BLOCKS_UNLESS_MEASURED(measured, blocks)	(measured)
#endif

#endif							/* GSORT_LAUNCH_BOUNDS_CUH */
