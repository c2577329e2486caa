/*
 * load_batches.h
 *	  Hands sorted index tuples to the load of a btree, which runs here or in a
 *	  parallel worker.
 */
#ifndef GPUSORT_LOAD_BATCHES_H
#define GPUSORT_LOAD_BATCHES_H

#include "postgres.h"

#include "storage/shm_mq.h"
#include "utils/rel.h"

/* The bytes of a worker's queue: enough for both processes to work for a
 * while. */
#define GPUSORT_LOAD_QUEUE_BYTES	(512 * 1024)

typedef struct GpuSortLoadBatches GpuSortLoadBatches;

/*
 * Begins the load of an index that has no pages; or, with the queue of a worker
 * that runs gpusort_load_batches_serve, sends it the tuples.  unique: as of
 * gpusort_btree_load_begin.  Memory: the current context.
 */
extern GpuSortLoadBatches *gpusort_load_batches_begin(Relation index, bool unique,
													  shm_mq_handle *worker);

/* Returns a place for the next tuple, with room for any.  The tuple added last
 * stays where it is until the next one is added. */
extern char *gpusort_load_batches_place(GpuSortLoadBatches *batches);

/* Adds the tuple at that place.  equals_last: as of gpusort_btree_load_add. */
extern void gpusort_load_batches_add(GpuSortLoadBatches *batches, bool equals_last);

/* Ends the load, but for what a worker still has to do. */
extern void gpusort_load_batches_end(GpuSortLoadBatches *batches);

/* In a worker: loads the tuples that come.  If the sender goes before it has
 * ended, there is no index.  writer: as of gpusort_page_queue_begin. */
extern void gpusort_load_batches_serve(Relation index, bool unique, shm_mq_handle *queue,
									   shm_mq_handle *writer);

#endif							/* GPUSORT_LOAD_BATCHES_H */
