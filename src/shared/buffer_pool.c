/*
 * buffer_pool.c
 *	  Who gets the shared buffers.
 *
 * In:  jobs that open, are read, and end.
 * Out: buffers linked to their job's slot, or free.
 *
 * Runs in sessions and in the service, always with the shared lock held exclusively.
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

static bool
may_be_taken_back(const GpuSortBuffer *buffer)
{
	return buffer->state == GPUSORT_BUFFER_WINDOW || buffer->state == GPUSORT_BUFFER_HELD;
}

/* A run that is being spilled needs its buffers for the next one. */
static bool
is_idle_reader(const GpuSortJobSlot *slot, uint64 now_us)
{
	return slot->state == GPUSORT_JOB_READY && slot->cut_how != GSORT_SORTED_RUN &&
		gpusort_clock_exceeds(slot->last_read_us, now_us, IDLE_READER_MS);
}

/* Frees buffers of idle readers, all but one of each, until enough are free. */
static void
take_back_idle_buffers(int enough)
{
	uint64		now_us = gpusort_clock_us();

	for (int j = 0; j < GPUSORT_JOB_SLOTS; j++)
	{
		GpuSortJobSlot *slot = &gpusort_shared->jobs[j];

		if (!is_idle_reader(slot, now_us))
			continue;
		for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > 1; i--)
		{
			if (gpusort_shared->n_free_buffers >= enough)
				return;
			if (may_be_taken_back(&gpusort_buffers[slot->buffers[i]]))
				gpusort_buffer_free(slot->buffers[i]);
		}
	}
}

/* Buffers that a job cannot do without, and idle ones among them. */
static int
least_buffers(const GpuSortJobSlot *slot, int *least_idle)
{
	/* a run that is cut now is read in these */
	*least_idle = slot->state == GPUSORT_JOB_FEEDING || slot->state == GPUSORT_JOB_CUTTING ?
		GPUSORT_SPILL_BUFFERS : 0;
	switch (slot->state)
	{
		case GPUSORT_JOB_FEEDING:
		case GPUSORT_JOB_CUTTING:
			return GPUSORT_JOB_BUFFERS_SHORT(slot->options.feeders) + GPUSORT_SPILL_BUFFERS;
		case GPUSORT_JOB_READY:
			return slot->cut_how == GSORT_SORTED_RUN ? GPUSORT_JOB_BUFFERS_MAX : GPUSORT_READ_BUFFERS_SHORT;
		default:
			return GPUSORT_JOB_BUFFERS_MAX;
	}
}

/* Frees what jobs have taken beyond that and do not use just now, until enough are free. */
static void
take_back_spare_buffers(int enough)
{
	for (int j = 0; j < GPUSORT_JOB_SLOTS; j++)
	{
		GpuSortJobSlot *slot = &gpusort_shared->jobs[j];
		int			least_idle;
		int			least = least_buffers(slot, &least_idle);

		for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > least; i--)
		{
			if (gpusort_shared->n_free_buffers >= enough)
				return;
			if (gpusort_buffers[slot->buffers[i]].state != GPUSORT_BUFFER_HELD)
				continue;
			if (least_idle > 0)
				least_idle--;
			else
				gpusort_buffer_free(slot->buffers[i]);
		}
	}
}

bool
gpusort_buffers_queue_up(uint64 until_us)
{
	if (gpusort_shared->n_buffer_waiters == lengthof(gpusort_shared->buffer_waiters))
		return false;
	gpusort_shared->buffer_waiters[gpusort_shared->n_buffer_waiters++] = (GpuSortBufferWaiter) {MyProcPid, until_us};
	return true;
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
	take_from_queue(MyProcPid);
	/* the next one in the queue looks again */
	if (gpusort_shared->n_buffer_waiters > 0)
		ConditionVariableBroadcast(&gpusort_shared->buffer_freed);
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
		take_back_spare_buffers(needed);
	if (gpusort_shared->n_free_buffers < needed)
		take_back_idle_buffers(needed);
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
gpusort_buffers_keep(GpuSortJobSlot *slot, int at_most)
{
	for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > at_most; i--)
		if (gpusort_buffers[slot->buffers[i]].state == GPUSORT_BUFFER_HELD)
			gpusort_buffer_free(slot->buffers[i]);
}
