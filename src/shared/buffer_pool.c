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

#include "shared/buffer_pool.h"
#include "shared/clock.h"

/* A reader that has not asked for this long is idle. */
#define IDLE_READER_MS			1000

/* A job whose time is over has this long to give up. */
#define WAITER_MAY_BE_LATE_MS	1000

static void
allocate_buffers(GpuSortJobSlot *slot, int n)
{
	Assert(n <= gpusort_shared->n_free_buffers && slot->n_buffers + n <= GPUSORT_JOB_BUFFERS_MAX);
	for (int i = 0; i < n; i++)
	{
		int			buffer = gpusort_shared->first_free_buffer;

		gpusort_shared->first_free_buffer = gpusort_buffers[buffer].next_free;
		gpusort_shared->n_free_buffers--;
		gpusort_buffers[buffer].job = slot - gpusort_shared->jobs;
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
		needs.buffers = gpusort_buffers_to_open(slot->options.feeders);
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

/* Does a job wait that came before this one?  One whose time is over, as its process was halted, does not count
 * any more. */
static bool
another_came_first(const GpuSortJobSlot *mine)
{
	uint64		now_us = gpusort_clock_us();

	for (int i = 0; i < GPUSORT_JOB_SLOTS && gpusort_shared->n_buffer_waiters > 0; i++)
	{
		GpuSortJobSlot *other = &gpusort_shared->jobs[i];

		if (other == mine || other->waits_since_us == 0)
			continue;
		if (gpusort_clock_exceeds(other->waits_since_us, now_us, other->options.wait_ms + WAITER_MAY_BE_LATE_MS))
			gpusort_buffers_end_wait(other);
		else if (mine->waits_since_us == 0 || other->waits_since_us < mine->waits_since_us)
			return true;
	}
	return false;
}

static void
begin_wait(GpuSortJobSlot *slot)
{
	if (slot->waits_since_us != 0 || slot->options.wait_ms == 0)
		return;
	slot->waits_since_us = gpusort_clock_us();
	gpusort_shared->n_buffer_waiters++;
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.waited, 1);
}

void
gpusort_buffers_end_wait(GpuSortJobSlot *slot)
{
	if (slot->waits_since_us == 0)
		return;
	slot->waits_since_us = 0;
	/* the next one looks again */
	if (--gpusort_shared->n_buffer_waiters > 0)
		ConditionVariableBroadcast(&gpusort_shared->buffer_freed);
}

bool
gpusort_buffers_reserve(GpuSortJobSlot *slot, int feeders)
{
	int			needed = gpusort_buffers_to_open(feeders);

	if (needed > GPUSORT_JOB_BUFFERS_MAX || needed > gpusort_shared->n_buffers)
		return false;
	if (!another_came_first(slot))
	{
		if (gpusort_shared->n_free_buffers < needed)
			take_back(needed, false);
		if (gpusort_shared->n_free_buffers < needed)
			take_back(needed, true);
		if (gpusort_shared->n_free_buffers >= needed)
		{
			allocate_buffers(slot, needed);
			return true;
		}
	}
	begin_wait(slot);
	return false;
}

/* Is so much of the pool free that those who come next will not miss a buffer? */
static bool
has_plenty(void)
{
	return gpusort_shared->n_buffer_waiters == 0 &&
		gpusort_shared->n_free_buffers > gpusort_shared->n_buffers / 4 * 3;
}

bool
gpusort_buffers_grow(GpuSortJobSlot *slot)
{
	int			most = Max(slot->options.feeders * GPUSORT_BUFFERS_A_FEEDER,
						   GPUSORT_JOB_BUFFERS_MIN) + GPUSORT_SPILL_BUFFERS;

	if (slot->n_buffers >= Min(most, GPUSORT_JOB_BUFFERS_MAX) || !has_plenty())
		return false;
	allocate_buffers(slot, 1);
	return true;
}

void
gpusort_buffers_restore(GpuSortJobSlot *slot)
{
	int			wanted = has_plenty() ? GPUSORT_JOB_BUFFERS_MIN : GPUSORT_READ_BUFFERS_SHORT;
	int			missing = (int) Min(wanted, slot->windows) - slot->n_buffers;

	if (missing > 0)
		allocate_buffers(slot, Min(missing, gpusort_shared->n_free_buffers));
}

void
gpusort_buffers_keep_to_read(GpuSortJobSlot *slot)
{
	int			at_most = Max(GPUSORT_READ_BUFFERS_SHORT, Min(slot->windows, GPUSORT_READ_BUFFERS));

	for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > at_most; i--)
		if (gpusort_buffers[slot->buffers[i]].state == GPUSORT_BUFFER_HELD)
			gpusort_buffer_free(slot->buffers[i]);
}
