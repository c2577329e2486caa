/*
 * job.h
 *	  The sessions' side of a device job.
 *
 * Life of a job: the leader opens it; it, or parallel workers too, fill buffers and
 * send them; the leader cuts, fetches windows, reads them, closes.  The service answers
 * each step through the job's slot; waits are interruptible.
 *
 * When the device fails a job, every wait for it ends, and what the functions answer means
 * nothing: the job takes no rows, gives no window, and gpusort_job_failed says so.  The
 * caller may start over without a device, until it says that it cannot any more
 * (gpusort_job_begin_output): from then on each of them raises the failure.
 *
 * Memory: a GpuSortJob lives in the context it was opened in, and the reset of
 * that context closes it, whatever ended the query.
 */
#ifndef GPUSORT_JOB_H
#define GPUSORT_JOB_H

#include "postgres.h"

#include "gpusort.h"
#include "shared/shmem.h"

/* Reserved together when a job opens: for each process that fills them, and at least. */
#define GPUSORT_BUFFERS_A_FEEDER	3
#define GPUSORT_JOB_BUFFERS_MIN	6

/* When the pool is short.  Each feeder may keep a buffer to the end, so that one more than
 * there are feeders lets all of them go on; a second keeps the service busy. */
#define GPUSORT_JOB_BUFFERS_SHORT(feeders)	Max((feeders) + 2, GPUSORT_JOB_BUFFERS_MIN)

/* Of the above, never filled with rows that the device may not take at once: the leader
 * reads a run through them while all other buffers wait for the next run. */
#define GPUSORT_SPILL_BUFFERS	2

/* Kept for reading: one being read, the others ahead. */
#define GPUSORT_READ_BUFFERS		8

/* Most processes that may feed a job, for GPUSORT_JOB_BUFFERS_MAX and GSORT_FEEDERS_MAX. */
#define GPUSORT_FEEDERS_MAX		64

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
	bool		output_begun;	/* a failure is raised */
	gsort_kind	device_kind;	/* of the device that serves it */
	MemoryContextCallback on_reset;
} GpuSortJob;

typedef struct GpuSortJobOptions
{
	uint32		key_columns;
	uint32		null_mask;		/* as in gsort_job_options */
	uint32		null_first_mask;
	int			feeders;		/* at most GPUSORT_FEEDERS_MAX */
	bool		may_spill;		/* the leader can spill runs */
	gsort_engine engine;
} GpuSortJobOptions;

/*
 * Claims a slot and the buffers that so many feeders need, fewer if the pool is short, but
 * no less than lets them all go on, at once and without waiting.  NULL: *reason says
 * why.  Closed by gpusort_job_close or the reset of the current memory context.  The
 * session's gpusort.wait_timeout bounds the job's wait for device memory, unless the
 * session has another job open: who waits must hold nothing.
 */
extern GpuSortJob *gpusort_job_open(const GpuSortJobOptions *options,
									GpuSortNativeReason *reason);
extern void gpusort_job_close(GpuSortJob *job);

/* A feeder's hold on a job that another process has opened and will close.  Errors: the
 * id is of a job that has ended. */
extern GpuSortJob *gpusort_job_attach(const GpuSortJobId *id);

/* True once the device has failed the job: for good. */
extern bool gpusort_job_failed(const GpuSortJob *job);

/* Raises the failure: class 58. */
extern void gpusort_job_raise_failure(const GpuSortJob *job) pg_attribute_noreturn();

/* The first row goes out, after which nobody can start over. */
extern void gpusort_job_begin_output(GpuSortJob *job);

/* True while the service can take a job: for the planner, and before a job is opened. */
extern bool gpusort_job_service_serves(void);

/* --- feeding --------------------------------------------------------------- */

#define GPUSORT_NO_BUFFER_REFUSED	(-1)	/* the job takes no more rows */
#define GPUSORT_NO_BUFFER_FULL	(-2)	/* none until the leader spills a run */

/*
 * A buffer to fill with a chunk; waits for one, and while the leader is spilling.
 * rest_of_row: for the rest of a row whose first chunk the device has accepted, which it
 * needs before it can end the run.
 */
extern int	gpusort_job_buffer_to_fill(GpuSortJob *job, bool rest_of_row);

/* Hands a filled or kept buffer to the service. */
extern void gpusort_job_send(GpuSortJob *job, int buffer);

/* The same for the first chunk of a row that continues, and waits for the answer.  False:
 * not accepted; the buffer is idle again. */
extern bool gpusort_job_send_and_wait(GpuSortJob *job, int buffer);

/* Keeps a filled buffer for the leader, who may not need the device. */
extern void gpusort_job_keep(GpuSortJob *job, int buffer);

/* A feeder has ended, with so many rows in all. */
extern void gpusort_job_feeder_done(GpuSortJob *job, uint64 rows);

/* --- the leader, after the feeders have ended ---------------------------- */

extern uint64 gpusort_job_rows_fed(GpuSortJob *job);
extern uint64 gpusort_job_chunks_sent(GpuSortJob *job);

/* Why the job takes no more rows; NONE while it does. */
extern GpuSortNativeReason gpusort_job_refused_reason(GpuSortJob *job);

/* Waits until the service holds no buffer of the job. */
extern void gpusort_job_wait_quiet(GpuSortJob *job);

/* The job's buffers in a state, chunks in the order they were sent; returns their number. */
extern int	gpusort_job_list_buffers(GpuSortJob *job, GpuSortBufferState state,
									int buffers[GPUSORT_JOB_BUFFERS_MAX]);

typedef enum GpuSortCutResult
{
	GPUSORT_CUT_DONE,
	GPUSORT_CUT_FULL,			/* not all chunks are accepted: spill this run first */
	GPUSORT_CUT_REFUSED			/* memory ran out, the rows are there to be cut AS_FED */
} GpuSortCutResult;

/* Ends the run and waits for its directory. */
extern GpuSortCutResult gpusort_job_cut(GpuSortJob *job, gsort_cut_how how);

/* Of a job that is full, ends the run as a SORTED_RUN.  False: as REFUSED above. */
extern bool gpusort_job_cut_full_run(GpuSortJob *job);

/* True if rows wait until the leader has spilled a run. */
extern bool gpusort_job_is_full(GpuSortJob *job);

/* The run, cut as a SORTED_RUN, has been read: drops its rows; feeding goes on. */
extern void gpusort_job_next_run(GpuSortJob *job);

/* After the last run's next_run: waits until the windows are those of the merge's order.
 * False: the device cannot compute it. */
extern bool gpusort_job_merge(GpuSortJob *job);

/* After the cut. */
extern uint64 gpusort_job_rows(const GpuSortJob *job);
extern uint64 gpusort_job_windows(const GpuSortJob *job);
extern void gpusort_job_stats(const GpuSortJob *job, gsort_job_stats *stats);

/* --- reading --------------------------------------------------------------- */

/* Makes the buffers of all windows idle: what was asked for or is waiting is forgotten. */
extern void gpusort_job_forget_windows(GpuSortJob *job);

/* Asks for a window by its number, or the one where a row starts, into an idle buffer.
 * Returns the buffer, or -1 when the job has no idle buffer, or failed. */
extern int	gpusort_job_fetch_window(GpuSortJob *job, uint64 window);
extern int	gpusort_job_fetch_row(GpuSortJob *job, uint64 row);

/* Waits for a fetched window and makes it the one being read; *window and *number tell
 * which.  False: the buffer was taken back while it waited, fetch again; or the job failed. */
extern bool gpusort_job_read_buffer(GpuSortJob *job, int buffer, gsort_window *window,
								   uint64 *number);

/* The window or chunk has been read: the buffer is idle again. */
extern void gpusort_job_buffer_done(GpuSortJob *job, int buffer);

#endif							/* GPUSORT_JOB_H */
