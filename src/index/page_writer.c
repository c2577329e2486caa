/*
 * page_writer.c
 *	  Writes the pages of a new relation, with their WAL, past the shared
 *	  buffers.
 *
 * In:  pages, by their block numbers.
 * Out: the relation's main fork, and a WAL record of each page if the relation
 *	    has WAL.
 *
 * From 17 on PostgreSQL has this as bulk_write.h.  Earlier, a page goes to the
 * relation's file at once; pages of zeros stand for blocks that come later.
 *
 * A parallel worker may do all this while the backend fills more pages.  These
 * then go through a queue (shm_mq.h), each behind its block number.
 *
 * Runs in the backend that builds the relation, which nobody else reads yet,
 * and in such a worker.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat.h"
#include "index/page_writer.h"

static Page
alloc_page(MemoryContext context)
{
	MemoryContext old_context = MemoryContextSwitchTo(context);
	Page		page = compat_alloc_page();

	MemoryContextSwitchTo(old_context);
	return page;
}

/* --- the file ------------------------------------------------------------- */

#if COMPAT_HAS_BULK_WRITE

#include "storage/bulk_write.h"

typedef struct FileWriter
{
	BulkWriteState *state;
} FileWriter;

static FileWriter *
file_begin(Relation relation)
{
	FileWriter *writer = palloc(sizeof(FileWriter));

	writer->state = smgr_bulk_start_rel(relation, MAIN_FORKNUM);
	return writer;
}

static Page
file_page(FileWriter *writer)
{
	return (Page) smgr_bulk_get_buf(writer->state);
}

static void
file_write(FileWriter *writer, BlockNumber block, Page page)
{
	smgr_bulk_write(writer->state, block, (BulkWriteBuffer) page, true);
}

static void
file_end(FileWriter *writer)
{
	smgr_bulk_finish(writer->state);
	pfree(writer);
}

#else

#include "access/xloginsert.h"
#include "storage/smgr.h"

typedef struct FileWriter
{
	Relation	relation;
	bool		has_wal;
	BlockNumber blocks;			/* of the file so far */
	Page		zeros;
	MemoryContext context;
} FileWriter;

static FileWriter *
file_begin(Relation relation)
{
	FileWriter *writer = palloc0(sizeof(FileWriter));

	writer->relation = relation;
	writer->has_wal = RelationNeedsWAL(relation);
	writer->context = CurrentMemoryContext;
	writer->zeros = compat_alloc_page();
	memset(writer->zeros, 0, BLCKSZ);
	return writer;
}

static Page
file_page(FileWriter *writer)
{
	return alloc_page(writer->context);
}

/* The file is not extended through the checkpointer, which would not know of it
 * in time (file_end). */
static void
extend(FileWriter *writer, Page page)
{
	smgrextend(RelationGetSmgr(writer->relation), MAIN_FORKNUM, writer->blocks++, (char *) page,
			   true);
}

static void
file_write(FileWriter *writer, BlockNumber block, Page page)
{
	if (writer->has_wal)
		log_newpage(&compat_locator(writer->relation), MAIN_FORKNUM, block, page, true);
	while (writer->blocks < block)
		extend(writer, writer->zeros);
	PageSetChecksumInplace(page, block);
	if (block == writer->blocks)
		extend(writer, page);
	else
		smgrwrite(RelationGetSmgr(writer->relation), MAIN_FORKNUM, block, (char *) page, true);
	pfree(page);
}

/*
 * A checkpoint during the build has not written these pages to disk, since they
 * were in no shared buffer, and recovery from that checkpoint would not replay
 * their earlier WAL.  So the file goes to disk now.  So does an unlogged
 * relation's, which must survive a clean shutdown: its checkpoint would not
 * know of the pages either.
 */
static void
file_end(FileWriter *writer)
{
	if (writer->has_wal ||
		writer->relation->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrimmedsync(RelationGetSmgr(writer->relation), MAIN_FORKNUM);
	pfree(writer->zeros);
	pfree(writer);
}

#endif

/* --- the queue ------------------------------------------------------------ */

/* A page follows, unless the block is invalid, which ends the pages. */
typedef struct PageHead
{
	BlockNumber block;
	uint32		unused;			/* the page is aligned */
} PageHead;

/* If the worker has gone, its error has come before. */
static void
send_page(shm_mq_handle *queue, BlockNumber block, Page page)
{
	PageHead	head = {.block = block};
	shm_mq_iovec parts[2] = {
		{.data = (const char *) &head,.len = sizeof(head)},
		{.data = (const char *) page,.len = BLCKSZ}
	};

	if (shm_mq_sendv(queue, parts, page != NULL ? 2 : 1, false, page == NULL) == SHM_MQ_SUCCESS)
		return;
	CHECK_FOR_INTERRUPTS();
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("lost connection to the parallel worker that writes the index"),
			 errhint("More details may be available in the server log.")));
}

void
gpusort_page_writer_serve(Relation relation, shm_mq_handle *queue)
{
	FileWriter *file = NULL;
	Size		bytes;
	void	   *message;

	while (shm_mq_receive(queue, &bytes, &message, false) == SHM_MQ_SUCCESS)
	{
		const PageHead *head = message;
		Page		page;

		CHECK_FOR_INTERRUPTS();
		if (file == NULL)
			file = file_begin(relation);
		if (head->block == InvalidBlockNumber)
		{
			file_end(file);
			return;
		}
		page = file_page(file);
		memcpy(page, head + 1, BLCKSZ);
		file_write(file, head->block, page);
	}
}

/* --- interface ------------------------------------------------------------ */

struct GpuSortPageWriter
{
	FileWriter *file;			/* NULL: a worker has it */
	shm_mq_handle *worker;
	MemoryContext context;		/* for pages on their way to the worker */
};

GpuSortPageWriter *
gpusort_page_writer_begin(Relation relation, shm_mq_handle *worker)
{
	GpuSortPageWriter *writer = palloc0(sizeof(GpuSortPageWriter));

	writer->worker = worker;
	writer->context = CurrentMemoryContext;
	if (worker == NULL)
		writer->file = file_begin(relation);
	return writer;
}

Page
gpusort_page_writer_page(GpuSortPageWriter *writer)
{
	return writer->worker == NULL ? file_page(writer->file) : alloc_page(writer->context);
}

void
gpusort_page_writer_write(GpuSortPageWriter *writer, BlockNumber block, Page page)
{
	if (writer->worker == NULL)
		file_write(writer->file, block, page);
	else
	{
		send_page(writer->worker, block, page);
		pfree(page);
	}
}

void
gpusort_page_writer_end(GpuSortPageWriter *writer)
{
	if (writer->worker == NULL)
		file_end(writer->file);
	else
		send_page(writer->worker, InvalidBlockNumber, NULL);
	pfree(writer);
}
