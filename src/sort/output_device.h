/*
 * output_device.h
 *	  The rows of a sort that the device holds.
 */
#ifndef GPUSORT_OUTPUT_DEVICE_H
#define GPUSORT_OUTPUT_DEVICE_H

#include "postgres.h"

#include "shared/progress.h"
#include "sort/device_figures.h"
#include "sort/ordering.h"
#include "sort/output.h"

/*
 * job has been cut SORTED; figures and progress outlive the source.  keep_rows: they may be read again or
 * backward; else the job is closed when the last row has been read.  Memory: the current context.
 */
extern GpuSortOutput *gpusort_output_device_begin(GpuSortSlots *slots,
												  GpuSortOrdering *ordering,
												  GpuSortJob *job, bool keep_rows,
												  GpuSortDeviceFigures *figures,
												  GpuSortProgress *progress);

#endif							/* GPUSORT_OUTPUT_DEVICE_H */
