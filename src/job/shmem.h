/*
 * shmem.h
 *	  The state that backends and the service share.
 *
 * One LWLock, gpusort_shared_lock(), guards every field that does not name
 * another rule.  It is held for a few loads and stores at a time.  A buffer
 * moves 1 MiB of rows, so some thousand a second are handed over at most.
 * Shared memory holds indexes and offsets, not pointers.
 *
 * A shared buffer has one owner at a time, which its state tells.  Only the
 * owner reads, writes or frees it.
 */
#ifndef GPUSORT_SHMEM_H
#define GPUSORT_SHMEM_H

#include "postgres.h"

#include "job/chunk.h"
#include "job/counters.h"
#include "gpusort.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#define GPUSORT_JOB_SLOTS		256

/* While half of the slots are taken, a process with this many jobs opens no
 * more, so no session shuts out all others. */
#define GPUSORT_JOBS_OF_A_PROCESS	(GPUSORT_JOB_SLOTS / 8)

#define GPUSORT_JOB_BUFFERS_MAX	192

/* The most processes that may feed a job, for GPUSORT_JOB_BUFFERS_MAX and
 * GSORT_FEEDERS_MAX. */
#define GPUSORT_FEEDERS_MAX		64

/* The most runs of a sort: one byte in the merge order is a run's number. */
#define GPUSORT_RUNS_MAX		255

typedef enum GpuSortBufferState
{
	GPUSORT_BUFFER_FREE,
	GPUSORT_BUFFER_IDLE,			/* the job's participants: idle */
	GPUSORT_BUFFER_FILLING,		/* the participant that writes a chunk */
	GPUSORT_BUFFER_SENT,			/* service: the device reads the chunk */
	/* its feeder: there is no room for the long row that the chunk begins */
	GPUSORT_BUFFER_REFUSED,
	GPUSORT_BUFFER_FETCHING,	/* service: the device writes a block */
	/* leader: a block that waits to be read; may be taken back */
	GPUSORT_BUFFER_OUTPUT_BLOCK,
	GPUSORT_BUFFER_READING		/* leader: its slot points into this block */
} GpuSortBufferState;

typedef struct GpuSortBuffer
{
	GpuSortBufferState state;
	int			job;			/* slot index, -1 when free */
	int			next_free;
	uint64		sent_order;		/* the chunk's number among its job's chunks */
	/* the block's number in the directory; FETCHING with by_row: number of a
	 * row, whose first block is asked for */
	uint64		block_number;
	bool		by_row;
	gsort_block	block;
} GpuSortBuffer;

/* The description of a job.  Its owner writes it into the slot, and the service
 * copies it once. */
typedef struct GpuSortJobOptions
{
	gsort_job_options device;	/* keys, flags and engine; the service adds the rest */
	int			feeders;		/* 1 to GPUSORT_FEEDERS_MAX */
	int			wait_ms;		/* limit of the wait for buffers and memory that other jobs have */
	uint64		expected_rows;	/* 0: not known */
	uint64		expected_bytes; /* of all rows, as they are packed */
	TimestampTz sort_start;
} GpuSortJobOptions;

typedef enum GpuSortJobState
{
	GPUSORT_JOB_FREE,
	GPUSORT_JOB_OPENING,		/* the leader waits for buffers and the first device memory */
	/* it gets none, for native_reason, so the leader closes the job */
	GPUSORT_JOB_REFUSED,
	GPUSORT_JOB_FEEDING,
	GPUSORT_JOB_FULL,			/* takes more rows after the leader has spilled this run */
	GPUSORT_JOB_FINISHING,
	GPUSORT_JOB_BETWEEN_RUNS,	/* the leader waits for the next run */
	GPUSORT_JOB_MERGING,		/* the leader waits for the merge's order */
	GPUSORT_JOB_READY,			/* rows and blocks are set, and blocks may be fetched */
	/* by the service, or by a session that finds the service unresponsive */
	GPUSORT_JOB_FAILED,
	/* the owner merges the runs without the device, and only the slot is its */
	GPUSORT_JOB_RELEASED,
	GPUSORT_JOB_ABANDONED		/* the owner has left, and the service frees the slot */
} GpuSortJobState;

/* The phase of a sort that has a job, for gpusort_progress. */
typedef enum GpuSortPhase
{
	GPUSORT_PHASE_WAITING,		/* for buffers, or for device memory */
	GPUSORT_PHASE_FEEDING,		/* rows come from the plan below and go to the device */
	GPUSORT_PHASE_SORTING,		/* the device sorts a run */
	GPUSORT_PHASE_SPILLING,		/* a sorted run is written to a file */
	GPUSORT_PHASE_MERGING,		/* sorted runs are merged and returned */
	GPUSORT_PHASE_OUTPUT		/* sorted rows are returned */
} GpuSortPhase;

/* Numbers that grow. */
typedef enum GpuSortFigure
{
	GPUSORT_ROWS_FED,			/* by all feeders so far */
	GPUSORT_BYTES_FED,
	GPUSORT_ROWS_RETURNED,
	GPUSORT_RUNS_SPILLED,
	GPUSORT_BYTES_SPILLED,
	GPUSORT_FIGURES
} GpuSortFigure;

typedef struct GpuSortJobSlot
{
	GpuSortJobState state;
	uint64		generation;		/* counts the slot's owners */
	/* number of the service that has the job; fixed while the slot is
	 * claimed */
	int			service;
	/* broadcast after the service has answered, and when a feeder has ended */
	ConditionVariable changed;
	/* from here on zero in a new job, but for what its owner sets */
	bool		asked;			/* the owner has entered a state that the service is to end */
	/* clock.h: OPENING: the job waits for what others have; 0: it does not */
	uint64		waits_since_us;

	GpuSortJobOptions options;	/* the owner's; fixed once it has asked to open */

	/* the buffers that belong to the job, whatever their states */
	int			n_buffers;
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];

	/* the buffers that have become the service's since it looked, in this
	 * order */
	uint32		n_handed;
	int			handed[GPUSORT_JOB_BUFFERS_MAX];

	/* the service's answers */
	GpuSortNativeReason native_reason; /* REFUSED: the reason */
	char		message[256];	/* FAILED: the reason */
	bool		lacked_memory;	/* FAILED: for want of memory, while the device goes on */
	pg_atomic_uint32 failure_counted;	/* FAILED: a process has got the error; no lock */
	uint64		blocks;
	gsort_job_stats stats;		/* of the run finished last, but for its memory, which is current */

	uint64		chunks_sent;
	int			feeders_done;	/* feeders that have ended */
	uint64		rows_fed;		/* by them */
	bool		to_verify;		/* one of them has made words that are not to be trusted */
	gsort_finish_how finish_how;		/* how the owner wants the finish that it waits for */
	uint64		last_read_us;	/* clock.h: when the reader last asked for a block */

	/* for gpusort_progress */
	int			pid;			/* the owner's */
	int			leader_pid;		/* the owner's leader, if it is a parallel worker; else 0 */
	Oid			database;
	Oid			role;			/* role that the session logged in as */
	GpuSortPhase phase;			/* follows the state */
	TimestampTz phase_start;
	bool		merging;		/* all runs have been spilled; only the owner writes it */
	pg_atomic_uint64 figures[GPUSORT_FIGURES];	/* without the lock */
} GpuSortJobSlot;

typedef enum GpuSortServiceState
{
	GPUSORT_SERVICE_STARTING,
	GPUSORT_SERVICE_SERVING,
	GPUSORT_SERVICE_UNAVAILABLE,	/* no device; detail tells why */
	GPUSORT_SERVICE_OFF			/* gpusort.device = off */
} GpuSortServiceState;

typedef struct GpuSortService
{
	GpuSortServiceState state;
	bool		registered;		/* a worker is, or is to be, started for it */
	int			proc;			/* number of its PGPROC; -1 while it is down */
	int			pid;
	gsort_device_info info;		/* of the device that it serves */
	/* longest turn of its loop since the last reset, without opening and
	 * closing the device; without the lock */
	uint64		longest_turn_us;
	char		detail[256];
	/* clock.h: when it lost the device that it had served; 0: none is
	 * missing */
	uint64		missing_since_us;

	/* whether its process runs, for service_client.c; the service clears
	 * asked_ms without the lock */
	uint64		asked_ms;		/* when a session woke it for a check; 0: it has run since */
	uint64		doubted_ms;		/* when this was first found too long ago; 0: it was not */
	bool		unresponsive;	/* this was found again: it gets no jobs */

	/* jobs done, and their rows, since the last reset; without the lock */
	pg_atomic_uint64 jobs;
	pg_atomic_uint64 rows;
} GpuSortService;

/* Two collations in the same place would forget each other, which costs device
 * sorts alone. */
#define GPUSORT_DISTRUSTED_COLLATIONS 256

typedef struct GpuSortShared
{
	/* counts changes of the state that backends copy (server_state.c); without
	 * the lock */
	pg_atomic_uint64 generation;
	int			n_gpus;			/* as found by the last service that opened one; 0: none has */
	int			n_services;		/* number of wanted services, at least 1: the first ones */
	GpuSortService services[GPUSORT_SERVICES_MAX];
	GpuSortCounters counters;	/* atomics: without the lock */
	pg_atomic_uint64 counters_reset_at; /* a TimestampTz */

	int			n_buffers;
	int			n_free_buffers;
	int			first_free_buffer;

	/* collations whose sort keys have contradicted them (server_state.c);
	 * atomics, no lock */
	pg_atomic_uint64 distrusted[GPUSORT_DISTRUSTED_COLLATIONS];

	GpuSortJobSlot jobs[GPUSORT_JOB_SLOTS];
} GpuSortShared;

extern GpuSortShared *gpusort_shared;
extern GpuSortBuffer *gpusort_buffers;
extern char *gpusort_buffer_pool;	/* page aligned, n_buffers * GPUSORT_BUFFER_BYTES */

extern void gpusort_shmem_install_hooks(bool first_service_has_worker);

/* Marks a service that has no free background worker, for the view.  Requires
 * the lock. */
extern void gpusort_service_set_no_worker(GpuSortService *service);
extern LWLock *gpusort_shared_lock(void);

static inline char *
gpusort_buffer_memory(int buffer)
{
	return gpusort_buffer_pool + (Size) buffer * GPUSORT_BUFFER_BYTES;
}

/* Requires the lock. */
static inline bool
gpusort_service_takes_jobs(const GpuSortService *service)
{
	return service->state == GPUSORT_SERVICE_SERVING && !service->unresponsive;
}

/* Does the owner need nothing of the service any more? */
static inline bool
gpusort_job_slot_is_left(const GpuSortJobSlot *slot)
{
	return slot->state == GPUSORT_JOB_RELEASED || slot->state == GPUSORT_JOB_ABANDONED;
}

/* Puts the job into a state.  Requires the lock, held exclusively. */
extern void gpusort_job_slot_enter(GpuSortJobSlot *slot, GpuSortJobState state);

/* Fails the job for good.  Requires the lock, held exclusively.  False: its
 * owner has left or it has failed already, and nothing is changed. */
extern bool gpusort_job_slot_fail(GpuSortJobSlot *slot, const char *message);

/* Requires the lock, held exclusively.  The slot has no buffers any more. */
extern void gpusort_job_slot_free(GpuSortJobSlot *slot);

#endif							/* GPUSORT_SHMEM_H */
