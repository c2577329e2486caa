/*
 * buffer_pool.c
 *	  The allocation of shared buffers to jobs.
 *
 * In:  jobs that open, are read, and end.
 * Out: buffers linked to their job's slot, or free.
 *
 * Runs in sessions and in the service, under the shared lock.  shmem.c
 * allocates the memory.
 *
 * A job that opens may take back buffers that other jobs do not use just now
 * and can do without.  A cursor between two FETCHes would hold its buffers for
 * as long as its session likes.  So a reader that has not asked for a block for
 * a while loses all of its buffers but one.  It fetches the lost blocks again.
 */
#include "postgres.h"

#include "job/buffer_pool.h"
#include "job/clock.h"

/* A reader that has not asked for this long is idle. */
#define IDLE_READER_MS			1000

/* A job that has waited its time has this long to give up. */
#define WAITER_MAY_BE_LATE_MS	1000

/* Moves n free buffers to the slot.  They are there: the caller has checked. */
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
		gpusort_buffers[buffer].state = GPUSORT_BUFFER_IDLE;
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
}

/* The buffers that a job cannot do without just now. */
typedef struct Needs
{
	int			buffers;
	int			idle;			/* idle ones among them */
	bool		blocks;			/* blocks that wait to be read are needed */
} Needs;

/* A job in any other state needs all of its buffers.  Nobody reads the blocks
 * of a failed job. */
static Needs
needs_of(const GpuSortJobSlot *slot, uint64 now_us)
{
	Needs		needs = {.buffers = GPUSORT_JOB_BUFFERS_MAX,.blocks = true};

	if (slot->state == GPUSORT_JOB_FAILED)
		needs = (Needs) {0};
	else if (slot->state == GPUSORT_JOB_FEEDING || slot->state == GPUSORT_JOB_FINISHING)
	{
		/* a run that is finished now is read in these */
		needs.idle = GPUSORT_SPILL_BUFFERS;
		needs.buffers = gpusort_buffers_to_open(slot->options.feeders);
	}
	/* the next run needs the buffers of a run that is being spilled */
	else if (slot->state == GPUSORT_JOB_READY && slot->finish_how != GSORT_SORTED_RUN)
	{
		needs.blocks = !gpusort_clock_exceeds(slot->last_read_us, now_us, IDLE_READER_MS);
		needs.buffers = needs.blocks ? GPUSORT_READ_BUFFERS_SHORT : 1;
	}
	return needs;
}

/* Frees buffers that jobs can do without, until enough are free. */
static void
take_back(int enough)
{
	uint64		now_us = gpusort_clock_us();

	for (int j = 0; j < GPUSORT_JOB_SLOTS; j++)
	{
		GpuSortJobSlot *slot = &gpusort_shared->jobs[j];
		Needs		needs = needs_of(slot, now_us);

		for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > needs.buffers; i--)
		{
			GpuSortBufferState state = gpusort_buffers[slot->buffers[i]].state;

			if (gpusort_shared->n_free_buffers >= enough)
				return;
			if (state == GPUSORT_BUFFER_IDLE && needs.idle > 0)
				needs.idle--;
			else if (state == GPUSORT_BUFFER_IDLE ||
					 (state == GPUSORT_BUFFER_OUTPUT_BLOCK && !needs.blocks))
				gpusort_buffer_free(slot->buffers[i]);
		}
	}
}

const GpuSortJobSlot *
gpusort_who_came_first(const GpuSortJobSlot *slot)
{
	uint64		now_us = gpusort_clock_us();
	const GpuSortJobSlot *first = NULL;

	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		const GpuSortJobSlot *other = &gpusort_shared->jobs[i];

		if (other->state == GPUSORT_JOB_OPENING && other->waits_since_us != 0 &&
			(slot->waits_since_us == 0 || other->waits_since_us < slot->waits_since_us) &&
			(first == NULL || other->waits_since_us < first->waits_since_us) &&
			/* its service does not end its wait, since it is halted */
			!gpusort_clock_exceeds(other->waits_since_us, now_us,
								   other->options.wait_ms + WAITER_MAY_BE_LATE_MS) &&
			(other->n_buffers == 0 ? slot->n_buffers == 0 : other->service == slot->service))
			first = other;
	}
	return first;
}

bool
gpusort_buffers_make_free(int needed)
{
	if (gpusort_shared->n_free_buffers < needed)
		take_back(needed);
	return gpusort_shared->n_free_buffers >= needed;
}

bool
gpusort_buffers_reserve(GpuSortJobSlot *slot, int needed)
{
	if (!gpusort_buffers_make_free(needed))
		return false;
	allocate_buffers(slot, needed);
	return true;
}

/* Are so many buffers free that jobs that come next will not miss one? */
static bool
has_plenty(void)
{
	return gpusort_shared->n_free_buffers > gpusort_shared->n_buffers / 4 * 3;
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
	int			missing = (int) Min(wanted, slot->blocks) - slot->n_buffers;

	if (missing > 0 && slot->state != GPUSORT_JOB_FAILED)
		allocate_buffers(slot, Min(missing, gpusort_shared->n_free_buffers));
}

void
gpusort_buffers_trim_to_read(GpuSortJobSlot *slot)
{
	int			at_most = Max(GPUSORT_READ_BUFFERS_SHORT, Min(slot->blocks, GPUSORT_READ_BUFFERS));

	for (int i = slot->n_buffers - 1; i >= 0 && slot->n_buffers > at_most; i--)
		if (gpusort_buffers[slot->buffers[i]].state == GPUSORT_BUFFER_IDLE)
			gpusort_buffer_free(slot->buffers[i]);
}
