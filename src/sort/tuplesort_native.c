/*
 * tuplesort_native.c
 *	  What the device cannot take goes into PostgreSQL's own sort.
 *
 * In:  a sort whose job takes no more rows, or that has none.
 * Out: all of its rows that are in no run, and those to come, in a native tuplesort.
 *
 * Runs in the backend that leads the sort, which owns the tuplesort.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/recall.h"
#include "sort/tuplesort_internal.h"

void
gpusort_tuplesort_begin_native(GpuSortTuplesort *sort, GpuSortNativeReason reason)
{
	const GpuSortSpec *spec = sort->spec;
	const GpuSortOrder *order = spec->order;
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	/* else its runs are still to be merged */
	if (sort->spill == NULL)
		gpusort_progress_end(&sort->progress);
	sort->native_reason = reason;
	sort->native = tuplesort_begin_heap(spec->desc, order->n_keys, order->columns, order->operators,
										order->collations, order->nulls_first, work_mem, NULL,
										spec->random_access ? TUPLESORT_RANDOMACCESS : TUPLESORT_NONE);
	MemoryContextSwitchTo(old_context);
}

/* Recalls every row that is not in a run. */
static void
recall_rows(GpuSortTuplesort *sort)
{
	GpuSortRecall *recall = gpusort_recall_begin(sort->spec->format, sort->native,
												 sort->slots.result);
	uint64		spilled = sort->spill != NULL ? sort->spill->rows : 0;
	uint64		fed = 0;
	uint64		recalled;

	if (sort->job != NULL)
	{
		gpusort_recall_job(recall, sort->job);
		fed = gpusort_job_rows_fed(sort->job);
		gpusort_job_close(sort->job);
		sort->job = NULL;
	}
	if (sort->feed != NULL)
	{
		gpusort_recall_private(recall, sort->feed);
		/* of a parallel plan, the feeders' sum is known */
		if (!gpusort_tuplesort_is_parallel(sort))
			fed = sort->feed->rows;
		sort->feed = NULL;
	}
	recalled = gpusort_recall_end(recall);
	if (recalled + spilled != fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows, spilled " UINT64_FORMAT " and recalled " UINT64_FORMAT,
			 fed, spilled, recalled);
}

void
gpusort_tuplesort_switch_to_native(GpuSortTuplesort *sort, GpuSortNativeReason reason)
{
	MemoryContext old_context;

	if (sort->native == NULL)
		gpusort_tuplesort_begin_native(sort, reason);
	old_context = MemoryContextSwitchTo(sort->context);
	recall_rows(sort);
	MemoryContextSwitchTo(old_context);
}

void
gpusort_tuplesort_stop_feeding(GpuSortTuplesort *sort)
{
	GpuSortNativeReason reason = gpusort_job_refused_reason(sort->job);

	if (gpusort_tuplesort_is_parallel(sort))
		gpusort_tuplesort_begin_native(sort, reason);
	else
		gpusort_tuplesort_switch_to_native(sort, reason);
}
