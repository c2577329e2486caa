/*
 * buffer_pool.c
 *	  Who gets the shared buffers.
 *
 * In:  jobs that open, are read, and end.
 * Out: buffers linked to their job's slot, or free.
 *
 * Runs in sessions and in the service, under the shared lock.
 * The memory is made by shmem.c.
 *
 * A job that opens may take back what others hold beyond what they cannot do without, and do not use just
 * now.  And a cursor between two FETCHes would hold its buffers for as long as its session likes.  So
 * those of a reader that has not asked for a window for a while are taken back too, all but one; the
 * reader fetches again what it has lost.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "shared/buffer_pool.h"
#include "shared/clock.h"

/* A reader that has not asked for this long is idle. */
#define IDLE_READER_MS			1000

/* A process whose time in the queue is over has this long to leave it. */
#define WAITER_MAY_BE_LATE_MS	1000

static void
allocate_buffers(int job, int n)
{
	GpuSortJobSlot *slot = &gpusort_shared->jobs[job];

	Assert(n <= gpusort_shared->n_free_buffers && slot->n_buffers + n <= GPUSORT_JOB_BUFFERS_MAX);
	for (int i = 0; i < n; i++)
	{
		int			buffer = gpusort_shared->first_free_buffer;

		gpusort_shared->first_free_buffer = gpusort_buffers[buffer].next_free;
		gpusort_shared->n_free_buffers--;
		gpusort_buffers[buffer].job = job;
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_HELD;
		slot->buffers[slot->n_buffers++] = buffer;
	}
}

void
gpusort_buffer_free(int buffer)
{
	GpuSortJobSlot *slot = &gpusort_shared->jobs[gpusort_buffers[buffer].job];

	Assert(gpusort_buffers[buffer].state != GPUSORT_BUFFER_FREE);
	for (int i = 0; i < slot->n_buffers; i++)
		if (slot->buffers[i] == buffer)
		{
			slot->buffers[i] = slot->buffers[--slot->n_buffers];
			break;
		}
	gpusort_buffers[buffer].state = GPUSORT_BUFFER_FREE;
	gpusort_buffers[buffer].job = -1;
	gpusort_buffers[buffer].next_free = gpusort_shared->first_free_buffer;
	gpusort_shared->first_free_buffer = buffer;
	gpusort_shared->n_free_buffers++;
	ConditionVariableBroadcast(&gpusort_shared->buffer_freed);
}

/* What a job cannot do without just now. */
typedef struct Needs
{
	int			buffers;
	int			idle;			/* of these */
	bool		windows;		/* that wait to be read */
} Needs;

static Needs
needs_of(const GpuSortJobSlot *slot, uint64 now_us)
{
	Needs		needs = {.buffers = GPUSORT_JOB_BUFFERS_MAX,.windows = true};

	if (slot->state == GPUSORT_JOB_FEEDING || slot->state == GPUSORT_JOB_CUTTING)
	{
		/* a run that is cut now is read in these */
		needs.idle = GPUSORT_SPILL_BUFFERS;
		needs.buffers = GPUSORT_JOB_BUFFERS_SHORT(slot->options.feeders) + GPUSORT_SPILL_BUFFERS;
	}
	/* a run that is being spilled needs its buffers for the next one */
	else if (slot->state == GPUSORT_JOB_READY && slot->cut_how != GSORT_SORTED_RUN)
	{
		needs.windows = !gpusort_clock_exceeds(slot->last_read_us, now_us, IDLE_READER_MS);
		needs.buffers = needs.windows ? GPUSORT_READ_BUFFERS_SHORT : 1;
	}
	return needs;
}

/* Frees what jobs can do without until enough are free; also what idle readers have, if they are to lose it. */
static void
take_back(int enough, bool idle_readers)
{
	uint64		now_us = idle_readers ? gpusort_clock_us() : 0;

	for (int j = 0; j < GPUSORT_JOB_SLOTS; j++)
	{
		GpuSortJobSlot *slot = &gpusort_shared->jobs[j];
		Needs		needs = needs_of(slot, now_us);

		for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > needs.buffers; i--)
		{
			GpuSortBufferState state = gpusort_buffers[slot->buffers[i]].state;

			if (gpusort_shared->n_free_buffers >= enough)
				return;
			if (state == GPUSORT_BUFFER_HELD && needs.idle > 0)
				needs.idle--;
			else if (state == GPUSORT_BUFFER_HELD || (state == GPUSORT_BUFFER_WINDOW && !needs.windows))
				gpusort_buffer_free(slot->buffers[i]);
		}
	}
}

bool
gpusort_buffers_queue_up(uint64 until_us)
{
	bool		has_room;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	has_room = gpusort_shared->n_buffer_waiters < lengthof(gpusort_shared->buffer_waiters);
	if (has_room)
		gpusort_shared->buffer_waiters[gpusort_shared->n_buffer_waiters++] = (GpuSortBufferWaiter) {MyProcPid, until_us};
	LWLockRelease(gpusort_shared_lock());
	return has_room;
}

static void
take_from_queue(int pid)
{
	GpuSortBufferWaiter *waiters = gpusort_shared->buffer_waiters;
	int			left = 0;

	for (int i = 0; i < gpusort_shared->n_buffer_waiters; i++)
		if (waiters[i].pid != pid)
			waiters[left++] = waiters[i];
	gpusort_shared->n_buffer_waiters = left;
}

void
gpusort_buffers_leave_queue(void)
{
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	take_from_queue(MyProcPid);
	/* the next one in the queue looks again */
	if (gpusort_shared->n_buffer_waiters > 0)
		ConditionVariableBroadcast(&gpusort_shared->buffer_freed);
	LWLockRelease(gpusort_shared_lock());
}

/* A process that was halted does not leave the queue when its time is over. */
static bool
another_came_first(void)
{
	const GpuSortBufferWaiter *first = &gpusort_shared->buffer_waiters[0];

	while (gpusort_shared->n_buffer_waiters > 0 && first->pid != MyProcPid)
	{
		if (!gpusort_clock_exceeds(first->until_us, gpusort_clock_us(), WAITER_MAY_BE_LATE_MS))
			return true;
		take_from_queue(first->pid);
	}
	return false;
}

bool
gpusort_buffers_reserve(int job, int feeders)
{
	int			needed = GPUSORT_JOB_BUFFERS_SHORT(feeders) + GPUSORT_SPILL_BUFFERS;

	if (another_came_first())
		return false;
	if (gpusort_shared->n_free_buffers < needed)
		take_back(needed, false);
	if (gpusort_shared->n_free_buffers < needed)
		take_back(needed, true);
	if (gpusort_shared->n_free_buffers < needed)
		return false;
	allocate_buffers(job, needed);
	return true;
}

/* Is so much of the pool free that those who come next will not miss a buffer? */
static bool
has_plenty(void)
{
	return gpusort_shared->n_buffer_waiters == 0 &&
		gpusort_shared->n_free_buffers > gpusort_shared->n_buffers / 4 * 3;
}

bool
gpusort_buffers_grow(int job)
{
	const GpuSortJobSlot *slot = &gpusort_shared->jobs[job];
	int			most = Max(slot->options.feeders * GPUSORT_BUFFERS_A_FEEDER,
						   GPUSORT_JOB_BUFFERS_MIN) + GPUSORT_SPILL_BUFFERS;

	if (slot->n_buffers >= Min(most, GPUSORT_JOB_BUFFERS_MAX) || !has_plenty())
		return false;
	allocate_buffers(job, 1);
	return true;
}

void
gpusort_buffers_restore(int job)
{
	const GpuSortJobSlot *slot = &gpusort_shared->jobs[job];
	int			wanted = has_plenty() ? GPUSORT_JOB_BUFFERS_MIN : GPUSORT_READ_BUFFERS_SHORT;
	int			missing = (int) Min(wanted, slot->windows) - slot->n_buffers;

	if (missing > 0)
		allocate_buffers(job, Min(missing, gpusort_shared->n_free_buffers));
}

void
gpusort_buffers_keep_to_read(GpuSortJobSlot *slot)
{
	int			at_most = Max(GPUSORT_READ_BUFFERS_SHORT, Min(slot->windows, GPUSORT_READ_BUFFERS));

	for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > at_most; i--)
		if (gpusort_buffers[slot->buffers[i]].state == GPUSORT_BUFFER_HELD)
			gpusort_buffer_free(slot->buffers[i]);
}
