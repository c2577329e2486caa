/*
 * load_batches.c
 *	  Hands sorted index tuples to the load of a btree, which runs here or in a
 *	  parallel worker.
 *
 * In:  index tuples in the index's order, each made in its place in a batch.
 * Out: full batches, for btree_load.c in this process; or through a queue
 *	    (shm_mq.h), for the same in a worker.
 *
 * Reading and checking a row takes about as long as loading it, so a worker
 * that loads takes half of the work off the process that reads.
 *
 * Runs in the backend that builds the index, and in such a worker.  A batch is
 * memory of the backend.  The worker reads its copy in the queue.
 */
#include "postgres.h"

#include "access/itup.h"
#include "miscadmin.h"

#include "index/btree_load.h"
#include "index/load_batches.h"

#define BATCH_BYTES		(32 * 1024)

/* A tuple follows. */
typedef struct TupleHead
{
	bool		equals_last;
	uint8		unused[MAXIMUM_ALIGNOF - sizeof(bool)]; /* the tuple is aligned */
} TupleHead;

#define TUPLE_BYTES_MAX		(sizeof(TupleHead) + INDEX_SIZE_MASK + 1)

typedef struct Batch
{
	uint32		used;			/* bytes */
	uint32		is_last;
	char		bytes[BATCH_BYTES];
} Batch;

struct GpuSortLoadBatches
{
	GpuSortBtreeLoad *load;		/* NULL: a worker has it */
	shm_mq_handle *worker;
	Batch	   *filling;
	Batch	   *other;			/* has the tuple before the first one of filling */
};

/* --- a full batch --------------------------------------------------------- */

static void
load_batch(GpuSortBtreeLoad *load, const Batch *batch)
{
	for (const char *at = batch->bytes; at < batch->bytes + batch->used;)
	{
		const TupleHead *head = (const TupleHead *) at;
		IndexTuple	tuple = (IndexTuple) (head + 1);

		gpusort_btree_load_add(load, tuple, head->equals_last);
		at += sizeof(TupleHead) + MAXALIGN(IndexTupleSize(tuple));
	}
	gpusort_btree_load_keep(load);
}

/* If the worker has gone, its error has come before. */
static void
send_batch(shm_mq_handle *worker, const Batch *batch)
{
	if (shm_mq_send(worker, offsetof(Batch, bytes) + batch->used, batch, false,
					batch->is_last) == SHM_MQ_SUCCESS)
		return;
	CHECK_FOR_INTERRUPTS();
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("lost connection to the parallel worker that loads the index"),
			 errhint("More details may be available in the server log.")));
}

static void
hand_over(GpuSortLoadBatches *batches)
{
	Batch	   *full = batches->filling;

	if (batches->load != NULL)
		load_batch(batches->load, full);
	else
		send_batch(batches->worker, full);
	batches->filling = batches->other;
	batches->filling->used = 0;
	batches->other = full;
}

/* --- interface ------------------------------------------------------------ */

GpuSortLoadBatches *
gpusort_load_batches_begin(Relation index, bool unique, shm_mq_handle *worker)
{
	GpuSortLoadBatches *batches = palloc0(sizeof(GpuSortLoadBatches));

	batches->worker = worker;
	if (worker == NULL)
		batches->load = gpusort_btree_load_begin(index, unique, NULL);
	batches->filling = palloc0(sizeof(Batch));
	batches->other = palloc0(sizeof(Batch));
	return batches;
}

char *
gpusort_load_batches_place(GpuSortLoadBatches *batches)
{
	if (batches->filling->used > BATCH_BYTES - TUPLE_BYTES_MAX)
		hand_over(batches);
	return batches->filling->bytes + batches->filling->used + sizeof(TupleHead);
}

void
gpusort_load_batches_add(GpuSortLoadBatches *batches, bool equals_last)
{
	Batch	   *batch = batches->filling;
	TupleHead  *head = (TupleHead *) (batch->bytes + batch->used);

	head->equals_last = equals_last;
	batch->used += sizeof(TupleHead) + MAXALIGN(IndexTupleSize((IndexTuple) (head + 1)));
}

void
gpusort_load_batches_end(GpuSortLoadBatches *batches)
{
	batches->filling->is_last = true;
	hand_over(batches);
	if (batches->load != NULL)
		gpusort_btree_load_end(batches->load);
	pfree(batches->filling);
	pfree(batches->other);
	pfree(batches);
}

void
gpusort_load_batches_serve(Relation index, bool unique, shm_mq_handle *queue,
						   shm_mq_handle *writer)
{
	GpuSortBtreeLoad *load = NULL;
	Size		bytes;
	void	   *message;

	while (shm_mq_receive(queue, &bytes, &message, false) == SHM_MQ_SUCCESS)
	{
		const Batch *batch = message;

		if (load == NULL)
			load = gpusort_btree_load_begin(index, unique, writer);
		load_batch(load, batch);
		if (!batch->is_last)
			continue;
		gpusort_btree_load_end(load);
		return;
	}
}
