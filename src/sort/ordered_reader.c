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
 * The C library's strxfrm and strcoll should agree, and have not always done
 * so.  PostgreSQL trusts strcoll.  If words come from strxfrm,
 * gpusort_ordered_reader_check reads all rows once before any of them goes
 * anywhere.  None may be less than a row of a tie run before its own, since the
 * comparators will sort its own.  If one is, its collation is distrusted from
 * now on (server_state.c), and all rows become one tie run, in a tuplesort.
 * Rows of a tie run that have one value are compared once, as far as the check
 * remembers.
 *
 * A run of set bits is a tie run, and rows outside of tie runs need no
 * comparison.  A tie run is listed and compared as it is read, and most are in
 * order already.  If it is out of order, pointers are sorted: into the block,
 * if the tie run lies in one, else into copies.  A tie run whose list and
 * copies exceed work_mem is read to its end.  If it is in order, it is read
 * again.  If not, it goes through a tuplesort.
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
#include "job/server_state.h"
#include "sort/ordered_reader.h"

#define LISTED_ROWS_AT_FIRST	64

/* Values that the order check remembers of a tie run, at most. */
#define COMPARED_VALUES		64

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

	ordered->reader = gpusort_reader_begin(job, ordering->spec->format);
	ordered->ordering = ordering;
	ordered->by_words = ordering->ties == NULL;
	ordered->context = CurrentMemoryContext;
	if (ordering->ties == NULL)
		return ordered;
	ordered->slot = ordering->ties->a;
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

/* Frees the list or the tuplesort of the tie run that was read. */
static void
leave_tie_run(GpuSortOrderedReader *ordered)
{
	if (ordered->n_rows == 0)
		return;
	if (ordered->large != NULL)
		tuplesort_end(ordered->large);
	ordered->large = NULL;
	ordered->walked = false;
	ordered->n_rows = 0;
	ordered->n_copied = 0;
	ordered->copied_bytes = 0;
	MemoryContextReset(ordered->tie_run_context);
	MemoryContextReset(ordered->scratch);
}

/* Returns the memory of the list and of copies. */
static Size
listed_bytes(const GpuSortOrderedReader *ordered)
{
	return ordered->copied_bytes + (Size) ordered->room * sizeof(GpuSortTiedRow);
}

/* Adds a row to the list, which grows in small steps, since its room counts. */
static void
list_row(GpuSortOrderedReader *ordered, const char *bytes)
{
	GpuSortComparer *ties = ordered->ordering->ties;
	GpuSortTiedRow *listed;

	if (ordered->n_rows == ordered->room)
	{
		ordered->room += ordered->room / 8;
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
copy_comparand(GpuSortComparer *comparer, GpuSortComparand *comparand, MemoryContext context)
{
	Size		bytes = gpusort_row_bytes(comparer->format, comparand->row);
	char	   *copy = MemoryContextAllocHuge(context, bytes);

	memcpy(copy, comparand->row, bytes);
	gpusort_comparer_take(comparer, copy, comparand);
	return GetMemoryChunkSpace(copy);
}

/* The block is about to go: copies the listed rows that lie in it. */
static void
copy_listed_rows(GpuSortOrderedReader *ordered)
{
	for (; ordered->n_copied < ordered->n_rows; ordered->n_copied++)
		ordered->copied_bytes += copy_comparand(ordered->ordering->ties,
												&ordered->listed[ordered->n_copied].comparand,
												ordered->tie_run_context);
}

/* Drops the list of a tie run that is too large for it.  The tuplesort may take
 * as much memory again. */
static void
drop_list(GpuSortOrderedReader *ordered)
{
	pfree(ordered->listed);
	make_list(ordered);
	ordered->n_copied = 0;
	ordered->copied_bytes = 0;
	MemoryContextReset(ordered->tie_run_context);
}

/* --- tie runs that do not ------------------------------------------------- */

/* Are the rows behind the listed ones in order too?  The last one listed is in
 * the block, or a copy.  Of each block, only the last row is copied. */
static bool
walk_rest_of_tie_run(GpuSortOrderedReader *ordered)
{
	GpuSortComparer *ties = ordered->ordering->ties;
	MemoryContext context = AllocSetContextCreate(ordered->scratch, "gpusort walked row",
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
			MemoryContextReset(context);
			(void) copy_comparand(ties, &last, context);
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
	const GpuSortSpec *spec = ordered->ordering->spec;
	MemoryContext old_context = MemoryContextSwitchTo(ordered->tie_run_context);

	ordered->large = gpusort_begin_native(spec, true);
	MemoryContextSwitchTo(old_context);
	ordered->large_next = 0;
	ordered->n_rows = 0;
	do
	{
		const char *bytes = read_row(ordered, ordered->first_row + ordered->n_rows);

		CHECK_FOR_INTERRUPTS();
		tuplesort_puttupleslot(ordered->large,
							   gpusort_row_store(spec->format, bytes, ordered->slot));
		ordered->n_rows++;
	} while (gpusort_ordered_reader_ties(ordered, ordered->first_row + ordered->n_rows));
	tuplesort_performsort(ordered->large);
}

/* Returns the slot's row, valid until the next one is packed. */
static const char *
pack_row(GpuSortOrderedReader *ordered, TupleTableSlot *slot)
{
	const GpuSortRowFormat *format = ordered->ordering->spec->format;
	GpuSortRowSource source;

	gpusort_row_find(format, slot, &source);
	if (MAXALIGN(source.length) > ordered->packed_bytes)
	{
		if (ordered->packed_row != NULL)
			pfree(ordered->packed_row);
		ordered->packed_bytes = MAXALIGN(source.length);
		ordered->packed_row = MemoryContextAllocHuge(ordered->context, ordered->packed_bytes);
	}
	gpusort_row_write(format, slot, &source, ordered->packed_row);
	return ordered->packed_row;
}

/* Returns row number i of the tuplesort. */
static const char *
row_of_large_tie_run(GpuSortOrderedReader *ordered, uint64 i)
{
	const GpuSortRowFormat *format = ordered->ordering->spec->format;
	TupleTableSlot *slot = ordered->ordering->native_slot;
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
	if (format->narrow_bytes == 0 && format->hidden == NULL)
		return (const char *) ((MinimalTupleTableSlot *) slot)->mintuple;
	return pack_row(ordered, slot);
}

/* --- all tie runs --------------------------------------------------------- */

/* Lists the tie run that begins with a row, and sorts it if necessary. */
static void
load_tie_run(GpuSortOrderedReader *ordered, const char *bytes)
{
	bool		in_order = true;

	for (;;)
	{
		uint64		next;

		CHECK_FOR_INTERRUPTS();
		list_row(ordered, bytes);
		in_order = in_order && last_row_is_in_order(ordered);
		next = ordered->first_row + ordered->n_rows;
		if (!gpusort_ordered_reader_ties(ordered, next))
			break;
		if (!gpusort_reader_block_has_row(ordered->reader, next))
			copy_listed_rows(ordered);
		if (listed_bytes(ordered) > (Size) ordered->ordering->spec->work_mem * 1024)
		{
			ordered->walked = in_order && walk_rest_of_tie_run(ordered);
			drop_list(ordered);
			if (!ordered->walked)
				sort_large_tie_run(ordered);
			return;
		}
		bytes = read_row(ordered, next);
	}
	if (!in_order)
		gpusort_sort_tied_rows(ordered->ordering, ordered->listed, ordered->n_rows,
							   listed_bytes(ordered));
}

/* Loads the tie run that begins with a row, and counts it. */
static void
enter_tie_run(GpuSortOrderedReader *ordered, uint64 first_row, const char *bytes)
{
	GpuSortTieFigures *figures = &ordered->ordering->figures;
	MemoryContext old_context = MemoryContextSwitchTo(ordered->scratch);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	ordered->first_row = first_row;
	if (ordered->all_tie)
		sort_large_tie_run(ordered);
	else
		load_tie_run(ordered, bytes);
	MemoryContextSwitchTo(old_context);
	figures->tie_runs++;
	figures->rows += ordered->n_rows;
	figures->ms += gpusort_milliseconds_since(start);
}

static const char *
row_of_tie_run(GpuSortOrderedReader *ordered, uint64 row)
{
	uint64		i = row - ordered->first_row;

	if (ordered->walked)
		return read_row(ordered, row);
	return ordered->large != NULL ? row_of_large_tie_run(ordered, i) :
		ordered->listed[i].comparand.row;
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
		if (!gpusort_reader_block_has_row(ordered->reader, first))
			*bytes = read_row(ordered, first);
		CHECK_FOR_INTERRUPTS();
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

/* Distrusts the collation whose sort keys put a row behind a greater one. */
static void
record_violation(GpuSortOrdering *ordering, const GpuSortComparand *last,
				 const GpuSortComparand *next)
{
	const GpuSortKeys *keys = ordering->keys;
	int			key = gpusort_comparer_deciding_key(ordering->check, last, next);

	/* only these words can be wrong */
	if (key >= keys->n_keys || !keys->keys[key].must_verify)
		for (key = 0; !keys->keys[key].must_verify;)
			key++;
	ordering->n_violated++;
	gpusort_collation_distrust(ordering->spec->order->collations[key]);
}

/* A value of a tie run's rows. */
typedef struct ComparedValue
{
	GpuSortComparand row;		/* one that has it, valid while the reader stays at its block */
	uint64		tie_run;		/* its number, from 1 on; 0: there is no value */
} ComparedValue;

/* The rows that the next ones are compared with. */
typedef struct OrderCheck
{
	GpuSortComparand before;	/* the greatest row before the tie run */
	GpuSortComparand greatest;
	MemoryContext copies;		/* of both */
	uint64		tie_run;		/* its number */
	/* A row of the tie run with a value that another one has needs no
	 * comparison, if the tie run's rows agree in all other keys. */
	bool		by_values;
	ComparedValue compared[COMPARED_VALUES];	/* in places by their hashes */
} OrderCheck;

/* Copies the rows to compare with, because the block that they lie in is about
 * to go. */
static void
copy_bounds(GpuSortOrderedReader *ordered, OrderCheck *check)
{
	GpuSortComparer *comparer = ordered->ordering->check;
	MemoryContext old_copies = check->copies;

	check->copies = AllocSetContextCreate(ordered->context, "gpusort order check",
										  ALLOCSET_SMALL_SIZES);
	if (check->before.row != NULL)
		(void) copy_comparand(comparer, &check->before, check->copies);
	(void) copy_comparand(comparer, &check->greatest, check->copies);
	memset(check->compared, 0, sizeof(check->compared));
	MemoryContextDelete(old_copies);
}

/* Has a row of the tie run been compared that has the same value?  If not, this
 * row is remembered as such a row. */
static bool
value_was_compared(GpuSortOrderedReader *ordered, OrderCheck *check, const char *bytes)
{
	GpuSortComparer *ties = ordered->ordering->ties;
	GpuSortComparand row;
	ComparedValue *compared;

	if (!check->by_values)
		return false;
	gpusort_comparer_take(ties, bytes, &row);
	compared = &check->compared[gpusort_comparer_hash(ties, &row) % COMPARED_VALUES];
	if (compared->tie_run == check->tie_run &&
		gpusort_comparer_same_bytes(ties, &compared->row, &row))
		return true;
	*compared = (ComparedValue) {row, check->tie_run};
	return false;
}

/* Is the row in order?  Within its tie run it may be less than others. */
static bool
row_is_in_order(GpuSortComparer *comparer, OrderCheck *check, const GpuSortComparand *row,
				bool ties)
{
	if (check->greatest.row == NULL ||
		gpusort_comparer_compare(comparer, &check->greatest, row) <= 0)
	{
		check->greatest = *row;
		return true;
	}
	return ties && (check->before.row == NULL ||
					gpusort_comparer_compare(comparer, &check->before, row) <= 0);
}

/* Will all rows be in order, once tie runs are sorted?  A row may be less than
 * one before it only within its tie run. */
static bool
rows_will_be_in_order(GpuSortOrderedReader *ordered)
{
	GpuSortOrdering *ordering = ordered->ordering;
	OrderCheck	check = {.by_values = ordering->check->n_keys == ordering->ties->first_key + 1};
	bool		in_order = true;

	check.copies = AllocSetContextCreate(ordered->context, "gpusort order check",
										 ALLOCSET_SMALL_SIZES);
	for (uint64 row = 0; in_order && row < ordered->reader->rows; row++)
	{
		bool		ties = row > 0 && gpusort_ordered_reader_ties(ordered, row);
		GpuSortComparand next;
		const char *bytes;

		CHECK_FOR_INTERRUPTS();
		if (!ties)
		{
			check.before = check.greatest;
			check.tie_run++;
		}
		if (!gpusort_reader_next(ordered->reader, row, &bytes))
		{
			if (row > 0)
				copy_bounds(ordered, &check);
			bytes = gpusort_reader_seek(ordered->reader, row);
		}
		if (ties && value_was_compared(ordered, &check, bytes))
			continue;
		gpusort_comparer_take(ordering->check, bytes, &next);
		in_order = row_is_in_order(ordering->check, &check, &next, ties);
		if (!in_order)
			record_violation(ordering, &check.greatest, &next);
		MemoryContextReset(ordered->scratch);
	}
	MemoryContextDelete(check.copies);
	return in_order;
}

void
gpusort_ordered_reader_check(GpuSortOrderedReader *ordered)
{
	GpuSortOrdering *ordering = ordered->ordering;
	MemoryContext old_context;
	instr_time	start;

	if (ordering->check == NULL)
		return;
	INSTR_TIME_SET_CURRENT(start);
	old_context = MemoryContextSwitchTo(ordered->scratch);
	ordered->all_tie = !rows_will_be_in_order(ordered);
	MemoryContextSwitchTo(old_context);
	if (ordered->all_tie)
		ordered->by_words = false;
	gpusort_reader_rewind(ordered->reader);
	ordering->check_ms += gpusort_milliseconds_since(start);
}

void
gpusort_ordered_reader_end(GpuSortOrderedReader *ordered)
{
	if (ordered->large != NULL)
		tuplesort_end(ordered->large);
	ordered->large = NULL;
}
