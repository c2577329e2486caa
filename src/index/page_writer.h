/*
 * page_writer.h
 *	  Writes the pages of a new relation beside the shared buffers, with their
 *	  WAL.
 */
#ifndef GPUSORT_PAGE_WRITER_H
#define GPUSORT_PAGE_WRITER_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct GpuSortPageWriter GpuSortPageWriter;

/* Begins to write an empty relation's main fork.  Memory: the current
 * context. */
extern GpuSortPageWriter *gpusort_page_writer_begin(Relation relation);

/* Returns memory for a page. */
extern Page gpusort_page_writer_page(GpuSortPageWriter *writer);

/* Takes a page from gpusort_page_writer_page.  Blocks may come in any order,
 * and each block comes once. */
extern void gpusort_page_writer_write(GpuSortPageWriter *writer, BlockNumber block, Page page);

/* Ends the writing.  The pages are as durable as those of any relation that is
 * WAL-logged, or is not. */
extern void gpusort_page_writer_end(GpuSortPageWriter *writer);

#endif							/* GPUSORT_PAGE_WRITER_H */
