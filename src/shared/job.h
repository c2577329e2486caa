/*
 * job.h
 *	  The sessions' side of a device job.
 *
 * Life of a job:
 *  1. The leader, the backend that runs the sort, opens it: it then has device memory for some rows.
 *  2. The feeders, which are the leader or its parallel workers too, fill buffers with
 *     chunks of rows and send them.
 *  3. The leader cuts: what has been sent is sorted.
 *  4. The leader fetches windows of sorted rows into buffers, and reads them.
 *  5. The leader closes it.
 * If the device's memory is full between 2 and 3, the leader cuts a run, reads it to a
 * file and goes on with the next run; after the last one the device tells how to merge them.
 *
 * Each step waits for the service's answer where it needs one; a cancel ends any wait.
 *
 * The device may fail a job at any time, and a waiting session does if the service does not run.
 * All waits for the job then end, and every function here but gpusort_job_close raises the failure as an error of class 58,
 * in all processes that feed it.  Only a job that is merged has its rows elsewhere: its failure is no error, it gives no
 * more windows, and gpusort_job_failed is true.
 *
 * Memory: a GpuSortJob lives in the context it was opened in.  Whatever ends the query, the job
 * is closed then (release.h): by the abort of its resource owner, or by the reset of that context.
 */
#ifndef GPUSORT_JOB_H
#define GPUSORT_JOB_H

#include "postgres.h"

#include "compat.h"
#include "gpusort.h"
#include "shared/buffer_pool.h"
#include "shared/release.h"

/* In a parallel plan: the leader's feed node, the workers, and the GpuSort node, which feeds
 * the rows that told it of a full job. */
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
	bool		open;			/* by this process, which will close it */
	bool		may_fail;		/* a failure is not raised */
	gsort_kind	device_kind;	/* of the device that serves it */
	char		device_name[160];	/* its name and its service's number; empty, if it is the only one */
	GpuSortHold hold;			/* while it is open */
} GpuSortJob;

/*
 * Claims a slot and the buffers that so many feeders need, all at once; waits for them, as long as for device
 * memory, if other jobs have them.  Then it waits for device memory.  NULL: *reason says why.
 * Closed by gpusort_job_close, or when the current resource owner or memory context ends.
 *
 * Twice options->wait_ms, the native sort's time,
 * bounds the wait, or 50 ms if that is more; and so do gpusort.wait_timeout and gpusort.max_wait_timeout.  A job does not wait if this
 * process has another job open when it opens it, nor in a parallel worker, whose leader may have one.
 */
extern GpuSortJob *gpusort_job_open(const GpuSortJobOptions *options,
									GpuSortNativeReason *reason);

extern void gpusort_job_close(GpuSortJob *job);

/* A feeder's hold on a job that another process has opened and will close.  Errors: the
 * id is of a job that has ended. */
extern GpuSortJob *gpusort_job_attach(const GpuSortJobId *id);

/* Of a job that is merged: has the device failed it?  Then for good. */
extern bool gpusort_job_failed(const GpuSortJob *job);

/* --- feeding --------------------------------------------------------------- */

#define GPUSORT_NO_BUFFER_FULL	(-1)	/* none until the leader spills a run */

/*
 * A buffer to fill with a chunk; waits for one, and while the leader is spilling.
 * rest_of_row: for the rest of a row whose first chunk the device has accepted, which it
 * needs before it can end the run.
 */
extern int	gpusort_job_buffer_to_fill(GpuSortJob *job, bool rest_of_row);

/* Hands a filled buffer to the service.  With the first chunk of a row that continues it waits for the answer.
 * False: there is no room for that row, and the job is full; the buffer is idle again. */
extern bool gpusort_job_send(GpuSortJob *job, int buffer);

/* A feeder has ended, with so many rows in all; to_verify: the order of their words is not to be trusted. */
extern void gpusort_job_feeder_done(GpuSortJob *job, uint64 rows, bool to_verify);

/* --- the leader, after the feeders have ended ---------------------------- */

/* Rows that they have fed; *to_verify: the words of some are not to be trusted. */
extern uint64 gpusort_job_rows_fed(GpuSortJob *job, bool *to_verify);

/* Ends the run and waits for its directory.  False: not all chunks are accepted, spill this run first. */
extern bool gpusort_job_cut(GpuSortJob *job, gsort_cut_how how);

/* Of a job that is full, ends the run as a SORTED_RUN. */
extern void gpusort_job_cut_full_run(GpuSortJob *job);

/* True if rows wait until the leader has spilled a run. */
extern bool gpusort_job_is_full(GpuSortJob *job);

/* The run, cut as a SORTED_RUN, has been read: drops its rows and windows; feeding goes on. */
extern void gpusort_job_next_run(GpuSortJob *job);

/* The last run has been read: waits until the windows are those of the merge's order.  False: the device
 * cannot compute it, or has failed.  From here on its failure is not raised. */
extern bool gpusort_job_merge(GpuSortJob *job);

/* After the cut. */
extern uint64 gpusort_job_rows(const GpuSortJob *job);
extern uint64 gpusort_job_windows(const GpuSortJob *job);
extern void gpusort_job_stats(const GpuSortJob *job, gsort_job_stats *stats);

/* --- reading --------------------------------------------------------------- */

/* Makes the buffers of all windows idle: what was asked for or is waiting is forgotten. */
extern void gpusort_job_forget_windows(GpuSortJob *job);

/* Asks for a window by its number, or the one where a row starts, into an idle buffer.
 * Returns the buffer, or -1 when the job has no idle buffer, or has failed. */
extern int	gpusort_job_fetch_window(GpuSortJob *job, uint64 window);
extern int	gpusort_job_fetch_row(GpuSortJob *job, uint64 row);

/* Waits for a fetched window and makes it the one being read; *window and *number tell
 * which.  False: the buffer was taken back while it waited, fetch again; or the job failed. */
extern bool gpusort_job_read_buffer(GpuSortJob *job, int buffer, gsort_window *window,
								   uint64 *number);

/* The window or chunk has been read: the buffer is idle again. */
extern void gpusort_job_buffer_done(GpuSortJob *job, int buffer);

#endif							/* GPUSORT_JOB_H */
