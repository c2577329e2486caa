/*
 * tuplesort_provisional.c
 *	  A serial sort begins as PostgreSQL's own, and stays it if few rows come.
 *
 * In:  a sort's first rows, put into a tuplesort, or their values, where each has one only.
 * Out: that tuplesort, performed, if there are no more rows; else all of its rows, in order, in
 *	    what they would be in without it: private memory, a job, or another native tuplesort.
 *
 * A sort of few rows costs what a Sort node takes for it, and nothing else does: estimates may
 * be wrong, and so every Sort of a plan may be ours.  Where the planner had no statistics the
 * rows also tell how to lay their keys out (row_layouts.c).
 *
 * Runs in the backend that leads the sort, which owns the tuplesort.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "settings.h"
#include "sort/row_layouts.h"
#include "sort/tuplesort_internal.h"

/*
 * Of a sort that is expected to be large: an input that turns out to be tiny is worth no buffers,
 * and so few rows are sorted twice in no time.
 */
#define ROWS_OF_LARGE_SORT		100

/* Of one that is expected to be small, where the private sort is faster: from twice as many on it has
 * made up for rows that were sorted twice. */
#define ROWS_OF_SMALL_SORT		500

/* As many tell how to lay keys out: samples are taken of them, and rows that come by their place
 * in the table, or by a join, often begin with some that are much alike. */
#define ROWS_TO_LAY_OUT_BY		2000

/* How often a provisional sort looks at the memory that it has. */
#define ROWS_BETWEEN_LOOKS		16

/* The first rows are to tell how keys are laid out. */
static bool
is_laid_out_by_rows(const GpuSortSpec *spec)
{
	return !spec->grouping && (!spec->from_statistics || spec->few_texts);
}

/* As nodeSort.c does it: a value by itself is moved faster than a row. */
static bool
is_single_value(const GpuSortSpec *spec)
{
	return spec->desc->natts == 1 && spec->order->n_keys == 1 &&
		TupleDescAttr(spec->desc, 0)->attbyval;
}

/* Does the private sort beat the native one, of some rows?  Words are made at once of values that are
 * passed as such, and nothing but words has to be compared.  Of rows that are no more than such a value
 * it does not. */
static bool
words_are_cheap(const GpuSortSpec *spec)
{
	const GpuSortOrder *order = spec->order;

	for (int i = 0; i < order->n_keys; i++)
		if (!TupleDescAttr(spec->desc, order->columns[i] - 1)->attbyval)
			return false;
	return spec->n_keys == order->n_keys && !is_single_value(spec);
}

static uint64
rows_to_stay(const GpuSortSpec *spec)
{
	/* inside EvalPlanQual, where a child gives a row or two */
	if (!spec->may_use_device)
		return PG_UINT64_MAX;
	if (spec->rows < gpusort_min_rows)
		return words_are_cheap(spec) ? Min(gpusort_min_rows, ROWS_OF_SMALL_SORT) : gpusort_min_rows;
	return Min(gpusort_min_rows,
			   is_laid_out_by_rows(spec) ? ROWS_TO_LAY_OUT_BY : ROWS_OF_LARGE_SORT);
}

/* It can be read again, which costs nothing as long as it is in memory. */
static Tuplesortstate *
begin_tuplesort(const GpuSortSpec *spec, bool by_datum)
{
	const GpuSortOrder *order = spec->order;

	if (by_datum)
		return tuplesort_begin_datum(TupleDescAttr(spec->desc, 0)->atttypid, order->operators[0],
									 order->collations[0], order->nulls_first[0], work_mem, NULL,
									 TUPLESORT_RANDOMACCESS);
	return tuplesort_begin_heap(spec->desc, order->n_keys, order->columns, order->operators,
								order->collations, order->nulls_first, work_mem, NULL,
								TUPLESORT_RANDOMACCESS);
}

void
gpusort_tuplesort_begin_provisional(GpuSortTuplesort *sort)
{
	sort->provisional_rows = 0;
	sort->provisional_limit = rows_to_stay(sort->spec);
	if (sort->provisional != NULL)
		tuplesort_reset(sort->provisional);
	else if (sort->provisional_limit > 0)
	{
		MemoryContext old_context = MemoryContextSwitchTo(sort->context);

		sort->by_datum = is_single_value(sort->spec);
		sort->provisional = begin_tuplesort(sort->spec, sort->by_datum);
		MemoryContextSwitchTo(old_context);
	}
}

/* The keys' layouts by the rows that are there, if that is better than what the plan says. */
static const GpuSortKeyLayout *
choose_layouts(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	const GpuSortSpec *spec = sort->spec;
	GpuSortKeyLayout *layouts;

	/* single values have a word of a fixed width */
	if (!is_laid_out_by_rows(spec) || sort->by_datum)
		return spec->layouts;
	layouts = MemoryContextAlloc(sort->context, spec->n_keys * sizeof(GpuSortKeyLayout));
	if (!gpusort_lay_out_by_rows(sort->provisional, sort->provisional_rows, slot, spec,
								 sort->expected_rows, layouts))
		return spec->layouts;
	return layouts;
}

static bool
next_row(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	if (!sort->by_datum)
		return tuplesort_gettupleslot(sort->provisional, true, false, slot, NULL);
	ExecClearTuple(slot);
	if (!compat_tuplesort_getdatum(sort->provisional, true, &slot->tts_values[0],
								   &slot->tts_isnull[0]))
		return false;
	ExecStoreVirtualTuple(slot);
	return true;
}

/* Hands all rows on.  False: the device is lost. */
static bool
feed_rows(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	while (next_row(sort, slot))
	{
		if (!gpusort_tuplesort_feed_row(sort, slot))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Too many rows have come: they go where those of other sorts go.  False: the device is lost. */
static bool
leave(GpuSortTuplesort *sort)
{
	TupleTableSlot *slot;
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	bool		fed;

	tuplesort_performsort(sort->provisional);
	slot = MakeSingleTupleTableSlot(sort->spec->desc,
									sort->by_datum ? &TTSOpsVirtual : &TTSOpsMinimalTuple);
	sort->own_slots = lappend(sort->own_slots, slot);
	/* the estimate was too low, by nobody knows how much */
	if (sort->provisional_rows > sort->expected_rows)
		sort->expected_rows = 2.0 * sort->provisional_rows;
	gpusort_tuplesort_begin_packing(sort, choose_layouts(sort, slot));
	gpusort_tuplesort_begin_feed(sort);
	MemoryContextSwitchTo(old_context);
	fed = feed_rows(sort, slot);
	ExecClearTuple(slot);
	tuplesort_end(sort->provisional);
	sort->provisional = NULL;
	return fed;
}

/* --- its rows ------------------------------------------------------------------------ */

/* Blocks that are not full count too: it may leave with half of work_mem used, but it hardly ever
 * spills. */
static bool
is_full(const GpuSortTuplesort *sort)
{
	return sort->spec->may_use_device &&
		MemoryContextMemAllocated(sort->context, true) > (Size) work_mem * 1024;
}

/* Puts rows, one after the other as nodeSort.c does.  Returns the first one that is not put, NULL
 * if there are no more. */
static TupleTableSlot *
put_rows(GpuSortTuplesort *sort, PlanState *child)
{
	Tuplesortstate *provisional = sort->provisional;
	uint64		limit = sort->provisional_limit;
	uint64		rows;
	TupleTableSlot *slot;

	for (rows = 0;; rows++)
	{
		slot = ExecProcNode(child);
		if (TupIsNull(slot))
		{
			slot = NULL;
			break;
		}
		if (unlikely(rows >= limit) ||
			(unlikely(rows % ROWS_BETWEEN_LOOKS == ROWS_BETWEEN_LOOKS - 1) && is_full(sort)))
			break;
		if (sort->by_datum)
		{
			slot_getsomeattrs(slot, 1);
			tuplesort_putdatum(provisional, slot->tts_values[0], slot->tts_isnull[0]);
		}
		else
			tuplesort_puttupleslot(provisional, slot);
	}
	sort->provisional_rows = rows;
	return slot;
}

bool
gpusort_tuplesort_put_first_rows(GpuSortTuplesort *sort, PlanState *child, TupleTableSlot **slot)
{
	if (sort->provisional == NULL)
	{
		*slot = ExecProcNode(child);
		if (TupIsNull(*slot))
			*slot = NULL;
		return true;
	}
	*slot = put_rows(sort, child);
	return *slot == NULL || leave(sort);
}
