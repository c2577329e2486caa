/*
 * tuplesort_device.c
 *	  A sort's way to the device: its feed, its job, and the runs of one that fills it.
 *
 * In:  a sort's rows, in private memory.
 * Out: the same in a job; what the job has no room for in a run (spill.c), and what it takes
 *	    not at all in a native sort (tuplesort_native.c).
 *
 * Runs in the backend that leads the sort.  Feed, job and runs are in the sort's context.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "keys/key_types.h"
#include "settings.h"
#include "sort/tuplesort_internal.h"

/* Rows stay in the backend up to this, or work_mem if that is less. */
#define PRIVATE_ROWS_BYTES_MAX	((Size) 8 * 1024 * 1024)

/* An estimate beyond this is no better than this. */
#define EXPECTED_ROWS_MAX		1e12

/* Where the plan's estimates are known to be wrong. */
#define USUAL_NATIVE_ROWS_PER_MS	1000

/* A slot that goes with the sort. */
static TupleTableSlot *
make_slot(GpuSortTuplesort *sort, const TupleTableSlotOps *ops)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(sort->spec->desc, ops);

	sort->own_slots = lappend(sort->own_slots, slot);
	return slot;
}

void
gpusort_tuplesort_begin_packing(GpuSortTuplesort *sort, const GpuSortKeyLayout *layouts)
{
	const GpuSortSpec *spec = sort->spec;
	const TupleTableSlotOps *ops = spec->result->tts_ops;
	GpuSortSlots *slots = &sort->slots;
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	slots->merge_run = make_slot(sort, ops);
	slots->merge_native = make_slot(sort, &TTSOpsMinimalTuple);
	slots->tied_native = make_slot(sort, &TTSOpsMinimalTuple);
	for (int i = 0; i < lengthof(slots->compared); i++)
		slots->compared[i] = make_slot(sort, ops);
	if (spec->grouping)
		gpusort_keys_make_for_grouping(spec->order, spec->desc, &sort->keys);
	else
		gpusort_keys_make(spec->order, spec->n_keys, layouts, spec->desc, &sort->keys);
	gpusort_ordering_make(&sort->ordering, spec->order, &sort->keys, spec->format, spec->desc,
						  slots, sort->context);
	MemoryContextSwitchTo(old_context);
}

void
gpusort_tuplesort_begin_feed(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;
	Size		array_bytes = sort->provisional != NULL ? gpusort_row_array_bytes(sort->provisional) : 0;
	Size		limit = Min((Size) work_mem * 1024, array_bytes + PRIVATE_ROWS_BYTES_MAX);
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	/* asked once, as it takes the shared lock */
	sort->private_rows_max = spec->may_use_device ? gpusort_job_min_rows() : PG_UINT64_MAX;
	/* the array's rows stay until all of them are packed */
	limit -= Min(limit, array_bytes);
	sort->feed = gpusort_feed_begin(spec->format, &sort->keys, spec->row_width,
									Max(limit, GPUSORT_BUFFER_BYTES));
	MemoryContextSwitchTo(old_context);
}

/* What the native sort would take, of as many rows as are expected now. */
static int
native_milliseconds(const GpuSortTuplesort *sort)
{
	if (sort->expected_rows <= sort->spec->rows)
		return sort->spec->native_ms;
	return (int) Min(INT_MAX, Max(1, sort->expected_rows / USUAL_NATIVE_ROWS_PER_MS));
}

void
gpusort_tuplesort_open_job(GpuSortTuplesort *sort, int feeders, GpuSortNativeReason *reason)
{
	const GpuSortSpec *spec = sort->spec;
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	GpuSortJobOptions options = {
		.feeders = feeders,
		.device.engine = gpusort_algorithm,
		.wait_ms = native_milliseconds(sort),
		.expected_rows = (uint64) Min(sort->expected_rows, EXPECTED_ROWS_MAX),
	};

	options.expected_bytes = options.expected_rows * spec->packed_bytes;
	gpusort_ordering_describe(&sort->ordering, &options);
	gpusort_progress_begin(&sort->progress, sort->context, options.expected_rows, sort->begun);
	sort->job = gpusort_job_open(&options, reason);
	if (sort->job != NULL)
	{
		gpusort_progress_set_job(&sort->progress, sort->job->id.slot, sort->job->id.generation);
		sort->figures.kind = sort->job->device_kind;
		sort->figures.device = pstrdup(sort->job->device_name);
	}
	MemoryContextSwitchTo(old_context);
}

void
gpusort_tuplesort_spill_run(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	if (sort->spill == NULL)
		sort->spill = gpusort_spill_begin(&sort->ordering, &sort->progress);
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_SPILLING);
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	gpusort_spill_add_run(sort->spill, sort->job);
	gpusort_job_next_run(sort->job);
	sort->figures.bytes_received = sort->spill->bytes;
	MemoryContextSwitchTo(old_context);
}

void
gpusort_tuplesort_spill_full_job(GpuSortTuplesort *sort)
{
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_SORTING);
	if (gpusort_job_cut_full_run(sort->job))
		gpusort_tuplesort_spill_run(sort);
	else
		gpusort_tuplesort_stop_feeding(sort);
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_FEEDING);
}

void
gpusort_tuplesort_go_to_device(GpuSortTuplesort *sort)
{
	GpuSortNativeReason reason = GPUSORT_NATIVE_NONE;

	if (sort->spec->may_use_device)
		gpusort_tuplesort_open_job(sort, 1, &reason);
	if (sort->job == NULL)
	{
		gpusort_tuplesort_switch_to_native(sort, reason);
		return;
	}
	for (;;)
	{
		switch (gpusort_feed_attach_job(sort->feed, sort->job))
		{
			case GPUSORT_FEED_FULL:
				gpusort_tuplesort_spill_full_job(sort);
				if (sort->native != NULL)
					return;
				break;
			case GPUSORT_FEED_REFUSED:
				gpusort_tuplesort_stop_feeding(sort);
				return;
			default:
				return;
		}
	}
}

void
gpusort_tuplesort_feed_row(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	while (sort->native == NULL)
	{
		switch (gpusort_feed_row(sort->feed, slot))
		{
			case GPUSORT_FEED_TAKEN:
				return;
			case GPUSORT_FEED_WANTS_JOB:
				gpusort_tuplesort_go_to_device(sort);
				break;
			case GPUSORT_FEED_FULL:
				gpusort_tuplesort_spill_full_job(sort);
				break;
			case GPUSORT_FEED_REFUSED:
				gpusort_tuplesort_stop_feeding(sort);
				break;
		}
	}
	tuplesort_puttupleslot(sort->native, slot);
}

void
gpusort_tuplesort_leave_private_memory(GpuSortTuplesort *sort)
{
	if (sort->native == NULL && sort->job == NULL && sort->feed->rows >= sort->private_rows_max)
		gpusort_tuplesort_go_to_device(sort);
}
