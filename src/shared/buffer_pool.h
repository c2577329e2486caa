/*
 * buffer_pool.h
 *	  The shared buffers: how many a job gets, and when it must give some back.
 *
 * A job reserves the buffers that it cannot do without when it opens, so that it never waits for
 * one that another job has.  It takes more, one by one, as it fills them, if most of the pool is
 * free: a small sort does not come to need them.
 */
#ifndef GPUSORT_BUFFER_POOL_H
#define GPUSORT_BUFFER_POOL_H

#include "postgres.h"

#include "shared/shmem.h"

/* As many as a job comes to, while the pool has plenty: for each process that fills them, and at least. */
#define GPUSORT_BUFFERS_A_FEEDER	3
#define GPUSORT_JOB_BUFFERS_MIN	6

/* Never filled with rows that the device may not take at once: the leader
 * reads a run through them while all other buffers wait for the next run. */
#define GPUSORT_SPILL_BUFFERS	2

/* Left to a job that is read: one being read, the others fetched ahead; and while buffers are short. */
#define GPUSORT_READ_BUFFERS		8
#define GPUSORT_READ_BUFFERS_SHORT	2

/* Reserved together when a job opens, and never taken from one that is fed.  Each feeder may hold on to one buffer until
 * it ends.  With one more than there are feeders all of them go on; small sorts need no more.  The planner plans no more
 * feeders than there are buffers for. */
static inline int
gpusort_buffers_to_open(int feeders)
{
	return feeders + 1 + GPUSORT_SPILL_BUFFERS;
}

/* All of these need the shared lock, held exclusively. */

/*
 * The buffers that a job of so many feeders opens with, taken from readers that are idle where none are free.  False: there are not enough,
 * or another job waits that came first; the job has none, and if it may wait (options.wait_ms) it waits from now on.
 * No job opens before another that waits: one that needs many buffers at once would be passed by small ones until it
 * gives up.
 */
extern bool gpusort_buffers_reserve(GpuSortJobSlot *slot, int feeders);

/* The job has its buffers, or gives up; or did not wait. */
extern void gpusort_buffers_end_wait(GpuSortJobSlot *slot);

/* One more for a job that fills buffers faster than they come back.  False: it has as many as a job
 * may, or others may need what is left. */
extern bool gpusort_buffers_grow(GpuSortJobSlot *slot);

/* Gives a job that is read, and lost buffers to others, some of them back, if any are free. */
extern void gpusort_buffers_restore(GpuSortJobSlot *slot);

/* Of a job whose windows are set, frees idle buffers that it does not need to read them. */
extern void gpusort_buffers_keep_to_read(GpuSortJobSlot *slot);

extern void gpusort_buffer_free(int buffer);

#endif							/* GPUSORT_BUFFER_POOL_H */
