/*
 * tuplesort_perform.c
 *	  All rows have been put: sorts them where they are.
 *
 * In:  a sort's rows: in private memory, in a job, in runs, in a native tuplesort.
 * Out: the source of the sorted rows.
 *
 * Runs in the backend that leads the sort, when all feeders have ended.
 */
#include "postgres.h"

#include "settings.h"
#include "shared/stats.h"
#include "sort/output_array.h"
#include "sort/output_device.h"
#include "sort/output_native.h"
#include "sort/output_private.h"
#include "sort/output_spilled.h"
#include "sort/recall.h"
#include "sort/tuplesort_internal.h"

/*
 * All that the feeders of a parallel plan had may be what they kept; then it is small, and
 * becomes private.  Else what they kept follows what they sent.
 */
static void
gather_kept_chunks(GpuSortTuplesort *sort)
{
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];
	int			n = gpusort_job_list_buffers(sort->job, GPUSORT_BUFFER_KEPT, buffers);

	if (gpusort_job_chunks_sent(sort->job) > 0 || sort->rows_fed >= (uint64) gpusort_min_rows_of(sort->job->device_kind))
	{
		for (int i = 0; i < n; i++)
			gpusort_job_send(sort->job, buffers[i]);
		return;
	}
	gpusort_tuplesort_begin_feed(sort);
	for (int i = 0; i < n; i++)
		gpusort_feed_copy_chunk(sort->feed,
								(const GpuSortChunkHeader *) gpusort_buffer_memory(buffers[i]));
	gpusort_job_close(sort->job);
	sort->job = NULL;
	gpusort_progress_end(&sort->progress);
}

/* Cuts the run that all rows are in, or the last of several; or all rows that are in none
 * are in a native sort then. */
static void
cut_last_run(GpuSortTuplesort *sort)
{
	while (sort->native == NULL)
	{
		gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_SORTING);
		switch (gpusort_job_cut(sort->job,
								sort->spill != NULL ? GSORT_SORTED_RUN : GSORT_SORTED))
		{
			case GPUSORT_CUT_DONE:
				return;
			case GPUSORT_CUT_FULL:
				gpusort_tuplesort_spill_full_job(sort);
				break;
			case GPUSORT_CUT_REFUSED:
				gpusort_tuplesort_switch_to_native(sort, gpusort_job_refused_reason(sort->job));
				return;
		}
	}
	/* of a parallel plan, what is on the device is still to be recalled */
	if (sort->job != NULL)
		gpusort_tuplesort_switch_to_native(sort, sort->native_reason);
}

/* Of the runs, and of the rows that were sorted natively. */
static void
begin_spilled_output(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;
	GpuSortRunMerge *merge;

	merge = gpusort_run_merge_begin(sort->spill, sort->slots.merge_run, sort->native, sort->slots.merge_native);
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_MERGING);
	/* all rows are in runs: the device tells the order in which to read them, if it can */
	if (sort->job != NULL && sort->ordering.ties == NULL && gpusort_job_merge(sort->job))
		gpusort_run_merge_follow_order(merge, sort->job);
	else if (sort->job != NULL)
	{
		gpusort_job_close(sort->job);
		sort->job = NULL;
	}
	sort->output = gpusort_output_spilled_begin(&sort->slots, sort->spill, merge, sort->job,
												sort->native, sort->native_reason,
												spec->random_access, &sort->figures, &sort->progress);
}

static void
begin_device_output(GpuSortTuplesort *sort)
{
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	sort->output = gpusort_output_device_begin(&sort->slots, &sort->ordering, sort->job,
											   sort->spec->random_access, &sort->figures,
											   &sort->progress);
	gpusort_progress_set_phase(&sort->progress, GPUSORT_PHASE_OUTPUT);
}

/* The rows that the device has given account for all that it was fed. */
static void
check_rows(const GpuSortTuplesort *sort)
{
	uint64		got = sort->spill != NULL ? sort->spill->rows : gpusort_job_rows(sort->job);

	if (got != sort->rows_fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows and got " UINT64_FORMAT,
			 sort->rows_fed, got);
}

/* All rows are in the job or in runs. */
static void
perform_on_device(GpuSortTuplesort *sort)
{
	cut_last_run(sort);
	if (sort->native != NULL)
		return;
	if (sort->feed != NULL)
		gpusort_feed_free_private(sort->feed);
	if (sort->spill != NULL)
		gpusort_tuplesort_spill_run(sort);
	check_rows(sort);
	if (sort->spill != NULL)
		begin_spilled_output(sort);
	else
		begin_device_output(sort);
}

/* Rows that are not on the device, or no longer, and perhaps runs. */
static void
perform_native(GpuSortTuplesort *sort)
{
	/* these are in the order of hashes, and cannot be merged with rows in that of keys */
	if (sort->spill != NULL && sort->keys.grouping)
	{
		gpusort_recall_runs(sort->spill, sort->native, sort->slots.result);
		sort->spill = NULL;
		gpusort_progress_end(&sort->progress);
	}
	tuplesort_performsort(sort->native);
	if (sort->spill != NULL)
		begin_spilled_output(sort);
	else
		sort->output = gpusort_output_native_begin(&sort->slots, sort->native, sort->spec->random_access,
												   sort->native_reason);
}

/* So few rows that they have stayed where they were put first. */
static void
perform_provisional(GpuSortTuplesort *sort)
{
	gpusort_row_array_sort(sort->provisional);
	sort->output = gpusort_output_array_begin(&sort->slots, sort->provisional);
	sort->in_backend++;
}

void
gpusort_tuplesort_sort_rows(GpuSortTuplesort *sort)
{
	if (sort->provisional != NULL)
	{
		perform_provisional(sort);
		return;
	}
	if (!gpusort_tuplesort_is_parallel(sort))
		gpusort_tuplesort_leave_private_memory(sort);
	if (sort->feed != NULL)
	{
		gpusort_feed_finish(sort->feed, false);
		sort->own_rows = sort->feed->rows;
		gpusort_ordering_words_are_made(&sort->ordering);
	}
	if (sort->job != NULL)
		sort->rows_fed = gpusort_job_rows_fed(sort->job);
	if (sort->job != NULL && sort->native != NULL)
		gpusort_tuplesort_switch_to_native(sort, sort->native_reason);
	if (sort->job != NULL && gpusort_tuplesort_is_parallel(sort))
		gather_kept_chunks(sort);
	if (sort->job != NULL)
		perform_on_device(sort);
	if (sort->native != NULL)
		perform_native(sort);
	else if (sort->output == NULL)
	{
		sort->output = gpusort_output_private_begin(&sort->slots, sort->feed, &sort->ordering);
		sort->in_backend++;
	}
}
