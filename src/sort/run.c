/*
 * run.c
 *	  Sorted runs, wherever their bytes are: row by row through a buffer.
 *
 * In:  the row bytes of a run's windows, in order (row_format.h).
 * Out: the same rows, one after the other.
 *
 * Runs in the backend that leads the sort.  The buffer is in the run's memory context.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "sort/run.h"

void
gpusort_run_init(GpuSortRun *run, const GpuSortRunStore *store, const GpuSortRowFormat *format)
{
	run->store = store;
	run->format = format;
	run->context = CurrentMemoryContext;
}

bool
gpusort_run_write(GpuSortRun *run, const char *bytes, Size length)
{
	if (!run->lost)
		run->store->write(run, bytes, length);
	run->bytes += length;
	return !run->lost;
}

bool
gpusort_run_finish(GpuSortRun *run)
{
	if (!run->lost)
		run->store->finish(run);
	return !run->lost;
}

void
gpusort_run_begin_reading(GpuSortRun *run, Size buffer_bytes)
{
	run->buffer_bytes = buffer_bytes;
	if (run->bytes > 0)
		run->buffer = MemoryContextAlloc(run->context, buffer_bytes);
	run->next = run->end = run->buffer;
}

void
gpusort_run_rewind(GpuSortRun *run)
{
	if (!run->lost)
		run->store->rewind(run);
	run->bytes_read = 0;
	run->next = run->end = run->buffer;
}

void
gpusort_run_close(GpuSortRun *run)
{
	run->store->close(run);
}

/* Makes room for a row longer than the buffer, of which the buffer holds the beginning. */
static void
enlarge_buffer(GpuSortRun *run, Size bytes)
{
	Size		held = run->end - run->next;
	char	   *larger = MemoryContextAllocHuge(run->context, bytes);

	memcpy(larger, run->next, held);
	pfree(run->buffer);
	run->buffer = larger;
	run->buffer_bytes = bytes;
	run->next = larger;
	run->end = larger + held;
}

/* Moves what the buffer holds to its front and reads on behind it. */
static void
read_on(GpuSortRun *run)
{
	Size		held = run->end - run->next;
	Size		wanted = Min(run->buffer_bytes - held, run->bytes - run->bytes_read);

	/* one call reads less than 2 GB */
	wanted = Min(wanted, (Size) 1024 * 1024 * 1024);
	memmove(run->buffer, run->next, held);
	run->next = run->buffer;
	run->end = run->buffer + held;
	if (!run->lost)
		run->store->read(run, run->buffer + held, wanted);
	if (run->lost)
		return;
	run->bytes_read += wanted;
	run->end += wanted;
}

/* Reads on until the buffer holds so many bytes.  False: there are no more. */
static bool
read_until(GpuSortRun *run, Size bytes)
{
	while (bytes > (Size) (run->end - run->next) && run->bytes_read < run->bytes && !run->lost)
		read_on(run);
	return bytes <= (Size) (run->end - run->next);
}

/* The next row is not wholly in the buffer. */
const char *
gpusort_run_refill(GpuSortRun *run)
{
	const char *row;
	Size		bytes;

	if (run->next == run->end && run->bytes_read == run->bytes)
		return NULL;
	if (run->bytes_read < run->bytes)
		read_on(run);
	if (run->lost)
		return NULL;
	bytes = gpusort_row_bytes(run->format, run->next);
	if (bytes > run->buffer_bytes)
		enlarge_buffer(run, bytes);
	if (!read_until(run, bytes))
	{
		if (run->lost)
			return NULL;
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a sorted run of " UINT64_FORMAT " bytes ends within a row", run->bytes)));
	}
	row = run->next;
	run->next += bytes;
	return row;
}
