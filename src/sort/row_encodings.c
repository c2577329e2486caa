/*
 * row_encodings.c
 *	  Chooses the encodings of a sort's keys by the rows that have come.  It
 *	  collects the samples; key_encoding.c has the rules.
 *
 * In:  a sort's first rows, as they came, or a sample of all; statistics of the
 *	    keys' columns (column_statistics.c).
 * Out: encodings of its keys, by samples of both; and dictionaries
 *	    (dictionary.h) of texts that have few values, by all rows that have
 *	    come.
 *
 * Later rows may differ.  Words that fit them badly leave more to be compared,
 * but the order is right all the same.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"

#include "job/server_state.h"
#include "keys/dictionary.h"
#include "keys/key_encoding.h"
#include "keys/key_types.h"
#include "settings.h"
#include "sort/column_statistics.h"
#include "sort/row_encodings.h"
#include "sort/sort_method.h"

/* Each may cost a sort key of ICU or the C library. */
#define SAMPLED_ROWS		100

/* Rows whose values are counted, for dictionaries. */
#define ROWS_COUNTED_MAX	20000

/* For keys with expensive words, one of this many expected rows is sampled,
 * because the saving grows with the rows. */
#define ROWS_OF_EXPENSIVE_SAMPLE	200
#define SAMPLED_ROWS_MAX	1000

/* A sample of fewer rows tells less than as many first rows, or more. */
#define ROWS_OF_SAMPLE_MIN	500

/* The column that samples are taken of. */
typedef struct SampledColumn
{
	AttrNumber	column;
	int			length;			/* of the type, as attlen */
	bool		is_text;
	GpuSortTextBytes source;	/* for a text */
	int			values;
	double		bytes;
} SampledColumn;

/* Adds a row's value to the column's samples and figures. */
static void
sample_row(SampledColumn *sampled, TupleTableSlot *slot, GpuSortKeySamples *samples)
{
	bool		is_null;
	Datum		value = slot_getattr(slot, sampled->column, &is_null);

	CHECK_FOR_INTERRUPTS();
	if (is_null)
		return;
	sampled->values++;
	if (sampled->length == -1)
		sampled->bytes += toast_raw_datum_size(value);
	else
		sampled->bytes += sampled->length > 0 ? sampled->length : strlen(DatumGetCString(value));
	if (sampled->is_text)
		gpusort_key_samples_add(samples, &sampled->source, value);
}

/* Describes a column of a base type, under a collation, if this many bytes of
 * its values matter. */
static SampledColumn
begin_column(Form_pg_attribute attr, Oid type, Oid collation, Size bytes)
{
	SampledColumn sampled = {
		.column = attr->attnum,
		.length = attr->attlen,
		.is_text = gpusort_type_has_text_bytes(type),
	};

	if (sampled.is_text)
		gpusort_text_bytes_make(&sampled.source, type, collation, bytes);
	return sampled;
}

/* Takes this many samples, not sorted yet. */
static void
sample_rows(const GpuSortFirstRows *from, SampledColumn *sampled, int n, GpuSortKeySamples *samples)
{
	uint64		rows = gpusort_row_array_rows(from->array);

	n = (int) Min(rows, n);
	memset(samples, 0, sizeof(*samples));
	/* at places that a pattern in the input does not meet each time */
	for (int i = 0; i < n; i++)
		sample_row(sampled,
				   gpusort_row_array_get(from->array,
										 i * rows / n + hash_bytes_uint32(i) % (rows / n),
										 from->slot),
				   samples);
}

static void
sort_samples(const SampledColumn *sampled, GpuSortKeySamples *samples)
{
	gpusort_key_samples_sort(samples);
	/* if values are repeated, there may be no others */
	if (samples->distinct == 0 && samples->n < sampled->values / 2)
		samples->distinct = samples->n;
}

/* Takes samples for the encoding of key number i. */
static void
sample_column(const GpuSortFirstRows *from, SampledColumn *sampled, int i,
			  GpuSortKeySamples *samples)
{
	const GpuSortKeyOrigin *origin = &from->spec->key_origins[i];

	sample_rows(from, sampled, SAMPLED_ROWS, samples);
	samples->width = sampled->values > 0 ? (int) (sampled->bytes / sampled->values) : 0;
	if (sampled->is_text)
		gpusort_add_statistics(origin, &sampled->source, samples);
	samples->distinct = gpusort_expected_distinct(origin, from->spec->rows);
	sort_samples(sampled, samples);
}

/* Drops expensive words that further samples show to be needless. */
static void
drop_optional_words(const GpuSortFirstRows *from, Form_pg_attribute attr, Oid type, Oid collation,
					GpuSortWantedWords *words)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort samples",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	Size		prefix_bytes = words->prefix != NULL ? VARSIZE_ANY_EXHDR(words->prefix) : 0;
	SampledColumn sampled =
		begin_column(attr, type, collation,
					 Min(prefix_bytes + words->wanted * sizeof(uint64), GPUSORT_SAMPLE_BYTES_MAX));
	double		n = from->expected_rows / ROWS_OF_EXPENSIVE_SAMPLE;
	GpuSortKeySamples samples;

	sample_rows(from, &sampled, (int) Max(SAMPLED_ROWS, Min(n, SAMPLED_ROWS_MAX)), &samples);
	sort_samples(&sampled, &samples);
	if (samples.distinct == 0)
		gpusort_drop_optional_words(&samples, from->expected_rows, words);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

/* Counts a row's values.  Dictionaries with too many are dropped.  False: none
 * is left. */
static bool
count_row(TupleTableSlot *slot, const GpuSortSpec *spec, int n_keys,
		  GpuSortDictionary **dictionaries)
{
	bool		any = false;

	for (int i = 0; i < n_keys; i++)
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

/* Counts rows that lie evenly among all. */
static void
count_rows(const GpuSortFirstRows *from, int n_keys, GpuSortDictionary **dictionaries)
{
	uint64		rows = gpusort_row_array_rows(from->array);
	uint64		counted = Min(rows, ROWS_COUNTED_MAX);

	for (uint64 i = 0; i < counted; i++)
	{
		TupleTableSlot *slot = gpusort_row_array_get(from->array, i * rows / counted, from->slot);

		if (!count_row(slot, from->spec, n_keys, dictionaries))
			break;
		CHECK_FOR_INTERRUPTS();
	}
}

static Oid
base_type_of_key(const GpuSortSpec *spec, int i, int32 *typmod)
{
	Form_pg_attribute attr = TupleDescAttr(spec->desc, spec->order->columns[i] - 1);

	*typmod = attr->atttypmod;
	return gpusort_key_type(attr->atttypid, typmod, spec->order->operators[i]);
}

/* Returns a dictionary to be filled for a key that may gain from it, else
 * NULL. */
static GpuSortDictionary *
begin_dictionary(const GpuSortSpec *spec, int i, const GpuSortWantedWords *words)
{
	int32		typmod;
	Oid			type = base_type_of_key(spec, i, &typmod);
	Oid			collation = spec->order->collations[i];

	/* rows that lie together may only seem to have few values */
	if (words->distinct > GPUSORT_DICTIONARY_VALUES_MAX ||
		!gpusort_dictionary_may_be_of(type, collation) ||
		!gpusort_dictionary_would_help(collation, words))
		return NULL;
	return gpusort_dictionary_begin(type, collation, spec->order->operators[i]);
}

/* Adds the column's common values, which may come though no first row has them,
 * as in a table that lies in order.  False: there is no dictionary. */
static bool
complete_dictionary(const GpuSortSpec *spec, int i, GpuSortDictionary *dictionary)
{
	int32		typmod;
	Oid			type = base_type_of_key(spec, i, &typmod);

	return gpusort_dictionary_is_worth_it(dictionary) &&
		gpusort_count_common_values(&spec->key_origins[i], type, dictionary) &&
		gpusort_dictionary_rank(dictionary);
}

/* Keys that are NULL here have no dictionary. */
static void
want_dictionaries(const GpuSortFirstRows *from, int n_keys, GpuSortDictionary **dictionaries,
				  GpuSortWantedWords *words)
{
	count_rows(from, n_keys, dictionaries);
	for (int i = 0; i < n_keys; i++)
		if (dictionaries[i] != NULL && complete_dictionary(from->spec, i, dictionaries[i]))
			gpusort_want_words_by_dictionary(dictionaries[i], &words[i]);
}

/* Finds the words of a key without a dictionary.  False: it has none. */
static bool
want_words(const GpuSortFirstRows *from, int i, GpuSortWantedWords *words)
{
	const GpuSortSpec *spec = from->spec;
	Form_pg_attribute attr = TupleDescAttr(spec->desc, spec->order->columns[i] - 1);
	int32		typmod;
	Oid			type = base_type_of_key(spec, i, &typmod);
	Oid			collation = spec->order->collations[i];
	SampledColumn sampled;
	GpuSortKeySamples samples;
	int			least;
	int			most;

	if (gpusort_collation_is_distrusted(collation) ||
		!gpusort_sortkey_has_words(attr->atttypid, attr->atttypmod, spec->order->operators[i],
								   collation, &least, &most))
		return false;
	sampled = begin_column(attr, type, collation, GPUSORT_SAMPLE_BYTES_MAX);
	sample_column(from, &sampled, i, &samples);
	gpusort_want_words(type, typmod, collation, least, most, &samples, from->expected_rows, words);
	if (words->wanted > words->required)
		drop_optional_words(from, attr, type, collation, words);
	return true;
}

/* Is the sample of all rows worth more than the first rows? */
static bool
sample_is_better(const GpuSortSpec *spec, GpuSortRowArray *first_rows)
{
	return spec->sample != NULL &&
		gpusort_row_array_rows(spec->sample) >= Min(ROWS_OF_SAMPLE_MIN,
													gpusort_row_array_rows(first_rows));
}

/* Each key is encoded as if alone, then the keys share the words. */
static int
choose_encodings(GpuSortRowArray *array, TupleTableSlot *slot, const GpuSortSpec *spec,
				 double expected_rows, GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX], bool *pays)
{
	bool		among_all = sample_is_better(spec, array);
	const GpuSortFirstRows from = {
		.array = among_all ? spec->sample : array,
		.among_all = among_all,
		.slot = slot,
		.spec = spec,
		.expected_rows = expected_rows,
	};
	GpuSortWantedWords words[GPUSORT_WORDS_MAX];
	GpuSortDictionary *dictionaries[GPUSORT_WORDS_MAX];
	int			n_keys;

	*pays = true;
	/* a setting, or distrust, may have taken a key's words since the plan was
	 * made */
	for (n_keys = 0; n_keys < spec->n_keys; n_keys++)
	{
		if ((n_keys > 0 && gpusort_keys_decide(&from, n_keys, words)) ||
			!want_words(&from, n_keys, &words[n_keys]))
			break;
		dictionaries[n_keys] = begin_dictionary(spec, n_keys, &words[n_keys]);
	}
	if (n_keys == 0)
		return 0;
	want_dictionaries(&from, n_keys, dictionaries, words);
	(void) gpusort_share_words(words, n_keys, expected_rows, encodings);
	if (spec->workers < 0 && !gpusort_debug_force)
		*pays = !gpusort_comparing_costs_less(&from, n_keys, words, encodings);
	return n_keys;
}

/* Encodings that do not pay leave no memory, since a sort may make many. */
int
gpusort_choose_encodings(GpuSortRowArray *array, TupleTableSlot *slot, const GpuSortSpec *spec,
						 double expected_rows, GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX],
						 bool *pays)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort encodings",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	int			n_keys = choose_encodings(array, slot, spec, expected_rows, encodings, pays);

	MemoryContextSwitchTo(old_context);
	if (!*pays)
		MemoryContextDelete(context);
	return n_keys;
}

bool
gpusort_sample_tells_to_compare(const GpuSortSpec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort sample",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX];
	bool		pays;

	(void) gpusort_choose_encodings(spec->sample, spec->row, spec, spec->rows, encodings,
									&pays);
	ExecClearTuple(spec->row);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return !pays;
}
