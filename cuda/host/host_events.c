/*
 * host_events.c
 *	  Completed operations become events.
 *
 * In:  the device's list of completed operations.
 * Out: gsort_event, and the jobs' states, directories and statistics.
 *
 * Everything here runs on the thread that calls gsort.h.
 */
#include "host/host_ops.h"

#include <errno.h>
#include <unistd.h>

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
		status = gsort_make_directory(&job->common, finish->begins.rows, finish->begins.units,
									  finish->begins.n, finish->rows, finish->begins.total_units);
		stats->sort_ms = finish->ms;
		stats->key_bits = finish->plan.bits;
		stats->key_words = finish->plan.words;
		stats->engine = finish->plan.words > 0 ? GSORT_ENGINE_RADIX : GSORT_ENGINE_AUTO;
	}
	stats->peak_bytes = job->run.account.peak_bytes;
	gsort_finish_done(&job->common, status);
	if (status != GSORT_OK)
		host_run_drop_order(&job->run);
	else if (finish->how != GSORT_SORTED_RUN)
		host_run_drop_keys(&job->run);
	return status;
}

/* The status of a completed operation; a lost device voids every result. */
static gsort_status
final_status(host_op *op)
{
	gsort_device *device = op->job->common.device;

	if (!device->lost && gsort_fails_now(&device->faults, GSORT_FAIL_CALLS))
		gsort_fail(device, GSORT_DEVICE_LOST,
				   "a test wants the end of an operation to lose the device");
	return device->lost ? GSORT_DEVICE_LOST : op->status;
}

static void
merge_ended(host_op *op, gsort_status status)
{
	host_job   *job = op->job;

	if (status == GSORT_NOMEM)
		gsort_fail(job->common.device, status, "out of memory for the merge order");
	job->common.stats.merge_ms = op->u.merge.ms;
	job->common.stats.peak_bytes = job->run.account.peak_bytes;
	gsort_merge_done(&job->common, status);
}

/* Applies a completed operation to its job, which is not closing.  Returns the
 * status of its event. */
static gsort_status
operation_ended(host_op *op, gsort_status status)
{
	gsort_job  *job = &op->job->common;

	switch (op->kind)
	{
		case GSORT_EVENT_RUN_FINISHED:
			return finish_ended(op, status);
		case GSORT_EVENT_RUN_BEGUN:
			job->stats.peak_bytes = op->job->run.account.peak_bytes;
			gsort_run_begun(job, status, op->u.next_run.retained);
			break;
		case GSORT_EVENT_MERGED:
			merge_ended(op, status);
			break;
		case GSORT_EVENT_FETCHED:
			gsort_fetch_done(job);
			break;
		case GSORT_EVENT_APPENDED:
		case GSORT_EVENT_CLOSED:
			break;
	}
	return status;
}

/* Makes the event of a completed operation.  Frees the operation, or the job
 * that it closed. */
static void
hand_out(host_op *op, gsort_event *event)
{
	event->kind = op->kind;
	event->job_tag = op->job->common.options.tag;
	event->tag = op->tag;
	event->status = final_status(op);
	/* a thread is freeing the memory of a closing job at this moment */
	if (!op->job->common.closing)
		event->status = operation_ended(op, event->status);
	if (op->kind == GSORT_EVENT_CLOSED)
		host_job_free(op->job);
	else
		host_op_free(op);
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
		host_wake_caller(host);
	pthread_mutex_unlock(&host->lock);
	for (int i = 0; i < n; i++)
		hand_out((host_op *) host_task_list_take(&done), &out[i]);
	return n;
}
