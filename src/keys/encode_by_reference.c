/*
 * encode_by_reference.c
 *	  Words of fixed-width types that are passed by reference: uuid, interval,
 *	  timetz, macaddr, macaddr8.
 *
 * In:  values as tuples hold them, never toasted.
 * Out: one or two words, always exact.
 *
 * Runs in each process that packs rows, and allocates nothing.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "port/pg_bswap.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "keys/encoders.h"

/* --- uuid, macaddr, macaddr8: bytes, the first the most significant ------- */

static inline uint64
load_word(const void *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));
	return pg_ntoh64(word);
}

static void
encode_uuid(const GpuSortKey *key, Datum value, uint64 *words)
{
	const pg_uuid_t *uuid = DatumGetUUIDP(value);

	words[0] = load_word(uuid->data);
	words[1] = load_word(uuid->data + 8);
}

static void
encode_macaddr(const GpuSortKey *key, Datum value, uint64 *words)
{
	const macaddr *address = DatumGetMacaddrP(value);
	unsigned char bytes[8] = {0};

	memcpy(bytes + 2, address, sizeof(*address));
	words[0] = load_word(bytes);
}

static void
encode_macaddr8(const GpuSortKey *key, Datum value, uint64 *words)
{
	words[0] = load_word(DatumGetMacaddr8P(value));
}

/* --- interval and timetz -------------------------------------------------- */

/*
 * An interval's order is that of its span, with 30 days a month and 24 hours a
 * day: whole days, then microseconds.  The infinite intervals of 17 have the
 * extreme fields.
 */
static void
encode_interval(const GpuSortKey *key, Datum value, uint64 *words)
{
	const Interval *interval = DatumGetIntervalP(value);
	int64		days = interval->time / USECS_PER_DAY;
	int64		rest = interval->time % USECS_PER_DAY;

	if (rest < 0)
	{
		rest += USECS_PER_DAY;
		days--;
	}
	days += interval->month * INT64CONST(30) + interval->day;
	words[0] = gpusort_word_of_signed(days);
	words[1] = rest;
}

/* The instant comes first, then the zone.  Times of day with zones are equal if
 * both are. */
static void
encode_timetz(const GpuSortKey *key, Datum value, uint64 *words)
{
	const TimeTzADT *time = DatumGetTimeTzADTP(value);

	words[0] = gpusort_word_of_signed(time->time + time->zone * USECS_PER_SEC);
	words[1] = gpusort_word_of_signed(time->zone);
}

/* --- encoders ------------------------------------------------------------- */

static bool
can_encode_in_one(const GpuSortKeyType *type, int *least, int *most)
{
	*least = *most = 1;
	return true;
}

static bool
can_encode_in_two(const GpuSortKeyType *type, int *least, int *most)
{
	*least = *most = 2;
	return true;
}

#define EXACT_ENCODER(type_name, can) \
static void \
make_##type_name(GpuSortKey *key, const GpuSortKeyType *type, const GpuSortKeyEncoding *encoding) \
{ \
	key->encode = encode_##type_name; \
} \
const GpuSortEncoder gpusort_encode_##type_name = {.can_encode = can,.make = make_##type_name}

EXACT_ENCODER(uuid, can_encode_in_two);
EXACT_ENCODER(interval, can_encode_in_two);
EXACT_ENCODER(timetz, can_encode_in_two);
EXACT_ENCODER(macaddr, can_encode_in_one);
EXACT_ENCODER(macaddr8, can_encode_in_one);
