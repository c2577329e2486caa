/*
 * recall.c
 *	  Takes rows back that were packed for the device, to sort them natively.
 *
 * In:  a job that takes no more rows: what the device has accepted, which is cut as it was
 *	    fed and read like any output; the chunks that it refused and those that feeders
 *	    have kept, still in the shared buffers; private chunks.  Runs, where they cannot be merged
 *	    with rows that are sorted natively.
 * Out: every row once, put into a tuplesort.
 *
 * A row longer than a chunk may have its first part on the device and its last part in a
 * refused chunk.  So the rows of each feeder are put together in the order in which it
 * packed them: accepted, then refused.  Reading what was accepted needs
 * buffers: chunks of whole rows, which need no order, are put first, straight from
 * the buffers that they lie in; what remains are parts of one long row for each feeder,
 * and only those are copied.
 *
 * Runs in the backend that leads the sort, after all feeders have ended or stand still.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/recall.h"
#include "sort/rowblock.h"

struct GpuSortRecall
{
	const GpuSortRowFormat *format;
	Tuplesortstate *native;
	TupleTableSlot *slot;
	uint64		rows;
	GpuSortRowBlock whole;		/* rows that lie in one block */
	GpuSortRowBlock parts[GPUSORT_FEEDERS_MAX]; /* each feeder's rows that may not */
};

GpuSortRecall *
gpusort_recall_begin(const GpuSortRowFormat *format, Tuplesortstate *native,
					 TupleTableSlot *slot)
{
	GpuSortRecall *recall = palloc(sizeof(GpuSortRecall));

	recall->format = format;
	recall->native = native;
	recall->slot = slot;
	recall->rows = 0;
	gpusort_rowblock_init(&recall->whole, format, CurrentMemoryContext);
	for (int i = 0; i < GPUSORT_FEEDERS_MAX; i++)
		gpusort_rowblock_init(&recall->parts[i], format, CurrentMemoryContext);
	return recall;
}

static inline void
put_row(GpuSortRecall *recall, const char *row)
{
	tuplesort_puttupleslot(recall->native, gpusort_row_store(recall->format, row, recall->slot));
	recall->rows++;
}

static void
put_block(GpuSortRecall *recall, GpuSortRowBlock *block)
{
	const char *row;

	while ((row = gpusort_rowblock_next(block)) != NULL)
		put_row(recall, row);
	ExecClearTuple(recall->slot);
	CHECK_FOR_INTERRUPTS();
}

static void
put_chunk(GpuSortRecall *recall, GpuSortRowBlock *block, const GpuSortChunkHeader *chunk)
{
	gpusort_rowblock_load(block, gpusort_chunk_data(chunk), chunk->data_bytes,
						  chunk->rows == 0, chunk->more_bytes > 0);
	put_block(recall, block);
}

/* Puts the job's chunks of whole rows that are in a state; their buffers become idle. */
static void
put_whole_chunks(GpuSortRecall *recall, GpuSortJob *job, GpuSortBufferState state)
{
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];
	int			n = gpusort_job_list_buffers(job, state, buffers);

	for (int i = 0; i < n; i++)
	{
		const GpuSortChunkHeader *chunk =
			(const GpuSortChunkHeader *) gpusort_buffer_memory(buffers[i]);

		if (chunk->rows == 0 || chunk->more_bytes > 0)
			continue;
		put_chunk(recall, &recall->whole, chunk);
		gpusort_job_buffer_done(job, buffers[i]);
	}
}

/* Copies the refused chunks that are left, parts of long rows, in the order they were sent;
 * their buffers become idle. */
static List *
copy_refused_parts(GpuSortJob *job)
{
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];
	int			n = gpusort_job_list_buffers(job, GPUSORT_BUFFER_REFUSED, buffers);
	List	   *chunks = NIL;

	for (int i = 0; i < n; i++)
	{
		const GpuSortChunkHeader *chunk =
			(const GpuSortChunkHeader *) gpusort_buffer_memory(buffers[i]);
		Size		bytes = chunk->data_offset + chunk->data_bytes;

		chunks = lappend(chunks, memcpy(palloc(bytes), chunk, bytes));
		gpusort_job_buffer_done(job, buffers[i]);
	}
	return chunks;
}

/* Reads one window of what was accepted. */
static void
put_window(GpuSortRecall *recall, GpuSortJob *job, uint64 number)
{
	gsort_window window;
	GpuSortRowBlock *block;
	uint64		got;
	int			buffer;

	do
	{
		buffer = gpusort_job_fetch_window(job, number);
		if (buffer < 0)
			elog(ERROR, "gpusort job has no buffer to recall rows");
	} while (!gpusort_job_read_buffer(job, buffer, &window, &got));
	block = &recall->parts[window.feeder];
	gpusort_rowblock_load(block, gpusort_buffer_memory(buffer), window.row_bytes,
						  (window.flags & GSORT_WINDOW_CONTINUED) != 0,
						  (window.flags & GSORT_WINDOW_CONTINUES) != 0);
	put_block(recall, block);
	gpusort_job_buffer_done(job, buffer);
}

static void
put_accepted(GpuSortRecall *recall, GpuSortJob *job)
{
	uint64		windows;

	if (gpusort_job_cut(job, GSORT_AS_FED) != GPUSORT_CUT_DONE)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("The sort service could not list the rows that are to be taken back from the device.")));
	windows = gpusort_job_windows(job);
	for (uint64 number = 0; number < windows; number++)
		put_window(recall, job, number);
}

void
gpusort_recall_job(GpuSortRecall *recall, GpuSortJob *job)
{
	List	   *parts;
	ListCell   *lc;

	gpusort_job_wait_quiet(job);
	put_whole_chunks(recall, job, GPUSORT_BUFFER_REFUSED);
	put_whole_chunks(recall, job, GPUSORT_BUFFER_KEPT);
	parts = copy_refused_parts(job);
	put_accepted(recall, job);
	foreach(lc, parts)
	{
		const GpuSortChunkHeader *chunk = lfirst(lc);

		put_chunk(recall, &recall->parts[chunk->feeder], chunk);
	}
	list_free_deep(parts);
}

void
gpusort_recall_private(GpuSortRecall *recall, GpuSortFeed *feed)
{
	ListCell   *lc;

	foreach(lc, feed->private_chunks)
	{
		const GpuSortChunkHeader *chunk = lfirst(lc);

		put_chunk(recall, &recall->whole, chunk);
	}
	gpusort_feed_free_private(feed);
}

uint64
gpusort_recall_end(GpuSortRecall *recall)
{
	uint64		rows = recall->rows;

	gpusort_rowblock_clear(&recall->whole);
	for (int i = 0; i < GPUSORT_FEEDERS_MAX; i++)
		gpusort_rowblock_clear(&recall->parts[i]);
	pfree(recall);
	return rows;
}

void
gpusort_recall_runs(GpuSortSpill *spill, Tuplesortstate *native, TupleTableSlot *slot)
{
	GpuSortRecall *recall = gpusort_recall_begin(spill->ordering->format, native, slot);

	for (int i = 0; i < spill->n_runs; i++)
	{
		const char *row;

		gpusort_run_begin_reading(spill->runs[i], GPUSORT_BUFFER_BYTES);
		while ((row = gpusort_run_next(spill->runs[i])) != NULL)
		{
			put_row(recall, row);
			CHECK_FOR_INTERRUPTS();
		}
	}
	ExecClearTuple(slot);
	gpusort_spill_end(spill);
	if (recall->rows != spill->rows)
		elog(ERROR, "gpusort spilled " UINT64_FORMAT " rows and recalled " UINT64_FORMAT,
			 spill->rows, recall->rows);
	(void) gpusort_recall_end(recall);
}
