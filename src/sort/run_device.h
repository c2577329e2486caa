/*
 * run_device.h
 *	  A sorted run in the memory of another device than the one that has sorted it.
 */
#ifndef GPUSORT_RUN_DEVICE_H
#define GPUSORT_RUN_DEVICE_H

#include "postgres.h"

#include "shared/job.h"
#include "sort/run.h"

/*
 * For the run that job has been cut to.  NULL: it is empty, or no other device has room for it.  The run may still be lost while it
 * is written, as room is made with its first bytes.  Memory: the current context, whose reset closes it.
 */
extern GpuSortRun *gpusort_run_device_create(const GpuSortRowFormat *format, const GpuSortJob *job);

#endif							/* GPUSORT_RUN_DEVICE_H */
