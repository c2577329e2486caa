/*
 * encode_bytes.c
 *	  Words of bytea, bit and varbit.
 *
 * In:  values as tuples hold them.  No more of a toasted value is read than
 *	    words need.
 * Out: coded words (byte_words.h).  The code of a bit string counts its bits,
 *	    as its order does.
 *
 * Runs in each process that packs rows.  Nothing stays allocated.
 */
#include "postgres.h"

#include "utils/varbit.h"

#include "keys/byte_words.h"
#include "keys/encoders.h"

#define WORDS_MAX			4

static void
encode_bytea(const GpuSortKey *key, Datum value, uint64 *words)
{
	const GpuSortByteCut *cut = key->state;
	GpuSortVarlenaBytes bytes;

	gpusort_varlena_bytes_open(value, gpusort_byte_cut_needs(cut), &bytes);
	gpusort_byte_cut_coded(cut, bytes.bytes, bytes.length, words);
	gpusort_varlena_bytes_close(&bytes);
}

/* Makes the words of a string of this many bits.  The last byte ends with zeros
 * if it holds more. */
static void
encode_bits(const GpuSortByteCut *cut, const char *bytes, Size length, Size bits, uint64 *words)
{
	Size		prefix_bits = cut->prefix_bytes * BITS_PER_BYTE;
	const char *all_bytes = bytes;
	Size		all = length;
	uint8		marker = GPUSORT_PREFIX_MARKER;
	bool		begins_so = cut->prefix_bytes == 0 ||
		gpusort_byte_cut_strip_prefix(cut, &bytes, &length, &marker);

	/* the value is shorter than the prefix, has the first bits of its last
	 * byte, and no others are set */
	if (begins_so && bits < prefix_bits)
	{
		begins_so = false;
		bytes = all_bytes;
		length = all;
		gpusort_byte_cut_outside(cut, false, &bytes, &length, &marker);
	}
	gpusort_byte_cut_load(cut, marker, bytes, length, words);
	if (begins_so)
		gpusort_byte_cut_code(cut, bits - prefix_bits,
							  gpusort_byte_cut_held(cut) * BITS_PER_BYTE, words);
	else
		gpusort_byte_cut_mark_inexact(cut, words);
}

static void
encode_bit(const GpuSortKey *key, Datum value, uint64 *words)
{
	const GpuSortByteCut *cut = key->state;
	GpuSortVarlenaBytes bytes;
	int32		bits;

	gpusort_varlena_bytes_open(value, VARBITHDRSZ + gpusort_byte_cut_needs(cut), &bytes);
	memcpy(&bits, bytes.bytes, sizeof(bits));	/* not aligned behind a short header */
	encode_bits(cut, bytes.bytes + VARBITHDRSZ, bytes.length - VARBITHDRSZ, bits, words);
	gpusort_varlena_bytes_close(&bytes);
}

static bool
can_encode(const GpuSortKeyType *type, int *least, int *most)
{
	*least = 1;
	*most = WORDS_MAX;
	return true;
}

static void
make_coded(GpuSortKey *key, const GpuSortKeyEncoding *encoding, GpuSortEncode encode)
{
	GpuSortByteCut *cut = palloc(sizeof(GpuSortByteCut));

	gpusort_byte_cut_make(cut, encoding->n_words, encoding->prefix);
	key->encode = encode;
	key->state = cut;
	key->may_be_inexact = true;
	key->inexact_bits = GPUSORT_BYTES_INEXACT_BITS;
	key->inexact_code = GPUSORT_BYTES_INEXACT_CODE;
}

static void
make_bytea(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	make_coded(key, encoding, encode_bytea);
}

static void
make_bit(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	make_coded(key, encoding, encode_bit);
}

const GpuSortEncoder gpusort_encode_bytea = {.can_encode = can_encode,.make = make_bytea};
const GpuSortEncoder gpusort_encode_bit = {.can_encode = can_encode,.make = make_bit};
