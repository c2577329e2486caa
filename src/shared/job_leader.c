/*
 * job_leader.c
 *	  The leader's side of a job: cutting its runs, merging them, reading windows.
 *
 * In:  a job that feeders have fed.
 * Out: windows of sorted rows in the job's buffers.
 *
 * Runs in the backend that owns the job.  A fetched window waits in its buffer until it is
 * read; meanwhile another job may take the buffer (buffer_pool.c), and the window must
 * be fetched again.
 */
#include "postgres.h"

#include "shared/buffer_pool.h"
#include "shared/clock.h"
#include "shared/job_internal.h"

/* --- after the feeders have ended ------------------------------------------------- */

uint64
gpusort_job_rows_fed(GpuSortJob *job, bool *to_verify)
{
	uint64		rows;

	gpusort_job_lock(job, LW_SHARED);
	rows = gpusort_job_slot(job)->rows_fed;
	*to_verify = gpusort_job_slot(job)->to_verify;
	gpusort_job_unlock();
	return rows;
}

/* Waits until no buffer of the job is in state, or the job has failed. */
static void
wait_while_any(GpuSortJob *job, GpuSortBufferState state, uint32 wait_event)
{
	for (;;)
	{
		int			buffer;

		gpusort_job_lock(job, LW_SHARED);
		buffer = gpusort_job_slot_failed(job) ? -1 : gpusort_job_find_buffer(job, state);
		gpusort_job_unlock();
		if (buffer < 0)
			break;
		gpusort_job_wait_for_change(job, wait_event);
	}
	ConditionVariableCancelSleep();
}

/* Waits until the job leaves a state; returns the one it has come to. */
static GpuSortJobState
wait_while_in(GpuSortJob *job, GpuSortJobState waited)
{
	GpuSortJobState state;

	for (;;)
	{
		gpusort_job_lock(job, LW_SHARED);
		state = gpusort_job_slot(job)->state;
		gpusort_job_unlock();
		if (state != waited)
			break;
		gpusort_job_wait_for_change(job, gpusort_wait_event_of_sort);
	}
	ConditionVariableCancelSleep();
	return state;
}

/* full: the run that is cut ends because the job is full, not because the input does. */
static bool
cut(GpuSortJob *job, gsort_cut_how how, bool full)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	gpusort_job_lock(job, LW_EXCLUSIVE);
	if (slot->state == (full ? GPUSORT_JOB_FULL : GPUSORT_JOB_FEEDING))
	{
		slot->state = GPUSORT_JOB_CUTTING;
		slot->cut_how = how;
		gpusort_job_push_request(job, GPUSORT_REQUEST_CUT, -1, ++slot->cuts);
	}
	gpusort_job_unlock();
	if (wait_while_in(job, GPUSORT_JOB_CUTTING) == GPUSORT_JOB_FULL)
		return false;
	if (how == GSORT_SORTED_RUN)
		return true;			/* the next run needs the buffers */
	gpusort_job_lock(job, LW_EXCLUSIVE);
	gpusort_buffers_keep(slot, Max(GPUSORT_READ_BUFFERS_SHORT, Min(slot->windows, GPUSORT_READ_BUFFERS)));
	gpusort_job_unlock();
	return true;
}

bool
gpusort_job_cut(GpuSortJob *job, gsort_cut_how how)
{
	return cut(job, how, false);
}

void
gpusort_job_cut_full_run(GpuSortJob *job)
{
	(void) cut(job, GSORT_SORTED_RUN, true);
}

bool
gpusort_job_is_full(GpuSortJob *job)
{
	bool		full;

	gpusort_job_lock(job, LW_SHARED);
	full = gpusort_job_slot(job)->state == GPUSORT_JOB_FULL;
	gpusort_job_unlock();
	return full;
}

static void
ask(GpuSortJob *job, GpuSortRequestKind kind)
{
	gpusort_job_lock(job, LW_EXCLUSIVE);
	if (!gpusort_job_slot_failed(job))
	{
		gpusort_job_slot(job)->state = GPUSORT_JOB_ASKED;
		gpusort_job_push_request(job, kind, -1, 0);
	}
	gpusort_job_unlock();
}

void
gpusort_job_next_run(GpuSortJob *job)
{
	/* the reader's last window too: feeders need the buffers */
	gpusort_job_forget_windows(job);
	ask(job, GPUSORT_REQUEST_NEXT_RUN);
	(void) wait_while_in(job, GPUSORT_JOB_ASKED);
}

bool
gpusort_job_merge(GpuSortJob *job)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	/* all rows are in files, and the merge needs no device */
	job->may_fail = true;
	gpusort_job_next_run(job);
	ask(job, GPUSORT_REQUEST_MERGE);
	if (wait_while_in(job, GPUSORT_JOB_ASKED) != GPUSORT_JOB_READY)
		return false;
	gpusort_job_lock(job, LW_EXCLUSIVE);
	slot->cut_how = GSORT_SORTED;	/* an idle reader's buffers may be taken back again */
	gpusort_buffers_keep(slot, Max(GPUSORT_READ_BUFFERS_SHORT, Min(slot->windows, GPUSORT_READ_BUFFERS)));
	gpusort_job_unlock();
	return true;
}

/* The service writes these before the job is ready, and not while it is. */
uint64
gpusort_job_rows(const GpuSortJob *job)
{
	return gpusort_job_slot(job)->rows;
}

uint64
gpusort_job_windows(const GpuSortJob *job)
{
	return gpusort_job_slot(job)->windows;
}

void
gpusort_job_stats(const GpuSortJob *job, gsort_job_stats *stats)
{
	gpusort_job_lock(job, LW_SHARED);
	*stats = gpusort_job_slot(job)->stats;
	gpusort_job_unlock();
}

/* --- reading --------------------------------------------------------------- */

void
gpusort_job_forget_windows(GpuSortJob *job)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	wait_while_any(job, GPUSORT_BUFFER_FETCHING, gpusort_wait_event_of_output);
	gpusort_job_lock(job, LW_EXCLUSIVE);
	for (int i = 0; i < slot->n_buffers; i++)
	{
		GpuSortBuffer *buffer = &gpusort_buffers[slot->buffers[i]];

		if (buffer->state == GPUSORT_BUFFER_WINDOW || buffer->state == GPUSORT_BUFFER_READING)
			buffer->state = GPUSORT_BUFFER_HELD;
	}
	gpusort_job_unlock();
}

static int
fetch(GpuSortJob *job, GpuSortRequestKind kind, uint64 number)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);
	int			buffer = -1;

	gpusort_job_lock(job, LW_EXCLUSIVE);
	slot->last_read_us = gpusort_clock_us();
	gpusort_buffers_restore(job->id.slot);
	if (!gpusort_job_slot_failed(job))
		buffer = gpusort_job_find_buffer(job, GPUSORT_BUFFER_HELD);
	if (buffer >= 0)
	{
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_FETCHING;
		gpusort_job_push_request(job, kind, buffer, number);
	}
	gpusort_job_unlock();
	return buffer;
}

int
gpusort_job_fetch_window(GpuSortJob *job, uint64 window)
{
	return fetch(job, GPUSORT_REQUEST_FETCH_WINDOW, window);
}

int
gpusort_job_fetch_row(GpuSortJob *job, uint64 row)
{
	return fetch(job, GPUSORT_REQUEST_FETCH_ROW, row);
}

bool
gpusort_job_read_buffer(GpuSortJob *job, int buffer, gsort_window *window, uint64 *number)
{
	GpuSortBuffer *shared = &gpusort_buffers[buffer];
	bool		ready = false;
	bool		coming = true;

	while (coming && !ready)
	{
		gpusort_job_lock(job, LW_EXCLUSIVE);
		gpusort_job_slot(job)->last_read_us = gpusort_clock_us();
		/* taken back, and perhaps given to us anew, if it is neither fetched nor coming */
		coming = shared->job == job->id.slot && shared->state == GPUSORT_BUFFER_FETCHING &&
			!gpusort_job_slot_failed(job);
		ready = shared->job == job->id.slot && shared->state == GPUSORT_BUFFER_WINDOW;
		if (ready)
		{
			shared->state = GPUSORT_BUFFER_READING;
			*window = shared->window;
			*number = shared->window_number;
		}
		gpusort_job_unlock();
		if (coming)
			gpusort_job_wait_for_change(job, gpusort_wait_event_of_output);
	}
	ConditionVariableCancelSleep();
	return ready;
}

void
gpusort_job_buffer_done(GpuSortJob *job, int buffer)
{
	gpusort_job_lock(job, LW_EXCLUSIVE);
	if (gpusort_buffers[buffer].job == job->id.slot)
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_HELD;
	gpusort_job_unlock();
}
