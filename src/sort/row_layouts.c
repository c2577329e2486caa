/*
 * row_layouts.c
 *	  How many words each key of a sort gets, and what they skip, by rows that have come.
 *
 * In:  a sort's first rows, as they came.
 * Out: layouts of its keys, by samples taken evenly of them, and, of the first key, by its least and
 *	    its greatest value: what these two begin with, all rows do; and dictionaries (dictionary.h)
 *	    of texts that have few values, by all the rows.  Keys without one keep what statistics have told, but for
 *	    words that are dear and, by more samples than statistics have, tell hardly any rows apart.
 *
 * Rows to come may be others.  Words that fit them badly leave more to be compared, and the
 * order is right all the same.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "keys/dictionary.h"
#include "keys/key_types.h"
#include "keys/word_layout.h"
#include "sort/row_layouts.h"

/* Each may cost a sort key of ICU's or the C library's. */
#define SAMPLED_ROWS		100

/* Of keys whose words are dear one row in so many, as what they spare grows with the rows. */
#define ROWS_OF_DEAR_SAMPLE	100
#define SAMPLED_ROWS_MAX	1000

/* The rows that keys are laid out by. */
typedef struct LayoutRows
{
	GpuSortRowArray *array;
	TupleTableSlot *slot;		/* to look at them */
	const GpuSortSpec *spec;
	double		expected_rows;	/* of the whole sort */
} LayoutRows;

/* What samples of a column are taken of. */
typedef struct SampledColumn
{
	AttrNumber	column;
	int			length;			/* of the type, as attlen */
	bool		is_text;
	GpuSortTextBytes source;	/* of a text */
	int			values;
	double		bytes;
} SampledColumn;

static void
sample_row(SampledColumn *sampled, TupleTableSlot *slot, GpuSortKeySamples *samples)
{
	bool		is_null;
	Datum		value = slot_getattr(slot, sampled->column, &is_null);

	CHECK_FOR_INTERRUPTS();
	if (is_null)
		return;
	sampled->values++;
	sampled->bytes += sampled->length == -1 ? toast_raw_datum_size(value) : sampled->length;
	if (sampled->is_text)
		gpusort_key_samples_add(samples, &sampled->source, value);
}

/* So many samples of a column's values, of a base type under a collation; with_extremes: and its least and its greatest
 * one, where it is the sort's first key. */
static void
sample_column(const LayoutRows *from, Form_pg_attribute attr, Oid type, Oid collation, int n,
			  bool with_extremes, GpuSortKeySamples *samples)
{
	GpuSortRowArray *array = from->array;
	TupleTableSlot *slot = from->slot;
	uint64		rows = gpusort_row_array_rows(array);
	SampledColumn sampled = {
		.column = attr->attnum,
		.length = attr->attlen,
		.is_text = gpusort_type_has_text_bytes(type),
	};
	uint64		least;
	uint64		greatest;

	n = (int) Min(rows, n);
	memset(samples, 0, sizeof(*samples));
	if (sampled.is_text)
		gpusort_text_bytes_make(&sampled.source, type, collation, GPUSORT_SAMPLE_BYTES_MAX);
	for (int i = 0; i < n; i++)
		sample_row(&sampled, gpusort_row_array_get(array, i * rows / n, slot), samples);
	samples->width = sampled.values > 0 ? (int) (sampled.bytes / sampled.values) : 0;
	if (with_extremes && sampled.is_text && gpusort_row_array_extremes(array, &least, &greatest))
	{
		sample_row(&sampled, gpusort_row_array_get(array, least, slot), samples);
		sample_row(&sampled, gpusort_row_array_get(array, greatest, slot), samples);
	}
	gpusort_key_samples_sort(samples);
	/* of values that come again and again there may be no others */
	if (samples->n < sampled.values / 2)
		samples->distinct = samples->n;
}

/* Counts a row's values.  Dictionaries of too many are dropped; false: none is left. */
static bool
count_row(TupleTableSlot *slot, const GpuSortSpec *spec, GpuSortDictionary **dictionaries)
{
	bool		any = false;

	for (int i = 0; i < spec->n_keys; i++)
	{
		bool		is_null;
		Datum		value;

		if (dictionaries[i] == NULL)
			continue;
		value = slot_getattr(slot, spec->order->columns[i], &is_null);
		if (!is_null && !gpusort_dictionary_count(dictionaries[i], value))
			dictionaries[i] = NULL;
		any |= dictionaries[i] != NULL;
	}
	return any;
}

static void
count_rows(const LayoutRows *from, GpuSortDictionary **dictionaries)
{
	uint64		rows = gpusort_row_array_rows(from->array);

	for (uint64 i = 0; i < rows; i++)
	{
		if (!count_row(gpusort_row_array_get(from->array, i, from->slot), from->spec, dictionaries))
			break;
		CHECK_FOR_INTERRUPTS();
	}
}

/* A dictionary to be filled for a key that may be better off with it, else NULL. */
static GpuSortDictionary *
begin_dictionary(const GpuSortSpec *spec, int i, const GpuSortWantedWords *words)
{
	AttrNumber	column = spec->order->columns[i];
	Oid			type = getBaseType(TupleDescAttr(spec->desc, column - 1)->atttypid);
	Oid			collation = spec->order->collations[i];

	if (!gpusort_dictionary_may_be_of(type, collation) ||
		!gpusort_dictionary_would_help(collation, words))
		return NULL;
	return gpusort_dictionary_begin(type, collation, spec->order->operators[i]);
}

/* Dictionaries of keys that are NULL have not been begun. */
static void
want_dictionaries(const LayoutRows *from, GpuSortDictionary **dictionaries,
				  GpuSortWantedWords *words)
{
	count_rows(from, dictionaries);
	for (int i = 0; i < from->spec->n_keys; i++)
		if (dictionaries[i] != NULL && gpusort_dictionary_is_worth_it(dictionaries[i]) &&
			gpusort_dictionary_rank(dictionaries[i]))
			gpusort_want_words_by_dictionary(dictionaries[i], &words[i]);
}

static int
rows_of_dear_samples(const LayoutRows *from)
{
	return (int) Max(SAMPLED_ROWS, Min(from->expected_rows / ROWS_OF_DEAR_SAMPLE, SAMPLED_ROWS_MAX));
}

/* What the plan says. */
static void
want_words_of_plan(const GpuSortKeyLayout *layout, int least, GpuSortWantedWords *words)
{
	words->least = least;
	words->wanted = layout->n_words;
	words->skipped = layout->skipped;
	words->distinct = 0;
	words->dictionary = NULL;
}

/* What a key has without a dictionary: by statistics, or by samples.  False: no words. */
static bool
want_words(const LayoutRows *from, int i, GpuSortWantedWords *words)
{
	const GpuSortSpec *spec = from->spec;
	Form_pg_attribute attr = TupleDescAttr(spec->desc, spec->order->columns[i] - 1);
	int32		typmod = attr->atttypmod;
	Oid			type = getBaseTypeAndTypmod(attr->atttypid, &typmod);
	Oid			collation = spec->order->collations[i];
	bool		are_dear;
	GpuSortKeySamples samples;
	int			least;
	int			most;

	if (!gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod, spec->order->operators[i],
								   collation, &least, &most))
		return false;
	if (spec->from_statistics)
		want_words_of_plan(&spec->layouts[i], least, words);
	are_dear = gpusort_words_are_dear(collation, spec->from_statistics ? words->wanted : most);
	if (spec->from_statistics && !are_dear)
		return true;
	sample_column(from, attr, type, collation,
				  are_dear ? rows_of_dear_samples(from) : SAMPLED_ROWS,
				  i == 0 && !spec->from_statistics, &samples);
	if (!spec->from_statistics)
		gpusort_want_words(type, typmod, collation, least, most, &samples, words);
	if (are_dear && samples.distinct == 0)
		gpusort_spare_words(&samples, from->expected_rows, words);
	return true;
}

bool
gpusort_lay_out_by_rows(GpuSortRowArray *array, TupleTableSlot *slot, const GpuSortSpec *spec,
						double expected_rows, GpuSortKeyLayout *layouts)
{
	const LayoutRows from = {
		.array = array,
		.slot = slot,
		.spec = spec,
		.expected_rows = expected_rows,
	};
	GpuSortWantedWords words[GPUSORT_WORDS_MAX];
	GpuSortDictionary *dictionaries[GPUSORT_WORDS_MAX];
	bool		any_dictionary = false;

	for (int i = 0; i < spec->n_keys; i++)
	{
		if (!want_words(&from, i, &words[i]))
			return false;
		dictionaries[i] = begin_dictionary(spec, i, &words[i]);
		any_dictionary |= dictionaries[i] != NULL;
	}
	if (any_dictionary)
		want_dictionaries(&from, dictionaries, words);
	(void) gpusort_share_words(words, spec->n_keys, expected_rows, layouts);
	return true;
}
