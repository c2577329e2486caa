/*
 * gpusort.h
 *	  Types shared by the files of src/; no bodies.
 *
 * The words that all files use:
 *	  row		a tuple as it is packed for the device
 *	  chunk		rows with their keys, as they lie in a buffer
 *	  buffer	1 MiB of the shared pool
 *	  window	a stretch of sorted rows that the device has written into a buffer
 *	  run		a sorted part of the input, as much as the device's memory holds at once
 *	  job		one sort on the device
 *	  leader	the process that opened a job: it cuts its runs and reads them
 *	  feeder	a process that packs rows for a job: its leader or a parallel worker
 *	  grant		device memory promised to a job
 *	  service	the background worker that owns the device
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
