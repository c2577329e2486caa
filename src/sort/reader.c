/*
 * reader.c
 *	  A sorted job's rows, by row number.
 *
 * In:  windows that the service puts into the job's buffers.
 * Out: rows' bytes (row_format.h) in the window being read, or, for a row
 *	    longer than a window, in the reader's memory.
 *
 * Runs in the backend that owns the job.  Reading forward asks for further
 * windows ahead, in all other buffers of the job.  Any other row is found by
 * its number: inside the window by an index of the window's rows, outside it by
 * the service's directory.  A window keeps its buffer until the next window is
 * needed, since the executor's slot points into it.  A long row, up to
 * PostgreSQL's limit of 1 GB, is freed when another row is read.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "job/clock.h"
#include "sort/reader.h"

GpuSortReader *
gpusort_reader_begin(GpuSortJob *job, const GpuSortRowFormat *format)
{
	GpuSortReader *reader = palloc0(sizeof(GpuSortReader));

	reader->job = job;
	reader->format = format;
	reader->rows = gpusort_job_rows(job);
	reader->buffer = -1;
	reader->window_number = PG_UINT64_MAX;	/* the first window is the next one */
	reader->context = CurrentMemoryContext;
	return reader;
}

static void
leave_window(GpuSortReader *reader)
{
	if (reader->buffer >= 0)
		gpusort_job_buffer_done(reader->job, reader->buffer);
	reader->buffer = -1;
	if (reader->offsets != NULL)
		pfree(reader->offsets);
	reader->offsets = NULL;
}

/* Asks for the windows behind the last one asked for, as long as there are idle
 * buffers. */
static void
read_ahead(GpuSortReader *reader)
{
	while (reader->n_ahead < GPUSORT_READ_BUFFERS)
	{
		uint64		number = reader->window_number + 1 + reader->n_ahead;
		int			buffer;

		if (number >= gpusort_job_windows(reader->job))
			break;
		buffer = gpusort_job_fetch_window(reader->job, number);
		if (buffer < 0)
			break;
		reader->ahead[reader->n_ahead++] = buffer;
	}
}

/* Finds the tie bits behind the window's rows. */
static void
find_ties(GpuSortReader *reader)
{
	const gsort_window *window = &reader->window;

	reader->ties = (const uint64 *) (gpusort_buffer_memory(reader->buffer) + window->row_bytes);
	reader->ties_first = window->first_row;
	reader->ties_rows = window->rows;
	if ((window->flags & GSORT_WINDOW_CONTINUES) == 0)
		return;
	reader->long_row_ties = reader->ties[0];
	reader->ties = &reader->long_row_ties;
}

/* Begins to assemble the row that the window being read begins with. */
static void
begin_long_row(GpuSortReader *reader)
{
	reader->long_row_bytes = gpusort_row_bytes(reader->format,
											   gpusort_buffer_memory(reader->buffer));
	reader->long_row_filled = 0;
	reader->long_row = MemoryContextAllocHuge(reader->context, reader->long_row_bytes);
}

/* Adds the window being read to the long row, which can be read once it is
 * complete. */
static void
add_to_long_row(GpuSortReader *reader)
{
	Size		length = reader->window.row_bytes;

	if (reader->long_row == NULL || length > reader->long_row_bytes - reader->long_row_filled)
		elog(ERROR, "gpusort row continues where none was begun");
	memcpy(reader->long_row + reader->long_row_filled,
		   gpusort_buffer_memory(reader->buffer), length);
	reader->long_row_filled += length;
	reader->next = reader->end = reader->long_row;
	if (reader->long_row_filled == reader->long_row_bytes)
		reader->end += reader->long_row_bytes;
}

/* Goes to the first row of the window that reading has come to, or goes on with
 * the long row. */
static void
load_window(GpuSortReader *reader)
{
	const gsort_window *window = &reader->window;

	if (window->rows > 0 && window->bytes > window->row_bytes)
		find_ties(reader);
	if ((window->flags & GSORT_WINDOW_CONTINUED) == 0)
	{
		if (reader->long_row != NULL)
			pfree(reader->long_row);
		reader->long_row = NULL;
		reader->next_row = window->first_row;
		reader->next = gpusort_buffer_memory(reader->buffer);
		reader->end = reader->next + window->row_bytes;
		if ((window->flags & GSORT_WINDOW_CONTINUES) != 0)
			begin_long_row(reader);
	}
	if (window->flags != 0)
		add_to_long_row(reader);
}

/* As gpusort_reader_next_window, which also adds the time that it takes. */
static bool
next_window(GpuSortReader *reader)
{
	uint64		number = reader->window_number + 1;

	leave_window(reader);
	if (number >= gpusort_job_windows(reader->job))
		return false;
	for (;;)
	{
		uint64		got;
		int			buffer;

		read_ahead(reader);
		if (reader->n_ahead == 0 && gpusort_job_failed(reader->job))
			return false;
		if (reader->n_ahead == 0)
			elog(ERROR, "gpusort reader has no buffer for window " UINT64_FORMAT, number);
		buffer = reader->ahead[0];
		if (gpusort_job_read_buffer(reader->job, buffer, &reader->window, &got) && got == number)
		{
			reader->n_ahead--;
			memmove(&reader->ahead[0], &reader->ahead[1], reader->n_ahead * sizeof(int));
			reader->window_number = number;
			reader->buffer = buffer;
			reader->bytes_read += reader->window.bytes;
			read_ahead(reader);
			return true;
		}
		/* some were taken back while this reader was idle, so ask for all of
		 * them anew */
		gpusort_job_forget_windows(reader->job);
		reader->n_ahead = 0;
	}
}

bool
gpusort_reader_next_window(GpuSortReader *reader)
{
	instr_time	start;
	bool		got;

	INSTR_TIME_SET_CURRENT(start);
	got = next_window(reader);
	reader->wait_ms += gpusort_milliseconds_since(start);
	return got;
}

/* Releases the window being read and those asked for. */
static void
forget_windows(GpuSortReader *reader)
{
	leave_window(reader);
	gpusort_job_forget_windows(reader->job);
	reader->n_ahead = 0;
}

void
gpusort_reader_rewind(GpuSortReader *reader)
{
	forget_windows(reader);
	reader->window_number = PG_UINT64_MAX;
}

/* Goes to the window where a row starts. */
static void
enter_window_of_row(GpuSortReader *reader, uint64 row)
{
	instr_time	start;
	int			buffer;

	INSTR_TIME_SET_CURRENT(start);
	forget_windows(reader);
	do
	{
		buffer = gpusort_job_fetch_row(reader->job, row);
		if (buffer < 0)
			elog(ERROR, "gpusort reader has no buffer for row " UINT64_FORMAT, row);
	} while (!gpusort_job_read_buffer(reader->job, buffer, &reader->window,
									 &reader->window_number));
	reader->wait_ms += gpusort_milliseconds_since(start);
	reader->buffer = buffer;
	reader->bytes_read += reader->window.bytes;
	load_window(reader);
}

/* Goes to a row of the window being read. */
static void
go_to_row_of_window(GpuSortReader *reader, uint64 row)
{
	const char *begin = gpusort_buffer_memory(reader->buffer);

	if (reader->offsets == NULL)
	{
		uint32		offset = 0;

		reader->offsets = MemoryContextAlloc(reader->context,
											 reader->window.rows * sizeof(uint32));
		for (uint32 i = 0; i < reader->window.rows; i++)
		{
			reader->offsets[i] = offset;
			offset += gpusort_row_bytes(reader->format, begin + offset);
		}
	}
	reader->next = begin + reader->offsets[row - reader->window.first_row];
	reader->end = begin + reader->window.row_bytes;
	reader->next_row = row;
}

static bool
window_holds(const GpuSortReader *reader, uint64 row)
{
	return reader->buffer >= 0 && reader->window.flags == 0 &&
		row >= reader->window.first_row &&
		row < reader->window.first_row + reader->window.rows;
}

/* Only a row outside of the window makes the reader ask for another one. */
const char *
gpusort_reader_seek(GpuSortReader *reader, uint64 row)
{
	const char *bytes;

	Assert(row < reader->rows);
	if (window_holds(reader, row))
		go_to_row_of_window(reader, row);
	else if (reader->buffer < 0 || row != reader->next_row)
	{
		enter_window_of_row(reader, row);
		if (window_holds(reader, row) && row != reader->next_row)
			go_to_row_of_window(reader, row);
		else
			read_ahead(reader);		/* at a window's first row, reading goes forward */
	}
	/* at the end of a window the row is in the following ones, in several of
	 * them if it is long */
	while (!gpusort_reader_next(reader, row, &bytes))
	{
		if (!gpusort_reader_next_window(reader))
			elog(ERROR, "gpusort reader has no window for row " UINT64_FORMAT, row);
		load_window(reader);
	}
	return bytes;
}
