/*
 * gpusort.h
 *	  Types shared by the files of src/; no bodies.
 */
#ifndef GPUSORT_H
#define GPUSORT_H

#include "access/attnum.h"
#include "gsort.h"				/* constants and types; only service*.c call its functions */

/* --- why a sort was native inside the node ----------------------------------- */

typedef enum GpuSortNativeReason
{
	GPUSORT_NATIVE_NONE = -1,
	GPUSORT_NATIVE_DISABLED,	/* gpusort.enabled was off at execution */
	GPUSORT_NATIVE_NO_DEVICE,	/* the service does not serve */
	GPUSORT_NATIVE_NO_SLOT,		/* all job slots in use */
	GPUSORT_NATIVE_NO_BUFFERS,	/* gpusort.buffer_memory all in use */
	GPUSORT_NATIVE_DEVICE_MEMORY,	/* a grant was refused */
	GPUSORT_NATIVE_RUN_LIMIT,	/* more rows or bytes than one run holds, or more runs than GPUSORT_RUNS_MAX */
	GPUSORT_NATIVE_DEVICE_LOST, /* the device failed: the child was scanned again */
	GPUSORT_NATIVE_REASONS
} GpuSortNativeReason;

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
