/*
 * job.h
 *	  The sessions' side of a device job.
 *
 * Life of a job:
 *  1. The leader, the backend that runs the sort, opens the job, which then has
 *     device memory for some rows.
 *  2. The feeders, which are the leader or also its parallel workers, fill
 *     buffers with chunks of rows and send them.
 *  3. The leader finishes the job: the rows sent so far are sorted.
 *  4. The leader fetches blocks of sorted rows into buffers, and reads them.
 *  5. The leader closes it.
 * If the device's memory is full between 2 and 3, the leader finishes a run,
 * reads it into a file and goes on with the next run.  After the last run the
 * device tells how to merge them.
 *
 * A step waits for the service's answer if it needs one.  A cancel ends any
 * wait.
 *
 * The device may fail a job at any time, and so may a waiting session if the
 * service does not run.  All waits for the job then end.  Every call that takes
 * the lock, except gpusort_job_close, raises the failure in all processes that
 * feed the job: as an error of class 53 if the device lacked memory, else of
 * class 58.  The failure of a merged job is no error, since its rows are
 * elsewhere: it returns no more blocks, and gpusort_job_failed is true.
 *
 * Memory: a GpuSortJob lives in the context in which it was opened.  Whatever
 * ends the query also closes the job: gpusort_job_close, or the end of the
 * resource owner that was current when it was opened.
 */
#ifndef GPUSORT_JOB_H
#define GPUSORT_JOB_H

#include "postgres.h"

#include "compat.h"
#include "gpusort.h"
#include "job/buffer_pool.h"

/* The feeders of a parallel plan: the leader's feed node, the workers, and the
 * GpuSort node, which feeds the rows that showed it a full job. */
#define GPUSORT_PARALLEL_FEEDERS(workers)	((workers) + 2)

/* Names a job to another process. */
typedef struct GpuSortJobId
{
	int			slot;			/* -1: there is no job */
	uint64		generation;
} GpuSortJobId;

typedef struct GpuSortJob
{
	GpuSortJobId id;
	bool		may_fail;		/* a failure is not raised */
	gsort_kind	device_kind;	/* kind of the device that serves it */
	/* the device's name and its service's number; empty if there is only one */
	char		device_name[160];
} GpuSortJob;

/*
 * Claims a slot, then all at once the buffers that these feeders need, then
 * device memory.  If other jobs have them, it waits.  NULL: *reason tells why.
 *
 * The wait lasts at most twice options->wait_ms, the native sort's time, or 50
 * ms if that is more.  gpusort.wait_timeout and gpusort.max_wait_timeout bound
 * it too.  A job does not wait if its process has another job open, nor in a
 * parallel worker, whose leader may have one.
 */
extern GpuSortJob *gpusort_job_open(const GpuSortJobOptions *options,
									GpuSortNativeReason *reason);

/* Why would a job of this many feeders be refused now?  NONE: a slot and
 * buffers are free, but nothing is claimed.  Device memory is not looked at. */
extern GpuSortNativeReason gpusort_job_look_for_room(int feeders);

/* May be called twice. */
extern void gpusort_job_close(GpuSortJob *job);

/* Gives back all that the job has of a device, after its last run has been
 * spilled.  It stays listed as a sort that merges, until it is closed. */
extern void gpusort_job_release_device(GpuSortJob *job);

/* Sets a figure of gpusort_progress.  Harmless after the job has been
 * closed. */
extern void gpusort_job_report(const GpuSortJob *job, GpuSortFigure figure, uint64 value);

/* Attaches a feeder to a job that another process has opened and will close.
 * Raises an error if that job has ended. */
extern GpuSortJob *gpusort_job_attach(const GpuSortJobId *id);

/* Has the device failed a merged job?  If so, it is for good. */
extern bool gpusort_job_failed(const GpuSortJob *job);

/* --- feeding -------------------------------------------------------------- */

#define GPUSORT_NO_BUFFER_FULL	(-1)	/* no buffer until the leader spills a run */

/*
 * Returns a buffer to fill with a chunk.  It waits for one, and also while the
 * leader is spilling.
 *
 * rest_of_row: the buffer is for the rest of a row whose first chunk the device
 * has accepted.  The run cannot end before the device has the whole row.
 */
extern int	gpusort_job_buffer_to_fill(GpuSortJob *job, bool rest_of_row);

/* Hands a filled buffer to the service.  It waits for the answer to the first
 * chunk of a row that continues.  False: there is no room for that row, the job
 * is full, and the buffer is idle again. */
extern bool gpusort_job_send(GpuSortJob *job, int buffer);

/* Tells that a feeder has ended after this many rows.  to_verify: the order of
 * their words is not to be trusted. */
extern void gpusort_job_feeder_done(GpuSortJob *job, uint64 rows, bool to_verify);

/* Waits until the leader begins to spill the run of a full job.  For feeders
 * that cannot hand the leader a row. */
extern void gpusort_job_wait_while_full(GpuSortJob *job);

/* --- the leader, after the feeders have ended ---------------------------- */

/* Waits until this many feeders have ended.  False: the job is full, and some
 * of them may wait until the leader has spilled a run. */
extern bool gpusort_job_wait_for_feeders(GpuSortJob *job, int feeders);

/* Returns the number of rows that all feeders have fed.  *to_verify: the words
 * of some are not to be trusted. */
extern uint64 gpusort_job_rows_fed(GpuSortJob *job, bool *to_verify);

/* Ends the run and waits for its directory.  full: because the job is full, not
 * because the input ends.  False: not all chunks are accepted, so this run must
 * be spilled first. */
extern bool gpusort_job_finish_run(GpuSortJob *job, gsort_finish_how how, bool full);

/* Do rows wait until the leader has spilled a run?  Takes no lock, and raises
 * no failure. */
extern bool gpusort_job_is_full(const GpuSortJob *job);

/* Drops the rows and blocks of a run that was finished as a SORTED_RUN and has
 * been read.  Feeding goes on. */
extern void gpusort_job_next_run(GpuSortJob *job);

/* Called after the last run has been read: waits until the blocks hold the
 * merge's order.  False: the device cannot compute it, or has failed.  From
 * here on a failure is not raised. */
extern bool gpusort_job_merge(GpuSortJob *job);

/* Returns the number of rows; valid after the finish. */
extern uint64 gpusort_job_rows(const GpuSortJob *job);
extern uint64 gpusort_job_blocks(const GpuSortJob *job);
extern void gpusort_job_stats(const GpuSortJob *job, gsort_job_stats *stats);

/* --- reading -------------------------------------------------------------- */

/* Makes the buffers of all blocks idle, whether these were asked for or have
 * come. */
extern void gpusort_job_release_blocks(GpuSortJob *job);

/* Asks for a block by its number, or for the one where a row starts, into an
 * idle buffer.  Returns the buffer, or -1 if the job has no idle buffer or has
 * failed. */
extern int	gpusort_job_fetch(GpuSortJob *job, uint64 number, bool by_row);

/* Waits for a fetched block and makes it the one being read.  *block and
 * *number describe it.  False: the buffer was taken back meanwhile and the
 * block must be fetched again, or the job has failed. */
extern bool gpusort_job_read_buffer(GpuSortJob *job, int buffer, gsort_block *block,
								   uint64 *number);

/* Makes the buffer idle, after its block or chunk has been read. */
extern void gpusort_job_buffer_done(GpuSortJob *job, int buffer);

#endif							/* GPUSORT_JOB_H */
