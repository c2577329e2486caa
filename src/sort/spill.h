/*
 * spill.h
 *	  The runs of a sort that is larger than its device's budget.
 */
#ifndef GPUSORT_SPILL_H
#define GPUSORT_SPILL_H

#include "postgres.h"

#include "shared/job.h"
#include "shared/progress.h"
#include "sort/ordering.h"
#include "sort/run.h"

typedef struct GpuSortSpill
{
	MemoryContext context;
	GpuSortOrdering *ordering;
	GpuSortProgress *progress;
	int			n_runs;
	GpuSortRun *runs[GPUSORT_RUNS_MAX];
	int			n_kept;			/* of the runs, in the memory of other devices; the others are in files */
	bool		only_files;		/* another device has refused a run, or lost it */
	uint64		rows;
	uint64		bytes;
	uint64		kept_bytes;		/* of these, in the memory of other devices */
} GpuSortSpill;

/* Memory: the current context. */
extern GpuSortSpill *gpusort_spill_begin(GpuSortOrdering *ordering, GpuSortProgress *progress);

/* Writes the run that job has been cut to, in its full order; at most GPUSORT_RUNS_MAX of them.
 * False: the job failed before all of it was read. */
extern bool gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job);

/* A run's job that has failed, and the run with it; NULL: there is none. */
extern GpuSortJob *gpusort_spill_failed_job(const GpuSortSpill *spill);

/* The first row goes out: as gpusort_job_begin_output, for the jobs that keep runs. */
extern void gpusort_spill_begin_output(GpuSortSpill *spill);

/* Removes the files, and gives device memory back.  May be called twice. */
extern void gpusort_spill_end(GpuSortSpill *spill);

#endif							/* GPUSORT_SPILL_H */
