/*
 * spill.c
 *	  Sorted runs leave their device: to another one's memory, or to temporary files.
 *
 * In:  a job cut to a sorted run: its windows.
 * Out: the same rows in a store (run.c); run_merge.c reads them.
 *
 * A run goes to another device that has room for it and nothing to sort (run_device.c), else into a file
 * (run_file.c).  If the other device is lost meanwhile, the run is read once more and goes into a file.  If it is lost
 * later, the sort is too.
 *
 * Runs in the backend that leads the sort, between two runs of its job: the device puts
 * the next windows into the job's buffers while this process writes one.  Where words decide
 * the order, the rows are written straight from the shared buffers; else one by one.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort/ordered_reader.h"
#include "sort/run_device.h"
#include "sort/run_file.h"
#include "sort/spill.h"
#include "shared/stats.h"

/* Of one sort: each takes a job slot and some buffers. */
#define KEPT_RUNS_MAX	32

GpuSortSpill *
gpusort_spill_begin(GpuSortOrdering *ordering, GpuSortProgress *progress)
{
	GpuSortSpill *spill = palloc0(sizeof(GpuSortSpill));

	spill->context = CurrentMemoryContext;
	spill->ordering = ordering;
	spill->progress = progress;
	return spill;
}

/* Into the run that is last.  False: it is lost. */
static bool
write_block(GpuSortSpill *spill, const char *bytes, Size length)
{
	GpuSortRun *run = spill->runs[spill->n_runs - 1];
	bool		written = gpusort_run_write(run, bytes, length);

	gpusort_progress_set_spilled(spill->progress, spill->n_runs - 1, spill->bytes + run->bytes);
	return written;
}

/* Window by window.  False: the job failed, or the run is lost. */
static bool
write_windows(GpuSortSpill *spill, GpuSortJob *job)
{
	GpuSortReader *reader = gpusort_reader_begin(job, spill->ordering->format);
	bool		complete;

	while (gpusort_reader_next_window(reader))
	{
		CHECK_FOR_INTERRUPTS();
		if (!write_block(spill, gpusort_buffer_memory(reader->buffer), reader->window.row_bytes))
			break;
	}
	complete = reader->window_number + 1 == gpusort_job_windows(job);
	pfree(reader);
	return complete;
}

/* Row by row, by way of a block.  False: the job failed, or the run is lost. */
static bool
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
	uint64		row;
	bool		written = gpusort_ordered_reader_check(ordered);

	for (row = 0; row < rows && written; row++)
	{
		const char *bytes = gpusort_ordered_reader_seek(ordered, row);
		Size		length;

		CHECK_FOR_INTERRUPTS();
		if (bytes == NULL)
			break;
		length = gpusort_row_bytes(ordering->format, bytes);
		if (filled + length > GPUSORT_BUFFER_BYTES)
		{
			written = write_block(spill, block, filled);
			filled = 0;
		}
		if (length > GPUSORT_BUFFER_BYTES)
			written = write_block(spill, bytes, length);
		else
			memcpy(block + filled, bytes, length);
		filled += length > GPUSORT_BUFFER_BYTES ? 0 : length;
	}
	written = write_block(spill, block, filled) && written;
	gpusort_ordered_reader_end(ordered);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return row == rows && written;
}

/* False: as gpusort_spill_add_run, or the run is lost. */
static bool
write_run(GpuSortSpill *spill, GpuSortJob *job, GpuSortRun *run)
{
	const GpuSortOrdering *ordering = spill->ordering;
	bool		by_windows = ordering->ties == NULL && ordering->check == NULL;

	spill->runs[spill->n_runs - 1] = run;
	return (by_windows ? write_windows(spill, job) : write_rows(spill, job)) && gpusort_run_finish(run);
}

/* To another device, if one has room, else into a file. */
static bool
write_run_somewhere(GpuSortSpill *spill, GpuSortJob *job)
{
	const GpuSortRowFormat *format = spill->ordering->format;
	GpuSortRun *run = NULL;

	if (spill->n_kept < KEPT_RUNS_MAX && !spill->only_files)
		run = gpusort_run_device_create(format, job);
	spill->n_runs++;
	if (run == NULL)
		return write_run(spill, job, gpusort_run_file_create(format));
	if (write_run(spill, job, run))
		return true;
	if (!run->lost)
		return false;
	spill->only_files = true;
	gpusort_run_close(run);
	gpusort_job_forget_windows(job);
	return write_run(spill, job, gpusort_run_file_create(format));
}

static void
count_run(GpuSortSpill *spill, const GpuSortRun *run, uint64 rows)
{
	bool		kept = run->kept_by != NULL;

	spill->n_kept += kept;
	spill->rows += rows;
	spill->bytes += run->bytes;
	spill->kept_bytes += kept ? run->bytes : 0;
	gpusort_progress_set_spilled(spill->progress, spill->n_runs, spill->bytes);
	gpusort_stats_count_run(run->bytes, kept);
}

bool
gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job)
{
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	bool		complete = write_run_somewhere(spill, job);

	if (complete)
		count_run(spill, spill->runs[spill->n_runs - 1], gpusort_job_rows(job));
	MemoryContextSwitchTo(old_context);
	return complete;
}

GpuSortJob *
gpusort_spill_failed_job(const GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
	{
		GpuSortJob *kept_by = spill->runs[i]->kept_by;

		if (kept_by != NULL && gpusort_job_failed(kept_by))
			return kept_by;
	}
	return NULL;
}

void
gpusort_spill_begin_output(GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
		if (spill->runs[i]->kept_by != NULL)
			gpusort_job_begin_output(spill->runs[i]->kept_by);
}

void
gpusort_spill_end(GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
		gpusort_run_close(spill->runs[i]);
}
