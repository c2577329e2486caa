/*
 * shmem.h
 *	  The state that backends and the service share.
 *
 * One LWLock, gpusort_shared_lock(), guards every field that does not name
 * another rule.  It is held for a few loads and stores at a time; a request
 * moves 1 MiB of rows, so there are some thousand of them a second at most.
 * Shared memory holds indexes and offsets, not pointers.
 *
 * A shared buffer has one owner at a time, told by its state: only the
 * owner reads, writes or frees it.
 */
#ifndef GPUSORT_SHMEM_H
#define GPUSORT_SHMEM_H

#include "postgres.h"

#include "shared/chunk.h"
#include "shared/counters.h"
#include "gpusort.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#define GPUSORT_JOB_SLOTS		256

/* While half of the slots are taken, a process that has this many jobs opens no more: no session shuts out all others. */
#define GPUSORT_JOBS_OF_A_PROCESS	(GPUSORT_JOB_SLOTS / 8)

#define GPUSORT_JOB_BUFFERS_MAX	192

/* Most processes that may feed a job, for GPUSORT_JOB_BUFFERS_MAX and GSORT_FEEDERS_MAX. */
#define GPUSORT_FEEDERS_MAX		64

/* Of one sort: in the merge order a byte numbers a run. */
#define GPUSORT_RUNS_MAX		255

typedef enum GpuSortBufferState
{
	GPUSORT_BUFFER_FREE,
	GPUSORT_BUFFER_HELD,			/* the job's participants: idle */
	GPUSORT_BUFFER_FILLING,		/* the participant that writes a chunk */
	GPUSORT_BUFFER_SENT,			/* service: the device reads the chunk */
	GPUSORT_BUFFER_REFUSED,		/* its feeder: there is no room for the long row that the chunk begins */
	GPUSORT_BUFFER_FETCHING,		/* service: the device writes a window */
	GPUSORT_BUFFER_WINDOW,		/* leader: a window that waits to be read; may be taken back */
	GPUSORT_BUFFER_READING		/* leader: the window its slot points into */
} GpuSortBufferState;

typedef struct GpuSortBuffer
{
	GpuSortBufferState state;
	int			job;			/* slot index, -1 when free */
	int			next_free;
	uint64		sent_order;		/* of a chunk among its job's chunks */
	uint64		window_number;	/* of a window in the directory */
	gsort_window window;
} GpuSortBuffer;

/* What a job is to do.  Its owner writes it into the slot; the service copies it once. */
typedef struct GpuSortJobOptions
{
	gsort_job_options device;	/* its keys, flags and engine; the service adds the rest */
	int			feeders;		/* 1 to GPUSORT_FEEDERS_MAX */
	int			wait_ms;		/* at most, for buffers and memory that other jobs have */
	uint64		expected_bytes; /* of all rows, as they are packed; 0: not known */
} GpuSortJobOptions;

typedef enum GpuSortJobState
{
	GPUSORT_JOB_FREE,
	GPUSORT_JOB_OPENING,			/* the leader waits for device memory to begin with */
	GPUSORT_JOB_REFUSED,			/* it gets none, for refused_reason: the leader closes the job */
	GPUSORT_JOB_FEEDING,
	GPUSORT_JOB_FULL,			/* takes more rows when the leader has spilled this run */
	GPUSORT_JOB_CUTTING,
	GPUSORT_JOB_ASKED,			/* the leader waits for the next run or for the merge */
	GPUSORT_JOB_READY,			/* rows and windows are set; windows may be fetched */
	GPUSORT_JOB_FAILED,			/* by the service, or by a session that finds the service unresponsive */
	GPUSORT_JOB_ABANDONED		/* the owner has left; the service frees the slot */
} GpuSortJobState;

typedef struct GpuSortJobSlot
{
	GpuSortJobState state;
	uint64		generation;		/* counts the slot's owners */
	int			service;		/* that has the job: its number; fixed while the slot is claimed */
	ConditionVariable changed;	/* broadcast when the service has answered */
	uint64		waits_since_us; /* clock.h: for the buffers to open with; 0: it does not */

	GpuSortJobOptions options;	/* the owner's, fixed once it has asked for memory */

	/* the buffers that belong to the job, whatever their states */
	int			n_buffers;
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];

	/* the service's answers */
	GpuSortNativeReason refused_reason; /* REFUSED: why */
	char		message[256];	/* FAILED: why */
	bool		lacked_memory;	/* FAILED: for want of memory; the device goes on */
	uint64		windows;
	gsort_job_stats stats;		/* of the run cut last; but what memory it holds, now */

	uint64		chunks_sent;
	uint64		rows_fed;		/* by the feeders that have ended */
	bool		to_verify;		/* one of them has made words that are not to be trusted */
	gsort_cut_how cut_how;		/* the cut that the owner waits for */
	uint64		last_read_us;	/* clock.h: when the reader last asked for a window */

	int			progress;		/* the sort's entry, in which feeders count what they send; -1: it has none */
} GpuSortJobSlot;

typedef enum GpuSortRequestKind
{
	GPUSORT_REQUEST_OPEN,
	GPUSORT_REQUEST_APPEND,		/* buffer */
	GPUSORT_REQUEST_CUT,		/* as cut_how says */
	GPUSORT_REQUEST_FETCH_WINDOW,	/* number of the window, to buffer */
	GPUSORT_REQUEST_FETCH_ROW,	/* the first window of row number, to buffer */
	GPUSORT_REQUEST_NEXT_RUN,
	GPUSORT_REQUEST_MERGE,
	GPUSORT_REQUEST_CLOSE
} GpuSortRequestKind;

typedef struct GpuSortRequest
{
	GpuSortRequestKind kind;
	int			job;
	int			buffer;
	uint64		number;
} GpuSortRequest;

typedef enum GpuSortServiceState
{
	GPUSORT_SERVICE_STARTING,
	GPUSORT_SERVICE_SERVING,
	GPUSORT_SERVICE_UNAVAILABLE,	/* no device; detail says why */
	GPUSORT_SERVICE_OFF			/* gpusort.device = off */
} GpuSortServiceState;

typedef struct GpuSortService
{
	GpuSortServiceState state;
	bool		registered;		/* a worker is, or is to be, started for it */
	int			proc;			/* number of its PGPROC, -1 while it is down */
	int			pid;
	gsort_device_info info;		/* of the device it serves */
	uint64		longest_turn_us;	/* of its loop, without opening and closing the device; since the
									 * last reset */
	char		detail[256];
	uint64		missing_since_us;	/* clock.h: its device, which it has served and lost; 0: it is not missing */
	int			failed_opens;	/* that gpusort.debug_fail_opens has caused since then */
	int			corruptions;	/* corrupt requests that it was restarted for since the last reload: the service
								 * alone, without the lock */
	int			open_jobs;		/* job slots that are claimed for it */

	/* whether its process runs, for services.c */
	uint64		asked_ms;		/* when a session woke it to see whether it runs; 0: it has run since */
	uint64		doubted_ms;		/* when that was first found too long ago; 0: it was not */
	bool		unresponsive;	/* it was found so again, and gets no jobs */

	pg_atomic_uint64 jobs;		/* that it has done, and their rows: since the last reset, without
								 * the lock */
	pg_atomic_uint64 rows;

	/* its requests: gpusort_service_requests(number)[ring_head % ring_room] is the oldest */
	uint64		ring_head;
	uint64		ring_tail;
} GpuSortService;

/* Beyond these all collations of the C library are distrusted. */
#define GPUSORT_DISTRUSTED_COLLATIONS_MAX 64

/* A collation of a database. */
typedef struct GpuSortCollation
{
	Oid			database;
	Oid			collation;
} GpuSortCollation;

/* Two processes whose numbers agree in the remainder cost a query counted twice at worst. */
#define GPUSORT_LAST_FAILED	256

/* Sorts that can be listed: those that have a job, and those that need none any more since they merge
 * their runs themselves. */
#define GPUSORT_PROGRESS_ENTRIES	512

typedef enum GpuSortPhase
{
	GPUSORT_PHASE_WAITING,		/* for buffers, or for device memory */
	GPUSORT_PHASE_FEEDING,		/* rows come from the plan below and go to the device */
	GPUSORT_PHASE_SORTING,		/* the device sorts a run */
	GPUSORT_PHASE_SPILLING,		/* a sorted run is written to a file */
	GPUSORT_PHASE_MERGING,		/* sorted runs are merged and returned */
	GPUSORT_PHASE_OUTPUT		/* sorted rows are returned */
} GpuSortPhase;

/* What belongs together of a sort under way. */
typedef struct GpuSortProgressState
{
	int			pid;			/* of the process that leads the sort; 0: there is none */
	int			leader_pid;		/* if that is a parallel worker, of its leader; else 0 */
	Oid			database;
	Oid			role;			/* that the session logged in as */
	uint64		rows_expected;	/* by the planner; 0: not known */
	TimestampTz sort_start;
	GpuSortPhase phase;
	TimestampTz phase_start;
	int			job;			/* its slot; -1: none yet */
	uint64		generation;		/* of the slot.  Another one's: the sort needs no job any more */
} GpuSortProgressState;

/* Numbers that grow. */
typedef enum GpuSortProgressFigure
{
	GPUSORT_PROGRESS_ROWS_FED,	/* by all feeders so far */
	GPUSORT_PROGRESS_BYTES_FED,
	GPUSORT_PROGRESS_ROWS_RETURNED,
	GPUSORT_PROGRESS_RUNS_SPILLED,
	GPUSORT_PROGRESS_BYTES_SPILLED,
	GPUSORT_PROGRESS_FIGURES
} GpuSortProgressFigure;

/* A sort has one from when it asks for a job until it has returned its last row, ended in any way, or become
 * native (progress.h). */
typedef struct GpuSortProgressEntry
{
	pg_atomic_uint32 claimed;	/* 0: free */
	int			st_changecount; /* odd while state is written; PostgreSQL's macros want this name */
	GpuSortProgressState state;
	pg_atomic_uint64 figures[GPUSORT_PROGRESS_FIGURES];
} GpuSortProgressEntry;

typedef struct GpuSortShared
{
	pg_atomic_uint64 generation;	/* counts the changes of what backends copy (server_state.c): without
									 * the lock */
	int			n_gpus;			/* that the last service found which opened one; 0: none has */
	int			n_services;		/* that there are to be, at least 1: the first ones */
	GpuSortService services[GPUSORT_SERVICES_MAX];
	GpuSortCounters counters;	/* atomics: without the lock */
	pg_atomic_uint64 counters_reset_at; /* a TimestampTz */

	int			n_buffers;
	int			n_free_buffers;
	int			first_free_buffer;
	ConditionVariable buffer_freed; /* broadcast when one is; jobs that cannot open wait for it */
	int			n_buffer_waiters;	/* these jobs */

	uint64		ring_room;		/* of each service */

	/* whose sort keys have contradicted them (server_state.c) */
	int			n_distrusted;
	GpuSortCollation distrusted[GPUSORT_DISTRUSTED_COLLATIONS_MAX];

	/* the last statement that failed, by its leader's process: counted once; atomics, no lock */
	pg_atomic_uint64 last_failed[GPUSORT_LAST_FAILED];

	GpuSortJobSlot jobs[GPUSORT_JOB_SLOTS];
	GpuSortProgressEntry progress[GPUSORT_PROGRESS_ENTRIES];	/* without the lock (progress.h) */
} GpuSortShared;

extern GpuSortShared *gpusort_shared;
extern GpuSortBuffer *gpusort_buffers;
extern GpuSortRequest *gpusort_requests;	/* [GPUSORT_SERVICES_MAX][ring_room]; services.c */
extern char *gpusort_buffer_pool;	/* page aligned, n_buffers * GPUSORT_BUFFER_BYTES */

extern void gpusort_shmem_install_hooks(bool first_service_has_worker);

/* No background worker is free for a service: the view is to say so.  With the lock held. */
extern void gpusort_service_set_no_worker(GpuSortService *service);
extern LWLock *gpusort_shared_lock(void);

static inline char *
gpusort_buffer_memory(int buffer)
{
	return gpusort_buffer_pool + (Size) buffer * GPUSORT_BUFFER_BYTES;
}

/* With the lock held. */
static inline bool
gpusort_service_takes_jobs(const GpuSortService *service)
{
	return service->state == GPUSORT_SERVICE_SERVING && !service->unresponsive;
}

/* Fails the job for good, with the lock held exclusively.  False: its owner has left or it has failed already,
 * and nothing is changed. */
extern bool gpusort_job_slot_fail(GpuSortJobSlot *slot, const char *message);

/* With the lock held exclusively; the slot has no buffers any more. */
extern void gpusort_job_slot_free(GpuSortJobSlot *slot);

#endif							/* GPUSORT_SHMEM_H */
