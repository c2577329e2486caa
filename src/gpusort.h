/*
 * gpusort.h
 *	  Types shared by the files of src/; no bodies.
 */
#ifndef GPUSORT_H
#define GPUSORT_H

#include "access/attnum.h"
#include "gsort.h"				/* constants and types; only service*.c call its functions */

/* --- keys (sortkey.c) ------------------------------------------------------ */

#define GPUSORT_MAX_KEYS GSORT_MAX_KEY_COLUMNS

typedef enum GpuSortKeyKind
{
	GPUSORT_KEY_INT16,
	GPUSORT_KEY_INT32,
	GPUSORT_KEY_INT64,
	GPUSORT_KEY_UINT32
} GpuSortKeyKind;

typedef struct GpuSortKey
{
	AttrNumber	attno;			/* of the child's tuple */
	GpuSortKeyKind kind;
	bool		nulls_first;
	uint64		flip;			/* XORed onto the widened value: sign and direction */
} GpuSortKey;

#endif							/* GPUSORT_H */
