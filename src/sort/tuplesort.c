/*
 * tuplesort.c
 *	  A sort of rows that the device may do.
 *
 * In:  rows, packed by put or by the feed nodes of a parallel plan.
 * Out: a source of the sorted rows: the device by way of shared windows
 *	    (output_device.c); sorted runs in files, for an input beyond the device's
 *	    budget (output_spilled.c); private memory, for one under the crossover
 *	    (output_array.c, output_private.c); or a native tuplesort, when the device cannot serve
 *	    (output_native.c).
 *
 * Where rows go: first into an array, while they are few (tuplesort_provisional.c), or into
 * private memory.  When there are enough of them a job is
 * opened, and they go to it (tuplesort_device.c).  When the job is full, what it has becomes a
 * run, which is spilled.  When the job takes no more rows, all rows that are not in a run are
 * recalled (recall.c) and go, with those to come, into a native tuplesort
 * (tuplesort_native.c).  When all have been put, they are sorted where they are
 * (tuplesort_perform.c).
 *
 * Runs in the backend that leads the sort.  All memory is in the sort's context: its
 * reset, by gpusort_tuplesort_end or by the end of the query in any way, closes the job.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "shared/stats.h"
#include "sort/tuplesort_internal.h"

static double
milliseconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* Where the rows of a serial plan go at first. */
static void
begin_serial(GpuSortTuplesort *sort)
{
	gpusort_tuplesort_begin_provisional(sort);
	if (sort->provisional != NULL)
		return;
	gpusort_tuplesort_begin_packing(sort, sort->spec->layouts);
	gpusort_tuplesort_begin_feed(sort);
}

GpuSortTuplesort *
gpusort_tuplesort_begin(const GpuSortSpec *spec, MemoryContext parent, GpuSortNativeReason reason)
{
	MemoryContext context = AllocSetContextCreate(parent, "GpuSort", ALLOCSET_DEFAULT_SIZES);
	GpuSortTuplesort *sort = MemoryContextAllocZero(context, sizeof(GpuSortTuplesort));

	sort->spec = spec;
	sort->slots.result = spec->result;
	sort->slots.native = spec->native;
	sort->slots.native_goes_out = spec->native_goes_out;
	sort->context = context;
	sort->expected_rows = spec->rows;
	sort->native_reason = GPUSORT_NATIVE_NONE;
	INSTR_TIME_SET_CURRENT(sort->begun);
	if (gpusort_tuplesort_is_parallel(sort) && reason == GPUSORT_NATIVE_NONE)
	{
		gpusort_tuplesort_begin_packing(sort, spec->layouts);
		gpusort_tuplesort_open_job(sort, GPUSORT_PARALLEL_FEEDERS(spec->workers), &reason);
	}
	if (reason != GPUSORT_NATIVE_NONE)
		gpusort_tuplesort_begin_native(sort, reason);
	else if (!gpusort_tuplesort_is_parallel(sort))
		begin_serial(sort);
	return sort;
}

bool
gpusort_tuplesort_restart(GpuSortTuplesort *sort)
{
	if (sort->provisional == NULL || sort->output == NULL)
		return false;
	ExecClearTuple(sort->slots.result);
	ExecClearTuple(sort->slots.native);
	pfree(sort->output);
	sort->output = NULL;
	INSTR_TIME_SET_CURRENT(sort->begun);
	begin_serial(sort);
	return true;
}

GpuSortJobId
gpusort_tuplesort_feeders_job(const GpuSortTuplesort *sort)
{
	GpuSortJobId none = {.slot = -1};

	return sort->job != NULL ? sort->job->id : none;
}

GpuSortFeed *
gpusort_tuplesort_feed(GpuSortTuplesort *sort)
{
	return sort->native == NULL ? sort->feed : NULL;
}

void
gpusort_tuplesort_put(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	gpusort_tuplesort_leave_private_memory(sort);
	gpusort_tuplesort_feed_row(sort, slot);
}

void
gpusort_tuplesort_put_returned(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	if (sort->native == NULL)
	{
		if (gpusort_job_refused_reason(sort->job) != GPUSORT_NATIVE_NONE)
			gpusort_tuplesort_stop_feeding(sort);
		/* before the row, since the others wait for it */
		else if (gpusort_job_is_full(sort->job))
			gpusort_tuplesort_spill_full_job(sort);
	}
	if (sort->native == NULL && sort->feed == NULL)
	{
		gpusort_tuplesort_begin_feed(sort);
		gpusort_feed_join_job(sort->feed, sort->job,
							  GPUSORT_PARALLEL_FEEDERS(sort->spec->workers) - 1);
	}
	gpusort_tuplesort_feed_row(sort, slot);
}

GpuSortOutput *
gpusort_tuplesort_perform(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	/* a clock costs as much as some rows */
	bool		timed = sort->spec->timed || sort->provisional == NULL;
	instr_time	start;

	INSTR_TIME_SET_ZERO(start);
	if (timed)
	{
		sort->feed_ms = milliseconds_since(sort->begun);
		INSTR_TIME_SET_CURRENT(start);
	}
	gpusort_tuplesort_sort_rows(sort);
	if (timed)
		sort->sort_ms = milliseconds_since(start);
	MemoryContextSwitchTo(old_context);
	return sort->output;
}

/* --- after that ---------------------------------------------------------------- */

uint64
gpusort_tuplesort_rows_fed(const GpuSortTuplesort *sort)
{
	return sort->rows_fed - (gpusort_tuplesort_is_parallel(sort) ? sort->own_rows : 0);
}

GpuSortNativeReason
gpusort_tuplesort_native_reason(const GpuSortTuplesort *sort)
{
	if (sort->native_reason == GPUSORT_NATIVE_NONE && gpusort_ordering_is_native(&sort->ordering))
		return GPUSORT_NATIVE_COLLATION;
	return sort->native_reason;
}

void
gpusort_tuplesort_explain(const GpuSortTuplesort *sort, ExplainState *es)
{
	sort->output->methods->explain(sort->output, es);
	if (sort->figures.sum.rows > 0)
		gpusort_ordering_explain(&sort->ordering, es);
	if (!es->timing)
		return;
	ExplainPropertyFloat("Feed Time", "ms", sort->feed_ms, 3, es);
	ExplainPropertyFloat("Sort Time", "ms", sort->sort_ms, 3, es);
	if (sort->figures.output_ms > 0)
		ExplainPropertyFloat("Output Time", "ms", sort->figures.output_ms, 3, es);
	gpusort_ordering_explain_times(&sort->ordering, es);
}

void
gpusort_tuplesort_end(GpuSortTuplesort *sort)
{
	ListCell   *lc;

	ExecClearTuple(sort->slots.result);
	ExecClearTuple(sort->slots.native);
	foreach(lc, sort->own_slots)
	{
		ExecClearTuple(lfirst(lc));
	}
	if (sort->in_backend > 0)
		gpusort_stats_count_in_backend(sort->in_backend);
	/* the device has had part in it */
	if (sort->output != NULL && sort->figures.sum.rows > 0)
		gpusort_stats_add_times(sort->feed_ms, sort->figures.output_ms);
	if (sort->output != NULL && sort->output->methods->end != NULL)
		sort->output->methods->end(sort->output);
	if (sort->provisional != NULL)
		gpusort_row_array_end(sort->provisional);
	if (sort->native != NULL)
		tuplesort_end(sort->native);
	if (sort->spill != NULL)
		gpusort_spill_end(sort->spill);
	foreach(lc, sort->own_slots)
	{
		ExecDropSingleTupleTableSlot(lfirst(lc));
	}
	MemoryContextDelete(sort->context); /* closes the job */
}
