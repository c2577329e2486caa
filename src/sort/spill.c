/*
 * spill.c
 *	  Writes sorted runs to temporary files.
 *
 * In:  a job cut to a sorted run: its windows.
 * Out: one file a run; run_merge.c reads them.
 *
 * Runs in the backend that leads the sort, between two runs of its job: the device puts
 * the next windows into the job's buffers while this process writes one.  The rows are
 * written straight from the shared buffers.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sort/reader.h"
#include "sort/spill.h"
#include "shared/stats.h"

GpuSortSpill *
gpusort_spill_begin(const GpuSortRowFormat *format)
{
	GpuSortSpill *spill = palloc0(sizeof(GpuSortSpill));

	spill->context = CurrentMemoryContext;
	spill->format = format;
	return spill;
}

bool
gpusort_spill_add_run(GpuSortSpill *spill, GpuSortJob *job)
{
	MemoryContext old_context = MemoryContextSwitchTo(spill->context);
	GpuSortRunFile *run = gpusort_run_file_create(spill->format);
	GpuSortReader *reader = gpusort_reader_begin(job, spill->format);
	bool		complete;

	spill->runs[spill->n_runs++] = run;
	while (gpusort_reader_next_window(reader))
	{
		CHECK_FOR_INTERRUPTS();
		gpusort_run_file_write(run, gpusort_buffer_memory(reader->buffer), reader->window.row_bytes);
	}
	complete = reader->window_number + 1 == gpusort_job_windows(job);
	spill->rows += reader->rows;
	spill->bytes += run->bytes;
	gpusort_stats_count_run(run->bytes);
	pfree(reader);
	MemoryContextSwitchTo(old_context);
	return complete;
}

void
gpusort_spill_end(GpuSortSpill *spill)
{
	for (int i = 0; i < spill->n_runs; i++)
		gpusort_run_file_close(spill->runs[i]);
}
