/*
 * abbreviating.c
 *	  A type whose sort support abbreviates, as an extension's may.
 *
 * In:  pairs of numbers as text, 'high,low'.
 * Out: the functions of the types that test/differential/keys_abbreviated.sql makes of them.
 *
 * A pair is abbreviated to its high number, or a part of it, so equal abbreviations say
 * nothing.  There is a sort support function for each of the three comparators that
 * PostgreSQL exports for abbreviations, one with a comparator of its own, and one without
 * abbreviations.  A pair with the low number 57014 cancels the statement when it is
 * abbreviated to its high number, and no pair may be abbreviated so after that.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/sortsupport.h"

PG_MODULE_MAGIC;

#define LOW_THAT_CANCELS	57014

typedef struct Pair
{
	int64		high;
	int64		low;
} Pair;

PG_FUNCTION_INFO_V1(pair_in);
PG_FUNCTION_INFO_V1(pair_out);
PG_FUNCTION_INFO_V1(pair_cmp);
PG_FUNCTION_INFO_V1(pair_lt);
PG_FUNCTION_INFO_V1(pair_eq);
PG_FUNCTION_INFO_V1(pair_gt);
PG_FUNCTION_INFO_V1(pair_cmp_unsigned);
PG_FUNCTION_INFO_V1(pair_lt_unsigned);
PG_FUNCTION_INFO_V1(pair_gt_unsigned);
PG_FUNCTION_INFO_V1(pair_support_unsigned);
PG_FUNCTION_INFO_V1(pair_support_signed);
PG_FUNCTION_INFO_V1(pair_support_int32);
PG_FUNCTION_INFO_V1(pair_support_own);
PG_FUNCTION_INFO_V1(pair_support_full);

Datum
pair_in(PG_FUNCTION_ARGS)
{
	Pair	   *pair = palloc(sizeof(Pair));
	long long	high;
	long long	low;

	if (sscanf(PG_GETARG_CSTRING(0), "%lld,%lld", &high, &low) != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("not a pair of numbers: \"%s\"", PG_GETARG_CSTRING(0))));
	pair->high = high;
	pair->low = low;
	PG_RETURN_POINTER(pair);
}

Datum
pair_out(PG_FUNCTION_ARGS)
{
	Pair	   *pair = (Pair *) PG_GETARG_POINTER(0);

	PG_RETURN_CSTRING(psprintf("%lld,%lld", (long long) pair->high, (long long) pair->low));
}

static int
compare_numbers(int64 a, int64 b)
{
	return (a > b) - (a < b);
}

static int
compare(Datum x, Datum y, SortSupport ssup)
{
	Pair	   *a = (Pair *) DatumGetPointer(x);
	Pair	   *b = (Pair *) DatumGetPointer(y);

	return a->high != b->high ? compare_numbers(a->high, b->high) : compare_numbers(a->low, b->low);
}

static int
compare_unsigned(Datum x, Datum y, SortSupport ssup)
{
	uint64		a = ((Pair *) DatumGetPointer(x))->high;
	uint64		b = ((Pair *) DatumGetPointer(y))->high;

	return a != b ? (a > b) - (a < b) : compare(x, y, ssup);
}

Datum
pair_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL));
}

Datum
pair_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL) < 0);
}

Datum
pair_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL) == 0);
}

Datum
pair_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL) > 0);
}

Datum
pair_cmp_unsigned(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_unsigned(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL));
}

Datum
pair_lt_unsigned(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_unsigned(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL) < 0);
}

Datum
pair_gt_unsigned(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_unsigned(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL) > 0);
}

static Datum
abbreviate_to_high(Datum original, SortSupport ssup)
{
	const Pair *pair = (Pair *) DatumGetPointer(original);

	if (QueryCancelPending)
		elog(ERROR, "a pair was abbreviated after a cancel");
	if (pair->low == LOW_THAT_CANCELS)
		InterruptPending = QueryCancelPending = true;
	return Int64GetDatum(pair->high);
}

static Datum
abbreviate_to_int32(Datum original, SortSupport ssup)
{
	return Int32GetDatum((int32) (((Pair *) DatumGetPointer(original))->high >> 32));
}

/* A converter's memory from value to value: an average over the values so far. */
static Datum
abbreviate_and_count(Datum original, SortSupport ssup)
{
	*(int64 *) ssup->ssup_extra += 1;
	return abbreviate_to_high(original, ssup);
}

static bool
never_abort(int memtupcount, SortSupport ssup)
{
	return false;
}

static bool
abort_soon(int memtupcount, SortSupport ssup)
{
	return memtupcount > 300;
}

static int
compare_abbreviations(Datum x, Datum y, SortSupport ssup)
{
	return compare_numbers(DatumGetInt64(x), DatumGetInt64(y));
}

/* Without abbreviations too the comparator has to be there. */
static void
support(SortSupport ssup, int (*full) (Datum, Datum, SortSupport),
		int (*abbreviated) (Datum, Datum, SortSupport), Datum (*converter) (Datum, SortSupport),
		bool (*abort) (int, SortSupport))
{
	ssup->comparator = full;
	if (!ssup->abbreviate || abbreviated == NULL)
		return;
	ssup->ssup_extra = MemoryContextAllocZero(ssup->ssup_cxt, sizeof(int64));
	ssup->comparator = abbreviated;
	ssup->abbrev_converter = converter;
	ssup->abbrev_abort = abort;
	ssup->abbrev_full_comparator = full;
}

Datum
pair_support_unsigned(PG_FUNCTION_ARGS)
{
	support((SortSupport) PG_GETARG_POINTER(0), compare_unsigned, ssup_datum_unsigned_cmp, abbreviate_and_count, abort_soon);
	PG_RETURN_VOID();
}

Datum
pair_support_signed(PG_FUNCTION_ARGS)
{
#if SIZEOF_DATUM >= 8
	support((SortSupport) PG_GETARG_POINTER(0), compare, ssup_datum_signed_cmp, abbreviate_to_high, never_abort);
#else
	support((SortSupport) PG_GETARG_POINTER(0), compare, NULL, NULL, NULL);
#endif
	PG_RETURN_VOID();
}

Datum
pair_support_int32(PG_FUNCTION_ARGS)
{
	support((SortSupport) PG_GETARG_POINTER(0), compare, ssup_datum_int32_cmp, abbreviate_to_int32, never_abort);
	PG_RETURN_VOID();
}

Datum
pair_support_own(PG_FUNCTION_ARGS)
{
	support((SortSupport) PG_GETARG_POINTER(0), compare, compare_abbreviations, abbreviate_to_high, never_abort);
	PG_RETURN_VOID();
}

Datum
pair_support_full(PG_FUNCTION_ARGS)
{
	support((SortSupport) PG_GETARG_POINTER(0), compare, NULL, NULL, NULL);
	PG_RETURN_VOID();
}
