/*
 * tuplesort_runs.c
 *	  The runs of a sort by the device, and the rows of its job.
 *
 * In:  a job that is full, or whose last row has been fed.
 * Out: runs in files (spill.c); after the last row, the job's output, or that
 *	    of the merge.
 *
 * A sort has no run in a file as long as its job has room.  Once it has one,
 * all of its rows go to files, run by run, and the job that has sorted them
 * tells in the end how to merge them.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "sort/tuplesort_internal.h"

/* --- while rows are fed -------------------------------------------------- */

/* Spills the run that the job has been finished to. */
static void
spill_run(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_SPILLING);
	if (sort->spill == NULL)
		sort->spill = gpusort_spill_begin(&sort->ordering, sort->slots.merge_run, &sort->progress);
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	gpusort_spill_add_run(sort->spill, sort->job);
	sort->figures.bytes_received = sort->spill->bytes;
	MemoryContextSwitchTo(old_context);
}

/* The job is full: its rows become a run, and the next run begins. */
void
gpusort_tuplesort_spill_full_job(GpuSortTuplesort *sort)
{
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_SORTING);
	(void) gpusort_job_finish_run(sort->job, GSORT_SORTED_RUN, true);
	spill_run(sort);
	gpusort_job_next_run(sort->job);
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_FEEDING);
}

/* A long row that an empty job has no room for is a run of its own.  False: the
 * row is not so long, but others were. */
bool
gpusort_tuplesort_spill_long_row(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	char	   *row = gpusort_feed_take_long_row(sort->feed, slot);

	if (row != NULL)
	{
		gpusort_spill_add_row(sort->spill, row);
		pfree(row);
	}
	MemoryContextSwitchTo(old_context);
	return row != NULL;
}

/* --- after the last row --------------------------------------------------- */

/* Finishes the run that has all rows, or the last of several. */
static void
finish_last_run(GpuSortTuplesort *sort)
{
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_SORTING);
	while (!gpusort_job_finish_run(sort->job,
								   sort->spill != NULL ? GSORT_SORTED_RUN : GSORT_SORTED, false))
	{
		gpusort_tuplesort_spill_full_job(sort);
		gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_SORTING);
	}
}

/* Checks that the device has returned as many rows as it was fed. */
static void
check_rows(const GpuSortTuplesort *sort)
{
	uint64		got = sort->spill != NULL ? sort->spill->rows : gpusort_job_rows(sort->job);

	if (got != sort->rows_fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows and got " UINT64_FORMAT,
			 sort->rows_fed, got);
}

/* Sorts after the last row has been fed, by this process and all others.  The
 * output follows, or, with the last run spilled, the merge. */
void
gpusort_tuplesort_perform_on_device(GpuSortTuplesort *sort)
{
	bool		to_verify;

	gpusort_feed_finish(sort->feed);
	sort->own_rows = sort->feed->rows;
	sort->rows_fed = gpusort_job_rows_fed(sort->job, &to_verify);
	if (!to_verify)
		gpusort_ordering_trust_words(&sort->ordering);
	finish_last_run(sort);
	if (sort->spill != NULL)
	{
		spill_run(sort);
		check_rows(sort);
		sort->stage = MERGE;
		return;
	}
	check_rows(sort);
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	sort->output = gpusort_output_device_begin(&sort->slots, &sort->ordering, sort->job,
											   sort->spec->random_access, &sort->figures,
											   &sort->progress);
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_OUTPUT);
	sort->stage = OUTPUT;
}

/* The job stays open only for the device's order. */
void
gpusort_tuplesort_perform_merge(GpuSortTuplesort *sort)
{
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_MERGING);
	/* the device tells the order in which to read the runs, if it can */
	if (sort->ordering.ties != NULL || sort->spill->by_keys || !gpusort_job_merge(sort->job))
	{
		gpusort_job_close(sort->job);
		sort->job = NULL;
	}
	sort->output = gpusort_output_spilled_begin(&sort->slots, sort->spill, sort->job,
												sort->spec->random_access, &sort->figures,
												&sort->progress);
	sort->stage = OUTPUT;
}
