/*
 * ordered_reader.c
 *	  A sorted job's rows in their full order.  Comparisons here decide what
 *	  words leave undecided.
 *
 * In:  a job's rows in the order of their words (reader.c), and the bits that
 *	    tell which of them tie with the row before.
 * Out: the rows in the order of the sort's keys, by row number, in any order of
 *	    asking.
 *
 * If words are not to be trusted, gpusort_ordered_reader_check reads all rows
 * once before any of them goes anywhere.  If they are out of order, all rows
 * become one tie run, in a tuplesort.
 *
 * A run of set bits is a tie run, and rows outside of tie runs need no
 * comparison.  A tie run is listed and compared as it is read, and most are in
 * order already.  If it is out of order, pointers are sorted: into the block,
 * if the tie run lies in one, else into copies.  A tie run whose copies exceed
 * work_mem is walked to its end.  If it is out of order, it goes through a
 * tuplesort.
 *
 * Runs in the backend that owns the job.  A row of a tie run lies in the block
 * that the reader stands at, in the tie run's context, or in the tuplesort's
 * slot.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "job/clock.h"
#include "sort/ordered_reader.h"

#define LISTED_ROWS_AT_FIRST	64

static void
make_list(GpuSortOrderedReader *ordered)
{
	ordered->room = LISTED_ROWS_AT_FIRST;
	ordered->listed = MemoryContextAlloc(ordered->context, ordered->room * sizeof(GpuSortTiedRow));
}

/* Rows that words decide need no list and no contexts. */
GpuSortOrderedReader *
gpusort_ordered_reader_begin(GpuSortJob *job, GpuSortOrdering *ordering)
{
	GpuSortOrderedReader *ordered = palloc0(sizeof(GpuSortOrderedReader));

	ordered->reader = gpusort_reader_begin(job, ordering->format);
	ordered->ordering = ordering;
	ordered->by_words = ordering->ties == NULL;
	ordered->context = CurrentMemoryContext;
	if (ordering->ties == NULL && ordering->check == NULL)
		return ordered;
	ordered->slot = ordering->ties != NULL ? ordering->ties->a : ordering->check->comparer->a;
	make_list(ordered);
	ordered->tie_run_context = AllocSetContextCreate(ordered->context, "gpusort tied rows",
													 ALLOCSET_DEFAULT_SIZES);
	ordered->scratch = AllocSetContextCreate(ordered->context, "gpusort comparisons",
											 ALLOCSET_SMALL_SIZES);
	return ordered;
}

/* Returns a row in the order of the words. */
static const char *
read_row(GpuSortOrderedReader *ordered, uint64 row)
{
	const char *bytes;

	if (gpusort_reader_next(ordered->reader, row, &bytes))
		return bytes;
	return gpusort_reader_seek(ordered->reader, row);
}

/* --- tie runs that fit memory --------------------------------------------- */

static void
leave_tie_run(GpuSortOrderedReader *ordered)
{
	if (ordered->n_rows == 0)
		return;
	if (ordered->large != NULL)
		tuplesort_end(ordered->large);
	ordered->large = NULL;
	ordered->n_rows = 0;
	ordered->n_copied = 0;
	ordered->copied_bytes = 0;
	MemoryContextReset(ordered->tie_run_context);
	MemoryContextReset(ordered->scratch);
}

/* Adds a row to the list. */
static void
list_row(GpuSortOrderedReader *ordered, const char *bytes)
{
	GpuSortComparer *ties = ordered->ordering->ties;
	GpuSortTiedRow *listed;

	if (ordered->n_rows == ordered->room)
	{
		ordered->room *= 2;
		ordered->listed = repalloc_huge(ordered->listed,
										(Size) ordered->room * sizeof(GpuSortTiedRow));
	}
	listed = &ordered->listed[ordered->n_rows];
	gpusort_comparer_take(ties, bytes, &listed->comparand);
	listed->number = (uint32) ordered->n_rows++;
}

/* Does the last row listed belong there? */
static bool
last_row_is_in_order(GpuSortOrderedReader *ordered)
{
	const GpuSortTiedRow *last = &ordered->listed[ordered->n_rows - 1];

	return last->number == 0 ||
		gpusort_comparer_compare(ordered->ordering->ties, &last[-1].comparand,
								 &last->comparand) <= 0;
}

/* Sets the comparand to a copy of its row.  Returns the size of the copy. */
static Size
copy_comparand(GpuSortOrderedReader *ordered, GpuSortComparand *comparand, MemoryContext context)
{
	Size		bytes = gpusort_row_bytes(ordered->ordering->format, comparand->row);
	char	   *copy = MemoryContextAllocHuge(context, bytes);

	memcpy(copy, comparand->row, bytes);
	gpusort_comparer_take(ordered->ordering->ties, copy, comparand);
	return GetMemoryChunkSpace(copy);
}

/* The block is about to go: copies the listed rows that lie in it.  False: they
 * have become too many for memory. */
static bool
copy_listed_rows(GpuSortOrderedReader *ordered)
{
	for (; ordered->n_copied < ordered->n_rows; ordered->n_copied++)
		ordered->copied_bytes += copy_comparand(ordered,
												&ordered->listed[ordered->n_copied].comparand,
												ordered->tie_run_context);
	return ordered->copied_bytes + GetMemoryChunkSpace(ordered->listed) <=
		(Size) ordered->ordering->work_mem * 1024;
}

/* --- tie runs that do not ------------------------------------------------- */

/*
 * Goes on behind the listed rows, the last of which is a copy, as long as rows
 * tie and are in order.  True: all are in order, and n_rows is their number.
 * False: one is out of order.  Only the last row of each block is copied, for
 * the comparison with the first row of the next one.
 */
static bool
walk_rest_of_tie_run(GpuSortOrderedReader *ordered)
{
	GpuSortComparer *ties = ordered->ordering->ties;
	MemoryContext last_context = AllocSetContextCreate(ordered->scratch, "gpusort walked row",
													   ALLOCSET_SMALL_SIZES);
	GpuSortComparand last = ordered->listed[ordered->n_rows - 1].comparand;

	for (;;)
	{
		uint64		row = ordered->first_row + ordered->n_rows;
		GpuSortComparand next;

		CHECK_FOR_INTERRUPTS();
		if (!gpusort_ordered_reader_ties(ordered, row))
			return true;
		if (!gpusort_reader_block_has_row(ordered->reader, row))
		{
			MemoryContextReset(last_context);
			(void) copy_comparand(ordered, &last, last_context);
		}
		gpusort_comparer_take(ties, read_row(ordered, row), &next);
		if (gpusort_comparer_compare(ties, &last, &next) > 0)
			return false;
		last = next;
		ordered->n_rows++;
	}
}

/* Puts the whole tie run, from its first row on, into a tuplesort. */
static void
sort_large_tie_run(GpuSortOrderedReader *ordered)
{
	const GpuSortOrdering *ordering = ordered->ordering;
	const GpuSortOrder *order = ordering->order;
	MemoryContext old_context = MemoryContextSwitchTo(ordered->tie_run_context);

	ordered->kind = GPUSORT_TIE_RUN_LARGE;
	ordered->large = tuplesort_begin_heap(ordering->desc, order->n_keys, order->columns,
										  order->operators, order->collations, order->nulls_first,
										  ordering->work_mem, NULL, TUPLESORT_RANDOMACCESS);
	MemoryContextSwitchTo(old_context);
	ordered->large_next = 0;
	ordered->n_rows = 0;
	do
	{
		const char *bytes = read_row(ordered, ordered->first_row + ordered->n_rows);

		CHECK_FOR_INTERRUPTS();
		tuplesort_puttupleslot(ordered->large,
							   gpusort_row_store(ordering->format, bytes, ordered->slot));
		ordered->n_rows++;
	} while (gpusort_ordered_reader_ties(ordered, ordered->first_row + ordered->n_rows));
	tuplesort_performsort(ordered->large);
}

/* Drops the list of a tie run that is too large for it. */
static void
load_large_tie_run(GpuSortOrderedReader *ordered, bool in_order)
{
	bool		all_in_order = in_order && walk_rest_of_tie_run(ordered);

	/* nothing is listed from here on, and the tuplesort may take as much memory
	 * again */
	pfree(ordered->listed);
	make_list(ordered);
	ordered->n_copied = 0;
	ordered->copied_bytes = 0;
	MemoryContextReset(ordered->tie_run_context);
	if (all_in_order)
		ordered->kind = GPUSORT_TIE_RUN_IN_ORDER;
	else
		sort_large_tie_run(ordered);
}

/* Returns row number i of the tuplesort. */
static const char *
row_of_large_tie_run(GpuSortOrderedReader *ordered, uint64 i)
{
	const GpuSortOrdering *ordering = ordered->ordering;
	TupleTableSlot *slot = ordering->native_slot;
	bool		forward = i + 2 != ordered->large_next;

	if (forward && i < ordered->large_next)
	{
		tuplesort_rescan(ordered->large);
		ordered->large_next = 0;
	}
	if (forward && !tuplesort_skiptuples(ordered->large, i - ordered->large_next, true))
		elog(ERROR, "gpusort's sort of tied rows lacks rows");
	if (!tuplesort_gettupleslot(ordered->large, forward, false, slot, NULL))
		elog(ERROR, "gpusort's sort of tied rows lacks row " UINT64_FORMAT, i);
	ordered->large_next = i + 1;
	if (ordering->format->narrow_bytes == 0)
		return (const char *) ((MinimalTupleTableSlot *) slot)->mintuple;
	if (ordered->narrow_row == NULL)
		ordered->narrow_row = MemoryContextAlloc(ordered->context, ordering->format->narrow_bytes);
	gpusort_row_format_write(ordering->format, slot, ordered->narrow_row);
	return ordered->narrow_row;
}

/* --- all tie runs --------------------------------------------------------- */

/* Lists the tie run that begins with a row, and sorts it if necessary. */
static void
load_tie_run(GpuSortOrderedReader *ordered, const char *bytes)
{
	bool		in_order = true;

	if (ordered->all_tie)
	{
		sort_large_tie_run(ordered);
		return;
	}
	for (;;)
	{
		uint64		next;

		CHECK_FOR_INTERRUPTS();
		list_row(ordered, bytes);
		in_order = in_order && last_row_is_in_order(ordered);
		next = ordered->first_row + ordered->n_rows;
		if (!gpusort_ordered_reader_ties(ordered, next))
			break;
		if (!gpusort_reader_block_has_row(ordered->reader, next) && !copy_listed_rows(ordered))
		{
			load_large_tie_run(ordered, in_order);
			return;
		}
		bytes = read_row(ordered, next);
	}
	if (!in_order)
		gpusort_sort_tied_rows(ordered->ordering, ordered->listed, ordered->n_rows,
							   ordered->copied_bytes);
}

/* Loads the tie run that begins with a row, and counts it. */
static void
enter_tie_run(GpuSortOrderedReader *ordered, uint64 first_row, const char *bytes)
{
	GpuSortTieFigures *figures = &ordered->ordering->figures;
	MemoryContext old_context = MemoryContextSwitchTo(ordered->scratch);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	ordered->kind = GPUSORT_TIE_RUN_LISTED;
	ordered->first_row = first_row;
	load_tie_run(ordered, bytes);
	MemoryContextSwitchTo(old_context);
	figures->tie_runs++;
	figures->rows += ordered->n_rows;
	figures->ms += gpusort_milliseconds_since(start);
}

static const char *
row_of_tie_run(GpuSortOrderedReader *ordered, uint64 row)
{
	switch (ordered->kind)
	{
		case GPUSORT_TIE_RUN_LISTED:
			return ordered->listed[row - ordered->first_row].comparand.row;
		case GPUSORT_TIE_RUN_IN_ORDER:
			return read_row(ordered, row);
		case GPUSORT_TIE_RUN_LARGE:
			return row_of_large_tie_run(ordered, row - ordered->first_row);
	}
	pg_unreachable();
}

/* Returns the first row of a row's tie run: the row itself if it ties with none
 * before it.  *bytes: the row, and then that first row. */
static uint64
first_of_tie_run(GpuSortOrderedReader *ordered, uint64 row, const char **bytes)
{
	uint64		first = row;

	while (gpusort_ordered_reader_ties(ordered, first))
	{
		first--;
		if (gpusort_reader_block_has_row(ordered->reader, first))
			continue;
		*bytes = read_row(ordered, first);
	}
	if (first != row)
		*bytes = read_row(ordered, first);
	return first;
}

/* A row that ties with neither neighbour is no tie run. */
const char *
gpusort_ordered_reader_seek(GpuSortOrderedReader *ordered, uint64 row)
{
	const char *bytes;
	uint64		first;

	if (ordered->n_rows > 0 && row >= ordered->first_row &&
		row < ordered->first_row + ordered->n_rows)
		return row_of_tie_run(ordered, row);
	leave_tie_run(ordered);
	if (ordered->all_tie)
	{
		enter_tie_run(ordered, 0, NULL);
		return row_of_tie_run(ordered, row);
	}
	bytes = read_row(ordered, row);
	if (ordered->by_words)
		return bytes;
	first = first_of_tie_run(ordered, row, &bytes);
	if (first == row && !gpusort_ordered_reader_ties(ordered, row + 1))
		return bytes;
	enter_tie_run(ordered, first, bytes);
	return row_of_tie_run(ordered, row);
}

/* --- the check ------------------------------------------------------------ */

/* Checks rows until one is out of order.  Then all rows are one tie run. */
static void
check_rows(GpuSortOrderedReader *ordered, GpuSortOrderCheck *check)
{
	GpuSortReader *reader = ordered->reader;

	for (uint64 row = 0; row < reader->rows; row++)
	{
		const char *bytes;

		CHECK_FOR_INTERRUPTS();
		if (!gpusort_reader_next(reader, row, &bytes))
		{
			gpusort_order_check_retain_rows(check);
			bytes = gpusort_reader_seek(reader, row);
		}
		if (gpusort_order_check_row(check, bytes, ordered->ordering->ties != NULL && row > 0 &&
									gpusort_reader_row_ties(reader, row)))
			continue;
		ordered->all_tie = true;
		ordered->by_words = false;
		return;
	}
}

void
gpusort_ordered_reader_check(GpuSortOrderedReader *ordered)
{
	GpuSortOrderCheck *check = ordered->ordering->check;
	instr_time	start;

	if (check == NULL)
		return;
	INSTR_TIME_SET_CURRENT(start);
	gpusort_order_check_begin_run(check);
	check_rows(ordered, check);
	gpusort_reader_rewind(ordered->reader);
	check->ms += gpusort_milliseconds_since(start);
}

void
gpusort_ordered_reader_end(GpuSortOrderedReader *ordered)
{
	if (ordered->large != NULL)
		tuplesort_end(ordered->large);
	ordered->large = NULL;
}
