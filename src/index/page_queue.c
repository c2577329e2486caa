/*
 * page_queue.c
 *	  Hands the full pages of a new index to their writer, which runs here or in
 *	  a parallel worker.
 *
 * In:  pages, by their block numbers.
 * Out: the pages, for page_writer.c in this process; or through a queue
 *	    (shm_mq.h), for the same in a worker.
 *
 * A page's WAL, checksum and write take two to three times as long as filling
 * it does, so a worker that writes takes most of the work off the one that
 * fills.
 *
 * Runs in the process that loads the index, and in such a worker.  Pages are
 * memory of the process that fills them.  The worker writes copies.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "index/page_queue.h"
#include "index/page_writer.h"

/* A page follows.  Without one, all pages have been sent. */
typedef struct PageHead
{
	BlockNumber block;
	uint32		unused;			/* the page is aligned */
} PageHead;

struct GpuSortPageQueue
{
	GpuSortPageWriter *writer;	/* NULL: a worker has it */
	shm_mq_handle *worker;
	MemoryContext context;
};

/* If the worker has gone, its error ends the build in the leader, whatever this
 * process still sends. */
static void
send_page(GpuSortPageQueue *queue, BlockNumber block, Page page)
{
	PageHead	head = {.block = block};
	shm_mq_iovec parts[] = {{(const char *) &head, sizeof(head)}, {(const char *) page, BLCKSZ}};

	(void) shm_mq_sendv(queue->worker, parts, page != NULL ? 2 : 1, false, page == NULL);
}

GpuSortPageQueue *
gpusort_page_queue_begin(Relation relation, shm_mq_handle *worker)
{
	GpuSortPageQueue *queue = palloc0(sizeof(GpuSortPageQueue));

	queue->worker = worker;
	queue->context = CurrentMemoryContext;
	if (worker == NULL || shm_mq_get_receiver(shm_mq_get_queue(worker)) == NULL)
		queue->writer = gpusort_page_writer_begin(relation);
	return queue;
}

Page
gpusort_page_queue_page(GpuSortPageQueue *queue)
{
	return queue->writer != NULL ? gpusort_page_writer_page(queue->writer) :
		MemoryContextAlloc(queue->context, BLCKSZ);
}

void
gpusort_page_queue_add(GpuSortPageQueue *queue, BlockNumber block, Page page)
{
	if (queue->writer != NULL)
	{
		gpusort_page_writer_write(queue->writer, block, page);
		return;
	}
	send_page(queue, block, page);
	pfree(page);
}

void
gpusort_page_queue_end(GpuSortPageQueue *queue)
{
	if (queue->writer != NULL)
		gpusort_page_writer_end(queue->writer);
	else
		send_page(queue, InvalidBlockNumber, NULL);
	pfree(queue);
}

void
gpusort_page_queue_serve(Relation relation, shm_mq_handle *queue)
{
	GpuSortPageWriter *writer = NULL;
	Size		bytes;
	void	   *message;

	while (shm_mq_receive(queue, &bytes, &message, false) == SHM_MQ_SUCCESS)
	{
		Page		page;

		/* the queue may never be empty, and then nothing else looks for them */
		CHECK_FOR_INTERRUPTS();
		if (writer == NULL)
			writer = gpusort_page_writer_begin(relation);
		if (bytes == sizeof(PageHead))
		{
			gpusort_page_writer_end(writer);
			return;
		}
		page = gpusort_page_writer_page(writer);
		memcpy(page, (PageHead *) message + 1, BLCKSZ);
		gpusort_page_writer_write(writer, ((PageHead *) message)->block, page);
	}
}
