/*
 * launch_plan.cuh
 *	  Parameters of the host for a sort or a merge: the target device, the
 *	  number of tiles, and pieces of the caller's scratch.
 *
 * Host code; it neither allocates nor waits.
 */
#ifndef GSORT_LAUNCH_PLAN_CUH
#define GSORT_LAUNCH_PLAN_CUH

#include <stddef.h>
#include <stdint.h>

#include "sort/launch.cuh"

#define SCRATCH_ALIGNMENT	256

#ifndef GSORT_GUARD_BYTES
#define GSORT_GUARD_BYTES 0		/* tests add gaps between the pieces to detect overruns */
#endif

/* Returns a CUDA error to the caller. */
#define CUDA_TRY(call) \
	do { \
		cudaError_t cuda_try_error = (call); \
		if (cuda_try_error != cudaSuccess) \
			return cuda_try_error; \
	} while (0)

typedef struct sort_device
{
	int			processors;
	int			shared_bytes;	/* maximum per block */
	int			capability;		/* major * 10 + minor */
} sort_device;

static inline cudaError_t
describe_device(sort_device *device)
{
	int			ordinal;
	int			major;
	int			minor;

	CUDA_TRY(cudaGetDevice(&ordinal));
	CUDA_TRY(cudaDeviceGetAttribute(&device->processors, cudaDevAttrMultiProcessorCount, ordinal));
	CUDA_TRY(cudaDeviceGetAttribute(&device->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
									ordinal));
	CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal));
	CUDA_TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal));
	device->capability = major * 10 + minor;
	return cudaSuccess;
}

typedef struct launch_target
{
	sort_device device;
	early_stream stream;
	/* Randomizes the sample's places; no result depends on it. */
	uint32_t	salt;
} launch_target;

static inline uint32_t
tiles_for(uint64_t n, uint64_t tile)
{
	return (uint32_t) ((n + tile - 1) / tile);
}

#define GRID_BLOCKS_A_PROCESSOR	4

/* Grid size of kernels whose blocks take tiles in turn. */
static inline uint32_t
tiles_up_to(uint64_t n, uint64_t tile, uint32_t most)
{
	uint32_t	tiles = tiles_for(n, tile);

	return tiles < most ? tiles : most;
}

/* Allocates pieces of the scratch; with NULL it only counts. */
typedef struct scratch_cursor
{
	uintptr_t	at;
} scratch_cursor;

template<typename T>
static void
take(scratch_cursor *cursor, T **array, size_t length)
{
	*array = (T *) cursor->at;
	cursor->at += (length * sizeof(T) + GSORT_GUARD_BYTES + SCRATCH_ALIGNMENT -
				   1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

#endif							/* GSORT_LAUNCH_PLAN_CUH */
