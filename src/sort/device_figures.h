/*
 * device_figures.h
 *	  What the device did for one sort, summed over its runs, for EXPLAIN.
 */
#ifndef GPUSORT_DEVICE_FIGURES_H
#define GPUSORT_DEVICE_FIGURES_H

#include "postgres.h"

#include "compat.h"
#include "shared/job.h"

typedef struct GpuSortDeviceFigures
{
	gsort_kind	kind;
	const char *device;			/* which one of several; empty: there is one */
	gsort_job_stats sum;		/* the largest of peak_bytes and key_bits; the last run's engine */
	uint64		bytes_received;
	double		output_ms;		/* waiting for sorted rows */
} GpuSortDeviceFigures;

/* Adds the run that job has been cut to. */
extern void gpusort_device_figures_add_run(GpuSortDeviceFigures *figures, GpuSortJob *job);

/* What EXPLAIN calls a sort by this device. */
extern const char *gpusort_device_figures_method(const GpuSortDeviceFigures *figures);

extern void gpusort_device_figures_explain(const GpuSortDeviceFigures *figures, ExplainState *es);

/* A property in kB, rounded up. */
extern void gpusort_explain_kilobytes(const char *label, uint64 bytes, ExplainState *es);

#endif							/* GPUSORT_DEVICE_FIGURES_H */
