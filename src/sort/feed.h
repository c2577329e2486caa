/*
 * feed.h
 *	  Packs rows and keys into chunks: first in private memory, then, when there
 *	  are enough of them, in the shared buffers of a device job.
 */
#ifndef GPUSORT_FEED_H
#define GPUSORT_FEED_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "shared/chunk.h"
#include "shared/job.h"
#include "keys/row_format.h"
#include "keys/sortkey.h"

typedef struct GpuSortFeed
{
	const GpuSortRowFormat *format;
	const GpuSortKeys *keys;
	int			n_words;		/* of a row: the keys' */
	uint32		feeder;			/* number of the process among the job's feeders */

	uint64		rows;			/* accepted in all */
	uint64		data_bytes;

	/* the chunk being filled; NULL: none */
	GpuSortChunkHeader *chunk;
	int			buffer;			/* that it lies in, -1: private memory */
	uint32	   *row_start;
	uint32	   *nulls;
	uint64	   *key_words;
	char	   *data;
	uint32		rows_max;
	uint32		data_max;
	gsort_column_stats stats[GPUSORT_WORDS_MAX];

	/* rows kept in the backend so far */
	MemoryContext private_context;
	List	   *private_chunks; /* of GpuSortChunkHeader *, each GPUSORT_BUFFER_BYTES */
	Size		private_limit_bytes;

	GpuSortJob *job;			/* NULL: not sent yet */
	uint64		chunks_sent;
} GpuSortFeed;

/*
 * Begins to pack rows, into private memory at first.  It may take private_limit_bytes; then, or
 * before, a job is attached and rows go there.  row_width: what the planner expects of a
 * row, in bytes.  Memory: the current context, and a child of it for the private chunks.
 */
extern GpuSortFeed *gpusort_feed_begin(const GpuSortRowFormat *format,
									   const GpuSortKeys *keys, int row_width,
									   Size private_limit_bytes);

typedef enum GpuSortFeedResult
{
	GPUSORT_FEED_TAKEN,
	GPUSORT_FEED_WANTS_JOB,		/* the private memory is full: attach a job, then again */
	GPUSORT_FEED_FULL,			/* not taken: again when the leader has spilled a run */
	GPUSORT_FEED_REFUSED		/* not taken: the job takes no more */
} GpuSortFeedResult;

/* Packs one row. */
extern GpuSortFeedResult gpusort_feed_row(GpuSortFeed *feed, TupleTableSlot *slot);

/*
 * Sends the private chunks to job, and from then on every chunk.  FULL: the job took some of
 * them; when the leader has spilled a run, call this again for the rest.  REFUSED: it took
 * some, and takes no more.  What it did not take is still private.
 */
extern GpuSortFeedResult gpusort_feed_attach_job(GpuSortFeed *feed, GpuSortJob *job);

/* From the first row on, rows go to job; this process is its feeder number feeder. */
extern void gpusort_feed_join_job(GpuSortFeed *feed, GpuSortJob *job, uint32 feeder);

/* The last row has been packed: sends the chunk being filled.  keep_only_chunk: if it is all
 * that this feeder has, leaves it to the leader instead, who may sort so few rows itself. */
extern void gpusort_feed_finish(GpuSortFeed *feed, bool keep_only_chunk);

/* Makes a chunk that lies in a buffer private: its rows are the feed's from now on. */
extern void gpusort_feed_copy_chunk(GpuSortFeed *feed, const GpuSortChunkHeader *chunk);

/* Frees the private chunks. */
extern void gpusort_feed_free_private(GpuSortFeed *feed);

/* --- for page_drain.c ------------------------------------------------------ */

static inline void
gpusort_feed_count_key(gsort_column_stats *stats, uint64 word)
{
	stats->min = Min(stats->min, word);
	stats->max = Max(stats->max, word);
	stats->any |= word;
	stats->all &= word;
}

/*
 * Takes room for one row of row_bytes (a multiple of 8) that has no NULL among its keys.
 * The caller fills all of *place, writes its key words at *words, and counts them.
 * False: the chunk being filled has no room, nothing has been taken.
 */
static inline bool
gpusort_feed_take_row(GpuSortFeed *feed, Size row_bytes, char **place, uint64 **words)
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
	feed->nulls[row] = 0;
	chunk->data_bytes += row_bytes;
	feed->rows++;
	feed->data_bytes += row_bytes;
	return true;
}

#endif							/* GPUSORT_FEED_H */
