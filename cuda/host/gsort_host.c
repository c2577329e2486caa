/*
 * gsort_host.c
 *	  The device API on the CPU: the device, its jobs, and the work that they
 *	  request.
 *
 * In:  calls of cuda/api, on the thread that calls gsort.h.
 * Out: a device with its threads, memory and eventfd; operations, each with the
 *	    function that a thread of the pool runs.
 *
 * host_ops.c      queues between the caller and the threads, and events
 * host_sort.c, host_segments.c, host_merge.c, host_run.c
 *                 runs of rows, from the top down
 * host_radix.c, radix_steps.c, host_pool.c, host_memory.c
 *                 their building blocks
 * host_limits.c   limits of processors and memory
 */
#include "host/host_ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* One thread stays free for light tasks while another sorts. */
#define THREADS_MIN		2

/* The minimum interval between two checks of the machine's free memory. */
#define LIMITS_RECHECK_MS	100

/* --- the device ----------------------------------------------------------- */

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
		snprintf(reason, reason_bytes, "could not make an event descriptor: %s", strerror(errno));
	else
	{
		host->pool = host_pool_start(threads, options->nice);
		if (host->pool == NULL)
		{
			snprintf(reason, reason_bytes, "could not start %d threads", threads);
			close(host->event_fd);
		}
	}
	if (host->pool == NULL)
	{
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
	{
		if (!atomic_load(&job->closing))
			host_op_close_job(job);
	}
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

/* --- memory --------------------------------------------------------------- */

/* The peak is the larger of the sort and the gather of the retained keys, which
 * runs after the rows are freed. */
static uint64_t
host_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units)
{
	const gsort_job_options *options = &job->options;
	int			with_nulls = options->null_mask != 0;
	uint64_t	key_bytes = key_extents_of_rows(rows) *
		host_extent_bytes(host_key_extent_kind(options->key_columns, with_nulls));
	uint64_t	sort_bytes = arena_extents_for(units) * GSORT_EXTENT_BYTES +
		host_sort_bytes(options, rows);
	uint64_t	keep_bytes = host_sort_order_bytes(rows) +
		retained_keys_bytes(options->key_columns, rows, with_nulls);

	return key_bytes + (sort_bytes > keep_bytes ? sort_bytes : keep_bytes);
}

/* No thread works for the job between its finish and its event. */
static uint64_t
host_job_held_bytes(const gsort_job *job)
{
	return ((const host_job *) job)->run.account.bytes;
}

/* --- work, on the pool's threads ------------------------------------------ */

static void
append_chunk(host_op *op)
{
	host_run_append(&op->job->run, &op->u.chunk);
}

static void
sort_run(host_op *op)
{
	host_job   *job = op->job;
	host_finish *finish = &op->u.finish;

	op->status = job->run.bad_data ? GSORT_BAD_DATA :
		host_run_sort(&job->run, host_device_of(job)->pool, &finish->plan, &finish->ties,
					  finish->rows, finish->how == GSORT_SORTED_RUN, op->limit_bytes,
					  &job->closing, &finish->begins);
}

static void
end_run(host_op *op)
{
	host_job   *job = op->job;
	host_next_run *next = &op->u.next_run;

	/* the freed rows make room for the keys */
	host_run_drop_rows(&job->run);
	if (next->retain != GSORT_RETAIN_NOTHING)
		next->retained = host_retained_add(&job->retained, &job->run, host_device_of(job)->pool,
										   next->retain == GSORT_RETAIN_KEYS_AND_NULLS,
										   op->limit_bytes, &job->closing);
	if (!next->retained)
		host_retained_drop_keys(&job->retained);
	host_run_clear(&job->run);
}

static void
merge_runs(host_op *op)
{
	host_job   *job = op->job;

	op->status = host_retained_merge(&job->retained, host_device_of(job)->pool, &op->u.merge,
									 op->limit_bytes, &job->closing);
}

static void
fetch_block(host_op *op)
{
	const host_job *job = op->job;
	const host_fetch *fetch = &op->u.fetch;

	if (job->retained.order != NULL)
		memcpy(fetch->to, job->retained.order + fetch->block.first_row, fetch->block.bytes);
	else
		host_run_fetch(&job->run, &fetch->block, fetch->units_before, fetch->to);
}

static void
run_close(host_task *task)
{
	host_op    *op = (host_op *) task;
	host_device *device = host_device_of(op->job);

	host_retained_free(&op->job->retained);
	host_run_free(&op->job->run);
	if (atomic_fetch_sub(&device->open_jobs, 1) == 1)
		host_memory_trim(&device->memory, HOST_IDLE_BYTES);
	host_op_done(op);
}

/* --- calls, on the caller's thread ---------------------------------------- */

static gsort_status
host_job_open(gsort_device *device, const gsort_job *blank, gsort_job **job)
{
	host_device *host = (host_device *) device;
	host_job   *made = calloc(1, sizeof(*made));

	if (made == NULL || !host_run_init(&made->run, &host->memory, &blank->options))
	{
		free(made);
		return gsort_fail(device, GSORT_NOMEM, "out of memory for a job");
	}
	host_retained_init(&made->retained, &made->run);
	made->common = *blank;
	made->close.task.run = run_close;
	made->close.job = made;
	made->close.kind = GSORT_EVENT_CLOSED;
	made->next = host->jobs;
	host->jobs = made;
	atomic_fetch_add(&host->open_jobs, 1);
	*job = &made->common;
	return GSORT_OK;
}

/* True if the machine has memory for a run of that many rows and units beside
 * all other reservations. */
static int
machine_has_room(const gsort_job *job, uint64_t rows, uint64_t units)
{
	host_device *host = (host_device *) job->device;
	uint64_t	run_bytes = host_job_bytes(job, rows, units);
	double		now = host_now_ms();

	if (run_bytes <= job->reserved_bytes)
		return 1;
	if (now - host->looked_ms > LIMITS_RECHECK_MS)
	{
		host->limits_now = host_limits_now();
		host->looked_ms = now;
	}
	return host_limits_leave_room(&host->limits_now,
								  job->device->reserved_bytes - job->reserved_bytes + run_bytes);
}

/* Makes extents.  While the job is fed, only this thread touches the run's
 * account; appends do not. */
static gsort_status
host_job_reserve(gsort_job *job, uint64_t rows, uint64_t units)
{
	host_run   *run = &((host_job *) job)->run;
	host_device *host = (host_device *) job->device;
	int			made;

	if (!machine_has_room(job, rows, units))
		return gsort_fail(job->device, GSORT_NOMEM,
						  "a reservation would leave too little of the machine's memory, "
						  "%llu bytes are left",
						  (unsigned long long) host->limits_now.left_bytes);
	made = host_run_reserve(run, rows, units, job->device->budget_bytes);

	job->stats.peak_bytes = run->account.peak_bytes;
	if (!made)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for extents");
	return GSORT_OK;
}

/* Starts an append or a fetch.  A test may have it refused, as a GPU refuses it
 * when staging is full. */
static host_op *
new_transfer(gsort_job *job, gsort_event_kind kind, uint64_t tag, void (*work) (host_op *op))
{
	if (gsort_fails_now(&job->device->faults, GSORT_FAIL_TRANSFERS))
	{
		gsort_fail(job->device, GSORT_NOMEM, "a test wants this transfer to be refused");
		return NULL;
	}
	return host_op_new((host_job *) job, kind, tag, 0, work);
}

static gsort_status
host_job_append(gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit)
{
	host_op    *op = new_transfer(job, GSORT_EVENT_APPENDED, chunk->tag, append_chunk);

	if (op == NULL)
		return GSORT_NOMEM;
	op->u.chunk = (host_chunk) {*chunk, first_unit, job->rows};
	host_op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_finish_run(gsort_job *job)
{
	host_op    *op = host_op_new((host_job *) job, GSORT_EVENT_RUN_FINISHED, 0, job->rows,
								 sort_run);

	if (op == NULL)
		return GSORT_NOMEM;
	op->u.finish.how = job->finish_how;
	op->u.finish.plan = key_plan_make(job->options.key_columns, job->options.null_first_mask,
									  job->column_stats);
	op->u.finish.ties = tie_rule_make(&job->options, &op->u.finish.plan);
	op->u.finish.rows = job->rows;
	host_op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_fetch(gsort_job *job, const gsort_block *block, void *dst, uint64_t tag)
{
	host_op    *op = new_transfer(job, GSORT_EVENT_FETCHED, tag, fetch_block);

	if (op == NULL)
		return GSORT_NOMEM;
	op->u.fetch = (host_fetch) {*block, block_units_before(block), dst};
	host_op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_next_run(gsort_job *job)
{
	host_op    *op = host_op_new((host_job *) job, GSORT_EVENT_RUN_BEGUN, 0,
								 job->retain != GSORT_RETAIN_NOTHING ? job->rows : 0, end_run);

	if (op == NULL)
		return GSORT_NOMEM;
	op->u.next_run.retain = job->retain;
	host_op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_merge(gsort_job *job, const key_plan *plan)
{
	host_job   *host = (host_job *) job;
	host_op    *op = host_op_new(host, GSORT_EVENT_MERGED, 0, job->ended_rows, merge_runs);

	if (op == NULL)
		return GSORT_NOMEM;
	host_run_clear(&host->run);
	op->u.merge = *plan;
	host_op_enqueue(op);
	return GSORT_OK;
}

static void
host_job_close(gsort_job *job)
{
	host_op_close_job((host_job *) job);
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
	.job_held_bytes = host_job_held_bytes,
	.job_open = host_job_open,
	.job_reserve = host_job_reserve,
	.job_append = host_job_append,
	.job_finish_run = host_job_finish_run,
	.job_fetch = host_job_fetch,
	.job_next_run = host_job_next_run,
	.job_merge = host_job_merge,
	.job_close = host_job_close,
};
