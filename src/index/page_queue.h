/*
 * page_queue.h
 *	  Hands the full pages of a new index to their writer, which runs here or in
 *	  a parallel worker.
 */
#ifndef GPUSORT_PAGE_QUEUE_H
#define GPUSORT_PAGE_QUEUE_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/shm_mq.h"
#include "utils/rel.h"

/* The bytes of a worker's queue: enough for both processes to work for a
 * while. */
#define GPUSORT_PAGE_QUEUE_BYTES	(512 * 1024)

typedef struct GpuSortPageQueue GpuSortPageQueue;

/* Begins to write an empty relation's main fork; or, with a queue that a worker
 * receives from (gpusort_page_queue_serve), sends it the pages.  Memory: the
 * current context. */
extern GpuSortPageQueue *gpusort_page_queue_begin(Relation relation, shm_mq_handle *worker);

/* Returns memory for a page. */
extern Page gpusort_page_queue_page(GpuSortPageQueue *queue);

/* Takes a page from gpusort_page_queue_page.  Blocks may come in any order, and
 * each block comes once. */
extern void gpusort_page_queue_add(GpuSortPageQueue *queue, BlockNumber block, Page page);

/* Ends the writing, but for what a worker still has to do. */
extern void gpusort_page_queue_end(GpuSortPageQueue *queue);

/* In a worker: writes the pages that come.  If the sender goes before it has
 * ended, the pages are part of no index. */
extern void gpusort_page_queue_serve(Relation relation, shm_mq_handle *queue);

#endif							/* GPUSORT_PAGE_QUEUE_H */
