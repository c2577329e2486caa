/*
 * order_check.c
 *	  Whether rows whose words are not to be trusted come in the operators' order.
 *
 * In:  rows of a run, one after the other, as they go out.
 * Out: the first one that the operators would have before its predecessor, and the collation
 *	    by which.
 *
 * The C library's strxfrm and strcoll ought to agree, and have not always: PostgreSQL
 * trusts strcoll.  Where words come from strxfrm each row is compared with the one before
 * it.  All pairs of neighbours in order means that all rows are.
 *
 * Runs in the backend that leads the sort.  The last row lies where it came from, and is
 * copied when that memory goes.
 */
#include "postgres.h"

#include "portability/instr_time.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "shared/collations.h"
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
	check->checked = 0;
	check->last.row = NULL;
}

void
gpusort_order_check_keep_last(GpuSortOrderCheck *check)
{
	Size		bytes;

	if (check->last.row == NULL || check->last.row == check->copy)
		return;
	bytes = gpusort_row_bytes(check->format, check->last.row);
	if (bytes > check->copy_room)
	{
		if (check->copy != NULL)
			pfree(check->copy);
		check->copy = MemoryContextAllocHuge(check->context, bytes);
		check->copy_room = bytes;
	}
	memcpy(check->copy, check->last.row, bytes);
	gpusort_comparer_take(check->comparer, check->copy, &check->last);
	MemoryContextReset(check->scratch);
}

/* One in so many comparisons is timed: to look at the clock costs as much as many of them. */
#define TIMED_ONCE_IN	64

static bool
compare_with_last(GpuSortOrderCheck *check, const GpuSortComparand *next)
{
	MemoryContext old_context = MemoryContextSwitchTo(check->scratch);
	bool		is_timed = check->checked % TIMED_ONCE_IN == 0;
	instr_time	start;
	instr_time	end;
	bool		in_order;

	if (is_timed)
		INSTR_TIME_SET_CURRENT(start);
	in_order = gpusort_comparer_compare(check->comparer, &check->last, next) <= 0;
	if (is_timed)
	{
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, start);
		check->ms += INSTR_TIME_GET_MILLISEC(end) * TIMED_ONCE_IN;
	}
	MemoryContextSwitchTo(old_context);
	return in_order;
}

static void
note_violation(GpuSortOrderCheck *check, const GpuSortComparand *next)
{
	int			key = gpusort_comparer_deciding_key(check->comparer, &check->last, next);

	/* what else could be out of order has words that are never wrong */
	if (key >= check->keys->n_keys || !check->keys->keys[key].must_verify)
		for (key = 0; !check->keys->keys[key].must_verify;)
			key++;
	check->violated = check->order->collations[key];
	gpusort_collation_distrust(check->violated);
}

bool
gpusort_order_check_row(GpuSortOrderCheck *check, uint64 row, const char *bytes, bool compared)
{
	GpuSortComparand next;

	if (row != check->checked)
		return true;
	gpusort_comparer_take(check->comparer, bytes, &next);
	if (!compared && check->last.row != NULL && !compare_with_last(check, &next))
	{
		note_violation(check, &next);
		return false;
	}
	check->last = next;
	check->checked++;
	return true;
}

void
gpusort_order_check_raise(Oid collation)
{
	ereport(ERROR,
			(errcode(ERRCODE_COLLATION_MISMATCH),
			 errmsg("collation \"%s\" orders strings otherwise than its own sort keys do",
					get_collation_name(collation)),
			 errdetail("The C library's strcoll and strxfrm disagree about two strings of this sort."),
			 errhint("Run the query again: from now on this server sorts by this collation natively.")));
}
