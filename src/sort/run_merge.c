/*
 * run_merge.c
 *	  Reads sorted runs forward and gives their rows in key order.
 *
 * In:  the runs of a spill, each sorted; and either the order of their merge as the device
 *	    has computed it, one byte a row: the number of the run to take it from; or nothing.
 * Out: one row at a time; or, where there are too many runs, a run of several.
 *
 * With the order, a row costs the look at one byte.  Without it, because the device could
 * not keep the keys, does not know all runs, or words leave rows undecided, the
 * sources stand in a heap by their next row's words, and what the operators say of those that
 * are undecided; of equal rows the earlier run's comes first.  That is
 * the device's order too: when the device is lost, the heap goes on where it ended.
 *
 * Runs in the backend that leads the sort.  Each run has a buffer; together they take what
 * work_mem allows, within bounds that keep reads large.
 */
#include "postgres.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort/run_merge.h"

#define RUN_BUFFER_BYTES_MIN	((Size) 64 * 1024)
#define RUN_BUFFER_BYTES_MAX	((Size) 1024 * 1024)

/* A run, with the keys of its next row. */
typedef struct MergeSource
{
	GpuSortRun *run;
	const char *row;
	uint32		nulls;
	uint64		words[GPUSORT_WORDS_MAX];	/* unless these are not to be trusted */
} MergeSource;

struct GpuSortRunMerge
{
	MemoryContext context;
	MemoryContext scratch;		/* what comparisons leave */
	GpuSortSpill *spill;
	int			first;			/* of its runs; all that follow too */
	bool		ended;			/* the last row has been given */

	/* by the device's order */
	GpuSortReader *order;		/* NULL: by keys */
	const uint8 *next_run;		/* in the window of the order being read */
	const uint8 *end;

	/* by keys */
	bool		by_words;		/* they come first */
	GpuSortComparer *comparer;	/* then this; NULL: words decide all */
	TupleTableSlot *slot;
	MergeSource *sources;
	binaryheap *heap;			/* of numbers of sources; NULL: no row given by keys yet */
};

static void
begin_reading(GpuSortSpill *spill, int first)
{
	Size		bytes = (Size) work_mem * 1024 / Max(spill->n_runs - first, 1);

	bytes = Min(Max(bytes, RUN_BUFFER_BYTES_MIN), RUN_BUFFER_BYTES_MAX);
	for (int i = first; i < spill->n_runs; i++)
		gpusort_run_begin_reading(spill->runs[i], TYPEALIGN(8, bytes));
}

/* --- by the device's order -------------------------------------------------- */

void
gpusort_run_merge_follow_order(GpuSortRunMerge *merge, GpuSortJob *job)
{
	merge->order = gpusort_reader_begin(job, merge->spill->ordering->format);
	if (merge->order->rows != merge->spill->rows)
		elog(ERROR, "gpusort merge order has " UINT64_FORMAT " rows of " UINT64_FORMAT,
			 merge->order->rows, merge->spill->rows);
}

bool
gpusort_run_merge_follows_order(const GpuSortRunMerge *merge)
{
	return merge->order != NULL;
}

/* False: at the end, or because the job has failed. */
static bool
next_by_order(GpuSortRunMerge *merge, const char **row)
{
	GpuSortRun *run;

	if (unlikely(merge->next_run == merge->end))
	{
		if (!gpusort_reader_next_window(merge->order))
			return false;
		merge->next_run = (const uint8 *) gpusort_buffer_memory(merge->order->buffer);
		merge->end = merge->next_run + merge->order->window.rows;
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

/* --- by keys ------------------------------------------------------------------ */

/* A source's next row in a slot. */
static TupleTableSlot *
slot_of_source(const GpuSortRunMerge *merge, const MergeSource *source, TupleTableSlot *slot)
{
	return gpusort_row_store(merge->spill->ordering->format, source->row, slot);
}

static int
compare_rows(const GpuSortRunMerge *merge, const MergeSource *a, const MergeSource *b)
{
	MemoryContext old_context = MemoryContextSwitchTo(merge->scratch);
	int			result = gpusort_comparer_compare_slots(merge->comparer,
														slot_of_source(merge, a, merge->comparer->a),
														slot_of_source(merge, b, merge->comparer->b));

	MemoryContextSwitchTo(old_context);
	return result;
}

/* binaryheap keeps the largest on top: negative if a's row comes after b's. */
static int
compare_sources(Datum a, Datum b, void *arg)
{
	const GpuSortRunMerge *merge = arg;
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

static void
take_keys(const GpuSortRunMerge *merge, MergeSource *source, TupleTableSlot *slot)
{
	if (merge->by_words)
		source->nulls = gpusort_keys_take(merge->spill->ordering->keys, slot, source->words);
}

/* Goes to the source's next row; false: it has no more. */
static bool
advance(GpuSortRunMerge *merge, MergeSource *source)
{
	source->row = gpusort_run_next(source->run);
	if (source->row == NULL)
		return false;
	take_keys(merge, source, gpusort_row_store(merge->spill->ordering->format, source->row, merge->slot));
	return true;
}

/* Every source goes to its first row not given yet. */
static void
build_heap(GpuSortRunMerge *merge)
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

/* The source of the row given last, which was in use until now, goes on. */
static void
advance_first(GpuSortRunMerge *merge)
{
	Datum		first = binaryheap_first(merge->heap);

	if (advance(merge, &merge->sources[DatumGetInt32(first)]))
		binaryheap_replace_first(merge->heap, first);
	else
		binaryheap_remove_first(merge->heap);
}

static bool
next_by_keys(GpuSortRunMerge *merge, const char **row)
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

/* --- begin and next ----------------------------------------------------------- */

GpuSortRunMerge *
gpusort_run_merge_begin(GpuSortSpill *spill, int first, TupleTableSlot *slot)
{
	GpuSortRunMerge *merge = palloc0(sizeof(GpuSortRunMerge));
	const GpuSortOrdering *ordering = spill->ordering;

	merge->context = CurrentMemoryContext;
	merge->spill = spill;
	merge->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort comparisons",
										   ALLOCSET_SMALL_SIZES);
	merge->by_words = ordering->check == NULL;
	merge->comparer = merge->by_words ? ordering->ties : ordering->check->comparer;
	merge->slot = slot;
	merge->first = first;
	begin_reading(spill, first);
	return merge;
}

void
gpusort_run_merge_rewind(GpuSortRunMerge *merge)
{
	for (int i = merge->first; i < merge->spill->n_runs; i++)
		gpusort_run_rewind(merge->spill->runs[i]);
	if (merge->order != NULL)
		gpusort_reader_rewind(merge->order);
	merge->next_run = merge->end = NULL;
	if (merge->heap != NULL)
	{
		binaryheap_free(merge->heap);
		pfree(merge->sources);
		merge->heap = NULL;
	}
	merge->ended = false;
}

bool
gpusort_run_merge_next(GpuSortRunMerge *merge, const char **row)
{
	if (merge->ended)
		return false;
	if (merge->order != NULL)
	{
		if (next_by_order(merge, row))
			return true;
		if (gpusort_job_failed(merge->order->job))
		{
			/* a cursor may be read for long yet, and needs nothing of the job any more */
			gpusort_job_close(merge->order->job);
			merge->order = NULL;
		}
	}
	if (merge->order == NULL && next_by_keys(merge, row))
		return true;
	merge->ended = true;
	return false;
}

/* --- rounds ---------------------------------------------------------------------------- */

/* The runs from first on become one, in their place. */
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

/* A row is written as often as there are rounds: runs that were merged already are merged again only when
 * they are half of all. */
void
gpusort_run_merge_round(GpuSortSpill *spill, TupleTableSlot *slot)
{
	int			first = spill->n_merged < GPUSORT_RUNS_MAX / 2 ? spill->n_merged : 0;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort merge",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	GpuSortRun *merged = gpusort_run_create(spill->ordering->format);
	GpuSortRunMerge *merge;
	const char *row;

	MemoryContextSwitchTo(context);
	merge = gpusort_run_merge_begin(spill, first, slot);
	while (gpusort_run_merge_next(merge, &row))
	{
		CHECK_FOR_INTERRUPTS();
		gpusort_run_write_row(merged, row);
	}
	gpusort_run_end_rows(merged);
	replace_runs(spill, first, merged);
	ExecClearTuple(slot);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}
