/*
 * run.c
 *	  Sorted runs in temporary files, read and written row by row through a
 *	  buffer.
 *
 * In:  the row bytes of a run's blocks, in order (row_format.h).
 * Out: the same rows, one by one.
 *
 * Runs in the backend that leads the sort.  The buffer is in the run's memory
 * context.  A file is a temporary file of PostgreSQL's: it lies in
 * temp_tablespaces, obeys temp_file_limit, and is logged by log_temp_files.
 * Its resource owner removes it, whatever ends the query.  It is written and
 * read in large blocks and bypasses BufFile, whose 8 kB steps cost more than
 * the rows' way through the device.  So this file maintains BufFile's counts,
 * for EXPLAIN's BUFFERS and pg_stat_statements.
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "job/chunk.h"
#include "sort/run.h"

/* --- what it costs -------------------------------------------------------- */

static void
begin_timing(instr_time *start)
{
	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(*start);
	else
		INSTR_TIME_SET_ZERO(*start);
}

/* Counts the bytes from begin to end, and the time since start.  A block counts
 * with its first byte. */
static void
count_io(uint64 begin, uint64 end, instr_time start, int64 *blocks, instr_time *time)
{
	instr_time	now;

	*blocks += (end + BLCKSZ - 1) / BLCKSZ - (begin + BLCKSZ - 1) / BLCKSZ;
	if (!track_io_timing)
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(*time, now, start);
}

/* --- the file ------------------------------------------------------------- */

GpuSortRun *
gpusort_run_create(const GpuSortRowFormat *format)
{
	GpuSortRun *run = palloc0(sizeof(GpuSortRun));

	run->format = format;
	run->file = -1;
	run->context = CurrentMemoryContext;
	return run;
}

/* The first write creates the file. */
void
gpusort_run_write(GpuSortRun *run, const char *bytes, Size length)
{
	instr_time	start;

	if (run->file < 0)
	{
		PrepareTempTablespaces();
		run->file = OpenTemporaryFile(false);
	}
	begin_timing(&start);
	if (FileWrite(run->file, (void *) bytes, length, run->bytes,
				  WAIT_EVENT_BUFFILE_WRITE) != (int) length)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", FilePathName(run->file))));
	count_io(run->bytes, run->bytes + length, start, &pgBufferUsage.temp_blks_written,
			 &pgBufferUsage.temp_blk_write_time);
	run->bytes += length;
}

static void
write_buffer(GpuSortRun *run)
{
	if (run->filled > 0)
		gpusort_run_write(run, run->buffer, run->filled);
	run->filled = 0;
}

/* Long rows bypass the buffer. */
void
gpusort_run_write_row(GpuSortRun *run, const char *row)
{
	Size		length = gpusort_row_bytes(run->format, row);

	if (run->buffer == NULL)
		run->buffer = MemoryContextAlloc(run->context, GPUSORT_BUFFER_BYTES);
	if (run->filled + length > GPUSORT_BUFFER_BYTES)
		write_buffer(run);
	if (length > GPUSORT_BUFFER_BYTES)
		gpusort_run_write(run, row, length);
	else
	{
		memcpy(run->buffer + run->filled, row, length);
		run->filled += length;
	}
}

static void
free_buffer(GpuSortRun *run)
{
	if (run->buffer != NULL)
		pfree(run->buffer);
	run->buffer = NULL;
}

void
gpusort_run_end_rows(GpuSortRun *run)
{
	write_buffer(run);
	free_buffer(run);
}

/* Reads the file's next bytes, all of which must be there. */
static void
read_file(GpuSortRun *run, char *bytes, Size length)
{
	instr_time	start;
	int			got;

	begin_timing(&start);
	got = FileRead(run->file, bytes, length, run->bytes_read, WAIT_EVENT_BUFFILE_READ);
	if (got < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", FilePathName(run->file))));
	if ((Size) got != length)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read file \"%s\": read only %d of %zu bytes at offset %llu",
						FilePathName(run->file), got, length,
						(unsigned long long) run->bytes_read)));
	count_io(run->bytes_read, run->bytes_read + length, start, &pgBufferUsage.temp_blks_read,
			 &pgBufferUsage.temp_blk_read_time);
	run->bytes_read += length;
}

void
gpusort_run_close(GpuSortRun *run)
{
	if (run->file >= 0)
		FileClose(run->file);
	run->file = -1;
	free_buffer(run);
}

/* --- its rows ------------------------------------------------------------- */

void
gpusort_run_begin_reading(GpuSortRun *run, Size buffer_bytes)
{
	run->usual_bytes = run->buffer_bytes = buffer_bytes;
	if (run->bytes > 0)
		run->buffer = MemoryContextAlloc(run->context, buffer_bytes);
	run->next = run->end = run->buffer;
}

/* Makes the buffer larger, for a row of which it holds the beginning, or
 * smaller again. */
static void
resize_buffer(GpuSortRun *run, Size bytes)
{
	Size		held = run->end - run->next;

	memmove(run->buffer, run->next, held);
	run->buffer = repalloc_huge(run->buffer, bytes);
	run->buffer_bytes = bytes;
	run->next = run->buffer;
	run->end = run->buffer + held;
}

/* Moves the buffer's contents to its front and reads on behind them. */
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
	read_file(run, run->buffer + held, wanted);
	run->end += wanted;
}

/* Called if the next row is not wholly in the buffer. */
const char *
gpusort_run_refill(GpuSortRun *run)
{
	const char *row;
	Size		bytes;

	if (run->next == run->end && run->bytes_read == run->bytes)
		return NULL;
	/* a longer row filled it, and has gone out */
	if (run->buffer_bytes > run->usual_bytes)
		resize_buffer(run, run->usual_bytes);
	if (run->bytes_read < run->bytes)
		read_on(run);
	bytes = gpusort_row_bytes(run->format, run->next);
	if (bytes > run->buffer_bytes)
		resize_buffer(run, bytes);
	while (bytes > (Size) (run->end - run->next) && run->bytes_read < run->bytes)
		read_on(run);
	if (bytes > (Size) (run->end - run->next))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("temporary file with a sorted run of " UINT64_FORMAT " bytes ends within "
						"a row", run->bytes)));
	row = run->next;
	run->next += bytes;
	return row;
}
