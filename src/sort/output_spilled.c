/*
 * output_spilled.c
 *	  The rows of a sort whose runs have been spilled, in either direction.
 *
 * In:  the merge of the runs, which can be read forward, and again from its
 *	    beginning.
 * Out: rows, from the merge; from a tuplestore, once somebody has stepped back.
 *
 * A merge cannot be read backward, and hardly anybody asks: a cursor may be
 * scrolled, but most never are.  So nothing is stored while rows go forward.
 * The first step back, or the first mark, merges once more from the beginning,
 * and puts all rows into a tuplestore, which serves from then on.  The order of
 * the merge is the same each time.  Equal keys are taken in the order of the
 * runs, whether the device or this process computes it.
 *
 * Runs in the backend that leads the sort.  The tuplestore is within work_mem
 * or in a temporary file.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "explain_figures.h"
#include "sort/output.h"

typedef struct SpilledOutput
{
	GpuSortOutput output;		/* must be first */
	MemoryContext context;
	GpuSortSpill *spill;
	GpuSortRunMerge *merge;
	uint64		merged;			/* rows that it has returned since its beginning */
	bool		eof_reached;	/* the last row has been asked for */
	Tuplestorestate *materialized;		/* all rows; NULL: nobody has gone back */
	bool		random_access;
	const GpuSortDeviceFigures *figures;
} SpilledOutput;

/* The progress is reported after this many rows: often enough to watch, too
 * seldom to cost anything. */
#define ROWS_A_STEP		4096

/* Puts the merge's next row into the result slot.  False: it has no more. */
static bool
merge_next(SpilledOutput *spilled)
{
	GpuSortSlots *slots = spilled->output.slots;
	const char *row;

	if (!gpusort_run_merge_next(spilled->merge, &row))
		return false;
	(void) gpusort_row_store(spilled->spill->ordering->spec->format, row, slots->result);
	if (unlikely(++spilled->merged % ROWS_A_STEP == 0))
		gpusort_job_report(spilled->spill->job, GPUSORT_ROWS_RETURNED, spilled->merged);
	return true;
}

/* Returns a row of the tuplestore, which steps as a tuplesort does. */
static TupleTableSlot *
next_materialized(SpilledOutput *spilled, bool forward)
{
	TupleTableSlot *slot = spilled->output.slots->result;
	TupleTableSlot *native = spilled->output.slots->native;

	if (!tuplestore_gettupleslot(spilled->materialized, forward, false, native))
		return ExecClearTuple(slot);
	if (native != slot)
		ExecCopySlot(slot, native);
	return slot;
}

/* Merges anew and stores all rows.  The current one stays in the result slot,
 * since a caller that marks a place may still read it. */
static void
materialize(SpilledOutput *spilled)
{
	MemoryContext old_context = MemoryContextSwitchTo(spilled->context);
	uint64		rows = spilled->merged;

	spilled->materialized = tuplestore_begin_heap(true, false, work_mem);
	tuplestore_set_eflags(spilled->materialized, EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD);
	(void) tuplestore_alloc_read_pointer(spilled->materialized,
										 EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD);
	MemoryContextSwitchTo(old_context);
	gpusort_run_merge_rewind(spilled->merge);
	spilled->merged = 0;
	while (merge_next(spilled))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_puttupleslot(spilled->materialized, spilled->output.slots->result);
	}
	gpusort_job_release_device(spilled->spill->job);
	gpusort_spill_end(spilled->spill);
	ExecClearTuple(spilled->output.slots->result);
	if (rows > 1)
		(void) tuplestore_skiptuples(spilled->materialized, rows - 1, true);
	if (rows > 0)
		(void) next_materialized(spilled, true);
	if (spilled->eof_reached)
		(void) next_materialized(spilled, true);
}

/* Reading forward to the end gives all back, unless rows may be read again. */
static TupleTableSlot *
spilled_next(GpuSortOutput *output, bool forward)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (unlikely(!forward && spilled->materialized == NULL))
		materialize(spilled);
	if (unlikely(spilled->materialized != NULL))
		return next_materialized(spilled, forward);
	if (likely(merge_next(spilled)))
		return output->slots->result;
	spilled->eof_reached = true;
	gpusort_job_report(spilled->spill->job, GPUSORT_ROWS_RETURNED, spilled->merged);
	if (!spilled->random_access)
	{
		gpusort_job_close(spilled->spill->job);
		gpusort_spill_end(spilled->spill);
	}
	return ExecClearTuple(output->slots->result);
}

/* The merge is read again unless rows are stored already. */
static bool
spilled_rewind(GpuSortOutput *output)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (!spilled->random_access)
		return false;
	if (spilled->materialized != NULL)
		tuplestore_rescan(spilled->materialized);
	else
		gpusort_run_merge_rewind(spilled->merge);
	spilled->eof_reached = false;
	spilled->merged = 0;
	return true;
}

/* The tuplestore's second pointer is the marked place, at first its
 * beginning. */
static void
spilled_mark(GpuSortOutput *output)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (spilled->materialized == NULL)
		materialize(spilled);
	tuplestore_copy_read_pointer(spilled->materialized, 0, 1);
}

static void
spilled_restore(GpuSortOutput *output)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (spilled->materialized != NULL)
		tuplestore_copy_read_pointer(spilled->materialized, 1, 0);
	else
		(void) spilled_rewind(output);
}

/* The runs on disk are those before any were merged. */
static void
spilled_explain(const GpuSortOutput *output, ExplainState *es)
{
	const SpilledOutput *spilled = (const SpilledOutput *) output;
	const GpuSortSpill *spill = spilled->spill;

	ExplainPropertyText("Sort Method",
						psprintf("%s external merge",
								 gpusort_device_figures_method(spilled->figures)), es);
	ExplainPropertyInteger("Runs", NULL, spill->n_spilled, es);
	ExplainPropertyText("Merge Order",
						gpusort_run_merge_follows_order(spilled->merge) ? "device" : "backend", es);
	gpusort_explain_bytes("Disk", spill->bytes, es);
	gpusort_device_figures_explain(spilled->figures, es);
}

static void
spilled_end(GpuSortOutput *output)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (spilled->materialized != NULL)
		tuplestore_end(spilled->materialized);
}

static const GpuSortOutputMethods spilled_methods = {
	.next = spilled_next,
	.rewind = spilled_rewind,
	.mark = spilled_mark,
	.restore = spilled_restore,
	.explain = spilled_explain,
	.end = spilled_end,
};

/* The merge begins at the first run. */
GpuSortOutput *
gpusort_output_spilled_begin(GpuSortSlots *slots, GpuSortSpill *spill, bool by_order,
							 bool random_access, const GpuSortDeviceFigures *figures)
{
	SpilledOutput *spilled = palloc0(sizeof(SpilledOutput));

	spilled->output.methods = &spilled_methods;
	spilled->output.slots = slots;
	spilled->context = CurrentMemoryContext;
	spilled->spill = spill;
	spilled->merge = gpusort_run_merge_begin(spill, 0, by_order);
	spilled->random_access = random_access;
	spilled->figures = figures;
	return &spilled->output;
}
