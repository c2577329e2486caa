/*
 * gsort_host.c
 *	  The device API on the CPU: the device itself, and the table of its
 *	  operations.
 *
 * In:  calls of cuda/api, on the thread that calls gsort.h.
 * Out: a device with its threads, memory and eventfd.
 *
 * host_job.c      jobs: calls, and the work done for them
 * host_events.c   completed work becomes events
 * host_ops.c      queues between the caller and the threads
 * host_sort.c, host_merge.c, host_fetch.c, host_run.c
 *                 runs of rows, from the top down
 * host_radix.c, host_pool.c, host_memory.c
 *                 their building blocks
 * host_limits.c   limits of processors and memory
 */
#include "api/gsort_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/host_ops.h"

/* One thread stays free for light tasks while another sorts. */
#define THREADS_MIN		2

/* Opens the device: its event descriptor, then its threads.  A failure releases
 * everything. */
static gsort_status
host_open(const gsort_device_options *options, gsort_device **device,
		  char *reason, size_t reason_bytes)
{
	host_device *host = calloc(1, sizeof(*host));
	int			threads = options->threads;

	if (host == NULL)
		return GSORT_NOMEM;
	host->limits = host_limits_now();
	if (threads == 0)
		threads = host->limits.processors;
	if (threads < THREADS_MIN)
		threads = THREADS_MIN;
	host->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (host->event_fd < 0)
	{
		snprintf(reason, reason_bytes, "could not make an event descriptor: %s", strerror(errno));
		free(host);
		return GSORT_NOMEM;
	}
	host->pool = host_pool_start(threads, options->nice);
	if (host->pool == NULL)
	{
		snprintf(reason, reason_bytes, "could not start %d threads", threads);
		close(host->event_fd);
		free(host);
		return GSORT_NOMEM;
	}
	host_memory_init(&host->memory, &host->common.faults);
	pthread_mutex_init(&host->lock, NULL);
	*device = &host->common;
	return GSORT_OK;
}

static gsort_status
host_pin(gsort_device *device, void *base, size_t bytes)
{
	(void) base;
	(void) bytes;
	((host_device *) device)->pinned = 1;
	return GSORT_OK;
}

static int
host_fd(gsort_device *device)
{
	return ((host_device *) device)->event_fd;
}

static uint64_t
host_default_budget(gsort_device *device)
{
	return ((host_device *) device)->limits.memory_bytes / 8;
}

static void
host_get_info(gsort_device *device, gsort_device_info *info)
{
	host_device *host = (host_device *) device;
	int			threads = host_pool_threads(host->pool);

	info->kind = GSORT_KIND_HOST;
	info->devices = 1;
	snprintf(info->name, sizeof(info->name), "host (%d threads)", threads);
	info->processors = threads < host->limits.processors ? threads : host->limits.processors;
	info->memory_bytes = host->limits.memory_bytes;
	info->used_bytes = host_memory_used(&host->memory);
	info->pinned = host->pinned;
}

/* Shuts the device.  Joins the threads first, then frees the operations that
 * never ran and everything else. */
static void
host_shut(gsort_device *device)
{
	host_device *host = (host_device *) device;
	host_task_list unrun;

	for (host_job *job = host->jobs; job != NULL; job = job->next)
		host_op_drop_waiting(job);
	unrun = host_pool_stop(host->pool);
	host_op_list_free(&unrun);
	host_op_list_free(&host->done);
	while (host->jobs != NULL)
		host_job_free(host->jobs);
	host_memory_destroy(&host->memory);
	pthread_mutex_destroy(&host->lock);
	close(host->event_fd);
	free(host);
}

const gsort_device_ops gsort_host_ops = {
	.open = host_open,
	.pin = host_pin,
	.fd = host_fd,
	.poll = host_poll,
	.get_info = host_get_info,
	.default_budget = host_default_budget,
	.shut = host_shut,
	.job_bytes = host_job_bytes,
	.retained_bytes = host_job_retained_bytes,
	.merge_bytes = host_job_merge_bytes,
	.order_bytes = host_job_order_bytes,
	.job_open = host_job_open,
	.job_reserve = host_job_reserve,
	.job_append = host_job_append,
	.job_finish_run = host_job_finish_run,
	.job_fetch = host_job_fetch,
	.job_next_run = host_job_next_run,
	.job_merge = host_job_merge,
	.job_fetch_order = host_job_fetch_order,
	.job_close = host_job_close,
};
