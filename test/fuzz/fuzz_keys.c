/*
 * fuzz_keys.c
 *	  From values to sort words: sortkey.h and key_plan.h.
 *
 * In:  columns of any type, direction and place of NULLs, and rows of values.
 * Checked: the words order every two rows as the values themselves do, and stay
 * within their bits.  Then words by statistics that lie, as those of a corrupt chunk
 * can: any order, but nothing undefined.
 */
#include "fuzz.h"
#include "rows/key_plan.h"
#include "sortkey_words.h"

#define ROWS_MAX	24

typedef struct column
{
	int			descending;
	int			nulls_first;
	int64_t		values[ROWS_MAX];
	int			nulls[ROWS_MAX];
	uint64_t	words[ROWS_MAX];
} column;

/* Any bits, or few values around a power of two. */
static uint64_t
take_bits(fuzz_source *source)
{
	uint8_t		how = (uint8_t) take(source, 1);
	uint64_t	bits = how & 1 ? take(source, 8) : take(source, 1) - 128;

	return how & 2 ? bits + (1ull << (how >> 2)) : bits;
}

static void
take_column(fuzz_source *source, column *c, int rows, gsort_column_stats *stats)
{
	uint8_t		what = (uint8_t) take(source, 1);

	c->descending = (what & 64) != 0;
	c->nulls_first = (what & 128) != 0;
	key_stats_init(stats);
	for (int row = 0; row < rows; row++)
	{
		uint64_t	word;

		c->nulls[row] = (what & 32) && take(source, 1) % 4 == 0;
		word = sortkey_word(what, c->descending, take_bits(source), &c->values[row]);
		c->words[row] = word;
		if (c->nulls[row])
			stats->nulls++;
		else
			key_stats_fold(stats, &(gsort_column_stats) {word, word, word, word, 0});
	}
}

/* As PostgreSQL orders the rows. */
static int
compare_rows(const column *columns, uint32_t n, int a, int b)
{
	for (uint32_t i = 0; i < n; i++)
	{
		const column *c = &columns[i];

		if (c->nulls[a] != c->nulls[b])
			return c->nulls[a] == c->nulls_first ? -1 : 1;
		if (!c->nulls[a] && c->values[a] != c->values[b])
			return (c->values[a] < c->values[b]) != c->descending ? -1 : 1;
	}
	return 0;
}

static uint64_t
word_of(const key_plan *plan, const column *columns, uint32_t word, int row)
{
	uint64_t	keys[GSORT_MAX_KEY_COLUMNS];
	uint32_t	nulls = 0;

	for (uint32_t c = 0; c < plan->columns; c++)
	{
		keys[c] = columns[c].words[row];
		nulls |= (uint32_t) columns[c].nulls[row] << c;
	}
	return key_plan_word(plan, word, keys, 1, nulls);
}

static int
compare_words(const key_plan *plan, const column *columns, int a, int b)
{
	for (uint32_t word = 0; word < plan->words; word++)
	{
		uint64_t	word_a = word_of(plan, columns, word, a);
		uint64_t	word_b = word_of(plan, columns, word, b);

		if (word_a != word_b)
			return word_a < word_b ? -1 : 1;
	}
	return 0;
}

static void
check_words(const key_plan *plan, const column *columns, int rows)
{
	for (int a = 0; a < rows; a++)
	{
		for (uint32_t word = 0; word < plan->words; word++)
			REQUIRE(word_of(plan, columns, word, a) <= key_low_bits(plan->word_bits[word]));
		for (int b = 0; b < a; b++)
			REQUIRE(compare_words(plan, columns, a, b) == compare_rows(columns, plan->columns, a, b));
	}
}

/* Uses a plan as a device does, whatever it was made of. */
static void
use_plan(const key_plan *plan, const column *columns, int rows)
{
	REQUIRE(plan->words <= KEY_PLAN_MAX_WORDS);
	for (uint32_t word = 0; word < plan->words; word++)
	{
		REQUIRE(plan->word_bits[word] >= 1 && plan->word_bits[word] <= 64);
		for (int row = 0; row < rows; row++)
			(void) word_of(plan, columns, word, row);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source source = {data, size};
	column		columns[GSORT_MAX_KEY_COLUMNS];
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];
	uint8_t		shape = (uint8_t) take(&source, 1);
	uint32_t	n = 1 + shape % GSORT_MAX_KEY_COLUMNS;
	int			rows = 1 + (shape >> 3) % ROWS_MAX;
	uint32_t	nulls_first = 0;
	key_plan	plan;

	for (uint32_t i = 0; i < n; i++)
	{
		take_column(&source, &columns[i], rows, &stats[i]);
		nulls_first |= (uint32_t) columns[i].nulls_first << i;
	}
	plan = key_plan_make(n, nulls_first, stats);
	use_plan(&plan, columns, rows);
	check_words(&plan, columns, rows);
	for (uint32_t i = 0; i < n; i++)
	{
		stats[i].min = take(&source, 8);
		stats[i].max = take(&source, 8);
		stats[i].any = take(&source, 8);
		stats[i].all = take(&source, 8);
		stats[i].nulls = take(&source, 1);
	}
	plan = key_plan_make(n, nulls_first, stats);
	use_plan(&plan, columns, rows);
	return 0;
}
