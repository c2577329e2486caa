/*
 * job_internal.h
 *	  Declarations shared by the files of the sessions' protocol: job.c,
 *	  job_feed.c, job_leader.c.
 */
#ifndef GPUSORT_JOB_INTERNAL_H
#define GPUSORT_JOB_INTERNAL_H

#include "postgres.h"

#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#include "job/job.h"

extern uint32 gpusort_wait_event_of_feed;
extern uint32 gpusort_wait_event_of_sort;
extern uint32 gpusort_wait_event_of_output;

static inline GpuSortJobSlot *
gpusort_job_slot(const GpuSortJob *job)
{
	return &gpusort_shared->jobs[job->id.slot];
}

/* Requires the lock. */
static inline bool
gpusort_job_slot_failed(const GpuSortJob *job)
{
	return gpusort_job_slot(job)->state == GPUSORT_JOB_FAILED;
}

/*
 * Takes the shared lock, and raises a failure of the job.  The holder may wait
 * for a change of the job.  The lock is released during the wait, so the holder
 * must look again afterwards.
 */
extern void gpusort_job_lock_or_raise(const GpuSortJob *job, LWLockMode mode);
extern void gpusort_job_wait(const GpuSortJob *job, LWLockMode mode, uint32 wait_event);
extern void gpusort_job_unlock(void);

/* Both require the lock, held exclusively. */

/* Puts the job into a state, and waits until the service ends it. */
extern void gpusort_job_ask(GpuSortJob *job, GpuSortJobState state, uint32 wait_event);

/* Makes a buffer the service's, in a state that tells what it is to do. */
extern void gpusort_job_hand_over(const GpuSortJob *job, int buffer, GpuSortBufferState state);

/* Requires the lock.  Returns one of the job's buffers in a state, or -1. */
extern int	gpusort_job_find_buffer(const GpuSortJob *job, GpuSortBufferState state);

#endif							/* GPUSORT_JOB_INTERNAL_H */
