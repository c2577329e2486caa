/*
 * buffer_pool.h
 *	  The shared buffers: the number that a job gets, and when it must give some
 *	  back.
 *
 * When a job opens, it reserves the buffers that it cannot do without, so it
 * never waits for another job's buffer.  It takes more, one by one, as it fills
 * them, if most of the pool is free.  A small sort never gets that far.
 */
#ifndef GPUSORT_BUFFER_POOL_H
#define GPUSORT_BUFFER_POOL_H

#include "postgres.h"

#include "job/shmem.h"

/* The most buffers of a job while the pool has plenty: for each process that
 * fills them, and at least. */
#define GPUSORT_BUFFERS_A_FEEDER	3
#define GPUSORT_JOB_BUFFERS_MIN	6

/* Buffers that are never filled with rows that the device may refuse.  The
 * leader reads a run through them while all other buffers wait for the next
 * run. */
#define GPUSORT_SPILL_BUFFERS	2

/* Buffers left to a job that is read: one being read, the others fetched ahead;
 * and while buffers are short. */
#define GPUSORT_READ_BUFFERS		8
#define GPUSORT_READ_BUFFERS_SHORT	2

/*
 * Returns the number of buffers that a job reserves together when it opens.
 * They are never taken from a job that is fed.  Each feeder may hold one buffer
 * until it ends, so all feeders go on if there is one buffer more than feeders.
 * Small sorts need no more.  The planner plans no more feeders than there are
 * buffers for.
 */
static inline int
gpusort_buffers_to_open(int feeders)
{
	return feeders + 1 + GPUSORT_SPILL_BUFFERS;
}

/* All of these need the shared lock, held exclusively. */

/* Returns the first job that waits and that this one must not pass, or NULL.
 * Jobs open in the order in which they came: small jobs would pass one that
 * needs many buffers at once until it gives up.  Jobs that wait for device
 * memory hold up their device's jobs alone.  A job whose time is long over
 * holds up none. */
extern const GpuSortJobSlot *gpusort_who_came_first(const GpuSortJobSlot *slot);

/* Are this many buffers free?  If not, idle readers lose theirs first. */
extern bool gpusort_buffers_make_free(int needed);

/* Reserves the buffers that a job opens with.  False: there are not enough. */
extern bool gpusort_buffers_reserve(GpuSortJobSlot *slot, int needed);

/* Gives one more buffer to a job that fills buffers faster than they come back.
 * False: it has as many as a job may, or others may need the rest. */
extern bool gpusort_buffers_grow(GpuSortJobSlot *slot);

/* Returns buffers, if any are free, to a job that is read and has lost some to
 * others. */
extern void gpusort_buffers_restore(GpuSortJobSlot *slot);

/* Frees the idle buffers that a job does not need for reading.  Its blocks are
 * set. */
extern void gpusort_buffers_trim_to_read(GpuSortJobSlot *slot);

/* Moves a buffer from its job to the free ones. */
extern void gpusort_buffer_free(int buffer);

#endif							/* GPUSORT_BUFFER_POOL_H */
