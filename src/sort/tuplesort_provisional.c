/*
 * tuplesort_provisional.c
 *	  A serial sort begins with an array, and stays there if few rows come.
 *
 * In:  a sort's first rows, or their values, where each has one only.
 * Out: an array of them, if there are no more rows; else all of them, as they came, in what they
 *	    would be in without it: private memory, a job, or a native tuplesort.
 *
 * A sort of few rows must not cost more than a Sort node takes for it: estimates may be wrong, and so
 * every Sort of a plan may be ours.  Where the planner had no statistics, or words are dear, the rows also tell how
 * to lay their keys out (row_layouts.c).
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "settings.h"
#include "sort/row_layouts.h"
#include "sort/tuplesort_internal.h"

/*
 * Of a sort that is expected to be large: an input that turns out to be tiny is worth no buffers,
 * and so few rows are copied twice in no time.
 */
#define ROWS_OF_LARGE_SORT		100

/* As many tell how to lay keys out: samples are taken of them, and rows that come by their place
 * in the table, or by a join, often begin with some that are much alike. */
#define ROWS_TO_LAY_OUT_BY		2000

/* Has the plan words that the first rows may find too dear? */
static bool
may_spare_words(const GpuSortSpec *spec)
{
	for (int i = 0; i < spec->n_keys; i++)
		if (spec->layouts[i].n_words > spec->layouts[i].n_needed)
			return true;
	return false;
}

/* The first rows are to tell how keys are laid out. */
static bool
is_laid_out_by_rows(const GpuSortSpec *spec)
{
	return !spec->grouping &&
		(!spec->from_statistics || spec->few_texts || may_spare_words(spec));
}

static uint64
rows_to_stay(const GpuSortSpec *spec)
{
	uint64		min_rows;

	/* inside EvalPlanQual, where a child gives a row or two */
	if (!spec->may_use_device)
		return PG_UINT64_MAX;
	if (spec->rows < gpusort_min_rows_of_plans())
		return gpusort_min_rows_of_plans();
	min_rows = gpusort_job_min_rows();
	return spec->rows < min_rows ? min_rows :
		Min(min_rows, is_laid_out_by_rows(spec) ? ROWS_TO_LAY_OUT_BY : ROWS_OF_LARGE_SORT);
}

/* More rows have come than were expected.  Which device there is is asked only now: a sort of which few were expected, and came,
 * takes no lock. */
static uint64
rows_to_stay_after_all(const GpuSortTuplesort *sort)
{
	uint64		limit = sort->provisional_limit;

	return limit == gpusort_min_rows_of_plans() ? Max(limit, gpusort_job_min_rows()) : limit;
}

void
gpusort_tuplesort_begin_provisional(GpuSortTuplesort *sort)
{
	sort->provisional_limit = rows_to_stay(sort->spec);
	if (sort->provisional != NULL)
		gpusort_row_array_reset(sort->provisional);
	else if (sort->provisional_limit > 0)
	{
		const GpuSortSpec *spec = sort->spec;
		MemoryContext old_context = MemoryContextSwitchTo(sort->context);

		sort->provisional = gpusort_row_array_begin(spec->order, spec->desc, spec->format,
													spec->result, (Size) work_mem * 1024);
		MemoryContextSwitchTo(old_context);
	}
}

/* The keys' layouts by the rows that are there, if that is better than what the plan says. */
static const GpuSortKeyLayout *
choose_layouts(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	const GpuSortSpec *spec = sort->spec;
	GpuSortKeyLayout *layouts;

	if (!is_laid_out_by_rows(spec))
		return spec->layouts;
	layouts = MemoryContextAlloc(sort->context, spec->n_keys * sizeof(GpuSortKeyLayout));
	if (!gpusort_lay_out_by_rows(sort->provisional, slot, spec, sort->expected_rows, layouts))
		return spec->layouts;
	return layouts;
}

/* Hands all rows on, as they have come. */
static void
feed_rows(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	uint64		rows = gpusort_row_array_rows(sort->provisional);

	for (uint64 i = 0; i < rows; i++)
	{
		gpusort_tuplesort_feed_row(sort, gpusort_row_array_get(sort->provisional, i, slot));
		CHECK_FOR_INTERRUPTS();
	}
}

/* Too many rows have come: they go where those of other sorts go. */
static void
leave(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	uint64		rows = gpusort_row_array_rows(sort->provisional);
	TupleTableSlot *slot;

	/* the estimate was too low, by nobody knows how much */
	if (rows > sort->expected_rows)
		sort->expected_rows = 2.0 * rows;
	/* the result slot is used when rows are recalled */
	slot = MakeSingleTupleTableSlot(sort->spec->desc, sort->spec->result->tts_ops);
	sort->own_slots = lappend(sort->own_slots, slot);
	gpusort_tuplesort_begin_packing(sort, choose_layouts(sort, slot));
	gpusort_tuplesort_begin_feed(sort);
	MemoryContextSwitchTo(old_context);
	feed_rows(sort, slot);
	ExecClearTuple(slot);
	ExecClearTuple(sort->spec->result);
	gpusort_row_array_end(sort->provisional);
	sort->provisional = NULL;
}

/* --- its rows ------------------------------------------------------------------------ */

/* Puts rows.  Returns the first one that is not put, NULL if there are no more. */
static TupleTableSlot *
put_rows(GpuSortTuplesort *sort, PlanState *child)
{
	GpuSortRowArray *array = sort->provisional;
	uint64		limit = sort->provisional_limit;

	for (uint64 rows = 0;; rows++)
	{
		TupleTableSlot *slot = ExecProcNode(child);

		if (TupIsNull(slot))
			return NULL;
		if (unlikely(rows == limit))
			limit = rows_to_stay_after_all(sort);
		if (unlikely(rows >= limit) || unlikely(!gpusort_row_array_put(array, slot)))
			return slot;
	}
}

TupleTableSlot *
gpusort_tuplesort_put_first_rows(GpuSortTuplesort *sort, PlanState *child)
{
	TupleTableSlot *slot;

	if (sort->provisional == NULL)
	{
		slot = ExecProcNode(child);
		return TupIsNull(slot) ? NULL : slot;
	}
	slot = put_rows(sort, child);
	if (slot != NULL)
		leave(sort);
	return slot;
}
