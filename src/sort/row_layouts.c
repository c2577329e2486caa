/*
 * row_layouts.c
 *	  How many words each key of a sort gets, and what they skip, by rows that have come.
 *
 * In:  a sort's first rows, in order.
 * Out: layouts of its keys, by samples that lie evenly between the first row and the last: what
 *	    these two begin with, the first key of all rows does; and dictionaries (dictionary.h) of
 *	    texts that have few values, by all the rows.  Keys without one keep what statistics have told.
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
#define SAMPLED_ROWS_MAX	100

/* Samples of a column's values, of a base type under a collation. */
static void
sample_column(Tuplesortstate *sorted, uint64 rows, TupleTableSlot *slot, Form_pg_attribute attr,
			  Oid type, Oid collation, GpuSortKeySamples *samples)
{
	int			n = (int) Min(rows, SAMPLED_ROWS_MAX);
	bool		is_text = gpusort_type_has_text_bytes(type);
	GpuSortTextBytes source;
	uint64		place = 0;
	int			values = 0;
	double		bytes = 0;

	memset(samples, 0, sizeof(*samples));
	if (is_text)
		gpusort_text_bytes_make(&source, type, collation, GPUSORT_SAMPLE_BYTES_MAX);
	for (int i = 0; i < n; i++)
	{
		uint64		row = n == 1 ? 0 : i * (rows - 1) / (n - 1);
		bool		is_null;
		Datum		value;

		CHECK_FOR_INTERRUPTS();
		if (!tuplesort_skiptuples(sorted, row - place, true) ||
			!tuplesort_gettupleslot(sorted, true, false, slot, NULL))
			elog(ERROR, "gpusort has fewer rows than it has put");
		place = row + 1;
		value = slot_getattr(slot, attr->attnum, &is_null);
		if (is_null)
			continue;
		values++;
		bytes += attr->attlen == -1 ? toast_raw_datum_size(value) : attr->attlen;
		if (is_text)
			gpusort_key_samples_add(samples, &source, value);
	}
	ExecClearTuple(slot);
	tuplesort_rescan(sorted);
	samples->width = values > 0 ? (int) (bytes / values) : 0;
	gpusort_key_samples_sort(samples);
	/* of values that come again and again there may be no others */
	if (samples->n < values / 2)
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
count_rows(Tuplesortstate *sorted, TupleTableSlot *slot, const GpuSortSpec *spec,
		   GpuSortDictionary **dictionaries)
{
	while (tuplesort_gettupleslot(sorted, true, false, slot, NULL) &&
		   count_row(slot, spec, dictionaries))
		CHECK_FOR_INTERRUPTS();
	ExecClearTuple(slot);
	tuplesort_rescan(sorted);
}

/* A dictionary to be filled for a key that may be better off with it, else NULL. */
static GpuSortDictionary *
begin_dictionary(const GpuSortSpec *spec, int i, const GpuSortWantedWords *words)
{
	AttrNumber	column = spec->order->columns[i];
	Oid			type = getBaseType(TupleDescAttr(spec->desc, column - 1)->atttypid);
	Oid			collation = spec->order->collations[i];

	if (!gpusort_type_has_text_bytes(type) || type == BYTEAOID ||
		!gpusort_dictionary_would_help(collation, words))
		return NULL;
	return gpusort_dictionary_begin(type, collation, spec->order->operators[i]);
}

/* Dictionaries of keys that are NULL have not been begun. */
static void
want_dictionaries(Tuplesortstate *sorted, TupleTableSlot *slot, const GpuSortSpec *spec,
				  GpuSortDictionary **dictionaries, GpuSortWantedWords *words)
{
	count_rows(sorted, slot, spec, dictionaries);
	for (int i = 0; i < spec->n_keys; i++)
		if (dictionaries[i] != NULL && gpusort_dictionary_is_worth_it(dictionaries[i]) &&
			gpusort_dictionary_rank(dictionaries[i]))
			gpusort_want_words_by_dictionary(dictionaries[i], &words[i]);
}

/* What a key has without a dictionary: by statistics, or by samples.  False: no words. */
static bool
want_words(Tuplesortstate *sorted, uint64 rows, TupleTableSlot *slot, const GpuSortSpec *spec, int i,
		   GpuSortWantedWords *words)
{
	Form_pg_attribute attr = TupleDescAttr(spec->desc, spec->order->columns[i] - 1);
	int32		typmod = attr->atttypmod;
	Oid			type = getBaseTypeAndTypmod(attr->atttypid, &typmod);
	Oid			collation = spec->order->collations[i];
	GpuSortKeySamples samples;
	int			least;
	int			most;

	if (!gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod, spec->order->operators[i],
								   collation, &least, &most))
		return false;
	if (spec->from_statistics)
	{
		words->least = least;
		words->wanted = spec->layouts[i].n_words;
		words->skipped = spec->layouts[i].skipped;
		words->distinct = 0;
		words->dictionary = NULL;
		return true;
	}
	sample_column(sorted, rows, slot, attr, type, collation, &samples);
	gpusort_want_words(type, typmod, collation, least, most, &samples, words);
	return true;
}

bool
gpusort_lay_out_by_rows(Tuplesortstate *sorted, uint64 rows, TupleTableSlot *slot,
						const GpuSortSpec *spec, double expected_rows, GpuSortKeyLayout *layouts)
{
	GpuSortWantedWords words[GPUSORT_WORDS_MAX];
	GpuSortDictionary *dictionaries[GPUSORT_WORDS_MAX];
	bool		any_dictionary = false;

	for (int i = 0; i < spec->n_keys; i++)
	{
		if (!want_words(sorted, rows, slot, spec, i, &words[i]))
			return false;
		dictionaries[i] = begin_dictionary(spec, i, &words[i]);
		any_dictionary |= dictionaries[i] != NULL;
	}
	if (any_dictionary)
		want_dictionaries(sorted, slot, spec, dictionaries, words);
	(void) gpusort_share_words(words, spec->n_keys, expected_rows, layouts);
	return true;
}
