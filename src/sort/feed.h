/*
 * feed.h
 *	  Packs rows and keys into chunks, in the shared buffers of a device job.
 */
#ifndef GPUSORT_FEED_H
#define GPUSORT_FEED_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "job/chunk.h"
#include "job/job.h"
#include "keys/row_format.h"
#include "keys/sortkey.h"

typedef struct GpuSortFeed
{
	const GpuSortRowFormat *format;
	const GpuSortKeys *keys;
	int			n_words;		/* words of a row's keys */
	GpuSortJob *job;
	uint32		feeder;			/* number of this process among the job's feeders */

	uint64		rows;			/* accepted in all */
	uint64		data_bytes;

	/* the chunk being filled; NULL: none */
	GpuSortChunkHeader *chunk;
	int			buffer;			/* the buffer that it lies in */
	uint32	   *row_start;
	uint32	   *nulls;
	uint64	   *key_words;
	char	   *data;
	uint32		rows_max;
	uint32		data_max;
	gsort_column_stats stats[GPUSORT_WORDS_MAX];
} GpuSortFeed;

/*
 * Begins to pack rows for job.  This process is its feeder number feeder.
 * row_width: bytes that the planner expects of a row.  Memory: the current
 * context.
 */
extern GpuSortFeed *gpusort_feed_begin(const GpuSortRowFormat *format,
									   const GpuSortKeys *keys, int row_width,
									   GpuSortJob *job, uint32 feeder);

/* Packs one row.  False: the job is full, and the row is to be put again after
 * the leader has spilled a run. */
extern bool gpusort_feed_row(GpuSortFeed *feed, TupleTableSlot *slot);

/* Returns a row that is too long for a chunk, as it would lie in several, in
 * the caller's memory.  The row counts as taken.  NULL: it is not so long. */
extern char *gpusort_feed_take_long_row(GpuSortFeed *feed, TupleTableSlot *slot);

/* Called after the last row: sends the chunk being filled. */
extern void gpusort_feed_finish(GpuSortFeed *feed);

/* --- for feed.c and page_drain.c ------------------------------------------ */

/* Counts the words of the chunk's last row, and notes which of them are
 * NULL. */
static inline void
gpusort_feed_count_keys(GpuSortFeed *feed, const uint64 *words, uint32 nulls)
{
	for (int c = 0; c < feed->n_words; c++)
	{
		gsort_column_stats *stats = &feed->stats[c];
		uint64		word = words[c];

		if (unlikely((nulls >> c & 1) != 0))
		{
			stats->nulls++;
			continue;
		}
		stats->min = Min(stats->min, word);
		stats->max = Max(stats->max, word);
		stats->any |= word;
		stats->all &= word;
	}
	feed->nulls[feed->chunk->rows - 1] = nulls;
}

/*
 * Reserves room for one row of row_bytes (a multiple of 8).  The caller fills
 * all of *place, writes its key words at *words, and counts them.  False: the
 * chunk being filled has no room, and nothing has been reserved.
 */
static inline bool
gpusort_feed_reserve_row(GpuSortFeed *feed, Size row_bytes, char **place, uint64 **words)
{
	GpuSortChunkHeader *chunk = feed->chunk;
	uint32		row;

	if (unlikely(chunk == NULL || chunk->rows == feed->rows_max ||
				 chunk->data_bytes + row_bytes > feed->data_max))
		return false;
	row = chunk->rows++;
	*place = feed->data + chunk->data_bytes;
	*words = feed->key_words + (Size) row * feed->n_words;
	feed->row_start[row] = chunk->data_bytes / 8;
	chunk->data_bytes += row_bytes;
	feed->rows++;
	feed->data_bytes += row_bytes;
	return true;
}

#endif							/* GPUSORT_FEED_H */
