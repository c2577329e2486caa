/*
 * host_ops.c
 *	  The queues of operations (see host_ops.h), and events of completed ones.
 *
 * One mutex of the device guards all queues.  No work runs while it is held.
 * Events are made on the thread that calls gsort.h.
 */
#include "host/host_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* An operation on more rows is heavy: light ones must not wait for it. */
#define HEAVY_ROWS		(1u << 16)

void
host_op_free(host_op *op)
{
	if (op->kind == GSORT_EVENT_RUN_FINISHED)
		free(op->u.finish.begins.begins);
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

double
host_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static void
run_op(host_task *task)
{
	host_op    *op = (host_op *) task;
	double		begin_ms = host_now_ms();

	if (!atomic_load(&op->job->closing))
		op->work(op);
	op->ms = host_now_ms() - begin_ms;
	host_op_done(op);
}

host_op *
host_op_new(host_job *job, gsort_event_kind kind, uint64_t tag, uint64_t rows,
			void (*work) (host_op *op))
{
	host_op    *op = calloc(1, sizeof(*op));

	if (op == NULL)
	{
		gsort_fail(job->common.device, GSORT_NOMEM, "out of memory for an operation");
		return NULL;
	}
	op->task.run = run_op;
	op->work = work;
	op->task.heavy = rows > HEAVY_ROWS;
	op->limit_bytes = job->common.device->budget_bytes;
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

static void
wake_caller(host_device *device)
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
		wake_caller(device);
	}
	pthread_mutex_unlock(&device->lock);
}

void
host_op_close_job(host_job *job)
{
	host_device *device = host_device_of(job);

	pthread_mutex_lock(&device->lock);
	atomic_store(&job->closing, 1);
	/* no operation may start behind the close, which frees the job's memory */
	host_op_list_free(&job->waiting);
	if (job->in_pool == 0)
		hand_to_pool(job, &job->close);
	pthread_mutex_unlock(&device->lock);
}

/* --- events --------------------------------------------------------------- */

/* Completes a finish: takes its directory and statistics, and releases the
 * parts of the run that are no longer needed. */
static gsort_status
finish_ended(host_op *op, gsort_status status)
{
	host_job   *job = op->job;
	host_finish *finish = &op->u.finish;
	gsort_job_stats *stats = &job->common.stats;

	if (status == GSORT_BAD_DATA)
		gsort_fail_bad_data(job->common.device, job->run.bad_data);
	else if (status == GSORT_NOMEM)
		gsort_fail(job->common.device, status, "out of memory for the sort");
	else if (status == GSORT_OK)
	{
		status = gsort_make_directory(&job->common, finish->begins.begins, finish->begins.n);
		stats->sort_ms = op->ms;
		stats->key_bits = finish->plan.bits;
		stats->key_words = finish->plan.words;
		stats->engine = finish->plan.words > 0 ? GSORT_ENGINE_RADIX : GSORT_ENGINE_AUTO;
	}
	if (status != GSORT_OK)
		host_run_drop_order(&job->run);
	else if (finish->how != GSORT_SORTED_RUN)
		host_run_keep_output(&job->run, job->common.arena_units);
	return status;
}

/* Applies a completed operation to its job, which is not closing.  Returns the
 * status of its event. */
static gsort_status
operation_ended(host_op *op, gsort_status status)
{
	host_job   *job = op->job;
	gsort_job_stats *stats = &job->common.stats;

	if (op->kind == GSORT_EVENT_RUN_FINISHED)
		status = finish_ended(op, status);
	else if (op->kind == GSORT_EVENT_RUN_BEGUN && !op->u.next_run.retained)
		job->common.retain = GSORT_RETAIN_NOTHING;
	else if (op->kind == GSORT_EVENT_MERGED)
	{
		if (status == GSORT_NOMEM)
			gsort_fail(job->common.device, status, "out of memory for the merge order");
		stats->merge_ms = op->ms;
	}
	if (goes_alone(op))
		stats->peak_bytes = job->run.account.peak_bytes;
	return status;
}

void
host_job_free(host_job *job)
{
	host_job  **link = &host_device_of(job)->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	host_retained_free(&job->retained);
	host_run_free(&job->run);
	gsort_job_dispose(&job->common);
	free(job);
}

/* Makes the event of a completed operation.  Frees the operation, or the job
 * that it closed. */
static gsort_event
hand_out(host_op *op)
{
	gsort_job  *job = &op->job->common;
	/* a lost device voids every result */
	gsort_status status = gsort_is_lost(job->device) ? GSORT_DEVICE_LOST : op->status;
	gsort_event event;

	/* a thread is freeing the memory of a closing job at this moment */
	if (!job->closing)
		status = operation_ended(op, status);
	event = gsort_operation_ended(job, op->kind, status, op->tag);
	if (op->kind == GSORT_EVENT_CLOSED)
		host_job_free(op->job);
	else
		host_op_free(op);
	return event;
}

int
host_poll(gsort_device *device, gsort_event *out, int max)
{
	host_device *host = (host_device *) device;
	host_task_list done = {NULL, NULL};
	host_task  *task;
	uint64_t	count;
	int			n = 0;

	while (read(host->event_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&host->lock);
	while (n < max && (task = host_task_list_take(&host->done)) != NULL)
	{
		host_task_list_add(&done, task);
		n++;
	}
	if (host->done.first != NULL)
		wake_caller(host);
	pthread_mutex_unlock(&host->lock);
	for (int i = 0; i < n; i++)
		out[i] = hand_out((host_op *) host_task_list_take(&done));
	return n;
}
