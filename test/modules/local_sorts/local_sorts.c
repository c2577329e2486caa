/*
 * local_sorts.c
 *	  Sorts rows as a backend does that keeps them (row_array.c).
 *
 * In:  two arrays of keys: row i has the i-th of each, which may be NULL; by how many of them rows are sorted,
 *	    one, or both and then by the rows' numbers; DESC or not; NULLs first or not.
 * Out: the rows' numbers, from 1 on, in the order that they are sorted to.
 *
 *	  create function local_sort(a int8[], b int8[], keys int, descending bool, nulls_first bool)
 *		  returns int4[] language c as '.../local_sorts';
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "sort/row_array.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(local_sort);

#define KEYS			2
#define COLUMNS			(KEYS + 1)	/* the last one is the row's number */
#define BYTES			((Size) 64 * 1024 * 1024)

/* Rows, and how to sort them. */
typedef struct Subject
{
	int			rows;
	Datum	   *values[KEYS];
	bool	   *nulls[KEYS];

	AttrNumber	columns[COLUMNS];
	Oid			operators[COLUMNS];
	Oid			collations[COLUMNS];
	bool		nulls_first[COLUMNS];
	GpuSortOrder order;

	TupleDesc	desc;
	GpuSortRowFormat format;
	TupleTableSlot *slot;		/* a row on its way in */
	TupleTableSlot *result;		/* the array's */
} Subject;

static void
take_values(Subject *subject, int key, ArrayType *array)
{
	int			n;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &subject->values[key], &subject->nulls[key], &n);
	if (key > 0 && n != subject->rows)
		elog(ERROR, "rows have %d first keys and %d second ones", subject->rows, n);
	subject->rows = n;
}

static void
make_order(Subject *subject, int n_keys, bool descending, bool nulls_first)
{
	TypeCacheEntry *type = lookup_type_cache(INT8OID, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	for (int i = 0; i < KEYS; i++)
	{
		subject->columns[i] = i + 1;
		subject->operators[i] = descending ? type->gt_opr : type->lt_opr;
		subject->nulls_first[i] = nulls_first;
	}
	subject->columns[KEYS] = COLUMNS;
	subject->operators[KEYS] = lookup_type_cache(INT4OID, TYPECACHE_LT_OPR)->lt_opr;
	subject->order = (GpuSortOrder) {
		.n_keys = n_keys == 1 ? 1 : COLUMNS,
		.columns = subject->columns,
		.operators = subject->operators,
		.collations = subject->collations,
		.nulls_first = subject->nulls_first,
	};
}

static Subject *
make_subject(ArrayType *first, ArrayType *second, int n_keys, bool descending, bool nulls_first)
{
	Subject    *subject = palloc0(sizeof(Subject));

	take_values(subject, 0, first);
	take_values(subject, 1, second);
	subject->desc = CreateTemplateTupleDesc(COLUMNS);
	for (int i = 1; i <= KEYS; i++)
		TupleDescInitEntry(subject->desc, i, "key", INT8OID, -1, 0);
	TupleDescInitEntry(subject->desc, COLUMNS, "number", INT4OID, -1, 0);
	gpusort_row_format_choose(&subject->format, subject->desc, COLUMNS);
	make_order(subject, n_keys, descending, nulls_first);
	subject->slot = MakeSingleTupleTableSlot(subject->desc, &TTSOpsVirtual);
	subject->result = MakeSingleTupleTableSlot(subject->desc, &TTSOpsVirtual);
	return subject;
}

static void
put_rows(Subject *subject, GpuSortRowArray *array)
{
	TupleTableSlot *slot = subject->slot;

	for (int i = 0; i < subject->rows; i++)
	{
		ExecClearTuple(slot);
		for (int key = 0; key < KEYS; key++)
		{
			slot->tts_values[key] = subject->values[key][i];
			slot->tts_isnull[key] = subject->nulls[key][i];
		}
		slot->tts_values[KEYS] = Int32GetDatum(i + 1);
		slot->tts_isnull[KEYS] = false;
		ExecStoreVirtualTuple(slot);
		if (!gpusort_row_array_put(array, slot))
			elog(ERROR, "row %d is not taken", i + 1);
	}
}

Datum
local_sort(PG_FUNCTION_ARGS)
{
	Subject    *subject = make_subject(PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1),
									   PG_GETARG_INT32(2), PG_GETARG_BOOL(3), PG_GETARG_BOOL(4));
	GpuSortRowArray *array = gpusort_row_array_begin(&subject->order, subject->desc,
													 &subject->format, subject->result, BYTES);
	Datum	   *numbers = palloc((subject->rows + 1) * sizeof(Datum));

	put_rows(subject, array);
	gpusort_row_array_sort(array);
	for (int i = 0; i < subject->rows; i++)
	{
		bool		is_null;

		numbers[i] = slot_getattr(gpusort_row_array_get(array, i, subject->result), COLUMNS, &is_null);
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(numbers, subject->rows, INT4OID, sizeof(int32), true,
										  TYPALIGN_INT));
}
