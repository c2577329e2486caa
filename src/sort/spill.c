/*
 * spill.c
 *	  Writes sorted runs to temporary files.
 *
 * In:  a job cut to a sorted run: its windows.
 * Out: one file a run; run_merge.c reads them.
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
gpusort_spill_begin(GpuSortOrdering *ordering)
{
	GpuSortSpill *spill = palloc0(sizeof(GpuSortSpill));

	spill->context = CurrentMemoryContext;
	spill->ordering = ordering;
	return spill;
}

/* Window by window.  False: the job failed. */
static bool
write_windows(GpuSortRunFile *run, GpuSortJob *job, const GpuSortOrdering *ordering)
{
	GpuSortReader *reader = gpusort_reader_begin(job, ordering->format);
	bool		complete;

	while (gpusort_reader_next_window(reader))
	{
		CHECK_FOR_INTERRUPTS();
		gpusort_run_file_write(run, gpusort_buffer_memory(reader->buffer), reader->window.row_bytes);
	}
	complete = reader->window_number + 1 == gpusort_job_windows(job);
	pfree(reader);
	return complete;
}

/* Row by row, by way of a block.  False: the job failed, or rows are out of order. */
static bool
write_rows(GpuSortRunFile *run, GpuSortJob *job, GpuSortOrdering *ordering)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort run",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	GpuSortOrderedReader *ordered = gpusort_ordered_reader_begin(job, ordering);
	char	   *block = palloc(GPUSORT_BUFFER_BYTES);
	Size		filled = 0;
	uint64		rows = gpusort_job_rows(job);
	uint64		row;

	for (row = 0; row < rows; row++)
	{
		const char *bytes = gpusort_ordered_reader_seek(ordered, row);
		Size		length;

		CHECK_FOR_INTERRUPTS();
		if (bytes == NULL)
			break;
		length = gpusort_row_bytes(ordering->format, bytes);
		if (filled + length > GPUSORT_BUFFER_BYTES)
		{
			gpusort_run_file_write(run, block, filled);
			filled = 0;
		}
		if (length > GPUSORT_BUFFER_BYTES)
			gpusort_run_file_write(run, bytes, length);
		else
			memcpy(block + filled, bytes, length);
		filled += length > GPUSORT_BUFFER_BYTES ? 0 : length;
	}
	gpusort_run_file_write(run, block, filled);
	gpusort_ordered_reader_end(ordered);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return row == rows;
}

bool
gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job)
{
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	GpuSortOrdering *ordering = spill->ordering;
	GpuSortRunFile *run = gpusort_run_file_create(ordering->format);
	bool		complete;

	spill->runs[spill->n_runs++] = run;
	if (ordering->ties == NULL && ordering->check == NULL)
		complete = write_windows(run, job, ordering);
	else
		complete = write_rows(run, job, ordering);
	spill->rows += gpusort_job_rows(job);
	spill->bytes += run->bytes;
	gpusort_stats_count_run(run->bytes);
	MemoryContextSwitchTo(old_context);
	return complete;
}

void
gpusort_spill_end(GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
		gpusort_run_file_close(spill->runs[i]);
}
