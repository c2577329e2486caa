/*
 * btree_load.h
 *	  Builds a btree bottom-up from index tuples in the index's order.
 */
#ifndef GPUSORT_BTREE_LOAD_H
#define GPUSORT_BTREE_LOAD_H

#include "postgres.h"

#include "access/itup.h"
#include "storage/shm_mq.h"
#include "utils/rel.h"

typedef struct GpuSortBtreeLoad GpuSortBtreeLoad;

/* Begins to fill an index that has no pages.  unique: equal tuples are not to
 * be merged.  writer: as of gpusort_page_queue_begin.  Memory: a child of the
 * current context. */
extern GpuSortBtreeLoad *gpusort_btree_load_begin(Relation index, bool unique,
												  shm_mq_handle *writer);

/* Adds a tuple, which is not before those added so far, nor too large for a
 * page.  equals_last: its keys equal those of the tuple added last.  Its bytes
 * must stay until gpusort_btree_load_keep. */
extern void gpusort_btree_load_add(GpuSortBtreeLoad *load, IndexTuple tuple, bool equals_last);

/* Copies what the load still needs of the tuples that were added. */
extern void gpusort_btree_load_keep(GpuSortBtreeLoad *load);

/* Writes the pages that are left, and the metapage, and frees everything. */
extern void gpusort_btree_load_end(GpuSortBtreeLoad *load);

#endif							/* GPUSORT_BTREE_LOAD_H */
