/*
 * key_samples.h
 *	  What statistics show of a key's values.
 */
#ifndef GPUSORT_KEY_SAMPLES_H
#define GPUSORT_KEY_SAMPLES_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Of longer strings no more is looked at. */
#define GPUSORT_SAMPLE_BYTES_MAX	256

typedef struct GpuSortKeySample
{
	Size		length;			/* at most GPUSORT_SAMPLE_BYTES_MAX */
	const char *bytes;			/* that words would be cut from */
} GpuSortKeySample;

typedef struct GpuSortKeySamples
{
	int			n;				/* 0 if there are no statistics, or they are not ours to see */
	GpuSortKeySample *samples;	/* in ascending order, none twice */
	double		distinct;		/* values that the sort's rows are expected to have; 0: not known */
	int			width;			/* average bytes of a value, its header included; 0: not known */
} GpuSortKeySamples;

/*
 * Of a sort key, an expression over root's relations; rows: of the sort.  Samples are taken of
 * texts and bytea only; type is a base type.  Memory: the current context.
 */
extern void gpusort_key_samples_take(PlannerInfo *root, Node *expr, Oid type, Oid collation,
									 double rows, GpuSortKeySamples *samples);

/* Bytes that two of them begin with, both. */
extern Size gpusort_key_samples_common(const GpuSortKeySample *a, const GpuSortKeySample *b);

#endif							/* GPUSORT_KEY_SAMPLES_H */
