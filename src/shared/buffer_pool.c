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
 * A cursor between two FETCHes would hold its buffers for as long as its session likes.  So
 * a job that opens may take back the buffers of a reader that has not asked for a window
 * for a while, all but one; the reader fetches again what it has lost.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "shared/buffer_pool.h"

/* A reader that has not asked for this long is idle. */
#define IDLE_READER_MS			1000

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
is_idle_reader(const GpuSortJobSlot *slot, TimestampTz now)
{
	return slot->state == GPUSORT_JOB_READY && slot->cut_how != GSORT_SORTED_RUN &&
		TimestampDifferenceExceeds(slot->last_read, now, IDLE_READER_MS);
}

/* Frees buffers of idle readers, all but one of each, until enough are free. */
static void
take_back_idle_buffers(int enough)
{
	TimestampTz now = GetCurrentTimestamp();

	for (int j = 0; j < GPUSORT_JOB_SLOTS; j++)
	{
		GpuSortJobSlot *slot = &gpusort_shared->jobs[j];

		if (!is_idle_reader(slot, now))
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

bool
gpusort_buffers_reserve(int job, int feeders)
{
	int			needed = GPUSORT_JOB_BUFFERS_SHORT(feeders) + GPUSORT_SPILL_BUFFERS;

	if (gpusort_shared->n_free_buffers < needed)
		take_back_idle_buffers(needed);
	if (gpusort_shared->n_free_buffers < needed)
		return false;
	allocate_buffers(job, needed);
	return true;
}

bool
gpusort_buffers_grow(int job)
{
	const GpuSortJobSlot *slot = &gpusort_shared->jobs[job];
	int			most = Max(slot->options.feeders * GPUSORT_BUFFERS_A_FEEDER,
						   GPUSORT_JOB_BUFFERS_MIN) + GPUSORT_SPILL_BUFFERS;

	if (slot->n_buffers >= Min(most, GPUSORT_JOB_BUFFERS_MAX) ||
		gpusort_shared->n_free_buffers <= gpusort_shared->n_buffers / 2)
		return false;
	allocate_buffers(job, 1);
	return true;
}

void
gpusort_buffers_restore(int job)
{
	const GpuSortJobSlot *slot = &gpusort_shared->jobs[job];
	int			missing = (int) Min(GPUSORT_JOB_BUFFERS_MIN, slot->windows) - slot->n_buffers;

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
