/*
 * gsort_device.h
 *	  What stands between the front of gsort.h, cuda/api, and the two
 *	  implementations of a device, cuda/device and cuda/host.
 *
 * The front checks every argument, keeps each job's bookkeeping (grants, the
 * feeders' byte streams, statistics, the directory) and decides where a chunk
 * goes.  The implementation behind the table of operations allocates, copies,
 * sorts and gathers.  Everything in here belongs to the one thread that calls
 * gsort.h; an implementation's own threads must not touch it.
 *
 * The arena of a job's rows is a sequence of extents (extents.h).  A chunk's
 * rows lie in one extent; only a row longer than its chunk may run over
 * several.
 */
#ifndef GSORT_DEVICE_H
#define GSORT_DEVICE_H

#include "gsort.h"
#include "rows/extents.h"
#include "rows/key_plan.h"
#include "rows/row_word.h"
#include "rows/window_cut.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct gsort_device_ops gsort_device_ops;

/* For tests: what gsort_set_fail_at was told.  Any thread counts. */
typedef struct gsort_faults
{
	uint64_t	fail_at;		/* 0: nothing is counted */
	uint64_t	count;
	uint32_t	kinds;			/* set before fail_at */
} gsort_faults;

/* Counts one more of a kind; true if it is to fail. */
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

/* First member of an implementation's own device. */
struct gsort_device
{
	const gsort_device_ops *ops;
	uint64_t	budget_bytes;
	uint64_t	granted_bytes;	/* of all open jobs */
	uint64_t	kept_bytes;		/* of these */
	int			lost;			/* every later call answers DEVICE_LOST */
	gsort_faults faults;
	char		error_text[512];
};

typedef enum gsort_run_state
{
	GSORT_RUN_FEEDING,
	GSORT_RUN_CUTTING,			/* cut enqueued */
	GSORT_RUN_CUT,				/* the directory stands */
	GSORT_RUN_ENDING,			/* next_run enqueued */
	GSORT_RUN_MERGING,			/* merge enqueued */
	GSORT_RUN_MERGED,			/* the merge order's directory stands */
	GSORT_RUN_FAILED			/* BAD_DATA or DEVICE_LOST: nothing but close */
} gsort_run_state;

/* What becomes of a run's sorted keys when it ends. */
typedef enum gsort_keep
{
	GSORT_KEEP_NOTHING,			/* and what earlier runs kept goes too */
	GSORT_KEEP_KEYS,
	/* A column of the job has had a NULL.  Runs that kept keys alone have
	 * none. */
	GSORT_KEEP_KEYS_AND_NULLS
} gsort_keep;

/* The unfinished long row of one feeder. */
typedef struct gsort_feeder
{
	uint64_t	next_unit;
	uint64_t	missing_units;
} gsort_feeder;

/* First member of an implementation's own job. */
struct gsort_job
{
	gsort_device *device;
	gsort_job_options options;
	gsort_run_state state;
	gsort_cut_how cut_how;
	int			closing;

	uint64_t	rows;
	uint64_t	fed_units;		/* of rows, long rows counted when they begin */
	/* End of the used part of the arena, skipped tails of extents included. */
	uint64_t	arena_units;
	uint64_t	granted_rows;
	uint64_t	granted_units;
	uint64_t	granted_bytes;	/* device memory that the job has for its runs, scratch included */
	uint64_t	kept_bytes;		/* kept keys, then also the merge order, in the end it alone */

	gsort_feeder feeders[GSORT_FEEDERS_MAX];
	int			incomplete_rows;
	uint32_t	fetches;		/* under way */
	gsort_column_stats column_stats[GSORT_MAX_KEY_COLUMNS];

	uint64_t	ended_rows;		/* of the ended runs */
	gsort_column_stats ended_stats[GSORT_MAX_KEY_COLUMNS];
	gsort_keep	keep;			/* ENDING: asked of the implementation */

	gsort_window *windows;		/* malloc'd; the implementation sets it for SORTED, before
								 * it hands out the CUT event */
	uint64_t	n_windows;

	gsort_job_stats stats;		/* rows, bytes in and out, granted, runs, keys_kept: the front;
		peak,
								 * sort_ms, merge_ms, key bits and words: the implementation */
};

/*
 * An implementation's operations.  Arguments have been checked; each answers
 * like the gsort.h function of its name.
 */
struct gsort_device_ops
{
	gsort_status (*open) (const gsort_device_options *options, gsort_device **device,
						  char *reason, size_t reason_bytes);
	gsort_status (*pin) (gsort_device *device, void *base, size_t bytes);
	int			(*fd) (gsort_device *device);
	/* When a CUT, RUN_BEGUN, MERGED or FETCHED event of a job that is not being
	 * closed is handed out, the implementation first calls gsort_cut_done,
	 * gsort_run_begun, gsort_merge_done or gsort_fetch_done. */
	int			(*poll) (gsort_device *device, gsort_event *out, int max);
	void		(*get_info) (gsort_device *device, gsort_device_info *info);
	uint64_t	(*default_budget) (gsort_device *device);
	void		(*shut) (gsort_device *device);

	/* Device memory for a run of so many rows and arena units, at its peak,
	 * job_next_run's work included; for (0, 0) what a job keeps that had a
	 * grant. */
	uint64_t	(*job_bytes) (const gsort_job *job, uint64_t rows, uint64_t units);
	/* Device memory that the kept keys of a run of so many rows take. */
	uint64_t	(*kept_bytes) (const gsort_job *job, uint64_t rows, gsort_keep keep);
	/* Device memory that job_merge takes beside the kept keys, and that the
	 * merge order takes once it stands. */
	uint64_t	(*merge_bytes) (const gsort_job *job, uint64_t rows, uint32_t runs);
	uint64_t	(*order_bytes) (const gsort_job *job, uint64_t rows);
	/* Allocates the implementation's job and sets its common part to *blank. */
	gsort_status (*job_open) (gsort_device *device, const gsort_job *blank, gsort_job **job);
	/* Makes extents for so many rows and arena units in all; NOMEM changes
	 * nothing (extents made may stay for the next try). */
	gsort_status (*job_reserve) (gsort_job *job, uint64_t rows, uint64_t units);
	/* chunk's rows start at row number job->rows; its data goes to
	 * first_unit. */
	gsort_status (*job_append) (gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit);
	gsort_status (*job_cut) (gsort_job *job);	/* as cut_how says */
	/* A window of the run. */
	gsort_status (*job_fetch) (gsort_job *job, uint64_t window, void *dst, uint64_t tag);
	/* Frees the run's rows, then gathers its sorted keys as job->keep says and
	 * frees the rest of it. */
	gsort_status (*job_next_run) (gsort_job *job);
	/* Frees the extents of the run that was not fed; makes the merge order by
	 * the plan's only word, or by run where it has none. */
	gsort_status (*job_merge) (gsort_job *job, const key_plan *plan);
	/* Copies a stretch of the merge order; behind its rows there are zeros. */
	gsort_status (*job_fetch_order) (gsort_job *job, uint64_t first_row, uint32_t bytes,
									 void *dst, uint64_t tag);
	void		(*job_close) (gsort_job *job);

	size_t		(*pairs_scratch_bytes) (gsort_device *device, const gsort_pairs *pairs);
	/* n is not 0; scratch_bytes is for the implementation to check. */
	gsort_status (*pairs_sort) (gsort_device *device, const gsort_pairs *pairs,
								void *d_scratch, size_t scratch_bytes, void *stream);
};

extern const gsort_device_ops gsort_host_ops;
#ifdef GSORT_WITH_CUDA
extern const gsort_device_ops gsort_cuda_ops;

/* CUDA's part of gsort_prepare. */
void		gsort_cuda_prepare(uint32_t salt);
#endif

/* --- the front's services to the implementations ------------------------- */

/* Records what went wrong, printf-like, and returns status. */
gsort_status gsort_fail(gsort_device *device, gsort_status status, const char *format,...)
#ifdef __GNUC__
			__attribute__((format(printf, 3, 4)))
#endif
;

/* Records what was wrong with a chunk, a gsort_bad_data; returns BAD_DATA. */
gsort_status gsort_fail_bad_data(gsort_device *device, uint32_t what);

/* The state after a cut ended with status. */
void		gsort_cut_done(gsort_job *job, gsort_status status);

/* The state after the end of a run, status OK or DEVICE_LOST.  kept: its keys
 * and those of the runs before it are kept; may be 0 where keeping them was
 * asked for and failed. */
void		gsort_run_begun(gsort_job *job, gsort_status status, int kept);

/* The state after a merge ended with status: with OK the kept keys have been
 * freed, with NOMEM they are as they were. */
void		gsort_merge_done(gsort_job *job, gsort_status status);

void		gsort_fetch_done(gsort_job *job);

/* Frees what the front allocated for the job and gives its grant back; the
 * implementation frees its own struct after this, when it hands out CLOSED. */
void		gsort_job_dispose(gsort_job *job);

/*
 * Makes the directory of a sorted run from where its windows begin: rows
 * begin_rows[i] (the first is 0) and their offsets in the sorted stream,
 * begin_units[i], n of each; end: total_rows and total_units.  Splits long
 * rows.  malloc'd into job->windows; NOMEM.
 */
gsort_status gsort_make_directory(gsort_job *job, const uint32_t *begin_rows,
								  const uint64_t *begin_units, uint64_t n,
								  uint64_t total_rows, uint64_t total_units);

#ifdef __cplusplus
}
#endif

#endif							/* GSORT_DEVICE_H */
