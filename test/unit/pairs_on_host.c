/*
 * pairs_on_host.c
 *	  Sorts of pairs on the host device.  Lays out the caller's arrays and
 *	  scratch for the radix sort, and sorts before it returns.
 *
 * Runs on the calling thread; idle threads of the device share its parts.  Uses
 * some 600 kB of the caller's stack.
 */
#include "pairs_sort.h"

#include <string.h>

#include "host/host_ops.h"
#include "host/radix_steps.h"

#define PAIRS_ALIGN		256
#define SHORT_BITS		32		/* of a short key, and of its row number */

static size_t
pairs_array_bytes(uint64_t n, size_t item_bytes)
{
	return (n * item_bytes + PAIRS_ALIGN - 1) / PAIRS_ALIGN * PAIRS_ALIGN;
}

size_t
pairs_on_host_scratch_bytes(const gsort_pairs *pairs)
{
	return PAIRS_ALIGN + 2 * pairs_array_bytes(pairs->n, sizeof(uint64_t)) +
		pairs_array_bytes(pairs->n, sizeof(uint32_t));
}

/* The caller's arrays beside those of the sort. */
typedef struct pairs_copy
{
	const gsort_pairs *pairs;
	const host_pairs *side;
	uint32_t	parts;
} pairs_copy;

/* Joins short keys and row numbers. */
static void
copy_part_in(void *arg, uint32_t part)
{
	const pairs_copy *copy = arg;
	const gsort_pairs *pairs = copy->pairs;
	const uint32_t *keys = pairs->d_keys;
	uint64_t	end = host_part_begin(pairs->n, copy->parts, part + 1);

	for (uint64_t i = host_part_begin(pairs->n, copy->parts, part); i < end; i++)
		copy->side->keys[i] = (uint64_t) keys[i] << SHORT_BITS |
			(pairs->d_rows != NULL ? pairs->d_rows[i] : (uint32_t) i);
}

/* Copies the sorted pairs unless they are where they belong. */
static void
copy_part_out(void *arg, uint32_t part)
{
	const pairs_copy *copy = arg;
	const gsort_pairs *pairs = copy->pairs;
	const host_pairs *sorted = copy->side;
	uint64_t   *wide = pairs->key_bits == 64 ? pairs->d_keys_out : NULL;
	uint32_t   *narrow = pairs->key_bits == 32 ? pairs->d_keys_out : NULL;
	uint64_t	begin = host_part_begin(pairs->n, copy->parts, part);
	uint64_t	end = host_part_begin(pairs->n, copy->parts, part + 1);

	if (wide != NULL && wide != sorted->keys)
		memcpy(wide + begin, sorted->keys + begin, (end - begin) * sizeof(*wide));
	for (uint64_t i = begin; narrow != NULL && i < end; i++)
		narrow[i] = (uint32_t) (sorted->keys[i] >> SHORT_BITS);
	for (uint64_t i = begin; sorted->rows != pairs->d_rows_out && i < end; i++)
		pairs->d_rows_out[i] = sorted->rows != NULL ? sorted->rows[i] :
			pairs->d_rows != NULL ? pairs->d_rows[i] : (uint32_t) i;
}

int
pairs_on_host(gsort_device *device, const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes)
{
	host_pool  *pool = ((host_device *) device)->pool;
	size_t		keys_bytes = pairs_array_bytes(pairs->n, sizeof(uint64_t));
	char	   *scratch = d_scratch;
	host_radix_sort sort = {
		.n = pairs->n,
		.row_bits = pairs->key_bits == SHORT_BITS ? SHORT_BITS : 0,
		.in = {pairs->d_keys, (uint32_t *) pairs->d_rows},
		.sides = {
			{(uint64_t *) scratch, pairs->d_rows_out},
			{(uint64_t *) (scratch + keys_bytes), (uint32_t *) (scratch + 2 * keys_bytes)}
		}
	};
	host_pairs	sorted;
	pairs_copy	copy = {pairs, &sort.sides[1], host_parts(pool, pairs->n)};

	if (scratch_bytes < pairs_on_host_scratch_bytes(pairs))
		return 0;
	if (sort.row_bits > 0)
	{
		host_pool_for(pool, copy.parts, copy_part_in, &copy);
		sort.in = (host_pairs) {sort.sides[1].keys, NULL};
	}
	else if (pairs->d_keys_out != NULL)
		sort.sides[0].keys = pairs->d_keys_out;
	sort.bits = pairs->bits;
	if (!host_radix_run(pool, &sort, &sorted))
		return 0;
	copy.side = &sorted;
	host_pool_for(pool, copy.parts, copy_part_out, &copy);
	return 1;
}
