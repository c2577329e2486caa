/*
 * pairs_partition.cu
 *	  The partition-and-merge sort: the sequence of its stages.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and keys in the caller's arrays.
 *
 *	  keys --choose_splitters--> splitters	stage_splitters.cuh
 *	       --pass_presorted----> emitted, if in order	stage_emit.cuh
 *	       --partition_keys----> segments	stage_partition.cuh
 *	       --sort_segments-----> emitted		stage_segments.cuh
 *
 * The stages share the plan (partition_plan.cuh, which also defines the terms),
 * at the beginning of the scratch.  The host enqueues the same launches for any
 * keys; every kernel reads its work from the plan, and ends at once without.
 * The verdict on presorted keys must stand before level 1.
 *
 * If the sample shows too many keys that words do not separate, or keys too
 * uneven for linear maps, all stages leave the sort to pairs_radix.cu, whose
 * kernels also read the plan.
 *
 * Kernels that read many keys are instantiated for 32-bit and 64-bit keys.  The
 * others read items, whose words hold short keys as a whole.  Keys of at most
 * 64 - (bits of n - 1) significant bits always fit narrow items, which the host
 * knows.  For longer keys, the sample decides on the device.
 */
#include "sort/pairs_engine.h"

#include "rows/key_plan.h"
#include "sort/stage_emit.cuh"
#include "sort/stage_partition.cuh"
#include "sort/stage_segments.cuh"
#include "sort/stage_splitters.cuh"

typedef struct sort_scratch
{
	partition_plan *plan;
	sample_arrays sample;
	segmented_items items;		/* wide items of level 1 have their rows in the caller's output */
	uint32_t   *crowded;
	level2_arrays level2;
	/* the radix sort's scratch, overlapping everything behind the plan */
	void	   *radix;
	size_t		radix_bytes;	/* 0: no hand-over */
	size_t		bytes;
} sort_scratch;

static uint32_t
row_bits_of(uint64_t n)
{
	uint32_t	bits = significant_bits(n - 1);

	return bits > 0 ? bits : 1;
}

static bool
may_be_wide(const gsort_pairs *pairs)
{
	return pairs->bits + row_bits_of(pairs->n) > 64;
}

/* True if a hand-over is possible.  Input that takes one radix pass never is:
 * the host chooses the radix sort for it, unless the caller requests
 * otherwise. */
static bool
may_be_handed_over(const gsort_pairs *pairs)
{
	return pairs->bits > RADIX_DIGIT_BITS;
}

/* Lays out the scratch; with NULL it only counts.  The radix sort's scratch
 * overlaps the partition's, because only one of them sorts. */
template<typename Row>
static sort_scratch
lay_out(const gsort_pairs *pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	sort_scratch scratch;
	segmented_items *items = &scratch.items;
	uint64_t	n = pairs->n;
	bool		wide = may_be_wide(pairs);

	take(&cursor, &scratch.plan, 1);
	scratch.radix = (void *) cursor.at;
	scratch.radix_bytes = may_be_handed_over(pairs) ? pairs_radix_scratch_bytes(pairs) : 0;
	scratch.sample = take_sample(&cursor);
	take(&cursor, &items->segments, segments_max<Row>(n));
	take(&cursor, &scratch.crowded, segments_max<Row>(n));
	take(&cursor, &items->long_segments, long_segments_max<Row>(n));
	scratch.level2 = take_level2<Row>(&cursor, n, wide);
	take(&cursor, &items->level1.first, level1_items_max(n));
	take(&cursor, &items->level2.first, level2_items_max(n));
	items->level1.second = pairs->d_rows_out;
	take(&cursor, &items->level2.second, wide ? n : 0);
	if (cursor.at < (uintptr_t) scratch.radix + scratch.radix_bytes)
		cursor.at = (uintptr_t) scratch.radix + scratch.radix_bytes;
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

template<typename Row, bool MayBeWide>
static cudaError_t
sort_in_stages(const key_view &keys, uint32_t n, const sort_scratch &scratch,
			   const emit_pairs &emit, const launch_target &target)
{
	const splitters_input sampled = {keys, n, row_bits_of(n), scratch.radix_bytes > 0};
	const partition_input partitioned = {keys, n};
	const segments_input sorted = {scratch.items, keys, row_bits_of(n), n};

	CUDA_TRY(choose_splitters<Row>(sampled, scratch.sample, scratch.plan, target));
	CUDA_TRY(pass_presorted(n, scratch.plan, emit, target));
	CUDA_TRY((partition_keys<Row, MayBeWide>(partitioned, scratch.plan, scratch.level2,
											 scratch.items, target)));
	return sort_segments<Row, MayBeWide>(sorted, scratch.plan, scratch.crowded, emit, target);
}

/* Enqueues the sort with this tuning row: all stages, and the radix sort's
 * kernels for a hand-over. */
template<typename Row>
static cudaError_t
sort_with(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
		  const sort_device &device, cudaStream_t stream)
{
	const sort_scratch scratch = lay_out<Row>(pairs, d_scratch);
	const key_view keys = {pairs->d_keys, key_low_bits(pairs->bits), pairs->key_bits};
	const emit_pairs emit = {keys, pairs->d_rows, pairs->d_rows_out,
		(uint64_t *) pairs->d_keys_out};
	const uint32_t n = (uint32_t) pairs->n;
	launch_target target = {device, {stream, false}, pairs_partition_salt};

	if (scratch_bytes < scratch.bytes || (uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return cudaErrorInvalidValue;
	CUDA_TRY(find_early_launches((const void *) partition_sample_kernel, &target.stream.early));
	if (n == 0)
		return cudaSuccess;
	CUDA_TRY((may_be_wide(pairs) ? sort_in_stages<Row, true>(keys, n, scratch, emit, target) :
			  sort_in_stages<Row, false>(keys, n, scratch, emit, target)));
	/* last, because its scratch overlaps the partition's */
	return scratch.radix_bytes == 0 ? cudaSuccess :
		pairs_radix_sort_if(&scratch.plan->verdict.handed_over, pairs, scratch.radix,
							scratch.radix_bytes, stream);
}

/* The result of work, called with the tuning row for these pairs; otherwise
 * none, if no row fits. */
template<typename Result, typename Work>
static Result
with_row(const gsort_pairs *pairs, const sort_device &device, Result none, const Work &work)
{
	tuning_choice choice = pairs->n > GSORT_RUN_ROWS_MAX || pairs->bits == 0 ||
		pairs->bits > pairs->key_bits || !partition_takes(pairs) ? TUNING_CHOICE_NONE :
		sort_tuning_row(pairs->n, device.shared_bytes);

	return choice == TUNING_CHOICE_MEDIUM ? work(TUNING_MEDIUM()) :
		choice == TUNING_CHOICE_LARGE ? work(TUNING_LARGE()) : none;
}

size_t
pairs_partition_scratch_bytes(const gsort_pairs *pairs)
{
	sort_device device;

	return describe_device(&device) != cudaSuccess ? 0 :
		with_row(pairs, device, (size_t) 0,
				 [&](auto row) { return lay_out<decltype(row)>(pairs, NULL).bytes; });
}

cudaError_t
pairs_partition_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
					 cudaStream_t stream)
{
	sort_device device;

	CUDA_TRY(describe_device(&device));
	return with_row(pairs, device, (cudaError_t) cudaErrorInvalidValue, [&](auto row) {
		return sort_with<decltype(row)>(pairs, d_scratch, scratch_bytes, device, stream);
	});
}
