/*
 * key_samples.h
 *	  Some of a key's values, as byte strings, which stand for all of its
 *	  values.
 */
#ifndef GPUSORT_KEY_SAMPLES_H
#define GPUSORT_KEY_SAMPLES_H

#include "postgres.h"

#include "keys/text_bytes.h"

/* Bytes of longer strings beyond these are ignored. */
#define GPUSORT_SAMPLE_BYTES_MAX	256

typedef struct GpuSortKeySample
{
	Size		length;			/* at most GPUSORT_SAMPLE_BYTES_MAX */
	const char *bytes;			/* that words would be cut from */
} GpuSortKeySample;

typedef struct GpuSortKeySamples
{
	int			n;				/* 0 if no value is known, or if the key's type is no byte string */
	int			room;
	GpuSortKeySample *samples;	/* once they are sorted: in ascending order, none twice */
	double		distinct;		/* values that the sort's rows are expected to have; 0: not known */
	int			width;			/* average bytes of a value, with its header; 0: not known */
} GpuSortKeySamples;

/* The column of a table that a key's values come from. */
typedef struct GpuSortKeyOrigin
{
	Oid			relation;		/* InvalidOid: they are no column's */
	AttrNumber	column;
} GpuSortKeyOrigin;

/* Adds a value that is not NULL, of a type that has text bytes.  Memory: the
 * current context. */
extern void gpusort_key_samples_add(GpuSortKeySamples *samples, const GpuSortTextBytes *source,
									Datum value);

/* Sorts the samples, and drops those that are there twice. */
extern void gpusort_key_samples_sort(GpuSortKeySamples *samples);

/* Returns the bytes that all of them begin with.  They are sorted, and at least
 * one. */
extern Size gpusort_key_samples_common(const GpuSortKeySamples *samples);

/* Returns the bytes that neighbours among them have in common at their
 * beginning, on average.  They are sorted. */
extern double gpusort_key_samples_alike(const GpuSortKeySamples *samples);

/* Returns the most bytes that two of them have in common at their beginning.
 * They are sorted, and at least two. */
extern Size gpusort_key_samples_most_common(const GpuSortKeySamples *samples);

#endif							/* GPUSORT_KEY_SAMPLES_H */
