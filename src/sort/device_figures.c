/*
 * device_figures.c
 *	  What the device did for one sort.
 *
 * In:  the figures of each run, as the service has left them in the job.
 * Out: lines of EXPLAIN ANALYZE.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "sort/device_figures.h"

void
gpusort_device_figures_add_run(GpuSortDeviceFigures *figures, GpuSortJob *job)
{
	gsort_job_stats *sum = &figures->sum;
	gsort_job_stats run;

	gpusort_job_stats(job, &run);
	sum->rows += run.rows;
	sum->bytes_in += run.bytes_in;
	sum->peak_bytes = Max(sum->peak_bytes, run.peak_bytes);
	sum->key_bits = Max(sum->key_bits, run.key_bits);
	if (run.rows > 0)
		sum->engine = run.engine;
}

const char *
gpusort_device_figures_method(const GpuSortDeviceFigures *figures)
{
	return figures->kind == GSORT_KIND_HOST ? "host" : "gpu";
}

void
gpusort_explain_kilobytes(const char *label, uint64 bytes, ExplainState *es)
{
	ExplainPropertyUInteger(label, "kB", (bytes + 1023) / 1024, es);
}

/* As gpusort.algorithm names it; none if all keys were equal. */
static void
explain_algorithm(gsort_engine engine, ExplainState *es)
{
	const char *name = engine == GSORT_ENGINE_PARTITION ? "partition" :
		engine == GSORT_ENGINE_MERGE ? "merge" :
		engine == GSORT_ENGINE_CUB_RADIX ? "cub_radix" : "radix";

	if (engine != GSORT_ENGINE_AUTO)
		ExplainPropertyText("Sort Algorithm", name, es);
}

void
gpusort_device_figures_explain(const GpuSortDeviceFigures *figures, ExplainState *es)
{
	if (figures->device != NULL && figures->device[0] != '\0')
		ExplainPropertyText("Device", figures->device, es);
	ExplainPropertyUInteger("Device Rows", NULL, figures->sum.rows, es);
	gpusort_explain_kilobytes("Sent", figures->sum.bytes_in, es);
	gpusort_explain_kilobytes("Received", figures->bytes_received, es);
	gpusort_explain_kilobytes("Peak Device Memory", figures->sum.peak_bytes, es);
	ExplainPropertyUInteger("Key Bits", NULL, figures->sum.key_bits, es);
	explain_algorithm(figures->sum.engine, es);
}
