/*
 * encode_network.c
 *	  Words of inet and cidr.
 *
 * In:  values as tuples hold them.
 * Out: the first bits of a bit string that sorts as addresses do: the family (0
 *	    for IPv4), the network's bits, the length of the mask, the host's bits.
 *	    If further bits are not all 0, the lowest bit of the last word is set,
 *	    and the value is inexact.
 *
 * The bit string sorts so because network_cmp compares the bits that both masks
 * have, then the masks, then the rest.  Networks padded with 0 are in the same
 * order.  If two networks agree as far as both masks reach, the one with the
 * shorter mask is padded, and never above the other.  If they are still the
 * same, the mask's length comes next.
 *
 * Runs in each process that packs rows, and allocates nothing.
 */
#include "postgres.h"

#include <sys/socket.h>

#include "port/pg_bswap.h"
#include "utils/inet.h"

#include "keys/byte_words.h"
#include "keys/encoders.h"

#define WORDS_MAX			3
#define STRING_WORDS		5	/* words of the longest bit string: 1 + 128 + 8 + 128 bits */

/* 128 bits */
typedef struct Bits128
{
	uint64		high;
	uint64		low;
} Bits128;

static inline uint64
shift_left(uint64 bits, int by)
{
	return by < 64 ? bits << by : 0;
}

/* A shift by 64 bits or more leaves the low half empty. */
static inline Bits128
shift_left_128(Bits128 bits, int by)
{
	if (by == 0)
		return bits;
	if (by >= 64)
		return (Bits128)
	{
		shift_left(bits.low, by - 64), 0
	};
	return (Bits128)
	{
		bits.high << by | bits.low >> (64 - by), bits.low << by
	};
}

/* 1 + 32 + 6 + 32 bits */
static void
write_ipv4(const unsigned char *address, int mask, uint64 *string)
{
	uint32		bits;
	uint64		network;
	uint64		host;

	memcpy(&bits, address, sizeof(bits));
	bits = pg_ntoh32(bits);
	network = bits & (uint32) ((uint64) PG_UINT32_MAX << (32 - mask));
	host = (uint32) ((uint64) bits << mask);
	string[0] = network << 31 | (uint64) mask << 25 | host >> 7;
	string[1] = host << 57;
}

/* 1 + 128 + 8 + 128 bits */
static void
write_ipv6(const unsigned char *address, int mask, uint64 *string)
{
	Bits128		bits;
	Bits128		ones = {PG_UINT64_MAX, PG_UINT64_MAX};
	Bits128		network_mask = shift_left_128(ones, 128 - mask);
	Bits128		network;
	Bits128		host;

	memcpy(&bits, address, sizeof(bits));
	bits.high = pg_ntoh64(bits.high);
	bits.low = pg_ntoh64(bits.low);
	network.high = bits.high & network_mask.high;
	network.low = bits.low & network_mask.low;
	host = shift_left_128(bits, mask);
	string[0] = UINT64CONST(1) << 63 | network.high >> 1;
	string[1] = network.high << 63 | network.low >> 1;
	string[2] = network.low << 63 | (uint64) mask << 55 | host.high >> 9;
	string[3] = host.high << 55 | host.low >> 9;
	string[4] = host.low << 55;
}

/* Writes the whole bit string first, and then cuts it. */
static void
encode_network(const GpuSortKey *key, Datum value, uint64 *words)
{
	GpuSortVarlenaBytes bytes;
	const inet_struct *address;
	uint64		string[STRING_WORDS] = {0};
	uint64		rest;

	gpusort_varlena_bytes_open(value, sizeof(inet_struct), &bytes);
	address = (const inet_struct *) bytes.bytes;
	if (address->family == PGSQL_AF_INET)
		write_ipv4(address->ipaddr, address->bits, string);
	else
		write_ipv6(address->ipaddr, address->bits, string);
	gpusort_varlena_bytes_close(&bytes);

	memcpy(words, string, key->n_words * sizeof(uint64));
	rest = words[key->n_words - 1] & 1;
	for (int w = key->n_words; w < STRING_WORDS; w++)
		rest |= string[w];
	words[key->n_words - 1] = (words[key->n_words - 1] & ~UINT64CONST(1)) | (rest != 0);
}

static bool
can_encode(const GpuSortKeyType *type, int *least, int *most)
{
	*least = 1;
	*most = WORDS_MAX;
	return true;
}

static void
make(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding)
{
	key->encode = encode_network;
	key->may_be_inexact = true;
	key->inexact_bits = 1;
	key->inexact_code = 1;
}

const GpuSortEncoder gpusort_encode_network = {.can_encode = can_encode,.make = make};
