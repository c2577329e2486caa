/*
 * reader.c
 *	  A sorted job's rows, by row number.
 *
 * In:  blocks that the service puts into the job's buffers.
 * Out: rows' bytes (row_format.h) in the block being read, or, for a row longer
 *	    than a block, in the reader's memory.
 *
 * Runs in the backend that owns the job.  Reading forward asks for further
 * blocks ahead, in all other buffers of the job.  Any other row is found by its
 * number: inside the block by an index of the block's rows, outside it by the
 * service's directory.  A block keeps its buffer until the next block is
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
	reader->block_number = PG_UINT64_MAX;	/* the first block is the next one */
	reader->context = CurrentMemoryContext;
	return reader;
}

static void
leave_block(GpuSortReader *reader)
{
	if (reader->buffer >= 0)
		gpusort_job_buffer_done(reader->job, reader->buffer);
	reader->buffer = -1;
	if (reader->offsets != NULL)
		pfree(reader->offsets);
	reader->offsets = NULL;
}

/* Asks for the blocks behind the last one asked for, as long as there are idle
 * buffers. */
static void
read_ahead(GpuSortReader *reader)
{
	while (reader->n_ahead < GPUSORT_READ_BUFFERS)
	{
		uint64		number = reader->block_number + 1 + reader->n_ahead;
		int			buffer;

		if (number >= gpusort_job_blocks(reader->job))
			break;
		buffer = gpusort_job_fetch(reader->job, number, false);
		if (buffer < 0)
			break;
		reader->ahead[reader->n_ahead++] = buffer;
	}
}

/* Finds the tie bits behind the block's rows. */
static void
find_ties(GpuSortReader *reader)
{
	const gsort_block *block = &reader->block;

	reader->ties = (const uint64 *) (gpusort_buffer_memory(reader->buffer) + block->row_bytes);
	reader->ties_first = block->first_row;
	reader->ties_rows = block->rows;
	if ((block->flags & GSORT_BLOCK_CONTINUES) == 0)
		return;
	reader->long_row_ties = reader->ties[0];
	reader->ties = &reader->long_row_ties;
}

/* Begins to assemble the row that the block being read begins with. */
static void
begin_long_row(GpuSortReader *reader)
{
	reader->long_row_bytes = gpusort_row_bytes(reader->format,
											   gpusort_buffer_memory(reader->buffer));
	reader->long_row_filled = 0;
	reader->long_row = MemoryContextAllocHuge(reader->context, reader->long_row_bytes);
}

/* Adds the block being read to the long row, which can be read once it is
 * complete. */
static void
add_to_long_row(GpuSortReader *reader)
{
	Size		length = reader->block.row_bytes;

	if (reader->long_row == NULL || length > reader->long_row_bytes - reader->long_row_filled)
		elog(ERROR, "gpusort row continues where none was begun");
	memcpy(reader->long_row + reader->long_row_filled,
		   gpusort_buffer_memory(reader->buffer), length);
	reader->long_row_filled += length;
	reader->next = reader->end = reader->long_row;
	if (reader->long_row_filled == reader->long_row_bytes)
		reader->end += reader->long_row_bytes;
}

/* Goes to the first row of the block that reading has come to, or goes on with
 * the long row. */
static void
load_block(GpuSortReader *reader)
{
	const gsort_block *block = &reader->block;

	if (block->rows > 0 && block->bytes > block->row_bytes)
		find_ties(reader);
	if ((block->flags & GSORT_BLOCK_CONTINUED) == 0)
	{
		if (reader->long_row != NULL)
			pfree(reader->long_row);
		reader->long_row = NULL;
		reader->next_row = block->first_row;
		reader->next = gpusort_buffer_memory(reader->buffer);
		reader->end = reader->next + block->row_bytes;
		if ((block->flags & GSORT_BLOCK_CONTINUES) != 0)
			begin_long_row(reader);
	}
	if (block->flags != 0)
		add_to_long_row(reader);
}

/* As gpusort_reader_next_block, which also adds the time that it takes. */
static bool
next_block(GpuSortReader *reader)
{
	uint64		number = reader->block_number + 1;

	leave_block(reader);
	if (number >= gpusort_job_blocks(reader->job))
		return false;
	for (;;)
	{
		uint64		got;
		int			buffer;

		read_ahead(reader);
		if (reader->n_ahead == 0 && gpusort_job_failed(reader->job))
			return false;
		if (reader->n_ahead == 0)
			elog(ERROR, "gpusort reader has no buffer for block " UINT64_FORMAT, number);
		buffer = reader->ahead[0];
		if (gpusort_job_read_buffer(reader->job, buffer, &reader->block, &got) && got == number)
		{
			reader->n_ahead--;
			memmove(&reader->ahead[0], &reader->ahead[1], reader->n_ahead * sizeof(int));
			reader->block_number = number;
			reader->buffer = buffer;
			reader->bytes_read += reader->block.bytes;
			read_ahead(reader);
			return true;
		}
		/* some were taken back while this reader was idle, so ask for all of
		 * them again */
		gpusort_job_release_blocks(reader->job);
		reader->n_ahead = 0;
	}
}

bool
gpusort_reader_next_block(GpuSortReader *reader)
{
	instr_time	start;
	bool		got;

	INSTR_TIME_SET_CURRENT(start);
	got = next_block(reader);
	reader->wait_ms += gpusort_milliseconds_since(start);
	return got;
}

/* Releases the block being read and those asked for. */
static void
forget_blocks(GpuSortReader *reader)
{
	leave_block(reader);
	gpusort_job_release_blocks(reader->job);
	reader->n_ahead = 0;
}

void
gpusort_reader_rewind(GpuSortReader *reader)
{
	forget_blocks(reader);
	reader->block_number = PG_UINT64_MAX;
}

/* Goes to the block where a row starts. */
static void
enter_block_of_row(GpuSortReader *reader, uint64 row)
{
	instr_time	start;
	int			buffer;

	INSTR_TIME_SET_CURRENT(start);
	forget_blocks(reader);
	do
	{
		buffer = gpusort_job_fetch(reader->job, row, true);
		if (buffer < 0)
			elog(ERROR, "gpusort reader has no buffer for row " UINT64_FORMAT, row);
	} while (!gpusort_job_read_buffer(reader->job, buffer, &reader->block,
									 &reader->block_number));
	reader->wait_ms += gpusort_milliseconds_since(start);
	reader->buffer = buffer;
	reader->bytes_read += reader->block.bytes;
	load_block(reader);
}

/* Goes to a row of the block being read. */
static void
go_to_row_of_block(GpuSortReader *reader, uint64 row)
{
	const char *begin = gpusort_buffer_memory(reader->buffer);

	if (reader->offsets == NULL)
	{
		uint32		offset = 0;

		reader->offsets = MemoryContextAlloc(reader->context,
											 reader->block.rows * sizeof(uint32));
		for (uint32 i = 0; i < reader->block.rows; i++)
		{
			reader->offsets[i] = offset;
			offset += gpusort_row_bytes(reader->format, begin + offset);
		}
	}
	reader->next = begin + reader->offsets[row - reader->block.first_row];
	reader->end = begin + reader->block.row_bytes;
	reader->next_row = row;
}

static bool
block_holds(const GpuSortReader *reader, uint64 row)
{
	return reader->buffer >= 0 && reader->block.flags == 0 &&
		row >= reader->block.first_row &&
		row < reader->block.first_row + reader->block.rows;
}

/* Only a row outside of the block makes the reader ask for another one. */
const char *
gpusort_reader_seek(GpuSortReader *reader, uint64 row)
{
	const char *bytes;

	Assert(row < reader->rows);
	if (block_holds(reader, row))
		go_to_row_of_block(reader, row);
	else if (reader->buffer < 0 || row != reader->next_row)
	{
		enter_block_of_row(reader, row);
		if (block_holds(reader, row) && row != reader->next_row)
			go_to_row_of_block(reader, row);
		else
			read_ahead(reader); /* at a block's first row, reading goes forward */
	}
	/* at the end of a block the row is in the following ones, in several of
	 * them if it is long */
	while (!gpusort_reader_next(reader, row, &bytes))
	{
		if (!gpusort_reader_next_block(reader))
			elog(ERROR, "gpusort reader has no block for row " UINT64_FORMAT, row);
		load_block(reader);
	}
	return bytes;
}
