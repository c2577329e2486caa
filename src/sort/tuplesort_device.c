/*
 * tuplesort_device.c
 *	  A sort's way to the device: its feed, its job, and the runs of one that fills it.
 *
 * In:  a sort's rows, in private memory.
 * Out: the same in a job; what the job has no room for in a run (spill.c), and what it takes
 *	    not at all in a native sort (tuplesort_native.c).
 *
 * Runs in the backend that leads the sort.  Feed, job and runs are in the sort's context.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "settings.h"
#include "sort/tuplesort_internal.h"

/* Rows stay in the backend up to this, or work_mem if that is less. */
#define PRIVATE_ROWS_BYTES_MAX	((Size) 8 * 1024 * 1024)

/* An estimate beyond this is no better than this. */
#define EXPECTED_ROWS_MAX		1e12

void
gpusort_tuplesort_begin_feed(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;
	Size		limit = Min((Size) work_mem * 1024, PRIVATE_ROWS_BYTES_MAX);
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	sort->feed = gpusort_feed_begin(spec->format, spec->keys, spec->row_width,
									Max(limit, GPUSORT_BUFFER_BYTES));
	MemoryContextSwitchTo(old_context);
}

void
gpusort_tuplesort_open_job(GpuSortTuplesort *sort, int feeders, GpuSortNativeReason *reason)
{
	const GpuSortSpec *spec = sort->spec;
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	GpuSortJobOptions options = {
		.feeders = feeders,
		.engine = gpusort_algorithm,
		.wait_ms = spec->native_ms,
		.expected_rows = (uint64) Min(spec->rows, EXPECTED_ROWS_MAX),
	};

	options.expected_bytes = options.expected_rows * spec->packed_bytes;
	gpusort_ordering_describe(&sort->ordering, &options);
	sort->job = gpusort_job_open(&options, reason);
	if (sort->job != NULL)
		sort->figures.kind = sort->job->device_kind;
	MemoryContextSwitchTo(old_context);
}

bool
gpusort_tuplesort_spill_run(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	bool		complete;

	if (sort->spill == NULL)
		sort->spill = gpusort_spill_begin(&sort->ordering);
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	complete = gpusort_spill_add_run(sort->spill, sort->job);
	if (complete)
		gpusort_job_next_run(sort->job);
	sort->figures.bytes_received = sort->spill->bytes;
	MemoryContextSwitchTo(old_context);
	return complete;
}

bool
gpusort_tuplesort_spill_full_job(GpuSortTuplesort *sort)
{
	if (gpusort_job_cut_full_run(sort->job))
		return gpusort_tuplesort_spill_run(sort);
	return gpusort_tuplesort_stop_feeding(sort);
}

bool
gpusort_tuplesort_go_to_device(GpuSortTuplesort *sort)
{
	GpuSortNativeReason reason = GPUSORT_NATIVE_NONE;

	if (sort->spec->may_use_device)
		gpusort_tuplesort_open_job(sort, 1, &reason);
	if (sort->job == NULL)
		return gpusort_tuplesort_switch_to_native(sort, reason);
	for (;;)
	{
		switch (gpusort_feed_attach_job(sort->feed, sort->job))
		{
			case GPUSORT_FEED_FULL:
				if (!gpusort_tuplesort_spill_full_job(sort))
					return false;
				if (sort->native != NULL)
					return true;
				break;
			case GPUSORT_FEED_REFUSED:
				return gpusort_tuplesort_stop_feeding(sort);
			default:
				return true;
		}
	}
}

bool
gpusort_tuplesort_leave_private_memory(GpuSortTuplesort *sort)
{
	if (sort->native != NULL || sort->job != NULL || !sort->spec->may_use_device ||
		sort->feed->rows < (uint64) gpusort_min_rows)
		return true;
	return gpusort_tuplesort_go_to_device(sort);
}
