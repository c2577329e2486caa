/*
 * pairs.c
 *	  The sort of pairs that belong to no job: its arguments are checked here.
 */
#include "api/api_internal.h"

static int
pairs_valid(const gsort_pairs *pairs)
{
	return pairs->struct_bytes == sizeof(*pairs) &&
		(pairs->key_bits == 32 || pairs->key_bits == 64) &&
		pairs->begin_bit <= pairs->end_bit && pairs->end_bit <= pairs->key_bits &&
		pairs->n <= GSORT_RUN_ROWS_MAX &&
		pairs->engine < GSORT_ENGINES &&
		(pairs->n == 0 || (pairs->d_keys != NULL && pairs->d_rows_out != NULL));
}

size_t
gsort_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	return pairs_valid(pairs) ? device->ops->pairs_scratch_bytes(device, pairs) : 0;
}

gsort_status
gsort_pairs_sort(gsort_device *device, const gsort_pairs *pairs,
				 void *d_scratch, size_t scratch_bytes, void *stream)
{
	if (gsort_is_lost(device))
		return GSORT_DEVICE_LOST;
	if (!pairs_valid(pairs))
		return gsort_bad_argument(device, "pairs");
	if (pairs->n == 0)
		return GSORT_OK;
	return device->ops->pairs_sort(device, pairs, d_scratch, scratch_bytes, stream);
}
