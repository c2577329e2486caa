/*
 * host_ops.h
 *	  The host device's operations: how the work that gsort.h's calls ask for
 *	  gets to the threads, and how its end comes back.
 *
 * In:  operations, made by the calling thread with copies of all they need.
 * Out: the operations that are done, on the device's list, and its eventfd made
 *	    readable.
 *
 * A job's appends run side by side, and so do its fetches.  Any other operation
 * of a job runs alone: it waits for those before it, and those behind it wait.
 * Jobs know nothing of each other.  An operation belongs to the calling thread
 * until it is enqueued, then to the threads, and from the list of done ones on
 * to the caller again.
 *
 * Who may touch what: the common part of a device or job belongs to the calling
 * thread.  A job's run and its kept keys belong to its operations; but the
 * calling thread makes extents in the run while it feeds, and gives memory back
 * when a cut's event is handed out.  The fields below a comment that names the
 * lock are guarded by it.
 */
#ifndef GSORT_HOST_OPS_H
#define GSORT_HOST_OPS_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/gsort_device.h"
#include "host/host_fetch.h"
#include "host/host_memory.h"
#include "host/host_merge.h"
#include "host/host_limits.h"
#include "host/host_pool.h"
#include "host/host_run.h"
#include "host/host_sort.h"

typedef struct host_job host_job;

typedef struct host_cut
{
	gsort_cut_how how;
	key_plan	plan;
	tie_rule	ties;
	uint64_t	rows;
	uint64_t	limit_bytes;
	host_begins begins;
	double		ms;
} host_cut;

typedef struct host_next_run
{
	gsort_keep	keep;
	uint64_t	limit_bytes;
	int			kept;
} host_next_run;

typedef struct host_merge
{
	key_plan	plan;
	uint64_t	limit_bytes;
	double		ms;
} host_merge;

/* Of the merge order. */
typedef struct host_order_fetch
{
	uint64_t	first_row;
	uint32_t	bytes;
	void	   *to;
} host_order_fetch;

typedef struct host_fetch
{
	host_window window;
	uint64_t   *to;
} host_fetch;

/* One operation: the pool's task, then the event to be. */
typedef struct host_op
{
	host_task	task;			/* must be first; its next also links the lists of ops */
	host_job   *job;
	gsort_event_kind kind;
	gsort_status status;
	uint64_t	tag;
	union
	{
		host_chunk	chunk;
		host_cut	cut;
		host_next_run next_run;
		host_merge	merge;
		host_fetch	fetch;
		host_order_fetch order_fetch;
	}			u;
} host_op;

typedef struct host_op_list
{
	host_op    *first;
	host_op    *last;
} host_op_list;

typedef struct host_device
{
	gsort_device common;		/* must be first */
	host_pool  *pool;
	host_memory memory;
	host_limits limits;			/* when it was opened */
	host_limits limits_now;		/* when it looked last */
	double		looked_ms;
	int			event_fd;
	int			pinned;
	host_job   *jobs;			/* the calling thread's */
	atomic_int	open_jobs;

	pthread_mutex_t lock;
	/* guarded by lock */
	host_op_list done;
} host_device;

struct host_job
{
	gsort_job	common;			/* must be first */
	host_job   *next;
	host_job   *previous;
	host_run	run;
	host_kept	kept;
	atomic_int	closing;
	host_op		close;
	/* guarded by the device's lock */
	host_op_list waiting;		/* for an operation that goes alone, or to go alone */
	int			alone;			/* such a one is with the pool */
	uint32_t	in_pool;
};

static inline host_device *
host_device_of(const host_job *job)
{
	return (host_device *) job->common.device;
}

/* --- lists ---------------------------------------------------------------- */

void		host_op_list_add(host_op_list *list, host_op *op);

/* The first one, or NULL. */
host_op    *host_op_list_take(host_op_list *list);

void		host_op_list_free(host_op_list *list);

/* --- the way of an operation ---------------------------------------------- */

/* NULL: out of memory. */
host_op    *host_op_new(host_job *job, gsort_event_kind kind, uint64_t tag,
						void (*run) (host_task *task));

/* To the threads, behind the job's operations that it must wait for. */
void		host_op_enqueue(host_op *op);

/* The end of its work, on a thread. */
void		host_op_done(host_op *op);

/* The job ends: what waits is dropped, and its close follows what is under
 * way. */
void		host_op_close_job(host_job *job);

/* The same when the device is shut, which frees the job itself; a close that
 * still comes is no harm. */
void		host_op_drop_waiting(host_job *job);

void		host_op_free(host_op *op);

/* Makes the device's descriptor readable. */
void		host_wake_caller(host_device *device);

#endif							/* GSORT_HOST_OPS_H */
