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

/* Into the run that is last. */
static void
write_block(GpuSortSpill *spill, const char *bytes, Size length)
{
	GpuSortRun *run = spill->runs[spill->n_runs - 1];

	gpusort_run_write(run, bytes, length);
	gpusort_progress_set_spilled(spill->progress, spill->n_runs - 1, spill->bytes + run->bytes);
}

/* Window by window. */
static void
write_windows(GpuSortSpill *spill, GpuSortJob *job)
{
	GpuSortReader *reader = gpusort_reader_begin(job, spill->ordering->format);

	while (gpusort_reader_next_window(reader))
	{
		CHECK_FOR_INTERRUPTS();
		write_block(spill, gpusort_buffer_memory(reader->buffer), reader->window.row_bytes);
	}
	pfree(reader);
}

/* Row by row, by way of a block. */
static void
write_rows(GpuSortSpill *spill, GpuSortJob *job)
{
	GpuSortOrdering *ordering = spill->ordering;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort run",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	GpuSortOrderedReader *ordered = gpusort_ordered_reader_begin(job, ordering);
	char	   *block = palloc(GPUSORT_BUFFER_BYTES);
	Size		filled = 0;
	uint64		rows = gpusort_job_rows(job);

	gpusort_ordered_reader_check(ordered);
	for (uint64 row = 0; row < rows; row++)
	{
		const char *bytes = gpusort_ordered_reader_seek(ordered, row);
		Size		length;

		CHECK_FOR_INTERRUPTS();
		length = gpusort_row_bytes(ordering->format, bytes);
		if (filled + length > GPUSORT_BUFFER_BYTES)
		{
			write_block(spill, block, filled);
			filled = 0;
		}
		if (length > GPUSORT_BUFFER_BYTES)
			write_block(spill, bytes, length);
		else
			memcpy(block + filled, bytes, length);
		filled += length > GPUSORT_BUFFER_BYTES ? 0 : length;
	}
	write_block(spill, block, filled);
	gpusort_ordered_reader_end(ordered);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

void
gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job)
{
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	const GpuSortOrdering *ordering = spill->ordering;
	bool		by_windows = ordering->ties == NULL && ordering->check == NULL;
	GpuSortRun *run = gpusort_run_create(ordering->format);

	spill->runs[spill->n_runs++] = run;
	if (by_windows)
		write_windows(spill, job);
	else
		write_rows(spill, job);
	spill->rows += gpusort_job_rows(job);
	spill->bytes += run->bytes;
	gpusort_progress_set_spilled(spill->progress, spill->n_runs, spill->bytes);
	gpusort_stats_count_run(run->bytes);
	MemoryContextSwitchTo(old_context);
}

void
gpusort_spill_end(GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
		gpusort_run_close(spill->runs[i]);
}
