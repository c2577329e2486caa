/*
 * job.h
 *	  The sessions' side of a device job.
 *
 * Life of a job: the leader opens it; it, or parallel workers too, fill pieces and
 * send them; the leader cuts, fetches windows, reads them, closes.  The service answers
 * each step through the job's slot; waits are interruptible.
 *
 * Memory: a GpuSortJob lives in the context it was opened in, and the reset of
 * that context closes it, whatever ended the query.
 */
#ifndef GPUSORT_JOB_H
#define GPUSORT_JOB_H

#include "postgres.h"

#include "gpusort.h"
#include "shmem.h"

/* Reserved together when a job opens: for each process that fills them, and at least. */
#define GPUSORT_PIECES_A_FEEDER	3
#define GPUSORT_JOB_PIECES_MIN	6

/* When the pool is short.  Each feeder may keep a piece to the end, so that one more than
 * there are feeders lets all of them go on; a second keeps the service busy. */
#define GPUSORT_JOB_PIECES_SHORT(feeders)	Max((feeders) + 2, GPUSORT_JOB_PIECES_MIN)

/* Kept for reading: one being read, the others ahead. */
#define GPUSORT_READ_PIECES		8

/* Most processes that may feed a job, for GPUSORT_JOB_PIECES_MAX and GSORT_FEEDERS_MAX. */
#define GPUSORT_FEEDERS_MAX		64

/* Names a job to another process. */
typedef struct GpuSortTicket
{
	int			slot;			/* -1: there is no job */
	uint64		generation;
} GpuSortTicket;

typedef struct GpuSortJob
{
	GpuSortTicket ticket;
	bool		open;			/* by this process, which will close it */
	MemoryContextCallback on_reset;
} GpuSortJob;

/*
 * Claims a slot and the pieces that so many feeders need, fewer if the pool is short, but
 * no less than lets them all go on, at once and without waiting.  NULL: *reason says
 * why.  Closed by gpusort_job_close or the reset of the current memory context.
 */
extern GpuSortJob *gpusort_job_open(uint32 key_columns, uint32 null_mask,
									uint32 null_first_mask, int feeders,
									GpuSortNativeReason *reason);
extern void gpusort_job_close(GpuSortJob *job);

/* A feeder's hold on a job that another process has opened and will close.  Errors: the
 * ticket is of a job that has ended. */
extern GpuSortJob *gpusort_job_attach(const GpuSortTicket *ticket);

/* True while the service can take a job: for the planner, and before a job is opened. */
extern bool gpusort_job_service_serves(void);

/* --- feeding --------------------------------------------------------------- */

/* A piece to fill with a chunk; waits for one.  -1: the job takes no more rows. */
extern int	gpusort_job_piece_to_fill(GpuSortJob *job);

/* Hands a filled or kept piece to the service. */
extern void gpusort_job_send(GpuSortJob *job, int piece);

/* Keeps a filled piece for the leader, who may not need the device. */
extern void gpusort_job_keep(GpuSortJob *job, int piece);

/* A feeder has ended, with so many rows in all. */
extern void gpusort_job_feeder_done(GpuSortJob *job, uint64 rows);

/* --- the leader, after the feeders have ended ---------------------------- */

extern uint64 gpusort_job_rows_fed(GpuSortJob *job);
extern uint64 gpusort_job_chunks_sent(GpuSortJob *job);

/* Why the job takes no more rows; NONE while it does. */
extern GpuSortNativeReason gpusort_job_spent_reason(GpuSortJob *job);

/* Waits until the service holds no piece of the job. */
extern void gpusort_job_wait_quiet(GpuSortJob *job);

/* The job's pieces in a state, chunks in the order they were sent; returns their number. */
extern int	gpusort_job_list_pieces(GpuSortJob *job, GpuSortPieceState state,
									int pieces[GPUSORT_JOB_PIECES_MAX]);

/*
 * Ends the run and waits for its directory.  False: memory ran out, the rows are
 * still there to be cut AS_FED.  Errors: class 58 if the device failed.
 */
extern bool gpusort_job_cut(GpuSortJob *job, gsort_cut_how how);

/* After the cut. */
extern uint64 gpusort_job_rows(const GpuSortJob *job);
extern uint64 gpusort_job_windows(const GpuSortJob *job);
extern void gpusort_job_stats(const GpuSortJob *job, gsort_job_stats *stats);

/* --- reading --------------------------------------------------------------- */

/* Makes all the job's pieces idle: what was asked for or is waiting is forgotten. */
extern void gpusort_job_forget_windows(GpuSortJob *job);

/* Asks for a window by its number, or the one where a row starts, into an idle piece.
 * Returns the piece, or -1 when the job has no idle piece. */
extern int	gpusort_job_fetch_window(GpuSortJob *job, uint64 window);
extern int	gpusort_job_fetch_row(GpuSortJob *job, uint64 row);

/* Waits for a fetched window and makes it the one being read; *window and *number tell
 * which.  False: the piece was taken back while it waited; fetch again. */
extern bool gpusort_job_read_piece(GpuSortJob *job, int piece, gsort_window *window,
								   uint64 *number);

/* The window or chunk has been read: the piece is idle again. */
extern void gpusort_job_piece_done(GpuSortJob *job, int piece);

#endif							/* GPUSORT_JOB_H */
