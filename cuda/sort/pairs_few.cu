/*
 * pairs_few.cu
 *	  The launches of the merge sort of few pairs.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and, if requested, keys.
 *
 * With so few pairs, latency dominates.  The sort therefore has three early
 * launches and no memory to zero. (One launch with grid barriers would cost as
 * much, need one more launch to zero the barriers' counter, and run only if all
 * blocks fit at once.)
 */
#include "sort/pairs_engine.h"

#include "sort/few_pairs.cuh"

/* --- the division of the pairs -------------------------------------------- */

/* Divides n pairs into tiles and buckets, for this many samples per tile. */
static few_shape
shape_with_samples(uint64_t n, uint32_t tiles, uint32_t samples)
{
	few_shape	shape = {};

	shape.n = (uint32_t) n;
	shape.gap = tiles_for(n, tiles * samples);
	if (shape.gap < FEW_ROW::LEAST_GAP)
		shape.gap = FEW_ROW::LEAST_GAP;
	shape.sample_bits = significant_bits(samples) - 1;
	shape.tile = shape.gap * samples;
	shape.tiles = tiles_for(n, shape.tile);
	shape.samples = (shape.tiles - 1) * samples + shape.samples_of(shape.tiles - 1);
	shape.buckets = shape.samples > samples ? tiles_for(shape.samples, samples) : 1;
	shape.bucket_max = shape.tile + shape.tiles * (shape.gap - 1);
	if (shape.bucket_max > n)
		shape.bucket_max = shape.n;
	return shape;
}

/* True if tiles and buckets of the shape fit.  Wide items take the most
 * memory. */
static bool
fits(const few_shape &shape, const sort_device *device)
{
	return shape.tile <= FEW_ROW::TILE_MAX && shape.bucket_max <= FEW_ROW::BUCKET_MAX &&
		sizeof(few_tile_memory<FEW_ROW, true>) <= (size_t) device->shared_bytes &&
		few_splitters_bytes<FEW_ROW>(shape) <= (size_t) device->shared_bytes &&
		few_bucket_bytes<FEW_ROW, true>(shape) <= (size_t) device->shared_bytes;
}

/* Plans one tile and one bucket per multiprocessor.  False: the device does not
 * support that many pairs. */
static bool
cut_pairs(uint64_t n, const sort_device *device, few_shape *shape)
{
	uint32_t	tiles = device->processors < FEW_ROW::TILES_MAX ? device->processors :
		FEW_ROW::TILES_MAX;

	if (n == 0 || n > FEW_ROW::PAIRS_MAX || tiles == 0)
		return false;
	for (uint32_t samples : {FEW_ROW::SAMPLES, FEW_ROW::SAMPLES_MAX, FEW_ROW::SAMPLES / 2})
	{
		*shape = shape_with_samples(n, tiles, samples);
		if (fits(*shape, device))
			return true;
	}
	return false;
}

bool
pairs_few_serves(uint64_t n, const sort_device *device)
{
	few_shape	shape;

	return n == 0 || cut_pairs(n, device, &shape);
}

/* --- scratch -------------------------------------------------------------- */

typedef struct few_scratch
{
	uint64_t   *first;			/* [n] the items of the sorted tiles */
	uint32_t   *second;			/* [n] */
	uint64_t   *samples;		/* [total samples] */
	few_splitters splitters;
	size_t		bytes;
} few_scratch;

/* With NULL, only counts. */
static few_scratch
lay_out_few(const gsort_pairs *pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	few_scratch scratch;

	take(&cursor, &scratch.first, pairs->n);
	take(&cursor, &scratch.second, pairs->key_bits == 64 ? pairs->n : 0);
	take(&cursor, &scratch.samples, FEW_ROW::SAMPLES_MAX * FEW_ROW::TILES_MAX);
	take(&cursor, &scratch.splitters.keys, FEW_ROW::TILES_MAX);
	take(&cursor, &scratch.splitters.tiles, FEW_ROW::TILES_MAX);
	take(&cursor, &scratch.splitters.before, FEW_ROW::TILES_MAX * FEW_ROW::TILES_MAX);
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

size_t
pairs_few_scratch_bytes(const gsort_pairs *pairs)
{
	return pairs->n <= FEW_ROW::PAIRS_MAX ? lay_out_few(pairs, NULL).bytes : 0;
}

/* --- launches ------------------------------------------------------------- */

/* Enqueues the three kernels: sorted tiles, splitters, buckets. */
template<typename Key, bool Wide>
static cudaError_t
launch_few(const gsort_pairs *pairs, const few_shape &shape, const few_scratch &scratch,
		   cudaStream_t caller_stream)
{
	early_stream stream = {caller_stream, false};
	uint32_t	bits = pairs->end_bit - pairs->begin_bit;
	item_arrays<Wide> sorted = {scratch.first, scratch.second};
	few_source<Key, Wide> source = {(const Key *) pairs->d_keys, 0, 0,
		significant_bits(pairs->n - 1)};
	few_output<Key> output = {(const Key *) pairs->d_keys, pairs->d_rows, (Key *) pairs->d_keys_out,
		pairs->d_rows_out};

	/* there may be no bits, with begin_bit beyond the key width */
	if (bits > 0)
	{
		source.mask = (Key) (~(Key) 0 >> (8 * sizeof(Key) - bits));
		source.shift = pairs->begin_bit;
	}
	CUDA_TRY(find_early_launches((const void *) few_tiles_kernel<FEW_ROW, Key, Wide>,
								 &stream.early));
	CUDA_TRY(launch(few_tiles_kernel<FEW_ROW, Key, Wide>, shape.tiles, FEW_ROW::THREADS,
					sizeof(few_tile_memory<FEW_ROW, Wide>), stream, shape, source, sorted,
					scratch.samples));
	CUDA_TRY(launch(few_splitters_kernel<FEW_ROW>, shape.tiles, FEW_ROW::SPLITTER_THREADS,
					few_splitters_bytes<FEW_ROW>(shape), stream, shape,
					(const uint64_t *) scratch.samples, scratch.splitters));
	return launch(few_buckets_kernel<FEW_ROW, Key, Wide>, shape.buckets, FEW_ROW::THREADS,
				  few_bucket_bytes<FEW_ROW, Wide>(shape), stream, shape, source, sorted,
				  scratch.splitters, output);
}

cudaError_t
pairs_few_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes, cudaStream_t stream)
{
	few_scratch scratch = lay_out_few(pairs, d_scratch);
	sort_device device;
	few_shape	shape;

	CUDA_TRY(describe_device(&device));
	if (scratch_bytes < scratch.bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return cudaErrorInvalidValue;
	if (pairs->n == 0)
		return cudaSuccess;
	if (!cut_pairs(pairs->n, &device, &shape))
		return cudaErrorInvalidValue;

	const bool	wide = pairs->end_bit - pairs->begin_bit + significant_bits(pairs->n - 1) > 64;

	if (pairs->key_bits == 32)
		return launch_few<uint32_t, false>(pairs, shape, scratch, stream);
	return wide ? launch_few<uint64_t, true>(pairs, shape, scratch, stream) :
		launch_few<uint64_t, false>(pairs, shape, scratch, stream);
}
