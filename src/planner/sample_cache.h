/*
 * sample_cache.h
 *	  Samples of columns' values that this session has planned with.
 */
#ifndef GPUSORT_SAMPLE_CACHE_H
#define GPUSORT_SAMPLE_CACHE_H

#include "postgres.h"

#include "access/htup.h"

#include "keys/key_samples.h"

/*
 * Takes the sorted samples of a key of this base type that were kept of these statistics, a tuple of the
 * system cache, and leaves the rest of *samples alone.  False: there are none.  They stay until others are kept.
 */
extern bool gpusort_sample_cache_find(HeapTuple statistics, Oid type, Oid collation, GpuSortKeySamples *samples);

/* Keeps a copy of them. */
extern void gpusort_sample_cache_keep(HeapTuple statistics, Oid type, Oid collation, const GpuSortKeySamples *samples);

#endif							/* GPUSORT_SAMPLE_CACHE_H */
