/*
 * gsort_device.h
 *	  The interface between the front end of gsort.h, cuda/api, and the two
 *	  implementations of a device, cuda/device and cuda/host.
 *
 * The front end checks every argument and keeps each job's books: reservations,
 * the feeders' byte streams, statistics, the directory.  The front end also
 * assigns each chunk its place.  The implementation behind the table of
 * operations allocates, copies, sorts and gathers.  All data here belongs to
 * the one thread that calls gsort.h.  An implementation's own threads must not
 * touch this data.
 *
 * The arena of a job's rows is a sequence of extents (extents.h).  A chunk's
 * rows lie in one extent; only a row longer than its chunk may span several.
 */
#ifndef GSORT_DEVICE_H
#define GSORT_DEVICE_H

#include "gsort.h"
#include "rows/extents.h"
#include "rows/key_plan.h"
#include "rows/block_cut.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct gsort_device_ops gsort_device_ops;

/* For tests: the settings of gsort_set_fail_at.  Any thread may count. */
typedef struct gsort_faults
{
	uint64_t	fail_at;		/* 0: nothing is counted */
	uint64_t	count;
	uint32_t	kinds;			/* set before fail_at */
} gsort_faults;

/* Counts one operation of a kind; true if it must fail. */
static inline int
gsort_fails_now(gsort_faults *faults, gsort_fail_kind kind)
{
	uint64_t	fail_at = __atomic_load_n(&faults->fail_at, __ATOMIC_ACQUIRE);
	uint64_t	count;

	if (fail_at == 0 || (faults->kinds & kind) == 0)
		return 0;
	count = __atomic_add_fetch(&faults->count, 1, __ATOMIC_RELAXED);
	return count == fail_at || (count > fail_at && (faults->kinds & GSORT_FAIL_LATER_TOO) != 0);
}

/* The first member of an implementation's device struct. */
struct gsort_device
{
	const gsort_device_ops *ops;
	uint64_t	budget_bytes;
	uint64_t	reserved_bytes; /* total of all open jobs */
	uint64_t	retained_bytes; /* retained part of reserved_bytes */
	int			lost;			/* every later call returns DEVICE_LOST */
	gsort_faults faults;
	char		error_text[512];
};

typedef enum gsort_run_state
{
	GSORT_RUN_FEEDING,
	GSORT_RUN_FINISHING,		/* a finish is enqueued */
	GSORT_RUN_FINISHED,			/* the directory is complete */
	GSORT_RUN_ENDING,			/* a next_run is enqueued */
	GSORT_RUN_MERGING,			/* a merge is enqueued */
	GSORT_RUN_MERGED,			/* the directory of the merge order is complete */
	GSORT_RUN_FAILED			/* BAD_DATA or DEVICE_LOST: only a close is legal */
} gsort_run_state;

/* The fate of a run's sorted keys when the run ends. */
typedef enum gsort_retain
{
	GSORT_RETAIN_NOTHING,		/* also drops the keys of earlier runs */
	GSORT_RETAIN_KEYS,
	/* A column of the job has had a NULL.  Runs that retained keys alone have
	 * no NULLs. */
	GSORT_RETAIN_KEYS_AND_NULLS
} gsort_retain;

typedef struct gsort_feeder
{
	uint64_t	next_unit;
	uint64_t	missing_units;
} gsort_feeder;

/* The first member of an implementation's job struct. */
struct gsort_job
{
	gsort_device *device;
	gsort_job_options options;
	gsort_run_state state;
	gsort_finish_how finish_how;
	int			closing;

	uint64_t	rows;
	uint64_t	fed_units;		/* units of all rows; a long row counts in full when it begins */
	/* End of the used part of the arena, with wasted tails of extents
	 * included. */
	uint64_t	arena_units;
	uint64_t	reserved_rows;
	uint64_t	reserved_units;
	uint64_t	reserved_bytes; /* device memory reserved to the job's runs, scratch included */
	/* retained keys, later also the merge order, finally the order alone */
	uint64_t	retained_bytes;

	gsort_feeder feeders[GSORT_FEEDERS_MAX];
	int			incomplete_rows;
	uint32_t	fetches;		/* in progress */
	gsort_column_stats column_stats[GSORT_MAX_KEY_COLUMNS];

	uint64_t	ended_rows;		/* total of the ended runs */
	gsort_column_stats ended_stats[GSORT_MAX_KEY_COLUMNS];
	/* ENDING: the request to the implementation, then its result */
	gsort_retain	retain;

	/* malloc'd.  For SORTED, the implementation sets it before it returns the
	 * RUN_FINISHED event. */
	gsort_block *blocks;
	uint64_t	n_blocks;

	/* The front end sets rows, bytes in and out, reserved, runs and
	 * keys_retained.  The implementation sets peak, sort_ms, merge_ms, and key
	 * bits and words. */
	gsort_job_stats stats;
};

/*
 * The operations of an implementation.  The front end has checked the
 * arguments.  Each returns the statuses of the gsort.h function of the same
 * name.
 */
struct gsort_device_ops
{
	gsort_status (*open) (const gsort_device_options *options, gsort_device **device,
						  char *reason, size_t reason_bytes);
	gsort_status (*pin) (gsort_device *device, void *base, size_t bytes);
	int			(*fd) (gsort_device *device);
	/* The events come from gsort_operation_ended. */
	int			(*poll) (gsort_device *device, gsort_event *out, int max);
	void		(*get_info) (gsort_device *device, gsort_device_info *info);
	uint64_t	(*default_budget) (gsort_device *device);
	void		(*shut) (gsort_device *device);

	/* Peak device memory of a run with that many rows and arena units, the work
	 * of job_next_run included.  For (0, 0), the memory that a job with a
	 * reservation retains. */
	uint64_t	(*job_bytes) (const gsort_job *job, uint64_t rows, uint64_t units);
	/* Memory that the job has after a finish SORTED, retained keys included. */
	uint64_t	(*job_held_bytes) (const gsort_job *job);
	/* Device memory of job_merge beside the retained keys and the merge order;
	 * NULL: none. */
	uint64_t	(*merge_scratch_bytes) (uint64_t rows, uint32_t runs);
	/* Allocates the implementation's job and sets its common part to *blank. */
	gsort_status (*job_open) (gsort_device *device, const gsort_job *blank, gsort_job **job);
	/* Makes extents for that many rows and arena units in total.  NOMEM changes
	 * nothing, but new extents may stay for the next attempt. */
	gsort_status (*job_reserve) (gsort_job *job, uint64_t rows, uint64_t units);
	/* The chunk's rows are numbered from job->rows on; its data goes to
	 * first_unit. */
	gsort_status (*job_append) (gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit);
	/* By finish_how.  SORTED frees all that no fetch needs. */
	gsort_status (*job_finish_run) (gsort_job *job);
	/* Copies a block of the run.  After MERGED, copies a stretch of the merge
	 * order, and pads it with zeros. */
	gsort_status (*job_fetch) (gsort_job *job, const gsort_block *block, void *dst, uint64_t tag);
	/* Frees the run's rows, gathers its sorted keys by job->retain, and frees
	 * everything else. */
	gsort_status (*job_next_run) (gsort_job *job);
	/* Frees the extents of the unfed run.  Makes the merge order by the plan's
	 * only word, or by run if the plan has no word. */
	gsort_status (*job_merge) (gsort_job *job, const key_plan *plan);
	void		(*job_close) (gsort_job *job);
};

extern const gsort_device_ops gsort_host_ops;
#ifdef GSORT_WITH_CUDA
extern const gsort_device_ops gsort_cuda_ops;

/* The CUDA part of gsort_prepare. */
void		gsort_cuda_prepare(uint32_t salt);
#endif

/* --- services of the front end for the implementations ------------------- */

/* Records a failure, printf-like, and returns status. */
gsort_status gsort_fail(gsort_device *device, gsort_status status, const char *format,...)
#ifdef __GNUC__
			__attribute__((format(printf, 3, 4)))
#endif
;

/* True if the device is lost.  Each call or event that may lose it asks once,
 * because a test may inject the loss here. */
int			gsort_is_lost(gsort_device *device);

/* Records a fault of a chunk, a gsort_bad_data; returns BAD_DATA. */
gsort_status gsort_fail_bad_data(gsort_device *device, uint32_t what);

/*
 * Makes the event of an operation that has ended with status, and updates the
 * job's state unless it is closing.
 *
 * RUN_BEGUN, which ends with OK or DEVICE_LOST: job->retain is NOTHING if
 * retention failed.  MERGED: OK, the retained keys have been freed; NOMEM, they
 * are unchanged.
 */
gsort_event gsort_operation_ended(gsort_job *job, gsort_event_kind kind, gsort_status status,
								  uint64_t tag);

/* Frees the front end's part of the job and returns its reservation.  The
 * implementation frees its own struct afterwards, when it returns CLOSED. */
void		gsort_job_dispose(gsort_job *job);

/* Makes the directory of a sorted run from its n block begins, the first of
 * which is row 0.  begins: [n + 1]; the last is set to the run's end.  Splits
 * long rows.  The result is malloc'd into job->blocks.  NOMEM. */
gsort_status gsort_make_directory(gsort_job *job, block_begin *begins, uint64_t n);

#ifdef __cplusplus
}
#endif

#endif							/* GSORT_DEVICE_H */
