/*
 * order_check.c
 *	  Checks whether untrusted words have put a run's rows in the operators'
 *	  order.
 *
 * In:  the rows of a run, one by one, in the order of their words.
 * Out: whether all rows are in order.  If two are not, their collation is
 *	    distrusted from now on (server_state.c).
 *
 * The C library's strxfrm and strcoll should agree, and have not always done
 * so.  PostgreSQL trusts strcoll.  If words come from strxfrm, all rows of a
 * run are compared before a row of it goes anywhere.  Every row of a tie run
 * must not be less than the greatest row of the tie run before it.  The order
 * within a tie run is settled later.
 *
 * Runs in the backend that leads the sort.  A row lies where it came from, and
 * is copied before that memory goes.
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "job/server_state.h"
#include "sort/order_check.h"

GpuSortOrderCheck *
gpusort_order_check_make(const GpuSortOrder *order, const GpuSortKeys *keys,
						 const GpuSortRowFormat *format, TupleTableSlot *a, TupleTableSlot *b)
{
	GpuSortOrderCheck *check = palloc0(sizeof(GpuSortOrderCheck));

	check->comparer = gpusort_comparer_make(order, 0, format, a, b);
	check->order = order;
	check->keys = keys;
	check->format = format;
	check->context = CurrentMemoryContext;
	check->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort order check",
										   ALLOCSET_SMALL_SIZES);
	return check;
}

void
gpusort_order_check_begin_run(GpuSortOrderCheck *check)
{
	check->before.comparand.row = NULL;
	check->greatest.comparand.row = NULL;
}

/* Copies a row into the check's memory. */
static void
retain_row(GpuSortOrderCheck *check, GpuSortCheckedRow *row)
{
	Size		bytes;

	if (row->comparand.row == NULL || row->comparand.row == row->copy)
		return;
	bytes = gpusort_row_bytes(check->format, row->comparand.row);
	if (bytes > row->room)
	{
		if (row->copy != NULL)
			pfree(row->copy);
		row->copy = MemoryContextAllocHuge(check->context, bytes);
		row->room = bytes;
	}
	memcpy(row->copy, row->comparand.row, bytes);
	gpusort_comparer_take(check->comparer, row->copy, &row->comparand);
}

void
gpusort_order_check_retain_rows(GpuSortOrderCheck *check)
{
	retain_row(check, &check->before);
	retain_row(check, &check->greatest);
	MemoryContextReset(check->scratch);
}

/* Does a row come after another one, if there is one, or is it equal? */
static bool
follows(GpuSortOrderCheck *check, const GpuSortComparand *row, const GpuSortCheckedRow *other)
{
	MemoryContext old_context;
	int			order;

	if (other->comparand.row == NULL)
		return true;
	old_context = MemoryContextSwitchTo(check->scratch);
	order = gpusort_comparer_compare(check->comparer, &other->comparand, row);
	MemoryContextSwitchTo(old_context);
	return order <= 0;
}

static void
record_violation(GpuSortOrderCheck *check, const GpuSortComparand *next)
{
	int			key = gpusort_comparer_deciding_key(check->comparer,
													&check->before.comparand, next);

	/* only these words can be wrong */
	if (key >= check->keys->n_keys || !check->keys->keys[key].must_verify)
		for (key = 0; !check->keys->keys[key].must_verify;)
			key++;
	check->n_violated++;
	gpusort_collation_distrust(check->order->collations[key]);
}

/* The next row is the first of its tie run. */
static void
begin_tie_run(GpuSortOrderCheck *check)
{
	GpuSortCheckedRow before = check->before;

	check->before = check->greatest;
	check->greatest = before;	/* keeps the room of its copy */
	check->greatest.comparand.row = NULL;
}

/* Each row must follow the greatest row of the tie run before.  The greatest
 * row of its own tie run is remembered for the next one. */
bool
gpusort_order_check_row(GpuSortOrderCheck *check, const char *bytes, bool ties)
{
	GpuSortComparand next;

	gpusort_comparer_take(check->comparer, bytes, &next);
	if (!ties)
		begin_tie_run(check);
	if (ties && follows(check, &next, &check->greatest))
	{
		check->greatest.comparand = next;
		return true;
	}
	if (!follows(check, &next, &check->before))
	{
		record_violation(check, &next);
		return false;
	}
	if (!ties)
		check->greatest.comparand = next;
	return true;
}
