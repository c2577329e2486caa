/*
 * host_pairs.c
 *	  Sorts of pairs that belong to no job.  Lays out the caller's arrays and
 *	  scratch for the radix sort, and sorts before it returns.
 */
#include "host/host_job.h"

#include <string.h>

#include "host/host_radix.h"

#define PAIRS_ALIGN		256

static size_t
pairs_array_bytes(uint64_t n, size_t item_bytes)
{
	return (n * item_bytes + PAIRS_ALIGN - 1) / PAIRS_ALIGN * PAIRS_ALIGN;
}

size_t
host_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	size_t		keys_bytes = pairs_array_bytes(pairs->n, pairs->key_bits / 8);
	size_t		bytes = PAIRS_ALIGN + pairs_array_bytes(pairs->n, sizeof(uint32_t));

	(void) device;
	if (pairs->d_keys_out == NULL)
		bytes += keys_bytes;
	if (pairs->keep_keys)
		bytes += keys_bytes;
	return bytes;
}

/* Builds the two sides of the sort, from the caller's arrays where these may be
 * written. */
static void
lay_out_sides(const gsort_pairs *pairs, char *scratch, host_pairs sides[2])
{
	size_t		keys_bytes = pairs_array_bytes(pairs->n, pairs->key_bits / 8);

	sides[0].rows = pairs->d_rows_out;
	sides[1].rows = (uint32_t *) scratch;
	scratch += pairs_array_bytes(pairs->n, sizeof(uint32_t));
	sides[0].keys = pairs->d_keys_out;
	if (sides[0].keys == NULL)
	{
		sides[0].keys = scratch;
		scratch += keys_bytes;
	}
	sides[1].keys = pairs->keep_keys ? scratch : pairs->d_keys;
}

static void
copy_pairs_out(const gsort_pairs *pairs, const host_pairs *sorted)
{
	if (sorted->rows == NULL)
	{
		for (uint64_t i = 0; i < pairs->n; i++)
			pairs->d_rows_out[i] = (uint32_t) i;
	}
	else if (sorted->rows != pairs->d_rows_out)
		memcpy(pairs->d_rows_out, sorted->rows, pairs->n * sizeof(uint32_t));
	if (pairs->d_keys_out != NULL && sorted->keys != pairs->d_keys_out)
		memcpy(pairs->d_keys_out, sorted->keys, pairs->n * pairs->key_bits / 8);
}

gsort_status
host_pairs_sort(gsort_device *device, const gsort_pairs *pairs,
				void *d_scratch, size_t scratch_bytes, void *stream)
{
	host_radix_sort sort = {
		.n = pairs->n,
		.key_bits = pairs->key_bits,
		.begin_bit = pairs->begin_bit,
		.end_bit = pairs->end_bit,
		.in = {.keys = pairs->d_keys, .rows = (uint32_t *) pairs->d_rows},
	};
	host_pairs	sorted;

	(void) stream;
	if (scratch_bytes < host_pairs_scratch_bytes(device, pairs))
		return gsort_fail(device, GSORT_BAD_ARG, "scratch too small");
	lay_out_sides(pairs, d_scratch, sort.sides);
	if (!host_radix_run(((host_device *) device)->pool, &sort, &sorted))
		return gsort_fail(device, GSORT_NOMEM, "out of memory for the digits' counts");
	copy_pairs_out(pairs, &sorted);
	return GSORT_OK;
}
