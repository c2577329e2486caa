/*
 * sample_cache.c
 *	  Samples of columns' values that this session has planned with.
 *
 * In:  samples of statistics, with the tuple of pg_statistic that they are of.
 * Out: the same again, as long as the column's statistics are that tuple.
 *
 * A query asks for the samples of a key once for each path, and sort keys of the C library take long to make: planning ORDER
 * BY two names took ten times as long as PostgreSQL does.  Whether the user may see a column's values the
 * caller asks each time.
 *
 * A tuple's place and who made it tell whether it is still the same: ANALYZE makes another one.  (Two by one
 * transaction, and a VACUUM FULL that moves the second to the place of the first, look the same; such keys are laid out badly, and
 * sorted right.)  All samples are forgotten when they have become too many.
 *
 * Runs in the backend that plans.  Memory: a context of its own, for as long as the session lives.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "planner/sample_cache.h"

#define CACHE_BYTES_MAX		(1024 * 1024)
#define CACHE_COLUMNS		64		/* at first */

/* Without padding, as it is hashed whole. */
typedef struct SampleKey
{
	Oid			relation;
	Oid			type;
	Oid			collation;
	int16		column;
	int16		inherited;		/* of the table's children too */
} SampleKey;

typedef struct KeptSamples
{
	SampleKey	key;
	ItemPointerData place;		/* of the statistics that they are of */
	TransactionId made_by;
	int			n;
	Size		bytes;			/* of the samples */
	GpuSortKeySample *samples;	/* NULL: none were kept */
} KeptSamples;

static MemoryContext cache_context = NULL;
static HTAB *cache = NULL;
static Size cache_bytes = 0;	/* of all columns and their samples */

static SampleKey
key_of(HeapTuple statistics, Oid type, Oid collation)
{
	Form_pg_statistic of = (Form_pg_statistic) GETSTRUCT(statistics);

	return (SampleKey) {of->starelid, type, collation, of->staattnum, of->stainherit};
}

static bool
is_of(KeptSamples *kept, HeapTuple statistics)
{
	return ItemPointerEquals(&kept->place, &statistics->t_self) &&
		kept->made_by == HeapTupleHeaderGetRawXmin(statistics->t_data);
}

static void
begin_cache(void)
{
	HASHCTL		control = {
		.keysize = sizeof(SampleKey),
		.entrysize = sizeof(KeptSamples),
	};

	if (cache_context != NULL)
		MemoryContextDelete(cache_context);
	cache_context = NULL;
	cache = NULL;
	cache_bytes = 0;
	cache_context = AllocSetContextCreate(TopMemoryContext, "gpusort samples of columns", ALLOCSET_SMALL_SIZES);
	control.hcxt = cache_context;
	cache = hash_create("gpusort samples of columns", CACHE_COLUMNS, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* In one piece. */
static GpuSortKeySample *
copy_samples(const GpuSortKeySamples *samples, Size *bytes)
{
	GpuSortKeySample *copy;
	char	   *to;

	*bytes = samples->n * sizeof(GpuSortKeySample);
	for (int i = 0; i < samples->n; i++)
		*bytes += samples->samples[i].length;
	copy = MemoryContextAlloc(cache_context, Max(*bytes, 1));
	to = (char *) (copy + samples->n);
	for (int i = 0; i < samples->n; i++)
	{
		copy[i].length = samples->samples[i].length;
		copy[i].bytes = memcpy(to, samples->samples[i].bytes, copy[i].length);
		to += copy[i].length;
	}
	return copy;
}

bool
gpusort_sample_cache_find(HeapTuple statistics, Oid type, Oid collation, GpuSortKeySamples *samples)
{
	SampleKey	key = key_of(statistics, type, collation);
	KeptSamples *kept;

	if (cache == NULL)
		return false;
	kept = hash_search(cache, &key, HASH_FIND, NULL);
	if (kept == NULL || kept->samples == NULL || !is_of(kept, statistics))
		return false;
	samples->n = kept->n;
	samples->room = kept->n;
	samples->samples = kept->samples;
	return true;
}

void
gpusort_sample_cache_keep(HeapTuple statistics, Oid type, Oid collation, const GpuSortKeySamples *samples)
{
	SampleKey	key = key_of(statistics, type, collation);
	KeptSamples *kept;
	bool		found;

	if (cache == NULL || cache_bytes > CACHE_BYTES_MAX)
		begin_cache();
	kept = hash_search(cache, &key, HASH_ENTER, &found);
	if (!found)
		cache_bytes += sizeof(KeptSamples);
	else if (kept->samples != NULL)
	{
		cache_bytes -= kept->bytes;
		pfree(kept->samples);
	}
	/* an error in between leaves none */
	kept->samples = NULL;
	kept->samples = copy_samples(samples, &kept->bytes);
	kept->n = samples->n;
	kept->place = statistics->t_self;
	kept->made_by = HeapTupleHeaderGetRawXmin(statistics->t_data);
	cache_bytes += kept->bytes;
}
