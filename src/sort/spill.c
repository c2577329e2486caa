/*
 * spill.c
 *	  Sorted runs leave the device for temporary files.
 *
 * In:  a job cut to a sorted run: its windows.
 * Out: the same rows in a file (run.c); run_merge.c reads them.
 *
 * Runs in the backend that leads the sort, between two runs of its job: the device puts
 * the next windows into the job's buffers while this process writes one.  Where words decide
 * the order, the rows are written straight from the shared buffers; else one by one.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort/ordered_reader.h"
#include "sort/spill.h"
#include "shared/stats.h"

GpuSortSpill *
gpusort_spill_begin(GpuSortOrdering *ordering, GpuSortProgress *progress)
{
	GpuSortSpill *spill = palloc0(sizeof(GpuSortSpill));

	spill->context = CurrentMemoryContext;
	spill->ordering = ordering;
	spill->progress = progress;
	return spill;
}

static GpuSortRun *
begin_run(GpuSortSpill *spill)
{
	Assert(spill->n_runs < GPUSORT_RUNS_MAX);
	return spill->runs[spill->n_runs++] = gpusort_run_create(spill->ordering->format);
}

/* So many bytes are written of a run that is not counted yet. */
static void
show_progress(GpuSortSpill *spill, uint64 bytes)
{
	gpusort_progress_set_spilled(spill->progress, spill->n_spilled, spill->bytes + bytes);
}

/* Window by window. */
static void
write_windows(GpuSortSpill *spill, GpuSortJob *job, GpuSortRun *run)
{
	GpuSortReader *reader = gpusort_reader_begin(job, spill->ordering->format);

	while (gpusort_reader_next_window(reader))
	{
		CHECK_FOR_INTERRUPTS();
		gpusort_run_write(run, gpusort_buffer_memory(reader->buffer), reader->window.row_bytes);
		show_progress(spill, run->bytes);
	}
	pfree(reader);
}

/* Row by row. */
static void
write_rows(GpuSortSpill *spill, GpuSortJob *job, GpuSortRun *run)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort run",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	GpuSortOrderedReader *ordered = gpusort_ordered_reader_begin(job, spill->ordering);
	uint64		rows = gpusort_job_rows(job);

	gpusort_ordered_reader_check(ordered);
	for (uint64 row = 0; row < rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		gpusort_run_write_row(run, gpusort_ordered_reader_seek(ordered, row));
		show_progress(spill, run->bytes);
	}
	gpusort_run_end_rows(run);
	gpusort_ordered_reader_end(ordered);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

static void
count_run(GpuSortSpill *spill, const GpuSortRun *run, uint64 rows)
{
	spill->n_spilled++;
	spill->rows += rows;
	spill->bytes += run->bytes;
	show_progress(spill, 0);
	gpusort_stats_count_run(run->bytes);
}

void
gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job)
{
	MemoryContext old_context;
	bool		by_windows = spill->ordering->ties == NULL && spill->ordering->check == NULL;
	GpuSortRun *run;

	/* it has a number for the device alone */
	if (spill->by_keys && gpusort_job_rows(job) == 0)
		return;
	old_context = MemoryContextSwitchTo(spill->context);
	run = begin_run(spill);
	if (by_windows)
		write_windows(spill, job, run);
	else
		write_rows(spill, job, run);
	count_run(spill, run, gpusort_job_rows(job));
	MemoryContextSwitchTo(old_context);
}

void
gpusort_spill_add_row(GpuSortSpill *spill, const char *row)
{
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	GpuSortRun *run = begin_run(spill);

	gpusort_run_write(run, row, gpusort_row_bytes(spill->ordering->format, row));
	count_run(spill, run, 1);
	spill->by_keys = true;
	MemoryContextSwitchTo(old_context);
}

void
gpusort_spill_end(GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
		gpusort_run_close(spill->runs[i]);
}
