/*
 * run_file.c
 *	  Sorted runs in temporary files.
 *
 * In:  bytes of a run (run.c).
 * Out: the same bytes.
 *
 * Runs in the backend that leads the sort.  A file is PostgreSQL's own temporary file: in
 * temp_tablespaces, within temp_file_limit, logged by log_temp_files, and removed by
 * its resource owner whatever ends the query.  It is written and read in large blocks and
 * bypasses BufFile, whose 8 kB steps cost more than the rows' way through the device; so what
 * BufFile counts, for EXPLAIN's BUFFERS and pg_stat_statements, is counted here.
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

#include "sort/run_file.h"

typedef struct FileRun
{
	GpuSortRun	run;			/* must be first */
	File		file;			/* -1: nothing has been written */
} FileRun;

/* --- what it costs ------------------------------------------------------------ */

/* Blocks of which one byte at least lies in the bytes from begin to end, and not before begin. */
static int64
blocks_between(uint64 begin, uint64 end)
{
	return (int64) ((end + BLCKSZ - 1) / BLCKSZ) - (int64) ((begin + BLCKSZ - 1) / BLCKSZ);
}

static void
begin_timing(instr_time *start)
{
	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(*start);
	else
		INSTR_TIME_SET_ZERO(*start);
}

/* Adds the time since then to sum. */
static void
add_timing(instr_time *sum, instr_time start)
{
	instr_time	now;

	if (!track_io_timing)
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(*sum, now, start);
}

/* --- the store ------------------------------------------------------------------ */

static void
write_file(GpuSortRun *run, const char *bytes, Size length)
{
	FileRun    *mine = (FileRun *) run;
	instr_time	start;

	if (mine->file < 0)
	{
		PrepareTempTablespaces();
		mine->file = OpenTemporaryFile(false);
	}
	begin_timing(&start);
	if (FileWrite(mine->file, (void *) bytes, length, run->bytes,
				  WAIT_EVENT_BUFFILE_WRITE) != (int) length)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", FilePathName(mine->file))));
	add_timing(&pgBufferUsage.temp_blk_write_time, start);
	pgBufferUsage.temp_blks_written += blocks_between(run->bytes, run->bytes + length);
}

static void
read_file(GpuSortRun *run, char *bytes, Size length)
{
	FileRun    *mine = (FileRun *) run;
	instr_time	start;
	int			got;

	begin_timing(&start);
	got = FileRead(mine->file, bytes, length, run->bytes_read, WAIT_EVENT_BUFFILE_READ);
	if (got < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", FilePathName(mine->file))));
	if ((Size) got != length)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read file \"%s\": read only %d of %zu bytes at offset %llu",
						FilePathName(mine->file), got, length,
						(unsigned long long) run->bytes_read)));
	add_timing(&pgBufferUsage.temp_blk_read_time, start);
	pgBufferUsage.temp_blks_read += blocks_between(run->bytes_read, run->bytes_read + got);
}

/* Each call names its place. */
static void
keep_file(GpuSortRun *run)
{
}

static void
close_file(GpuSortRun *run)
{
	FileRun    *mine = (FileRun *) run;

	if (mine->file >= 0)
		FileClose(mine->file);
	mine->file = -1;
}

static const GpuSortRunStore file_store = {
	.write = write_file,
	.finish = keep_file,
	.read = read_file,
	.rewind = keep_file,
	.close = close_file,
};

GpuSortRun *
gpusort_run_file_create(const GpuSortRowFormat *format)
{
	FileRun    *mine = palloc0(sizeof(FileRun));

	gpusort_run_init(&mine->run, &file_store, format);
	mine->file = -1;
	return &mine->run;
}
