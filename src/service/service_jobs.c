/*
 * service_jobs.c
 *	  The service's side of the job slots: answers to sessions, and the end of
 *	  jobs.
 *
 * In:  the outcome of a job's request, of a device call, or the state of the
 *	    device itself.
 * Out: states of slots and buffers, with a signal to waiters; the freed slots
 *	    and buffers of jobs whose owner has left.
 *
 * Runs in the service alone.  The table of jobs is private to it; slots and
 * buffers are guarded by the shared lock, which is never held over a gsort_*
 * call or an ereport.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "job/buffer_pool.h"
#include "service/service_internal.h"

/* A device that has refused something is asked again for this long.  A transfer
 * takes less than a millisecond. */
#define PATIENCE_MS				3000

int			gpusort_service_number = 0;
GpuSortServiceJob gpusort_service_jobs[GPUSORT_JOB_SLOTS];
int			gpusort_service_open_jobs = 0;

/* --- buffers that wait for the device ------------------------------------- */

static int *next_buffer = NULL; /* [n_buffers] */

void
gpusort_service_queue(GpuSortBufferQueue *queue, int buffer)
{
	if (next_buffer == NULL)
		next_buffer = MemoryContextAlloc(TopMemoryContext, gpusort_shared->n_buffers * sizeof(int));
	if (queue->first == GPUSORT_NO_BUFFER)
		queue->first = buffer;
	else
		next_buffer[queue->last] = buffer;
	queue->last = buffer;
	next_buffer[buffer] = GPUSORT_NO_BUFFER;
}

int
gpusort_service_take(GpuSortBufferQueue *queue)
{
	int			buffer = queue->first;

	if (buffer != GPUSORT_NO_BUFFER)
		queue->first = next_buffer[buffer];
	return buffer;
}

void
gpusort_service_drop_buffers(GpuSortServiceJob *mine)
{
	mine->rests = mine->chunks = mine->fetches = GPUSORT_EMPTY_QUEUE;
	mine->refused_since_us = 0;
	mine->finish_wanted = false;
	mine->full = false;
}

bool
gpusort_service_asks_again(GpuSortServiceJob *mine)
{
	uint64		now_us = gpusort_clock_us();

	if (mine->refused_since_us == 0)
		mine->refused_since_us = now_us;
	return !gpusort_clock_exceeds(mine->refused_since_us, now_us, PATIENCE_MS);
}

/* --- answers -------------------------------------------------------------- */

/*
 * Each answer wakes the waiters after the lock has been released, because each
 * of them takes the lock first.
 */

void
gpusort_service_return_buffer(int buffer, GpuSortBufferState state)
{
	GpuSortJobSlot *slot;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	slot = gpusort_service_slot(gpusort_buffers[buffer].job);
	if (gpusort_job_slot_is_left(slot))
		gpusort_buffer_free(buffer);
	else
		gpusort_buffers[buffer].state = state;
	LWLockRelease(gpusort_shared_lock());
	ConditionVariableBroadcast(&slot->changed);
}

void
gpusort_service_set_job_state(int job, GpuSortJobState state)
{
	GpuSortJobSlot *slot = gpusort_service_slot(job);

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (slot->state != GPUSORT_JOB_FAILED && !gpusort_job_slot_is_left(slot))
		gpusort_job_slot_enter(slot, state);
	LWLockRelease(gpusort_shared_lock());
	ConditionVariableBroadcast(&slot->changed);
}

void
gpusort_service_fail_job(int job, const char *message, bool lacks_memory)
{
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (gpusort_job_slot_fail(gpusort_service_slot(job), message))
		gpusort_service_slot(job)->lacked_memory = lacks_memory;
	LWLockRelease(gpusort_shared_lock());
	gpusort_service_drop_buffers(&gpusort_service_jobs[job]);
}

/* --- the end -------------------------------------------------------------- */

static void
forget_job(GpuSortServiceJob *mine)
{
	memset(mine, 0, sizeof(*mine));
	gpusort_service_drop_buffers(mine);
}

void
gpusort_service_forget_all_jobs(void)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		forget_job(&gpusort_service_jobs[i]);
	gpusort_service_open_jobs = 0;
}

/* No device touches the job's buffers any more.  What the owner has left is
 * free: all buffers, and perhaps the slot.  Requires the lock. */
static void
take_over_job(GpuSortJobSlot *slot)
{
	for (int i = 0; i < slot->n_buffers; i++)
	{
		GpuSortBuffer *buffer = &gpusort_buffers[slot->buffers[i]];

		if (buffer->state == GPUSORT_BUFFER_SENT || buffer->state == GPUSORT_BUFFER_FETCHING)
			buffer->state = GPUSORT_BUFFER_IDLE;
	}
	slot->asked = false;
	slot->n_handed = 0;
	slot->stats.reserved_bytes = 0;
	while (gpusort_job_slot_is_left(slot) && slot->n_buffers > 0)
		gpusort_buffer_free(slot->buffers[slot->n_buffers - 1]);
	if (slot->state == GPUSORT_JOB_ABANDONED)
		gpusort_job_slot_free(slot);
}

void
gpusort_service_end_job(int job)
{
	forget_job(&gpusort_service_jobs[job]);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	take_over_job(gpusort_service_slot(job));
	LWLockRelease(gpusort_shared_lock());
}

void
gpusort_service_fail_all_jobs(const char *message)
{
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
	{
		GpuSortJobSlot *slot = gpusort_service_slot(i);

		if (slot->service == gpusort_service_number && slot->state != GPUSORT_JOB_FREE)
			gpusort_job_slot_fail(slot, message);
	}
}

void
gpusort_service_take_over(void)
{
	gpusort_service_fail_all_jobs("The sort service was restarted.");
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_service_slot(i)->service == gpusort_service_number)
			take_over_job(gpusort_service_slot(i));
}
