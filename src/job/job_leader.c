/*
 * job_leader.c
 *	  The leader's side of a job: finishing its runs, merging them, reading
 *	  blocks.
 *
 * In:  a job that feeders have fed.
 * Out: blocks of sorted rows in the job's buffers.
 *
 * Runs in the backend that owns the job.  A fetched block waits in its buffer
 * until it is read; meanwhile another job may take the buffer (buffer_pool.c),
 * and the block must be fetched again.
 */
#include "postgres.h"

#include "job/buffer_pool.h"
#include "job/clock.h"
#include "job/job_internal.h"

/* --- after the feeders have ended ----------------------------------------- */

bool
gpusort_job_wait_for_feeders(GpuSortJob *job, int feeders)
{
	const GpuSortJobSlot *slot = gpusort_job_slot(job);
	bool		ended;

	gpusort_job_lock_or_raise(job, LW_SHARED);
	while (slot->feeders_done < feeders && slot->state != GPUSORT_JOB_FULL)
		gpusort_job_wait(job, LW_SHARED, gpusort_wait_event_of_feed);
	ended = slot->feeders_done >= feeders;
	gpusort_job_unlock();
	return ended;
}

uint64
gpusort_job_rows_fed(GpuSortJob *job, bool *to_verify)
{
	uint64		rows;

	gpusort_job_lock_or_raise(job, LW_SHARED);
	rows = gpusort_job_slot(job)->rows_fed;
	*to_verify = gpusort_job_slot(job)->to_verify;
	gpusort_job_unlock();
	return rows;
}

bool
gpusort_job_finish_run(GpuSortJob *job, gsort_finish_how how, bool full)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);
	bool		is_finished;

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	if (slot->state == (full ? GPUSORT_JOB_FULL : GPUSORT_JOB_FEEDING))
	{
		slot->finish_how = how;
		gpusort_job_ask(job, GPUSORT_JOB_FINISHING, gpusort_wait_event_of_sort);
	}
	is_finished = slot->state != GPUSORT_JOB_FULL;
	/* the run after a spilled one needs the buffers */
	if (is_finished && how != GSORT_SORTED_RUN)
		gpusort_buffers_trim_to_read(slot);
	gpusort_job_unlock();
	return is_finished;
}

/* Looks without the lock, since it is asked for each row.  The leader alone
 * ends this state, so it is never seen too long; if it is seen too late, the
 * next search for a buffer finds it. */
bool
gpusort_job_is_full(const GpuSortJob *job)
{
	const volatile GpuSortJobSlot *slot = gpusort_job_slot(job);

	return slot->state == GPUSORT_JOB_FULL;
}

void
gpusort_job_next_run(GpuSortJob *job)
{
	/* even the reader's last block goes, since feeders need the buffers */
	gpusort_job_release_blocks(job);
	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	if (!gpusort_job_slot_failed(job))
		gpusort_job_ask(job, GPUSORT_JOB_BETWEEN_RUNS, gpusort_wait_event_of_sort);
	gpusort_job_unlock();
}

bool
gpusort_job_merge(GpuSortJob *job)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);
	bool		ready;

	/* all rows are in files, and the merge needs no device */
	job->may_fail = true;
	slot->merging = true;
	gpusort_job_next_run(job);
	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	if (!gpusort_job_slot_failed(job))
		gpusort_job_ask(job, GPUSORT_JOB_MERGING, gpusort_wait_event_of_sort);
	ready = slot->state == GPUSORT_JOB_READY;
	if (ready)
	{
		slot->finish_how = GSORT_SORTED;	/* an idle reader may lose its buffers again */
		gpusort_buffers_trim_to_read(slot);
	}
	gpusort_job_unlock();
	return ready;
}

/* The service sets this before the job is ready, and does not change it while
 * it is. */
uint64
gpusort_job_rows(const GpuSortJob *job)
{
	return gpusort_job_slot(job)->stats.rows;
}

uint64
gpusort_job_blocks(const GpuSortJob *job)
{
	return gpusort_job_slot(job)->blocks;
}

void
gpusort_job_stats(const GpuSortJob *job, gsort_job_stats *stats)
{
	gpusort_job_lock_or_raise(job, LW_SHARED);
	*stats = gpusort_job_slot(job)->stats;
	gpusort_job_unlock();
}

/* --- reading -------------------------------------------------------------- */

/* Blocks that were asked for must come before their buffers can be idle. */
void
gpusort_job_release_blocks(GpuSortJob *job)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	while (!gpusort_job_slot_failed(job) &&
		   gpusort_job_find_buffer(job, GPUSORT_BUFFER_FETCHING) >= 0)
		gpusort_job_wait(job, LW_EXCLUSIVE, gpusort_wait_event_of_output);
	for (int i = 0; i < slot->n_buffers; i++)
	{
		GpuSortBuffer *buffer = &gpusort_buffers[slot->buffers[i]];

		if (buffer->state == GPUSORT_BUFFER_OUTPUT_BLOCK || buffer->state == GPUSORT_BUFFER_READING)
			buffer->state = GPUSORT_BUFFER_IDLE;
	}
	gpusort_job_unlock();
}

/* Asks for a block into an idle buffer, and gets back buffers that others took
 * meanwhile. */
int
gpusort_job_fetch(GpuSortJob *job, uint64 number, bool by_row)
{
	GpuSortJobSlot *slot = gpusort_job_slot(job);
	int			buffer = -1;

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	slot->last_read_us = gpusort_clock_us();
	gpusort_buffers_restore(slot);
	if (!gpusort_job_slot_failed(job))
		buffer = gpusort_job_find_buffer(job, GPUSORT_BUFFER_IDLE);
	if (buffer >= 0)
	{
		gpusort_buffers[buffer].block_number = number;
		gpusort_buffers[buffer].by_row = by_row;
		gpusort_job_hand_over(job, buffer, GPUSORT_BUFFER_FETCHING);
	}
	gpusort_job_unlock();
	return buffer;
}

bool
gpusort_job_read_buffer(GpuSortJob *job, int buffer, gsort_block *block, uint64 *number)
{
	GpuSortBuffer *shared = &gpusort_buffers[buffer];
	bool		ready;

	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	while (shared->job == job->id.slot && shared->state == GPUSORT_BUFFER_FETCHING &&
		   !gpusort_job_slot_failed(job))
		gpusort_job_wait(job, LW_EXCLUSIVE, gpusort_wait_event_of_output);
	gpusort_job_slot(job)->last_read_us = gpusort_clock_us();
	/* otherwise the buffer was taken back, and perhaps given to this job
	 * again */
	ready = shared->job == job->id.slot && shared->state == GPUSORT_BUFFER_OUTPUT_BLOCK;
	if (ready)
	{
		shared->state = GPUSORT_BUFFER_READING;
		*block = shared->block;
		*number = shared->block_number;
	}
	gpusort_job_unlock();
	return ready;
}

void
gpusort_job_buffer_done(GpuSortJob *job, int buffer)
{
	gpusort_job_lock_or_raise(job, LW_EXCLUSIVE);
	if (gpusort_buffers[buffer].job == job->id.slot)
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_IDLE;
	gpusort_job_unlock();
}
