/*
 * stage_segments.cuh
 *	  The third stage of the sort: sorts each given segment by itself, and emits
 *	  the rows.
 *
 * In:  items; lists of segments from any source; a plan with their number and
 *	    the kind of the items; the keys, which order shortened items that tie.
 * Out: the emit functor's output for each item's row, at the place of the
 *	    segment's sorted item.  The items are overwritten.
 *
 * A counting sort takes the segments (tile_counting.cuh) and leaves crowded
 * ones to tile_crowded.cuh; all blocks merge the long ones (merge.cuh).
 * Segments do not overlap, and items outside all segments are not emitted.  The
 * item of a place is read before a row is emitted there.  The functor may
 * therefore write where wide items of level 1 have their rows.
 *
 * Host code: enqueues the same kernels for any segments; neither allocates nor
 * reads back.
 */
#ifndef GSORT_STAGE_SEGMENTS_CUH
#define GSORT_STAGE_SEGMENTS_CUH

#include "sort/launch_plan.cuh"
#include "sort/merge.cuh"
#include "sort/tile_counting.cuh"
#include "sort/tile_crowded.cuh"

/* Fields of the plan: splitters.wide, and the segments, the long segments and
 * their tiles that are listed; the other counts are 0. */
struct segments_input
{
	segmented_items items;
	key_view	keys;			/* the keys of the items' rows */
	uint32_t	row_bits;		/* width of the row in narrow words */
	uint32_t	n;				/* upper limit of a long segment */
};

template<typename Row, bool MayBeWide, typename Emit>
struct segment_launches
{
	template<bool Wide>
	using counting_row = sort_row<Row, Wide>;
	typedef sort_row<Row, true> crowded_row;

	static_assert(fits_row<Row, counting_memory<counting_row<MayBeWide>, MayBeWide>,
				  counting_memory<counting_row<false>, false>,
				  crowded_sort_memory<crowded_row, MayBeWide>,
				  merge_memory<Row::SORT_TILE, MayBeWide>>, "shared memory of the row");

	const segments_input &in;
	partition_plan *plan;
	uint32_t   *crowded;
	const Emit &emit;
	const launch_target &target;

	item_order<true> order() const
	{
		return {in.keys, in.row_bits, false};
	}

	template<bool Wide>
	cudaError_t sort_by_counting() const
	{
		auto		kernel = tile_counting_sort_kernel<counting_row<Wide>, Wide, uint64_t, Emit>;

		/* items of short keys are never wide */
		if constexpr (!Wide)
			kernel = in.keys.key_bits == 32 ?
				tile_counting_sort_kernel<counting_row<Wide>, Wide, uint32_t, Emit> : kernel;
		return launch(kernel, target.device.processors * counting_row<Wide>::SORT_BLOCKS,
					  counting_row<Wide>::SORT_THREADS,
					  sizeof(counting_memory<counting_row<Wide>, Wide>), target.stream,
					  items_as<Wide>(in.items.level1), items_as<Wide>(in.items.level2), plan,
					  in.items.segments, crowded, order_as<Wide>(order()), emit);
	}

	cudaError_t sort_crowded() const
	{
		return launch(tile_crowded_sort_kernel<crowded_row, MayBeWide, Emit>,
					  target.device.processors * crowded_row::SORT_BLOCKS,
					  crowded_row::SORT_THREADS,
					  sizeof(crowded_sort_memory<crowded_row, MayBeWide>), target.stream,
					  in.items.level1, in.items.level2, plan, in.items.segments, crowded, order(),
					  emit);
	}

	cudaError_t merge_long() const
	{
		const long_segment *segments = in.items.long_segments;

		CUDA_TRY(launch(merge_sort_tiles_kernel<Row, MayBeWide>, target.device.processors,
						Row::SORT_THREADS, sizeof(merge_memory<Row::SORT_TILE, MayBeWide>),
						target.stream, in.items.level1, in.items.level2, plan, segments, order()));
		return launch_together(merge_levels_kernel<Row, MayBeWide, Emit>, target.device.processors,
							   Row::SORT_THREADS,
							   sizeof(merge_memory<Row::SORT_TILE, MayBeWide>),
							   target.stream.stream, in.items.level1, in.items.level2, plan,
							   segments, merge_levels(in.n, Row::SORT_TILE), order(), emit);
	}
};

/* crowded: [plan's segments], device memory of the caller.  MayBeWide: false if
 * the host knows that the items are narrow. */
template<typename Row, bool MayBeWide, typename Emit>
static cudaError_t
sort_segments(const segments_input &in, partition_plan *plan, uint32_t *crowded, const Emit &emit,
			  const launch_target &target)
{
	const segment_launches<Row, MayBeWide, Emit> launches = {in, plan, crowded, emit, target};

	CUDA_TRY(launches.template sort_by_counting<false>());
	if constexpr (MayBeWide)
		CUDA_TRY(launches.template sort_by_counting<true>());
	CUDA_TRY(launches.sort_crowded());
	return launches.merge_long();
}

#endif							/* GSORT_STAGE_SEGMENTS_CUH */
