/*
 * feed.c
 *	  Slots to chunks: packs each row once.
 *
 * In:  slots of the child plan.
 * Out: chunks (chunk.h) of rows (row_format.h), each at a multiple of 8 bytes,
 *	    with their key words and the keys' statistics, in buffers sent to the
 *	    device job.
 *
 * Runs in the process that scans.  A buffer is the feed's while it fills it and
 * the service's once sent.  The shared lock is taken for each buffer, never for
 * a row.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "sort/feed.h"

GpuSortFeed *
gpusort_feed_begin(const GpuSortRowFormat *format, const GpuSortKeys *keys, int row_width,
				   GpuSortJob *job, uint32 feeder)
{
	GpuSortFeed *feed = palloc0(sizeof(GpuSortFeed));

	feed->format = format;
	feed->keys = keys;
	feed->n_words = keys->n_words;
	feed->job = job;
	feed->feeder = feeder;
	feed->rows_max = Max(1, GPUSORT_BUFFER_BYTES /
						 (MAXALIGN(row_width + SizeofMinimalTupleHeader) + 12 + 8 * keys->n_words));
	return feed;
}

/* --- chunks --------------------------------------------------------------- */

/* Returns the number of rows that a new chunk makes room for.  It assumes the
 * width of the rows so far, and a few more rows, because unused key places cost
 * less than a chunk cut short. */
static uint32
expected_rows_per_chunk(const GpuSortFeed *feed, Size meta_bytes)
{
	Size		width;

	if (feed->rows == 0)
		return feed->rows_max;
	width = feed->data_bytes / feed->rows + meta_bytes;
	return (uint32) Max(1, (GPUSORT_BUFFER_BYTES - GPUSORT_CHUNK_HEADER_BYTES) / width * 17 / 16);
}

/* Places the arrays of a chunk behind its header, and resets the statistics. */
static void
lay_out_chunk(GpuSortFeed *feed, char *memory, uint32 rows_max)
{
	GpuSortChunkHeader *chunk = (GpuSortChunkHeader *) memory;
	Size		offset = GPUSORT_CHUNK_HEADER_BYTES;

	chunk->rows = 0;
	chunk->data_bytes = 0;
	chunk->more_bytes = 0;
	chunk->feeder = feed->feeder;
	chunk->row_start_offset = offset;
	offset += MAXALIGN(rows_max * sizeof(uint32));
	chunk->nulls_offset = offset;
	offset += MAXALIGN(rows_max * sizeof(uint32));
	chunk->keys_offset = offset;
	offset += rows_max * feed->n_words * sizeof(uint64);
	chunk->data_offset = offset;

	feed->chunk = chunk;
	feed->row_start = gpusort_chunk_row_start(chunk);
	feed->nulls = gpusort_chunk_nulls(chunk);
	feed->key_words = gpusort_chunk_keys(chunk);
	feed->data = gpusort_chunk_data(chunk);
	feed->rows_max = rows_max;
	feed->data_max = GPUSORT_BUFFER_BYTES - offset;
	for (int c = 0; c < feed->n_words; c++)
	{
		gsort_column_stats *stats = &feed->stats[c];

		stats->min = PG_UINT64_MAX;
		stats->max = 0;
		stats->any = 0;
		stats->all = PG_UINT64_MAX;
		stats->nulls = 0;
	}
}

/* Begins a chunk with room for at least one row of row_bytes, or for as much of
 * it as a chunk of one row holds.  False: the job is full. */
static bool
begin_chunk(GpuSortFeed *feed, Size row_bytes, bool rest_of_row)
{
	Size		meta_bytes = 2 * sizeof(uint32) + feed->n_words * sizeof(uint64);
	uint32		rows_max = expected_rows_per_chunk(feed, meta_bytes);
	Size		room = GPUSORT_BUFFER_BYTES - GPUSORT_CHUNK_HEADER_BYTES - 16;
	int			buffer = gpusort_job_buffer_to_fill(feed->job, rest_of_row);

	if (buffer == GPUSORT_NO_BUFFER_FULL)
		return false;
	if (row_bytes + rows_max * meta_bytes > room)
		rows_max = row_bytes + meta_bytes > room ? 1 : (room - row_bytes) / meta_bytes;
	feed->buffer = buffer;
	lay_out_chunk(feed, gpusort_buffer_memory(buffer), rows_max);
	return true;
}

/* Completes the chunk: its statistics go into its header, and the chunk to the
 * service.  False: it was not accepted, as may be the first chunk of a row that
 * continues. */
static bool
end_chunk(GpuSortFeed *feed)
{
	memcpy(feed->chunk->stats, feed->stats, feed->n_words * sizeof(gsort_column_stats));
	feed->chunk = NULL;
	return gpusort_job_send(feed->job, feed->buffer);
}

/* --- rows ----------------------------------------------------------------- */

/* Writes the words of the chunk's last row. */
static void
write_keys(GpuSortFeed *feed, TupleTableSlot *slot, uint64 *words)
{
	gpusort_feed_count_keys(feed, words, gpusort_keys_take(feed->keys, slot, words));
}

/* Writes a row as it lies in chunks. */
static char *
write_row(GpuSortFeed *feed, TupleTableSlot *slot, const GpuSortRowSource *source)
{
	char	   *row = MemoryContextAllocHuge(CurrentMemoryContext, MAXALIGN(source->length));

	gpusort_row_write(feed->format, slot, source, row);
	return row;
}

static void
count_row(GpuSortFeed *feed, Size row_bytes)
{
	feed->rows++;
	feed->data_bytes += row_bytes;
}

static bool
is_long_row(const GpuSortFeed *feed, Size row_bytes)
{
	return row_bytes > GPUSORT_CHUNK_DATA_MAX(feed->n_words);
}

/* Feeds a row that is too long for any chunk, in as many chunks as it needs. */
static bool
feed_long_row(GpuSortFeed *feed, TupleTableSlot *slot, const GpuSortRowSource *source)
{
	Size		row_bytes = MAXALIGN(source->length);
	char	   *row;
	Size		done = 0;

	if (feed->chunk != NULL && feed->chunk->rows > 0)
		(void) end_chunk(feed);
	row = write_row(feed, slot, source);
	while (done < row_bytes)
	{
		Size		part;

		if (feed->chunk == NULL && !begin_chunk(feed, row_bytes - done, done > 0))
			break;
		part = Min(feed->data_max, row_bytes - done) & ~(Size) 7;
		if (done == 0)
		{
			feed->chunk->rows = 1;
			feed->chunk->more_bytes = row_bytes - part;
			feed->row_start[0] = 0;
			write_keys(feed, slot, feed->key_words);
		}
		memcpy(feed->data, row + done, part);
		feed->chunk->data_bytes = part;
		/* if it is not accepted, the next search for a buffer tells why */
		if (end_chunk(feed))
			done += part;
	}
	pfree(row);
	if (done == row_bytes)
		count_row(feed, row_bytes);
	return done == row_bytes;
}

/* The row is found first, since its size decides whether the chunk has room. */
bool
gpusort_feed_row(GpuSortFeed *feed, TupleTableSlot *slot)
{
	GpuSortRowSource source;
	Size		row_bytes;
	char	   *place;
	uint64	   *words;

	gpusort_row_find(feed->format, slot, &source);
	row_bytes = MAXALIGN(source.length);
	while (unlikely(!gpusort_feed_reserve_row(feed, row_bytes, &place, &words)))
	{
		if (is_long_row(feed, row_bytes))
			return feed_long_row(feed, slot, &source);
		if (feed->chunk != NULL)
			(void) end_chunk(feed);
		if (!begin_chunk(feed, row_bytes, false))
			return false;
	}
	gpusort_row_write(feed->format, slot, &source, place);
	write_keys(feed, slot, words);
	return true;
}

char *
gpusort_feed_take_long_row(GpuSortFeed *feed, TupleTableSlot *slot)
{
	GpuSortRowSource source;

	gpusort_row_find(feed->format, slot, &source);
	if (!is_long_row(feed, MAXALIGN(source.length)))
		return NULL;
	count_row(feed, MAXALIGN(source.length));
	return write_row(feed, slot, &source);
}

void
gpusort_feed_finish(GpuSortFeed *feed)
{
	if (feed->chunk != NULL)
		(void) end_chunk(feed);
	gpusort_job_feeder_done(feed->job, feed->rows, gpusort_keys_are_to_verify(feed->keys));
}
