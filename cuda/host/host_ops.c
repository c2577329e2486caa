/*
 * host_ops.c
 *	  The queues of operations (see host_ops.h).
 *
 * One mutex of the device guards all queues.  No work runs while it is held.
 */
#include "host/host_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void
host_op_free(host_op *op)
{
	if (op->kind == GSORT_EVENT_RUN_FINISHED)
	{
		free(op->u.finish.begins.rows);
		free(op->u.finish.begins.units);
	}
	/* a close operation is part of its job */
	if (op->kind != GSORT_EVENT_CLOSED)
		free(op);
}

void
host_op_list_free(host_task_list *list)
{
	host_task  *task;

	while ((task = host_task_list_take(list)) != NULL)
		host_op_free((host_op *) task);
}

host_op *
host_op_new(host_job *job, gsort_event_kind kind, uint64_t tag, void (*run) (host_task *task))
{
	host_op    *op = calloc(1, sizeof(*op));

	if (op == NULL)
	{
		gsort_fail(job->common.device, GSORT_NOMEM, "out of memory for an operation");
		return NULL;
	}
	op->task.run = run;
	op->job = job;
	op->kind = kind;
	op->tag = tag;
	return op;
}

static int
goes_alone(const host_op *op)
{
	return op->kind != GSORT_EVENT_APPENDED && op->kind != GSORT_EVENT_FETCHED;
}

static void
hand_to_pool(host_job *job, host_op *op)
{
	job->in_pool++;
	job->alone = goes_alone(op);
	host_pool_submit(host_device_of(job)->pool, &op->task);
}

static int
may_begin(const host_job *job, const host_op *op)
{
	return goes_alone(op) ? job->in_pool == 0 : !job->alone;
}

void
host_op_enqueue(host_op *op)
{
	host_job   *job = op->job;
	host_device *device = host_device_of(job);

	pthread_mutex_lock(&device->lock);
	if (job->waiting.first == NULL && may_begin(job, op))
		hand_to_pool(job, op);
	else
		host_task_list_add(&job->waiting, &op->task);
	pthread_mutex_unlock(&device->lock);
}

void
host_wake_caller(host_device *device)
{
	uint64_t	one = 1;

	/* the write fails only if the counter is full, and then the descriptor is
	 * readable anyway */
	while (write(device->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void
host_op_done(host_op *op)
{
	host_job   *job = op->job;
	host_device *device = host_device_of(job);

	pthread_mutex_lock(&device->lock);
	job->in_pool--;
	if (goes_alone(op))
		job->alone = 0;
	if (op->kind != GSORT_EVENT_CLOSED && atomic_load(&job->closing))
	{
		host_op_free(op);
		if (job->in_pool == 0)
			hand_to_pool(job, &job->close);
	}
	else
	{
		host_task_list_add(&device->done, &op->task);
		while (job->waiting.first != NULL && may_begin(job, (host_op *) job->waiting.first))
			hand_to_pool(job, (host_op *) host_task_list_take(&job->waiting));
		host_wake_caller(device);
	}
	pthread_mutex_unlock(&device->lock);
}

/* Drops the job's waiting operations; the lock is held.  No operation of the
 * job may start behind its close, which frees the job's memory. */
static void
drop_waiting(host_job *job)
{
	atomic_store(&job->closing, 1);
	host_op_list_free(&job->waiting);
}

void
host_op_drop_waiting(host_job *job)
{
	host_device *device = host_device_of(job);

	pthread_mutex_lock(&device->lock);
	drop_waiting(job);
	pthread_mutex_unlock(&device->lock);
}

void
host_op_close_job(host_job *job)
{
	host_device *device = host_device_of(job);

	pthread_mutex_lock(&device->lock);
	drop_waiting(job);
	if (job->in_pool == 0)
		hand_to_pool(job, &job->close);
	pthread_mutex_unlock(&device->lock);
}
