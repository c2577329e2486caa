/*
 * spill.c
 *	  Writes the device's sorted runs to temporary files, merges them from
 *	  there, and returns their rows.
 *
 * In:  the blocks of a job finished as a sorted run.  In the end also the order
 *	    of the merge, if the device has computed it: one byte for each row, the
 *	    number of its run.
 * Out: the rows of all runs in key order: from the merge, which is read once,
 *	    forward, or, if they are read again or backward, from a tuplestore.
 *
 * Runs in the backend that leads the sort.  A run is written before the job's
 * next run begins.  The device puts the next blocks into the job's buffers
 * while this process writes one.
 *
 * With the device's order, the merge reads one byte for each row.  That order
 * is missing if the device could not keep the keys, does not know all runs, or
 * if words leave rows undecided.  Then a heap orders the sources by their next
 * row's words, and undecided rows by the operators.  Among equal rows the
 * earlier run's comes first.  The device's order is the same, so the heap goes
 * on where a lost device has ended.  Each run has a buffer of a page at least;
 * together these take the memory that work_mem allows.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "explain_figures.h"
#include "job/stats.h"
#include "sort/ordered_reader.h"
#include "sort/spill.h"

#define RUN_BUFFER_BYTES_MAX	((Size) 1024 * 1024)

/* A run, with the keys of its next row. */
typedef struct MergeSource
{
	GpuSortRun *run;
	const char *row;
	uint32		nulls;
	uint64		words[GPUSORT_WORDS_MAX];	/* unless words are not to be trusted */
} MergeSource;

typedef struct RunMerge
{
	MemoryContext context;
	MemoryContext scratch;		/* for memory that comparisons leave */
	GpuSortSpill *spill;
	int			first;			/* first of its runs; it has all that follow too */
	bool		ended;			/* the last row has been given */

	/* by the device's order */
	GpuSortReader *order;		/* NULL: by keys */
	const uint8 *next_run;		/* in the block of the order being read */
	const uint8 *end;

	/* by keys */
	bool		by_words;		/* words come first */
	GpuSortComparer *comparer;	/* then the comparer; NULL: words decide all */
	MergeSource *sources;
	/* of numbers of sources; NULL: no row has been returned by keys yet */
	binaryheap *heap;
} RunMerge;

/* --- a merge by the device's order ---------------------------------------- */

/* False: the end, or the job has failed. */
static bool
next_by_order(RunMerge *merge, const char **row)
{
	GpuSortRun *run;

	if (unlikely(merge->next_run == merge->end))
	{
		if (!gpusort_reader_next_block(merge->order))
			return false;
		merge->next_run = (const uint8 *) gpusort_buffer_memory(merge->order->buffer);
		merge->end = merge->next_run + merge->order->block.rows;
	}
	if (unlikely(*merge->next_run >= merge->spill->n_runs))
		elog(ERROR, "gpusort merge order names run %d of %d", *merge->next_run,
			 merge->spill->n_runs);
	run = merge->spill->runs[*merge->next_run++];
	*row = gpusort_run_next(run);
	if (unlikely(*row == NULL))
		elog(ERROR, "gpusort merge order takes more rows from a run than it has");
	return true;
}

/* --- a merge by keys ------------------------------------------------------ */

/* Puts a source's next row into a slot. */
static TupleTableSlot *
row_of_source(const RunMerge *merge, const MergeSource *source, TupleTableSlot *slot)
{
	return gpusort_row_store(merge->spill->ordering->spec->format, source->row, slot);
}

static int
compare_rows(const RunMerge *merge, const MergeSource *a, const MergeSource *b)
{
	MemoryContext old_context = MemoryContextSwitchTo(merge->scratch);
	GpuSortComparer *comparer = merge->comparer;
	int			result = gpusort_comparer_compare_slots(comparer,
														row_of_source(merge, a, comparer->a),
														row_of_source(merge, b, comparer->b));

	MemoryContextSwitchTo(old_context);
	return result;
}

/* binaryheap keeps the largest on top, so the result is negative if a's row
 * comes after b's. */
static int
compare_sources(Datum a, Datum b, void *arg)
{
	const RunMerge *merge = arg;
	const MergeSource *left = &merge->sources[DatumGetInt32(a)];
	const MergeSource *right = &merge->sources[DatumGetInt32(b)];
	int			result = 0;

	if (merge->by_words)
		result = gpusort_keys_compare(merge->spill->ordering->keys, left->words, left->nulls,
									  right->words, right->nulls);
	if (result == 0 && merge->comparer != NULL)
		result = compare_rows(merge, left, right);
	if (result != 0)
		return -result;
	return DatumGetInt32(a) < DatumGetInt32(b) ? 1 : -1;
}

/* Goes to the source's next row.  False: it has no more. */
static bool
advance(RunMerge *merge, MergeSource *source)
{
	GpuSortSpill *spill = merge->spill;

	source->row = gpusort_run_next(source->run);
	if (source->row == NULL)
		return false;
	if (merge->by_words)
		source->nulls = gpusort_keys_take(spill->ordering->keys,
										  row_of_source(merge, source, spill->slot), source->words);
	return true;
}

/* Moves every source to its first row that was not returned yet. */
static void
build_heap(RunMerge *merge)
{
	int			n_sources = merge->spill->n_runs - merge->first;
	MemoryContext old_context = MemoryContextSwitchTo(merge->context);

	merge->sources = palloc0(n_sources * sizeof(MergeSource));
	merge->heap = binaryheap_allocate(n_sources, compare_sources, merge);
	for (int i = 0; i < n_sources; i++)
	{
		merge->sources[i].run = merge->spill->runs[merge->first + i];
		if (advance(merge, &merge->sources[i]))
			binaryheap_add_unordered(merge->heap, Int32GetDatum(i));
	}
	binaryheap_build(merge->heap);
	MemoryContextSwitchTo(old_context);
}

/* Moves on the source of the row returned last, which was in use until now. */
static void
advance_first(RunMerge *merge)
{
	Datum		first = binaryheap_first(merge->heap);

	if (advance(merge, &merge->sources[DatumGetInt32(first)]))
		binaryheap_replace_first(merge->heap, first);
	else
		binaryheap_remove_first(merge->heap);
}

static bool
next_by_keys(RunMerge *merge, const char **row)
{
	MemoryContextReset(merge->scratch);
	if (merge->heap == NULL)
		build_heap(merge);
	else
		advance_first(merge);
	if (binaryheap_empty(merge->heap))
		return false;
	*row = merge->sources[DatumGetInt32(binaryheap_first(merge->heap))].row;
	return true;
}

/* --- any merge ------------------------------------------------------------ */

static void
begin_reading(GpuSortSpill *spill, int first, Size bytes)
{
	bytes /= Max(spill->n_runs - first, 1);
	bytes = Min(Max(bytes, BLCKSZ), RUN_BUFFER_BYTES_MAX);
	for (int i = first; i < spill->n_runs; i++)
		gpusort_run_begin_reading(spill->runs[i], TYPEALIGN(8, bytes));
}

/*
 * Merges the runs from number first on, by comparing keys.  by_order: the job
 * has been merged, first is 0, and words decide all, so the device has computed
 * the order, of as many rows as the runs have.  If the job fails the merge goes
 * on by keys.  The runs' buffers take the memory of memory_kb.
 */
static RunMerge *
begin_merge(GpuSortSpill *spill, int first, bool by_order, int memory_kb)
{
	RunMerge *merge = palloc0(sizeof(RunMerge));
	const GpuSortOrdering *ordering = spill->ordering;

	merge->context = CurrentMemoryContext;
	merge->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort comparisons",
										   ALLOCSET_SMALL_SIZES);
	merge->spill = spill;
	merge->first = first;
	merge->by_words = ordering->check == NULL;
	merge->comparer = ordering->merge;
	if (by_order)
		merge->order = gpusort_reader_begin(spill->job, ordering->spec->format);
	if (by_order && merge->order->rows != spill->rows)
		elog(ERROR, "gpusort merge order has " UINT64_FORMAT " rows of " UINT64_FORMAT,
			 merge->order->rows, spill->rows);
	begin_reading(spill, first, (Size) memory_kb * 1024);
	return merge;
}

/* Returns the next row's bytes, valid until the next call.  A device that fails
 * now only ends its order.  False: there is no row. */
static bool
next_row(RunMerge *merge, const char **row)
{
	if (merge->ended)
		return false;
	if (merge->order != NULL)
	{
		if (next_by_order(merge, row))
			return true;
		if (gpusort_job_failed(merge->order->job))
		{
			/* a cursor may be read for long, and needs nothing of the job any
			 * more */
			gpusort_job_release_device(merge->order->job);
			merge->order = NULL;
		}
	}
	if (merge->order == NULL && next_by_keys(merge, row))
		return true;
	merge->ended = true;
	return false;
}

/* --- writing runs --------------------------------------------------------- */

GpuSortSpill *
gpusort_spill_begin(GpuSortOrdering *ordering, TupleTableSlot *slot, GpuSortJob *job)
{
	GpuSortSpill *spill = palloc0(sizeof(GpuSortSpill));

	spill->context = CurrentMemoryContext;
	spill->ordering = ordering;
	spill->slot = slot;
	spill->job = job;
	return spill;
}

/* Replaces the runs from first on by one. */
static void
replace_runs(GpuSortSpill *spill, int first, GpuSortRun *merged)
{
	for (int i = first; i < spill->n_runs; i++)
		gpusort_run_close(spill->runs[i]);
	spill->runs[first] = merged;
	spill->n_runs = first + 1;
	spill->n_merged = first + 1;
	spill->by_keys = true;
}

/* Makes one run of many.  A row is written once a round.  Merged runs are
 * merged again only when they are half of all. */
static void
merge_round(GpuSortSpill *spill)
{
	int			first = spill->n_merged < GPUSORT_RUNS_MAX / 2 ? spill->n_merged : 0;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort merge",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	GpuSortRun *merged = gpusort_run_create(spill->ordering->spec->format);
	RunMerge *merge;
	const char *row;

	MemoryContextSwitchTo(context);
	merge = begin_merge(spill, first, false, spill->ordering->spec->work_mem);
	while (next_row(merge, &row))
	{
		CHECK_FOR_INTERRUPTS();
		gpusort_run_write_row(merged, row);
	}
	gpusort_run_end_rows(merged);
	replace_runs(spill, first, merged);
	ExecClearTuple(spill->slot);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

/* Begins the next run.  If no more runs could be merged at once, some of them
 * become one before. */
static GpuSortRun *
begin_run(GpuSortSpill *spill)
{
	if (spill->n_runs == GPUSORT_RUNS_MAX)
		merge_round(spill);
	return spill->runs[spill->n_runs++] = gpusort_run_create(spill->ordering->spec->format);
}

/* Reports this many bytes of a run that is not counted yet. */
static void
show_progress(GpuSortSpill *spill, uint64 bytes)
{
	gpusort_job_report(spill->job, GPUSORT_RUNS_SPILLED, spill->n_spilled);
	gpusort_job_report(spill->job, GPUSORT_BYTES_SPILLED, spill->bytes + bytes);
}

/* Writes the job's rows, in their full order, into the run. */
static void
write_rows(GpuSortSpill *spill, GpuSortRun *run)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort run",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	GpuSortOrderedReader *ordered = gpusort_ordered_reader_begin(spill->job, spill->ordering);
	const char *bytes;

	gpusort_ordered_reader_check(ordered);
	/* steps from row to row would be a sixth of the session's instructions */
	while (ordered->by_words && gpusort_reader_next_block(ordered->reader))
	{
		CHECK_FOR_INTERRUPTS();
		gpusort_run_write(run, gpusort_buffer_memory(ordered->reader->buffer),
						  ordered->reader->block.row_bytes);
		show_progress(spill, run->bytes);
	}
	for (uint64 row = 0; row < ordered->reader->rows && !ordered->by_words; row++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!gpusort_ordered_reader_next(ordered, row, &bytes))
		{
			bytes = gpusort_ordered_reader_seek(ordered, row);
			show_progress(spill, run->bytes);
		}
		gpusort_run_write_row(run, bytes);
	}
	gpusort_run_end_rows(run);
	gpusort_ordered_reader_end(ordered);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

static void
count_run(GpuSortSpill *spill, const GpuSortRun *run, uint64 rows)
{
	spill->n_spilled++;
	spill->rows += rows;
	spill->bytes += run->bytes;
	show_progress(spill, 0);
	gpusort_stats_count_run(run->bytes);
}

/* An empty run is written only if the device counts it. */
void
gpusort_spill_add_run(GpuSortSpill *spill)
{
	uint64		rows = gpusort_job_rows(spill->job);
	MemoryContext old_context;
	GpuSortRun *run;

	/* an empty run has a number only for the device, which merges no more than
	 * this many */
	if (rows == 0 && (spill->by_keys || spill->n_runs == GPUSORT_RUNS_MAX))
	{
		spill->by_keys = true;
		return;
	}
	old_context = MemoryContextSwitchTo(spill->context);
	run = begin_run(spill);
	write_rows(spill, run);
	count_run(spill, run, rows);
	MemoryContextSwitchTo(old_context);
}

void
gpusort_spill_add_row(GpuSortSpill *spill, const char *row)
{
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	GpuSortRun *run = begin_run(spill);

	gpusort_run_write(run, row, gpusort_row_bytes(spill->ordering->spec->format, row));
	count_run(spill, run, 1);
	spill->by_keys = true;
	MemoryContextSwitchTo(old_context);
}

void
gpusort_spill_end(GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
		gpusort_run_close(spill->runs[i]);
}

/* --- the sorted rows ------------------------------------------------------ */

/* If rows may be read again or backward, they go into a tuplestore as they go
 * out, in memory or in a temporary file.  It shares work_mem with the runs. */
typedef struct SpilledOutput
{
	GpuSortOutput output;		/* must be first */
	GpuSortSpill *spill;
	RunMerge *merge;
	uint64		merged;			/* rows that it has returned */
	Tuplestorestate *stored;	/* NULL: rows are read once, forward */
	const GpuSortDeviceFigures *figures;
} SpilledOutput;

/* The progress is reported after this many rows: often enough to watch, too
 * seldom to cost anything. */
#define ROWS_A_STEP		4096

/* Returns the merge's next row.  At its end gives all back. */
static TupleTableSlot *
merge_next(SpilledOutput *spilled)
{
	GpuSortSpill *spill = spilled->spill;
	TupleTableSlot *slot = spilled->output.slots->result;
	const char *row;

	if (unlikely(!next_row(spilled->merge, &row)))
	{
		gpusort_job_report(spill->job, GPUSORT_ROWS_RETURNED, spilled->merged);
		gpusort_job_close(spill->job);
		gpusort_spill_end(spill);
		return ExecClearTuple(slot);
	}
	if (unlikely(++spilled->merged % ROWS_A_STEP == 0))
		gpusort_job_report(spill->job, GPUSORT_ROWS_RETURNED, spilled->merged);
	return gpusort_row_store(spill->ordering->spec->format, row, slot);
}

/* As nodeMaterial.c does: the tuplestore has the rows that have gone out. */
static TupleTableSlot *
next_stored(SpilledOutput *spilled, bool forward)
{
	TupleTableSlot *slot = spilled->output.slots->result;
	TupleTableSlot *native = spilled->output.slots->native;
	bool		at_end = tuplestore_ateof(spilled->stored);

	/* the row before the last one that went out */
	if (!forward && at_end && !spilled->merge->ended &&
		!tuplestore_advance(spilled->stored, false))
		return ExecClearTuple(slot);
	if (!(forward && at_end) && tuplestore_gettupleslot(spilled->stored, forward, false, native))
	{
		if (native != slot)
			ExecCopySlot(slot, native);
		return slot;
	}
	if (!forward)
		return ExecClearTuple(slot);
	if (slot = merge_next(spilled), !TupIsNull(slot))
		tuplestore_puttupleslot(spilled->stored, slot);
	return slot;
}

static TupleTableSlot *
spilled_next(GpuSortOutput *output, bool forward)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (unlikely(spilled->stored != NULL))
		return next_stored(spilled, forward);
	return merge_next(spilled);
}

static bool
spilled_rewind(GpuSortOutput *output)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (spilled->stored != NULL)
		tuplestore_rescan(spilled->stored);
	return spilled->stored != NULL;
}

static void
spilled_mark(GpuSortOutput *output)
{
	tuplestore_copy_read_pointer(((SpilledOutput *) output)->stored, 0, 1);
}

static void
spilled_restore(GpuSortOutput *output)
{
	tuplestore_copy_read_pointer(((SpilledOutput *) output)->stored, 1, 0);
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
						spilled->merge->order != NULL ? "device" : "backend", es);
	gpusort_explain_bytes("Disk", spill->bytes, es);
	gpusort_device_figures_explain(spilled->figures, es);
}

static void
spilled_end(GpuSortOutput *output)
{
	SpilledOutput *spilled = (SpilledOutput *) output;

	if (spilled->stored != NULL)
		tuplestore_end(spilled->stored);
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
	int			flags = EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD;
	int			memory_kb = spill->ordering->spec->work_mem / (random_access ? 2 : 1);
	SpilledOutput *spilled = palloc0(sizeof(SpilledOutput));

	spilled->output.methods = &spilled_methods;
	spilled->output.slots = slots;
	spilled->spill = spill;
	spilled->merge = begin_merge(spill, 0, by_order, memory_kb);
	spilled->figures = figures;
	if (!random_access)
		return &spilled->output;
	spilled->stored = tuplestore_begin_heap(true, false, memory_kb);
	tuplestore_set_eflags(spilled->stored, flags);
	/* the marked place, at first the beginning */
	(void) tuplestore_alloc_read_pointer(spilled->stored, flags);
	return &spilled->output;
}
