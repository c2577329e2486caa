/*
 * output_native.h
 *	  The rows of PostgreSQL's own sort.
 */
#ifndef GPUSORT_OUTPUT_NATIVE_H
#define GPUSORT_OUTPUT_NATIVE_H

#include "postgres.h"

#include "shared/counters.h"
#include "sort/output.h"

/*
 * native has been performed.  can_rewind: it was begun with random access.  reason: NONE if rows that
 * the device is never to have are sorted so.  Memory: the current context.
 */
extern GpuSortOutput *gpusort_output_native_begin(GpuSortSlots *slots, Tuplesortstate *native,
												  bool can_rewind,
												  GpuSortNativeReason reason);

#endif							/* GPUSORT_OUTPUT_NATIVE_H */
