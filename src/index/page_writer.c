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
 * Runs in the process that loads the index, or in a worker that writes for it.
 * Nobody else reads the index yet.
 */
#include "postgres.h"

#include "compat.h"
#include "index/page_writer.h"

#if COMPAT_HAS_BULK_WRITE

#include "storage/bulk_write.h"

struct GpuSortPageWriter
{
	BulkWriteState *state;
};

GpuSortPageWriter *
gpusort_page_writer_begin(Relation relation)
{
	GpuSortPageWriter *writer = palloc(sizeof(GpuSortPageWriter));

	writer->state = smgr_bulk_start_rel(relation, MAIN_FORKNUM);
	return writer;
}

Page
gpusort_page_writer_page(GpuSortPageWriter *writer)
{
	return (Page) smgr_bulk_get_buf(writer->state);
}

void
gpusort_page_writer_write(GpuSortPageWriter *writer, BlockNumber block, Page page)
{
	smgr_bulk_write(writer->state, block, (BulkWriteBuffer) page, true);
}

void
gpusort_page_writer_end(GpuSortPageWriter *writer)
{
	smgr_bulk_finish(writer->state);
	pfree(writer);
}

#else

#include "access/xloginsert.h"
#include "storage/smgr.h"

struct GpuSortPageWriter
{
	Relation	relation;
	bool		has_wal;
	BlockNumber blocks;			/* of the file so far */
	Page		zeros;
	MemoryContext context;
};

GpuSortPageWriter *
gpusort_page_writer_begin(Relation relation)
{
	GpuSortPageWriter *writer = palloc0(sizeof(GpuSortPageWriter));

	writer->relation = relation;
	writer->has_wal = RelationNeedsWAL(relation);
	writer->context = CurrentMemoryContext;
	writer->zeros = compat_alloc_page();
	memset(writer->zeros, 0, BLCKSZ);
	return writer;
}

Page
gpusort_page_writer_page(GpuSortPageWriter *writer)
{
	MemoryContext old_context = MemoryContextSwitchTo(writer->context);
	Page		page = compat_alloc_page();

	MemoryContextSwitchTo(old_context);
	return page;
}

/* The file is not extended through the checkpointer, which would not know of it
 * in time (gpusort_page_writer_end). */
static void
extend(GpuSortPageWriter *writer, Page page)
{
	smgrextend(RelationGetSmgr(writer->relation), MAIN_FORKNUM, writer->blocks++, (char *) page,
			   true);
}

void
gpusort_page_writer_write(GpuSortPageWriter *writer, BlockNumber block, Page page)
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
void
gpusort_page_writer_end(GpuSortPageWriter *writer)
{
	if (writer->has_wal ||
		writer->relation->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrimmedsync(RelationGetSmgr(writer->relation), MAIN_FORKNUM);
	pfree(writer->zeros);
	pfree(writer);
}

#endif
