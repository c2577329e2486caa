/*
 * layout_copy.c
 *	  Layouts of a sort's keys for other processes, as bytes.
 *
 * In:  layouts, chosen by the process that leads a sort.
 * Out: the same layouts in the processes that feed it, so that all make the
 *	    same words.
 *
 * The bytes are the number of keys.  For each key follow its number of words,
 * the bytes that words skip, or -1, and a flag, with the dictionary's values
 * behind it.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "keys/dictionary.h"
#include "keys/key_samples.h"
#include "sort/layout_copy.h"

static Oid
base_type_of_key(const GpuSortOrder *order, int i, TupleDesc desc)
{
	return getBaseType(TupleDescAttr(desc, order->columns[i] - 1)->atttypid);
}

Size
gpusort_layouts_bytes_max(const GpuSortOrder *order, int n_keys, TupleDesc desc)
{
	Size		bytes = sizeof(int);

	for (int i = 0; i < n_keys; i++)
	{
		bytes += 3 * sizeof(int) + GPUSORT_SAMPLE_BYTES_MAX;
		if (gpusort_dictionary_may_be_of(base_type_of_key(order, i, desc), order->collations[i]))
			bytes += GPUSORT_DICTIONARY_BYTES_MAX +
				(GPUSORT_DICTIONARY_VALUES_MAX + 1) * sizeof(int);
	}
	return bytes;
}

static void
write_int(StringInfo to, int value)
{
	appendBinaryStringInfo(to, (char *) &value, sizeof(value));
}

static int
read_int(const char **from)
{
	int			value;

	memcpy(&value, *from, sizeof(value));
	*from += sizeof(value);
	return value;
}

static void
write_skipped(StringInfo to, const bytea *skipped)
{
	write_int(to, skipped != NULL ? (int) VARSIZE_ANY_EXHDR(skipped) : -1);
	if (skipped != NULL)
		appendBinaryStringInfo(to, VARDATA_ANY(skipped), VARSIZE_ANY_EXHDR(skipped));
}

static const bytea *
read_skipped(const char **from)
{
	int			length = read_int(from);
	bytea	   *skipped;

	if (length < 0)
		return NULL;
	skipped = palloc(VARHDRSZ + length);
	SET_VARSIZE(skipped, VARHDRSZ + length);
	memcpy(VARDATA(skipped), *from, length);
	*from += length;
	return skipped;
}

void
gpusort_layouts_write(const GpuSortKeyLayout *layouts, int n_keys, StringInfo to)
{
	write_int(to, n_keys);
	for (int i = 0; i < n_keys; i++)
	{
		write_int(to, layouts[i].n_words);
		write_skipped(to, layouts[i].skipped);
		write_int(to, layouts[i].dictionary != NULL);
		if (layouts[i].dictionary != NULL)
			gpusort_dictionary_write(layouts[i].dictionary, to);
	}
}

/* The skipped bytes stay where they are, and dictionaries are made anew. */
int
gpusort_layouts_read(const char *from, const GpuSortOrder *order, TupleDesc desc,
					 GpuSortKeyLayout layouts[GPUSORT_WORDS_MAX])
{
	int			n_keys = read_int(&from);

	for (int i = 0; i < n_keys; i++)
	{
		layouts[i].n_words = read_int(&from);
		layouts[i].skipped = read_skipped(&from);
		layouts[i].dictionary = NULL;
		if (read_int(&from) != 0)
			layouts[i].dictionary = gpusort_dictionary_read(base_type_of_key(order, i, desc),
															order->collations[i],
															order->operators[i], &from);
	}
	return n_keys;
}
