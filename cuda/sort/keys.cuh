/*
 * keys.cuh
 *	  Access to the caller's keys by their significant bits.
 *
 * Reads only the requested keys.
 */
#ifndef GSORT_KEYS_CUH
#define GSORT_KEYS_CUH

#include "rows/host_device.h"
#include "sort/warps.cuh"

/* The caller's keys, uint32_t or uint64_t, by their significant bits. */
template<typename Key>
struct typed_keys
{
	const Key  *keys;
	Key			mask;
	uint32_t	shift;

	__device__ __forceinline__ Key significant(Key key) const
	{
		return (key >> shift) & mask;
	}

	__device__ __forceinline__ Key operator[](uint32_t row) const
	{
		return significant(keys[row]);
	}
};

/* The same for either type, chosen at run time.  For kernels that read few
 * keys, and for the host. */
struct key_view
{
	const void *keys;
	uint64_t	mask;
	uint32_t	shift;
	uint32_t	key_bits;		/* 32 or 64 */

	template<typename Key>
	GSORT_HD typed_keys<Key> of_type() const
	{
		return {(const Key *) keys, (Key) mask, shift};
	}

	__device__ __forceinline__ uint64_t operator[](uint32_t row) const
	{
		if (key_bits == 32)
			return of_type<uint32_t>()[row];
		return of_type<uint64_t>()[row];
	}
};

template<typename Work>
SORT_DEVICE void
for_type_of_keys(const key_view &keys, const Work &work)
{
	if (keys.key_bits == 32)
		work(keys.of_type<uint32_t>());
	else
		work(keys.of_type<uint64_t>());
}

#endif							/* GSORT_KEYS_CUH */
