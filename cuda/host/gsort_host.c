/*
 * gsort_host.c
 *	  The device API on the CPU.
 *
 * In:  operations from gsort.c, on the thread that calls gsort.h.
 * Out: events, through an eventfd and gsort_poll on that same thread.
 *
 * The calling thread copies what an operation needs into a host_op and hands
 * it to the pool; a pool thread does the work and puts the op on the list of
 * done ones.  Fetches of a job run side by side, all else one after the other;
 * jobs know nothing of each other.
 *
 * Who may touch what: the common part of a device or job belongs to the calling
 * thread.  A job's run and its kept keys belong to its operations; the calling
 * thread makes extents in the run while it feeds, and gives memory back when a cut's
 * event is handed out.  The fields below a comment naming the lock are guarded by it.
 */
#define _GNU_SOURCE				/* the set of cores this process may run on */

#include "api/gsort_device.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host/host_memory.h"
#include "host/host_merge.h"
#include "host/host_pool.h"
#include "host/host_radix.h"
#include "host/host_run.h"

/* Sorts above this may take so long that light operations must not wait for them. */
#define HEAVY_ROWS		(1u << 16)
#define PAIRS_ALIGN		256

typedef struct host_job host_job;

typedef struct host_cut
{
	gsort_cut_how how;
	key_plan	plan;
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

typedef struct op_list
{
	host_op    *first;
	host_op    *last;
} op_list;

typedef struct host_device
{
	gsort_device common;		/* must be first */
	host_pool  *pool;
	host_memory memory;
	int			event_fd;
	int			pinned;
	host_job   *jobs;			/* the calling thread's */
	atomic_int	open_jobs;

	pthread_mutex_t lock;
	/* guarded by lock */
	op_list		done;
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
	op_list		waiting;		/* behind an operation that goes alone */
	int			in_turn;		/* such a one, anything but a fetch, is with the pool */
	uint32_t	in_pool;
};

static host_device *
device_of(const host_job *job)
{
	return (host_device *) job->common.device;
}

/* --- operations ----------------------------------------------------------- */

static void
list_add(op_list *list, host_op *op)
{
	op->task.next = NULL;
	if (list->first == NULL)
		list->first = op;
	else
		list->last->task.next = &op->task;
	list->last = op;
}

static host_op *
list_take(op_list *list)
{
	host_op    *op = list->first;

	if (op != NULL)
		list->first = (host_op *) op->task.next;
	return op;
}

static void
op_free(host_op *op)
{
	if (op->kind == GSORT_EVENT_CUT)
	{
		free(op->u.cut.begins.rows);
		free(op->u.cut.begins.units);
	}
	/* the close op is part of its job */
	if (op->kind != GSORT_EVENT_CLOSED)
		free(op);
}

static void
list_free(op_list *list)
{
	host_op    *op;

	while ((op = list_take(list)) != NULL)
		op_free(op);
}

static host_op *
op_new(host_job *job, gsort_event_kind kind, uint64_t tag, void (*run) (host_task *task))
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

static void
hand_to_pool(host_job *job, host_op *op)
{
	job->in_pool++;
	job->in_turn = op->kind != GSORT_EVENT_FETCHED;
	host_pool_submit(device_of(job)->pool, &op->task);
}

static void
op_enqueue(host_op *op)
{
	host_job   *job = op->job;
	host_device *device = device_of(job);

	pthread_mutex_lock(&device->lock);
	if (job->in_turn)
		list_add(&job->waiting, op);
	else
		hand_to_pool(job, op);
	pthread_mutex_unlock(&device->lock);
}

static void
wake_caller(host_device *device)
{
	uint64_t	one = 1;

	/* fails only with the counter full, when the descriptor is readable anyway */
	while (write(device->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* The end of an operation's work, on a pool thread. */
static void
op_done(host_op *op)
{
	host_job   *job = op->job;
	host_device *device = device_of(job);

	pthread_mutex_lock(&device->lock);
	job->in_pool--;
	if (op->kind != GSORT_EVENT_FETCHED)
		job->in_turn = 0;
	if (op->kind != GSORT_EVENT_CLOSED && atomic_load(&job->closing))
	{
		op_free(op);
		if (job->in_pool == 0)
			hand_to_pool(job, &job->close);
	}
	else
	{
		list_add(&device->done, op);
		if (!job->in_turn && job->waiting.first != NULL)
			hand_to_pool(job, list_take(&job->waiting));
		wake_caller(device);
	}
	pthread_mutex_unlock(&device->lock);
}

static void
run_append(host_task *task)
{
	host_op    *op = (host_op *) task;

	if (!atomic_load(&op->job->closing))
		host_run_append(&op->job->run, &op->u.chunk);
	op_done(op);
}

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static void
run_cut(host_task *task)
{
	host_op    *op = (host_op *) task;
	host_job   *job = op->job;
	host_cut   *cut = &op->u.cut;
	double		begin_ms = now_ms();

	if (job->run.bad_data)
		op->status = GSORT_BAD_DATA;
	else if (cut->how != GSORT_AS_FED && !atomic_load(&job->closing))
		op->status = host_run_sort(&job->run, device_of(job)->pool, &cut->plan, cut->rows,
								   cut->how == GSORT_SORTED_RUN, cut->limit_bytes, &job->closing,
								   &cut->begins);
	cut->ms = now_ms() - begin_ms;
	op_done(op);
}

static void
run_next_run(host_task *task)
{
	host_op    *op = (host_op *) task;
	host_job   *job = op->job;
	host_next_run *next = &op->u.next_run;

	/* rows first: with them gone there is room for the keys */
	host_run_drop_rows(&job->run);
	if (next->keep != GSORT_KEEP_NOTHING && !atomic_load(&job->closing))
		next->kept = host_kept_add(&job->kept, &job->run, device_of(job)->pool,
								   next->keep == GSORT_KEEP_KEYS_AND_NULLS, next->limit_bytes,
								   &job->closing);
	if (!next->kept)
		host_kept_drop_keys(&job->kept);
	host_run_clear(&job->run);
	op_done(op);
}

static void
run_merge(host_task *task)
{
	host_op    *op = (host_op *) task;
	host_job   *job = op->job;
	host_merge *merge = &op->u.merge;
	double		begin_ms = now_ms();

	if (!atomic_load(&job->closing))
		op->status = host_kept_merge(&job->kept, device_of(job)->pool, &merge->plan,
									 merge->limit_bytes, &job->closing);
	merge->ms = now_ms() - begin_ms;
	op_done(op);
}

static void
run_fetch_order(host_task *task)
{
	host_op    *op = (host_op *) task;
	const host_order_fetch *fetch = &op->u.order_fetch;

	if (!atomic_load(&op->job->closing))
		memcpy(fetch->to, op->job->kept.order + fetch->first_row, fetch->bytes);
	op_done(op);
}

static void
run_fetch(host_task *task)
{
	host_op    *op = (host_op *) task;

	if (!atomic_load(&op->job->closing))
		host_run_fetch(&op->job->run, &op->u.fetch.window, op->u.fetch.to);
	op_done(op);
}

static void
run_close(host_task *task)
{
	host_op    *op = (host_op *) task;
	host_device *device = device_of(op->job);

	host_kept_free(&op->job->kept);
	host_run_free(&op->job->run);
	if (atomic_fetch_sub(&device->open_jobs, 1) == 1)
		host_memory_trim(&device->memory, HOST_IDLE_BYTES);
	op_done(op);
}

/* --- device ------------------------------------------------------------------ */

static int
default_threads(void)
{
	cpu_set_t	cores;
	int			threads = 0;

	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		threads = CPU_COUNT(&cores);
	return threads;
}

static gsort_status
host_open(const gsort_device_options *options, gsort_device **device,
		  char *reason, size_t reason_bytes)
{
	host_device *host = calloc(1, sizeof(*host));
	int			threads = options->threads > 0 ? options->threads : default_threads();

	if (host == NULL)
		return GSORT_NOMEM;
	host->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (host->event_fd < 0)
	{
		snprintf(reason, reason_bytes, "could not make an event descriptor: %s", strerror(errno));
		free(host);
		return GSORT_NOMEM;
	}
	/* one thread stays free for light work while another sorts */
	host->pool = host_pool_start(threads < 2 ? 2 : threads);
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
physical_bytes(void)
{
	return (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE);
}

static uint64_t
host_default_budget(gsort_device *device)
{
	(void) device;
	return physical_bytes() / 8;
}

static void
host_get_info(gsort_device *device, gsort_device_info *info)
{
	host_device *host = (host_device *) device;

	info->kind = GSORT_KIND_HOST;
	snprintf(info->name, sizeof(info->name), "host (%d threads)", host_pool_threads(host->pool));
	info->memory_bytes = physical_bytes();
	info->used_bytes = host_memory_used(&host->memory);
	info->pinned = host->pinned;
}

/* --- jobs ---------------------------------------------------------------------- */

static uint64_t
host_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units)
{
	return host_run_bytes(&job->options, rows, units);
}

static uint64_t
host_job_kept_bytes(const gsort_job *job, uint64_t rows, gsort_keep keep)
{
	return host_kept_bytes(job->options.key_columns, rows, keep == GSORT_KEEP_KEYS_AND_NULLS);
}

static uint64_t
host_job_order_bytes(const gsort_job *job, uint64_t rows)
{
	(void) job;
	return host_order_bytes(rows);
}

/* The sort words take the keys' place. */
static uint64_t
host_job_merge_bytes(const gsort_job *job, uint64_t rows, uint32_t runs)
{
	(void) runs;
	return host_job_order_bytes(job, rows);
}

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
	host_kept_init(&made->kept, &made->run);
	made->common = *blank;
	made->close.task.run = run_close;
	made->close.job = made;
	made->close.kind = GSORT_EVENT_CLOSED;
	made->next = host->jobs;
	if (made->next != NULL)
		made->next->previous = made;
	host->jobs = made;
	atomic_fetch_add(&host->open_jobs, 1);
	*job = &made->common;
	return GSORT_OK;
}

/* Feeding, only this thread touches the run's account; appends leave it alone. */
static gsort_status
host_job_reserve(gsort_job *job, uint64_t rows, uint64_t units)
{
	host_run   *run = &((host_job *) job)->run;
	int			made = host_run_reserve(run, rows, units, job->device->budget_bytes);

	job->stats.peak_bytes = run->account.peak_bytes;
	if (!made)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for extents");
	return GSORT_OK;
}

static gsort_status
host_job_append(gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit)
{
	host_op    *op = op_new((host_job *) job, GSORT_EVENT_APPENDED, chunk->tag, run_append);

	if (op == NULL)
		return GSORT_NOMEM;
	op->u.chunk = (host_chunk) {
		.rows = chunk->rows,
		.data_units = chunk->data_bytes / 8,
		.more_units = chunk->more_bytes / 8,
		.first_unit = first_unit,
		.first_row = job->rows,
		.data = chunk->data,
		.row_start = chunk->row_start,
		.keys = chunk->keys,
		.nulls = chunk->nulls,
	};
	op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_cut(gsort_job *job, gsort_cut_how how)
{
	host_op    *op = op_new((host_job *) job, GSORT_EVENT_CUT, 0, run_cut);

	if (op == NULL)
		return GSORT_NOMEM;
	op->task.heavy = how != GSORT_AS_FED && job->rows > HEAVY_ROWS;
	op->u.cut.how = how;
	op->u.cut.plan = key_plan_make(job->options.key_columns, job->options.null_first_mask,
								   job->column_stats);
	op->u.cut.rows = job->rows;
	op->u.cut.limit_bytes = job->device->budget_bytes;
	op_enqueue(op);
	return GSORT_OK;
}

/* The window in which the row begins that this window continues. */
static uint64_t
first_piece_of(const gsort_job *job, uint64_t window)
{
	uint64_t	row_after = job->windows[window].first_row;
	uint64_t	low = 0;
	uint64_t	high = window;

	/* the first window with first_row == row_after is the second piece */
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;

		if (job->windows[middle].first_row < row_after)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

static host_window
window_to_fetch(const gsort_job *job, uint64_t number)
{
	const gsort_window *window = &job->windows[number];
	host_window fetch = {
		.first_row = window->first_row,
		.rows = window->rows,
		.units = window->row_bytes / 8,
	};

	if (job->cut_how == GSORT_AS_FED)
	{
		fetch.is_stretch = 1;
		fetch.first_unit = job->chunks[number].first_unit;
	}
	else if (window->flags & GSORT_WINDOW_CONTINUED)
	{
		uint64_t	first = first_piece_of(job, number);

		/* all pieces of a row but the last have the first one's length */
		fetch.is_stretch = 1;
		fetch.of_row = 1;
		fetch.first_row = job->windows[first].first_row;
		fetch.first_unit = (number - first) * (job->windows[first].row_bytes / 8);
	}
	else if (window->flags & GSORT_WINDOW_CONTINUES)
	{
		fetch.is_stretch = 1;
		fetch.of_row = 1;
	}
	return fetch;
}

static gsort_status
host_job_fetch(gsort_job *job, uint64_t window, void *dst, uint64_t tag)
{
	host_op    *op = op_new((host_job *) job, GSORT_EVENT_FETCHED, tag, run_fetch);

	if (op == NULL)
		return GSORT_NOMEM;
	op->u.fetch.window = window_to_fetch(job, window);
	op->u.fetch.to = dst;
	op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_next_run(gsort_job *job)
{
	host_op    *op = op_new((host_job *) job, GSORT_EVENT_RUN_BEGUN, 0, run_next_run);

	if (op == NULL)
		return GSORT_NOMEM;
	op->task.heavy = job->keep != GSORT_KEEP_NOTHING && job->rows > HEAVY_ROWS;
	op->u.next_run.keep = job->keep;
	op->u.next_run.limit_bytes = job->device->budget_bytes;
	op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_merge(gsort_job *job, const key_plan *plan)
{
	host_job   *host = (host_job *) job;
	host_op    *op = op_new(host, GSORT_EVENT_MERGED, 0, run_merge);

	if (op == NULL)
		return GSORT_NOMEM;
	host_run_clear(&host->run);
	op->task.heavy = job->ended_rows > HEAVY_ROWS;
	op->u.merge.plan = *plan;
	op->u.merge.limit_bytes = job->device->budget_bytes;
	op_enqueue(op);
	return GSORT_OK;
}

static gsort_status
host_job_fetch_order(gsort_job *job, uint64_t first_row, uint32_t bytes, void *dst, uint64_t tag)
{
	host_op    *op = op_new((host_job *) job, GSORT_EVENT_FETCHED, tag, run_fetch_order);

	if (op == NULL)
		return GSORT_NOMEM;
	op->u.order_fetch = (host_order_fetch) {.first_row = first_row, .bytes = bytes, .to = dst};
	op_enqueue(op);
	return GSORT_OK;
}

static void
host_job_close(gsort_job *job)
{
	host_job   *host = (host_job *) job;
	host_device *device = device_of(host);

	pthread_mutex_lock(&device->lock);
	atomic_store(&host->closing, 1);
	list_free(&host->waiting);
	if (host->in_pool == 0)
		hand_to_pool(host, &host->close);
	pthread_mutex_unlock(&device->lock);
}

/* Frees a job whose run has been freed or will be touched by no thread any more. */
static void
job_free(host_job *job)
{
	host_device *device = device_of(job);

	if (job->previous != NULL)
		job->previous->next = job->next;
	else
		device->jobs = job->next;
	if (job->next != NULL)
		job->next->previous = job->previous;
	host_kept_free(&job->kept);
	host_run_free(&job->run);
	gsort_job_dispose(&job->common);
	free(job);
}

/* --- events ---------------------------------------------------------------------- */

static gsort_status
cut_ended(host_op *op, gsort_status status)
{
	host_job   *job = op->job;
	host_cut   *cut = &op->u.cut;
	gsort_job_stats *stats = &job->common.stats;

	if (status == GSORT_BAD_DATA)
		gsort_fail(job->common.device, status, "a chunk's row offsets are not rising or out of range");
	else if (status == GSORT_NOMEM)
		gsort_fail(job->common.device, status, "out of memory for the sort");
	else if (status == GSORT_OK && cut->how != GSORT_AS_FED)
	{
		status = gsort_make_directory(&job->common, cut->begins.rows, cut->begins.units,
									  cut->begins.n, cut->rows, cut->begins.total_units);
		stats->sort_ms = cut->ms;
		stats->key_bits = cut->plan.bits;
		stats->key_words = cut->plan.words;
		stats->engine = cut->plan.words > 0 ? GSORT_ENGINE_RADIX : GSORT_ENGINE_AUTO;
	}
	stats->peak_bytes = job->run.account.peak_bytes;
	status = gsort_cut_done(&job->common, status);
	if (status != GSORT_OK)
		host_run_drop_order(&job->run);
	else if (cut->how != GSORT_SORTED_RUN)
		host_run_drop_keys(&job->run);
	return status;
}

/* How an operation has ended: its work is done, but a lost device's results are lost. */
static gsort_status
final_status(host_op *op)
{
	gsort_device *device = op->job->common.device;

	if (!device->lost && gsort_fails_now(&device->faults, GSORT_FAIL_CALLS))
		gsort_fail(device, GSORT_DEVICE_LOST, "a test wants the end of an operation to lose the device");
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

/* What the end of an operation means for its job, which is not being closed.  Returns the
 * status of its event. */
static gsort_status
operation_ended(host_op *op, gsort_status status)
{
	gsort_job  *job = &op->job->common;

	switch (op->kind)
	{
		case GSORT_EVENT_CUT:
			return cut_ended(op, status);
		case GSORT_EVENT_RUN_BEGUN:
			job->stats.peak_bytes = op->job->run.account.peak_bytes;
			gsort_run_begun(job, status, op->u.next_run.kept);
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

static void
hand_out(host_op *op, gsort_event *event)
{
	event->kind = op->kind;
	event->job_tag = op->job->common.options.tag;
	event->tag = op->tag;
	event->status = final_status(op);
	/* a job being closed has its memory freed by a thread at this moment */
	if (!op->job->common.closing)
		event->status = operation_ended(op, event->status);
	if (op->kind == GSORT_EVENT_CLOSED)
		job_free(op->job);
	else
		op_free(op);
}

static int
host_poll(gsort_device *device, gsort_event *out, int max)
{
	host_device *host = (host_device *) device;
	op_list		done = {NULL, NULL};
	host_op    *op;
	uint64_t	count;
	int			n = 0;

	while (read(host->event_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&host->lock);
	while (n < max && (op = list_take(&host->done)) != NULL)
	{
		list_add(&done, op);
		n++;
	}
	if (host->done.first != NULL)
		wake_caller(host);
	pthread_mutex_unlock(&host->lock);
	for (int i = 0; i < n; i++)
		hand_out(list_take(&done), &out[i]);
	return n;
}

static void
host_shut(gsort_device *device)
{
	host_device *host = (host_device *) device;
	host_task  *unrun;

	for (host_job *job = host->jobs; job != NULL; job = job->next)
		atomic_store(&job->closing, 1);
	unrun = host_pool_stop(host->pool);
	while (unrun != NULL)
	{
		host_op    *op = (host_op *) unrun;

		unrun = unrun->next;
		op_free(op);
	}
	list_free(&host->done);
	while (host->jobs != NULL)
	{
		list_free(&host->jobs->waiting);
		job_free(host->jobs);
	}
	host_memory_destroy(&host->memory);
	pthread_mutex_destroy(&host->lock);
	close(host->event_fd);
	free(host);
}

/* --- pairs ------------------------------------------------------------------------- */

static size_t
pairs_array_bytes(uint64_t n, size_t item_bytes)
{
	return (n * item_bytes + PAIRS_ALIGN - 1) / PAIRS_ALIGN * PAIRS_ALIGN;
}

static size_t
host_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs)
{
	size_t		keys_bytes = pairs_array_bytes(pairs->n, pairs->key_bits / 8);
	size_t		bytes = PAIRS_ALIGN + pairs_array_bytes(pairs->n, sizeof(uint32_t));

	(void) device;
	if (pairs->d_keys_out == NULL)
		bytes += keys_bytes;
	if (pairs->keep_keys)
		bytes += keys_bytes;
	return bytes;
}

/* The two sides of the sort, of the caller's arrays as far as they may be written. */
static void
lay_out_sides(const gsort_pairs *pairs, char *scratch, host_pairs sides[2])
{
	size_t		keys_bytes = pairs_array_bytes(pairs->n, pairs->key_bits / 8);

	sides[0].rows = pairs->d_rows_out;
	sides[1].rows = (uint32_t *) scratch;
	scratch += pairs_array_bytes(pairs->n, sizeof(uint32_t));
	sides[0].keys = pairs->d_keys_out;
	if (sides[0].keys == NULL)
	{
		sides[0].keys = scratch;
		scratch += keys_bytes;
	}
	sides[1].keys = pairs->keep_keys ? scratch : pairs->d_keys;
}

static void
copy_pairs_out(const gsort_pairs *pairs, const host_pairs *sorted)
{
	if (sorted->rows == NULL)
	{
		for (uint64_t i = 0; i < pairs->n; i++)
			pairs->d_rows_out[i] = (uint32_t) i;
	}
	else if (sorted->rows != pairs->d_rows_out)
		memcpy(pairs->d_rows_out, sorted->rows, pairs->n * sizeof(uint32_t));
	if (pairs->d_keys_out != NULL && sorted->keys != pairs->d_keys_out)
		memcpy(pairs->d_keys_out, sorted->keys, pairs->n * pairs->key_bits / 8);
}

static gsort_status
host_pairs_sort(gsort_device *device, const gsort_pairs *pairs,
				void *d_scratch, size_t scratch_bytes, void *stream)
{
	host_radix_sort sort = {
		.n = pairs->n,
		.key_bits = pairs->key_bits,
		.begin_bit = pairs->begin_bit,
		.end_bit = pairs->end_bit,
		.in = {.keys = pairs->d_keys, .rows = (uint32_t *) pairs->d_rows},
	};
	host_pairs	sorted;

	(void) stream;
	if (scratch_bytes < host_pairs_scratch_bytes(device, pairs))
		return gsort_fail(device, GSORT_BAD_ARG, "scratch too small");
	lay_out_sides(pairs, d_scratch, sort.sides);
	if (!host_radix_run(((host_device *) device)->pool, &sort, &sorted))
		return gsort_fail(device, GSORT_NOMEM, "out of memory for the digits' counts");
	copy_pairs_out(pairs, &sorted);
	return GSORT_OK;
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
	.kept_bytes = host_job_kept_bytes,
	.merge_bytes = host_job_merge_bytes,
	.order_bytes = host_job_order_bytes,
	.job_open = host_job_open,
	.job_reserve = host_job_reserve,
	.job_append = host_job_append,
	.job_cut = host_job_cut,
	.job_fetch = host_job_fetch,
	.job_next_run = host_job_next_run,
	.job_merge = host_job_merge,
	.job_fetch_order = host_job_fetch_order,
	.job_close = host_job_close,
	.pairs_scratch_bytes = host_pairs_scratch_bytes,
	.pairs_sort = host_pairs_sort,
};
