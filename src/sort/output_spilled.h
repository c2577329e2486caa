/*
 * output_spilled.h
 *	  The rows of a sort whose runs have been spilled.
 */
#ifndef GPUSORT_OUTPUT_SPILLED_H
#define GPUSORT_OUTPUT_SPILLED_H

#include "postgres.h"

#include "shared/progress.h"
#include "sort/device_figures.h"
#include "sort/output.h"
#include "sort/run_merge.h"

/*
 * merge has given no row yet; its order, if it follows one, is job's, else NULL.  keep_rows: they
 * may be read again or backward; else the job is closed when the last row has been read.  Memory:
 * the current context.
 */
extern GpuSortOutput *gpusort_output_spilled_begin(GpuSortSlots *slots, GpuSortSpill *spill,
												   GpuSortRunMerge *merge, GpuSortJob *job,
												   bool keep_rows,
												   const GpuSortDeviceFigures *figures,
												   GpuSortProgress *progress);

#endif							/* GPUSORT_OUTPUT_SPILLED_H */
