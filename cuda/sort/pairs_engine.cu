/*
 * pairs_engine.cu
 *	  Chooses the engine that sorts pairs on the current CUDA device, and sizes
 *	  its scratch.
 *
 * In:  a gsort_pairs; the keys are not read.
 * Out: the engine, bytes.
 */
#include "sort/pairs_engine.h"

#include "sort/tuning.h"

typedef struct pairs_engine
{
	size_t		(*scratch_bytes) (const gsort_pairs *pairs);
	cudaError_t (*sort) (const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
						 cudaStream_t stream);
} pairs_engine;

static const pairs_engine engines[GSORT_ENGINES] = {
	{NULL, NULL},				/* AUTO is never chosen */
	{pairs_radix_scratch_bytes, pairs_radix_sort},
	{pairs_partition_scratch_bytes, pairs_partition_sort},
	{pairs_cub_merge_scratch_bytes, pairs_cub_merge_sort},
	{pairs_cub_radix_scratch_bytes, pairs_cub_radix_sort},
};

/* All 0 if the device does not answer; the sort's first call fails too. */
static sort_device
this_device(void)
{
	sort_device device = {};

	(void) describe_device(&device);
	return device;
}

gsort_engine
cuda_pairs_engine(const gsort_pairs *pairs)
{
	const sort_device device = this_device();

	return choose_engine(pairs->engine, pairs->n, pairs->bits,
						 pairs->d_keys_out != NULL || pairs->d_rows != NULL,
						 partition_takes(pairs) &&
						 sort_tuning_row(pairs->n, device.shared_bytes) != TUNING_CHOICE_NONE,
						 device.capability);
}

size_t
cuda_engine_scratch_bytes(gsort_engine engine, const gsort_pairs *pairs)
{
	return engines[engine].scratch_bytes(pairs);
}

cudaError_t
cuda_engine_sort(gsort_engine engine, const gsort_pairs *pairs, void *d_scratch,
				 size_t scratch_bytes, cudaStream_t stream)
{
	return engines[engine].sort(pairs, d_scratch, scratch_bytes, stream);
}

/* The engine's maximum scratch over all pairs up to n.
 * Some engines support only smaller numbers. */
static size_t
engine_scratch_at_most(gsort_engine engine, uint64_t n)
{
	const uint64_t ends[] = {n, RADIX_PAIRS_MAX, MEDIUM_PAIRS_MAX, MERGE_PAIRS_MAX};
	uint64_t	present = 0;		/* only whether a pointer is NULL matters */
	size_t		most = 0;

	for (uint64_t end : ends)
	{
		for (uint32_t variant = 0; variant < 4; variant++)
		{
			uint32_t	key_bits = variant / 2 == 0 ? 32 : 64;
			const gsort_pairs pairs = {key_bits, key_bits, end < n ? end : n, &present,
				variant % 2 == 0 ? NULL : &present, NULL, (uint32_t *) &present, engine};
			size_t		bytes = cuda_engine_scratch_bytes(engine, &pairs);

			most = bytes > most ? bytes : most;
		}
	}
	return most;
}

/* True if the engine may be chosen for some number of pairs up to n. */
static bool
may_be_chosen(gsort_engine engine, gsort_engine wanted, uint64_t n)
{
	int			capability = this_device().capability;

	/* CUB's radix sort supports everything; where AUTO chooses it, no other
	 * engine is chosen */
	if (engine == GSORT_ENGINE_CUB_RADIX ||
		(wanted == GSORT_ENGINE_AUTO && capability != MEASURED_CAPABILITY))
		return choose_engine(wanted, n, 0, 0, 0, capability) == engine;
	if (wanted == GSORT_ENGINE_AUTO)
		return engine != GSORT_ENGINE_PARTITION || n > RADIX_PAIRS_FEW;
	return engine == wanted || engine == GSORT_ENGINE_RADIX || n > RADIX_PAIRS_MAX;
}

size_t
cuda_pairs_scratch_at_most(gsort_engine wanted, uint64_t n)
{
	size_t		most = 0;

	for (int i = GSORT_ENGINE_RADIX; i < GSORT_ENGINES; i++)
	{
		gsort_engine engine = (gsort_engine) i;
		size_t		bytes = may_be_chosen(engine, wanted, n) ?
			engine_scratch_at_most(engine, n) : 0;

		most = bytes > most ? bytes : most;
	}
	return most;
}
