/*
 * tied_rows.c
 *	  Sorts a tie run of rows that words have left undecided.
 *
 * In:  the tie run's rows in memory.  Their words agree up to an inexact value,
 *	    and later words have ordered them.  If the inexact key is equal in all
 *	    rows, as it often is, they are in order already.
 * Out: the same rows in the order of the sort's keys.
 *
 * If few rows are out of place, they are put in place.  If many are, they
 * usually tie because a few values have the same words.  Then the values are
 * ranked, and rows go where their value's rank says.  Later words have ordered
 * the rows of one value.  All other rows are compared.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort/tied_rows.h"

/* Fewer rows have no ranks. */
#define ROWS_TO_RANK		16

/* Rows that a value has on average, at the least.  Fewer are compared. */
#define ROWS_OF_A_VALUE		2

/* Up to this number, rows are inserted by a binary search, which compares less
 * often than quicksort, and moves more. */
#define ROWS_TO_INSERT		512

/* --- by comparing --------------------------------------------------------- */

/* Equal rows stay as the words have them, so that the order is the same each
 * time. */
static inline int
compare_tied_rows(const GpuSortTiedRow *a, const GpuSortTiedRow *b, GpuSortComparer *ties)
{
	int			result = gpusort_comparer_compare(ties, &a->comparand, &b->comparand);

	if (result != 0)
		return result;
	return a->number < b->number ? -1 : 1;
}

#define ST_SORT sort_rows_in_any_order
#define ST_ELEMENT_TYPE GpuSortTiedRow
#define ST_COMPARE(a, b, ties) compare_tied_rows(a, b, ties)
#define ST_COMPARE_ARG_TYPE GpuSortComparer
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Returns the place of a row among others that are in order: before at the
 * least, and behind at the most. */
static uint64
search_place(const GpuSortTiedRow *rows, uint64 before, uint64 behind, const GpuSortTiedRow *row,
			 GpuSortComparer *ties)
{
	while (before < behind)
	{
		uint64		middle = before + (behind - before) / 2;

		if (compare_tied_rows(&rows[middle], row, ties) <= 0)
			before = middle + 1;
		else
			behind = middle;
	}
	return before;
}

/* Does the same for a row behind the first n, rarely far from its place.  The
 * search begins at the end, in steps that double. */
static uint64
search_place_backwards(const GpuSortTiedRow *rows, uint64 n, const GpuSortTiedRow *row,
					   GpuSortComparer *ties)
{
	uint64		behind = n;
	uint64		before = 0;

	for (uint64 step = 1; step <= behind; step *= 2)
	{
		if (compare_tied_rows(&rows[behind - step], row, ties) <= 0)
		{
			before = behind - step + 1;
			break;
		}
		behind -= step;
	}
	return search_place(rows, before, behind, row, ties);
}

/* Moves row number i to a place before it. */
static void
move_row(GpuSortTiedRow *rows, uint64 i, uint64 place)
{
	GpuSortTiedRow row = rows[i];

	memmove(&rows[place + 1], &rows[place], (i - place) * sizeof(GpuSortTiedRow));
	rows[place] = row;
}

/*
 * Sorts rows of which few are out of place, and not by much: a row is moved by
 * one place on average, at most.  False: they are in no such order, and have
 * been left in another one.
 */
static bool
put_rows_in_place(GpuSortTiedRow *rows, uint64 n, GpuSortComparer *ties)
{
	uint64		moves = 0;

	for (uint64 i = 1; i < n; i++)
	{
		uint64		place = search_place_backwards(rows, i, &rows[i], ties);

		CHECK_FOR_INTERRUPTS();
		moves += i - place;
		if (moves > n)
			return false;
		if (place < i)
			move_row(rows, i, place);
	}
	return true;
}

static void
sort_by_comparing(GpuSortTiedRow *rows, uint64 n, GpuSortComparer *ties)
{
	if (n > ROWS_TO_INSERT)
	{
		sort_rows_in_any_order(rows, n, ties);
		return;
	}
	for (uint64 i = 1; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		move_row(rows, i, search_place(rows, 0, i, &rows[i], ties));
	}
}

/* --- by ranks ------------------------------------------------------------- */

/* A value of the first undecided key. */
typedef struct TiedValue
{
	Datum		value;
	bool		is_null;
	uint32		number;			/* as the rows' order has found it */
	uint32		n_rows;			/* that have it, byte by byte */
} TiedValue;

typedef struct Ranking
{
	const GpuSortTiedRow *rows; /* in the order of their numbers */
	uint32		n_rows;
	const GpuSortComparer *ties;
	TiedValue  *values;
	uint32		n_values;
	uint32	   *value_of_row;	/* numbers of values */
} Ranking;

/* An entry of the hash table of values. */
typedef struct FoundValue
{
	uint32		row;			/* the first that has it: the hash table's key */
	uint32		hash;
	uint32		number;
	char		status;			/* the hash table's own */
} FoundValue;

static inline uint32
hash_of_row(const Ranking *ranking, uint32 row)
{
	return gpusort_comparer_hash(ranking->ties, &ranking->rows[row].comparand);
}

static inline bool
rows_have_one_value(const Ranking *ranking, uint32 a, uint32 b)
{
	return gpusort_comparer_same_bytes(ranking->ties, &ranking->rows[a].comparand,
									   &ranking->rows[b].comparand);
}

#define SH_PREFIX found_values
#define SH_ELEMENT_TYPE FoundValue
#define SH_KEY_TYPE uint32
#define SH_KEY row
#define SH_HASH_KEY(table, key) hash_of_row((table)->private_data, key)
#define SH_EQUAL(table, a, b) rows_have_one_value((table)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) ((element)->hash)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "keys/hash_table.h"

static inline int
compare_tied_values(const TiedValue *a, const TiedValue *b, SortSupport key)
{
	return ApplySortComparator(a->value, a->is_null, b->value, b->is_null, key);
}

#define ST_SORT sort_values
#define ST_ELEMENT_TYPE TiedValue
#define ST_COMPARE(a, b, key) compare_tied_values(a, b, key)
#define ST_COMPARE_ARG_TYPE SortSupportData
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Lists the rows' values.  False: there are more than values_max, which are too
 * many for ranks to be cheaper than comparisons. */
static bool
list_values(Ranking *ranking, uint32 values_max)
{
	found_values_hash *found_values = found_values_create(CurrentMemoryContext, values_max / 4,
														  ranking);

	for (uint32 i = 0; i < ranking->n_rows; i++)
	{
		const GpuSortComparand *comparand = &ranking->rows[i].comparand;
		bool		found;
		FoundValue *value = found_values_insert(found_values, i, &found);

		CHECK_FOR_INTERRUPTS();
		if (!found)
		{
			if (ranking->n_values == values_max)
				return false;
			value->number = ranking->n_values++;
			ranking->values[value->number] =
				(TiedValue) {comparand->value, comparand->is_null, value->number, 0};
		}
		ranking->value_of_row[i] = value->number;
		ranking->values[value->number].n_rows++;
	}
	return true;
}

/* Puts the rows in the order of their values.  Rows of equal values stay in the
 * order of their numbers, even if the values' bytes differ. */
static void
place_rows(Ranking *ranking, GpuSortTiedRow *rows)
{
	SortSupport key = &ranking->ties->keys[ranking->ties->first_key];
	TiedValue  *values = ranking->values;
	Size		bytes = ranking->n_values * sizeof(uint32);
	uint32	   *rank_of_value = palloc_extended(bytes, MCXT_ALLOC_HUGE);
	uint32	   *next_place = palloc_extended(bytes, MCXT_ALLOC_HUGE);	/* of each rank */
	uint32		n_ranks = 0;
	uint32		place = 0;

	sort_values(values, ranking->n_values, key);
	for (uint32 i = 0; i < ranking->n_values; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i == 0 || compare_tied_values(&values[i - 1], &values[i], key) != 0)
			next_place[n_ranks++] = place;
		rank_of_value[values[i].number] = n_ranks - 1;
		place += values[i].n_rows;
	}
	for (uint32 i = 0; i < ranking->n_rows; i++)
		rows[next_place[rank_of_value[ranking->value_of_row[i]]]++] = ranking->rows[i];
}

/* Sorts rows by the ranks of their first undecided key's values.  False: there
 * is one value or too many, and the rows have been left as they were. */
static bool
sort_by_ranks(const GpuSortComparer *ties, GpuSortTiedRow *rows, uint32 n)
{
	uint32		values_max = n / ROWS_OF_A_VALUE;
	Ranking		ranking = {.n_rows = n,.ties = ties};
	GpuSortTiedRow *by_number = palloc_extended(n * sizeof(GpuSortTiedRow), MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < n; i++)
		by_number[rows[i].number] = rows[i];
	ranking.rows = by_number;
	ranking.values = palloc_extended(values_max * sizeof(TiedValue), MCXT_ALLOC_HUGE);
	ranking.value_of_row = palloc_extended(n * sizeof(uint32), MCXT_ALLOC_HUGE);
	if (!list_values(&ranking, values_max) || ranking.n_values == 1)
		return false;
	place_rows(&ranking, rows);
	return true;
}

/* Returns the memory that ranks take, at most. */
static Size
rank_bytes(uint64 n)
{
	return n * (sizeof(GpuSortTiedRow) + sizeof(uint32)) +
		n / ROWS_OF_A_VALUE * (sizeof(TiedValue) + 4 * sizeof(FoundValue) + 2 * sizeof(uint32));
}

/* --- all tie runs --------------------------------------------------------- */

/* Tries the cheapest way first. */
void
gpusort_sort_tied_rows(const GpuSortOrdering *ordering, GpuSortTiedRow *rows, uint64 n,
					   Size taken_bytes)
{
	bool		more_keys = ordering->ties->n_keys > ordering->ties->first_key + 1;

	if (put_rows_in_place(rows, n, ordering->ties))
		return;
	if (n >= ROWS_TO_RANK && taken_bytes + rank_bytes(n) <= (Size) ordering->spec->work_mem * 1024)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort tied rows",
													  ALLOCSET_DEFAULT_SIZES);
		MemoryContext old_context = MemoryContextSwitchTo(context);
		bool		ranked = sort_by_ranks(ordering->ties, rows, (uint32) n);

		MemoryContextSwitchTo(old_context);
		MemoryContextDelete(context);
		if (ranked && (!more_keys || put_rows_in_place(rows, n, ordering->ties)))
			return;
	}
	sort_by_comparing(rows, n, ordering->ties);
}
