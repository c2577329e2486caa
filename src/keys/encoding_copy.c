/*
 * encoding_copy.c
 *	  Encodings of a sort's keys for other processes, as bytes.
 *
 * In:  encodings, chosen by the process that leads a sort.
 * Out: the same encodings in the processes that feed it, so that all make the
 *	    same words.
 *
 * The bytes are the number of keys.  For each key follow its number of words,
 * the length of its prefix, or -1, the prefix, and a flag that tells whether
 * the key has a dictionary.  If so, the dictionary's values follow.  All memory
 * is the caller's.
 */
#include "postgres.h"

#include "keys/dictionary.h"
#include "keys/encoding_copy.h"
#include "keys/key_samples.h"
#include "keys/key_types.h"

static Oid
base_type_of_key(const GpuSortOrder *order, int i, TupleDesc desc)
{
	int32		typmod = -1;

	return gpusort_key_type(TupleDescAttr(desc, order->columns[i] - 1)->atttypid, &typmod,
							order->operators[i]);
}

Size
gpusort_encodings_bytes_max(const GpuSortOrder *order, int n_keys, TupleDesc desc)
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
write_prefix(StringInfo to, const bytea *prefix)
{
	write_int(to, prefix != NULL ? (int) VARSIZE_ANY_EXHDR(prefix) : -1);
	if (prefix != NULL)
		appendBinaryStringInfo(to, VARDATA_ANY(prefix), VARSIZE_ANY_EXHDR(prefix));
}

static const bytea *
read_prefix(const char **from)
{
	int			length = read_int(from);
	bytea	   *prefix;

	if (length < 0)
		return NULL;
	prefix = palloc(VARHDRSZ + length);
	SET_VARSIZE(prefix, VARHDRSZ + length);
	memcpy(VARDATA(prefix), *from, length);
	*from += length;
	return prefix;
}

void
gpusort_encodings_write(const GpuSortKeyEncoding *encodings, int n_keys, StringInfo to)
{
	write_int(to, n_keys);
	for (int i = 0; i < n_keys; i++)
	{
		write_int(to, encodings[i].n_words);
		write_prefix(to, encodings[i].prefix);
		write_int(to, encodings[i].dictionary != NULL);
		if (encodings[i].dictionary != NULL)
			gpusort_dictionary_write(encodings[i].dictionary, to);
	}
}

/* The prefixes stay where they are, and dictionaries are made again. */
int
gpusort_encodings_read(const char *from, const GpuSortOrder *order, TupleDesc desc,
					   GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX])
{
	int			n_keys = read_int(&from);

	for (int i = 0; i < n_keys; i++)
	{
		encodings[i].n_words = read_int(&from);
		encodings[i].prefix = read_prefix(&from);
		encodings[i].dictionary = NULL;
		if (read_int(&from) != 0)
			encodings[i].dictionary = gpusort_dictionary_read(base_type_of_key(order, i, desc),
															  order->collations[i],
															  order->operators[i], &from);
	}
	return n_keys;
}
