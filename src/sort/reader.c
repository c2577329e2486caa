/*
 * reader.c
 *	  A sorted job's rows, by row number.
 *
 * In:  windows that the service puts into the job's buffers.
 * Out: rows' bytes (row_format.h) in the window being read, or, for a row longer
 *	    than a window, into the reader's memory.
 *
 * Runs in the backend that owns the job.  Reading forward keeps all other buffers
 * of the job asked for ahead.  Any other row is found by its number: inside the
 * window by an index of the window's rows, outside it by the service's
 * directory.  A window's buffer is kept until the next window is needed, since
 * the executor's slot points into it.
 */
#include "postgres.h"

#include "portability/instr_time.h"

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
	gpusort_rowblock_init(&reader->block, format, CurrentMemoryContext);
	return reader;
}

static void
drop_offsets(GpuSortReader *reader)
{
	if (reader->offsets != NULL)
		pfree(reader->offsets);
	reader->offsets = NULL;
}

static void
leave_window(GpuSortReader *reader)
{
	if (reader->buffer >= 0)
		gpusort_job_buffer_done(reader->job, reader->buffer);
	reader->buffer = -1;
	drop_offsets(reader);
}

/* Asks for the windows behind the last one asked for, as many as there are idle buffers. */
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

/* Makes the block that of the window that reading has come to. */
static void
load_block(GpuSortReader *reader)
{
	const gsort_window *window = &reader->window;

	if (window->rows > 0 && window->bytes > window->row_bytes)
		find_ties(reader);

	gpusort_rowblock_load(&reader->block, gpusort_buffer_memory(reader->buffer),
						  window->row_bytes,
						  (window->flags & GSORT_WINDOW_CONTINUED) != 0,
						  (window->flags & GSORT_WINDOW_CONTINUES) != 0);
	if ((window->flags & GSORT_WINDOW_CONTINUED) == 0)
		reader->next_row = window->first_row;
}

/* As the function of its name. */
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
		/* some were taken back while we were idle: ask for all of them anew */
		gpusort_job_forget_windows(reader->job);
		reader->n_ahead = 0;
	}
}

/* Adds the time since then to that of waiting. */
static void
count_wait(GpuSortReader *reader, instr_time start)
{
	instr_time	end;

	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	reader->wait_ms += INSTR_TIME_GET_MILLISEC(end);
}

bool
gpusort_reader_next_window(GpuSortReader *reader)
{
	instr_time	start;
	bool		got;

	INSTR_TIME_SET_CURRENT(start);
	got = next_window(reader);
	count_wait(reader, start);
	return got;
}

/* Lets go of the window being read and of those asked for. */
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
	count_wait(reader, start);
	reader->buffer = buffer;
	reader->bytes_read += reader->window.bytes;
	load_block(reader);
}

/* Sets the block to a row of the window being read. */
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
	reader->block.next = begin + reader->offsets[row - reader->window.first_row];
	reader->block.end = begin + reader->window.row_bytes;
	reader->next_row = row;
}

static bool
window_holds(const GpuSortReader *reader, uint64 row)
{
	return reader->buffer >= 0 && reader->window.flags == 0 &&
		row >= reader->window.first_row &&
		row < reader->window.first_row + reader->window.rows;
}

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
			read_ahead(reader);		/* at a window's first row: reading goes forward */
	}
	/* at the end of a block the row is in the windows that follow, over several if it is long */
	while ((bytes = gpusort_rowblock_next(&reader->block)) == NULL)
	{
		if (!gpusort_reader_next_window(reader))
			elog(ERROR, "gpusort reader has no window for row " UINT64_FORMAT, row);
		load_block(reader);
	}
	reader->next_row = row + 1;
	return bytes;
}
