/*
 * gsort.h
 *	  The contract between the sort service and a device.
 *
 * In:  chunks of rows with their normalized keys, in pinned host memory.
 * Out: windows: the same rows in key order, gathered into pinned host memory.
 *
 * Two implementations stand behind it: CUDA (cuda/device) and the CPU
 * (cuda/host).  Both give the same windows, byte for byte.
 *
 * The device holds one run of a job's rows at a time.  Input beyond the budget
 * is sorted run by run: the caller reads each run's windows and puts them away,
 * and of an ended run the device keeps its sorted keys only.  In the end it
 * merges these and tells, for each row of the whole order, which run to take it
 * from.
 *
 * Rules for every function here, unless its comment says otherwise:
 *  - One thread calls.  Only gsort_open, gsort_pin and gsort_shut may block,
 *    and another thread may call these, while the one does not call; the others
 *    enqueue work and return, and its end arrives as an event. (A device that
 *    refuses a call in the midst of an operation is waited for, as far as the
 *    operation was enqueued: its memory must not be reused before.)
 *  - Memory that gsort_pin does not cover goes through staging of a fixed size:
 *    48 MiB, and where gsort_pin failed as much more as it was to pin, up to
 *    256 MiB.  An append or a fetch that finds no room in it answers NOMEM and
 *    has done nothing; there is room again when others have ended.
 *  - Nothing prints, exits, throws, or calls back.  A failure is a status;
 *    gsort_error_text has the words for it.
 *  - The caller owns every host buffer.  While an operation that names a
 *    buffer is under way the device may read or write it; its event gives the
 *    buffer back.
 *  - Structs that a caller fills begin with struct_bytes = sizeof(the struct).
 *    Any other size is a BAD_ARG.
 *
 * Plain C11, no PostgreSQL header and no CUDA header.
 */
#ifndef GSORT_H
#define GSORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define GSORT_MAX_KEY_COLUMNS	8
#define GSORT_RUN_ROWS_MAX		0x7fffffffu		/* row numbers are uint32 */
/* A row word has 36 bits of offset in 8-byte units. */
#define GSORT_RUN_BYTES_MAX		(1ull << 39)
#define GSORT_ROW_BYTES_MAX		((1ull << 31) - 8)	/* and 28 bits of length in 8-byte units */
#define GSORT_FEEDERS_MAX		64
#define GSORT_MERGE_RUNS_MAX	255		/* the merge order has a byte for each row */

typedef enum gsort_status
{
	GSORT_OK = 0,
	GSORT_NOMEM,				/* budget or memory spent, or the device refused a call,
	as it does when
								 * other programs hold its memory; the job goes on */
	GSORT_UNSUPPORTED,			/* not by this device, or not yet */
	GSORT_BAD_ARG,				/* the caller broke this contract; nothing changed */
	GSORT_BAD_DATA,				/* a chunk contradicts itself; this job fails */
	GSORT_DEVICE_LOST			/* every job of the device fails */
} gsort_status;

/*
 * Sorts of pairs that the CUDA device has.  The host device has one, RADIX, and
 * takes any of these for it.  Where the device cannot run the one asked for, it
 * takes another.
 */
typedef enum gsort_engine
{
	GSORT_ENGINE_AUTO = 0,		/* the fastest, as pairs_choice.h tells */
	GSORT_ENGINE_RADIX,			/* one pass for each 8 significant bits */
	GSORT_ENGINE_PARTITION,		/* partition by a sample, then sort tiles */
	GSORT_ENGINE_MERGE,			/* tiles sorted, and merged all at once: few pairs only */
	GSORT_ENGINE_CUB_RADIX,		/* CUB's radix sort */
	GSORT_ENGINES
} gsort_engine;

typedef enum gsort_kind
{
	GSORT_KIND_CUDA = 1,
	GSORT_KIND_HOST = 2
} gsort_kind;

typedef struct gsort_device gsort_device;
typedef struct gsort_job gsort_job;

typedef struct gsort_device_options
{
	uint32_t	struct_bytes;
	gsort_kind	kind;
	int			n_ordinals;		/* 0: the first device.  More than one: UNSUPPORTED */
	const int  *ordinals;
	uint64_t	budget_bytes;	/* grants of all jobs together never exceed it; 0: 80 % of what
								 * the device has free, for the host device an eighth of the memory
								 * that the process may use */
	int			threads;		/* host device: worker threads; 0: one for each processor that the
								 * process may use.  Two at least */
	int			nice;			/* host device: what is added to its threads' nice value, 0 to 19 */
} gsort_device_options;

typedef struct gsort_device_info
{
	uint32_t	struct_bytes;
	gsort_kind	kind;
	int			ordinal;
	char		name[128];		/* "NVIDIA H200", "host (2 threads)" */
	uint64_t	memory_bytes;	/* in all; of the host device, what the process may use */
	uint64_t	budget_bytes;
	uint64_t	granted_bytes;	/* to the jobs now open */
	uint64_t	used_bytes;		/* really allocated now */
	int			driver_version; /* CUDA's form, 13000 = 13.0; 0 for the host device */
	int			runtime_version;
	int			compute_capability; /* 90 = 9.0; 0 for the host device */
	int			pinned;			/* 1: gsort_pin succeeded; 0: copies go through staging */
	int			lost;			/* 1: every call answers DEVICE_LOST */
	uint64_t	fail_at;		/* as gsort_set_fail_at was given it */
	uint64_t	fail_count;		/* what it has counted */
	int			processors;		/* that the host device's threads can keep busy; 0 for a GPU */
	/* Of its kind that there were when it was opened; 1 of the host device. */
	int			devices;
} gsort_device_info;

/* What gsort_set_fail_at counts. */
typedef enum gsort_fail_kind
{
	GSORT_FAIL_ALLOCATIONS = 1, /* fail with NOMEM */
	GSORT_FAIL_CALLS = 2,		/* fail as on a lost device: the operations of this API, their ends,
								 * each call of CUDA and each launch */
	GSORT_FAIL_LAUNCHES = 4,		/* are refused by a device that goes on: launches,
		and the calls of CUDA
								 * that enqueue; together with CALLS the launches alone, once each.
								 * The host device has none */
	GSORT_FAIL_TRANSFERS = 8,	/* appends and fetches of the host device, with NOMEM */
	GSORT_FAIL_LATER_TOO = 16	/* with others: all that come after the n-th fail too */
} gsort_fail_kind;

typedef enum gsort_job_flags
{
	GSORT_TIES = 1				/* windows carry tie bits, set also where all columns agree */
} gsort_job_flags;

typedef struct gsort_job_options
{
	uint32_t	struct_bytes;
	uint32_t	key_columns;	/* 1 to GSORT_MAX_KEY_COLUMNS; the first is the most significant.
								 * Each is a uint64 that sorts ascending, unsigned */
	uint32_t	null_mask;		/* bit c: column c may be NULL; chunks then carry nulls */
	uint32_t	null_first_mask;	/* bit c: column c's NULLs sort before every value */
	uint32_t	window_bytes;	/* size of a window's buffer: a multiple of 8, 4096 or more */
	uint32_t	flags;			/* gsort_job_flags */
	uint64_t	tag;			/* returned with each event of the job */
	gsort_engine engine;
	/*
	 * A value v of column c is open, which means that it may stand for several
	 * keys, if bit c of open_mask is set, it is not NULL, and (v &
	 * open_bits[c]) == open_code[c].  Columns behind an open value tell nothing
	 * about the order of rows that agree so far.
	 */
	/* Not 0: windows carry tie bits, and no keys are kept for a merge. */
	uint32_t	open_mask;
	uint64_t	open_bits[GSORT_MAX_KEY_COLUMNS];	/* 0, with open_code 0: every value is open */
	uint64_t	open_code[GSORT_MAX_KEY_COLUMNS];
} gsort_job_options;

/*
 * Statistics of the non-NULL values of one key column in one chunk.  Without
 * such a value min = UINT64_MAX, max = 0, any = 0, all = UINT64_MAX.
 * Statistics may be loose (a wider range, more varying bits, NULLs that do not
 * occur), never wrong.  If no column can have them, the chunk is refused.  If a
 * key contradicts the run's statistics, the cut ends as BAD_DATA.
 */
typedef struct gsort_column_stats
{
	uint64_t	min;
	uint64_t	max;
	uint64_t	any;			/* OR of the values */
	uint64_t	all;			/* AND of the values */
	uint64_t	nulls;			/* count of NULLs */
} gsort_column_stats;

/*
 * One buffer's worth of rows.  The chunks of one feeder are one byte stream: a
 * row too long for a buffer is the only row of its first chunk, whose
 * more_bytes tells how much is still to come; the feeder's next chunks have
 * rows = 0 and carry nothing but the rest, until it is complete.
 */
typedef struct gsort_chunk
{
	uint32_t	struct_bytes;
	uint32_t	feeder;			/* below GSORT_FEEDERS_MAX */
	uint32_t	rows;			/* rows that start in this chunk */
	const void *data;			/* 8-byte aligned */
	uint64_t	data_bytes;		/* a multiple of 8, at most the job's window_bytes */
	uint64_t	more_bytes;		/* a multiple of 8 */
	const uint32_t *row_start;	/* [rows] 8-byte units from data; the first is 0, strictly rising,
		in
								 * range; checked on the device, else the job ends as BAD_DATA */
	const uint64_t *keys;		/* [rows][key_columns]; the key of a NULL is ignored */
	const uint32_t *nulls;		/* [rows] bit c: column c is NULL; NULL if null_mask is 0 */
	const gsort_column_stats *stats;	/* [key_columns], copied by the call */
	uint64_t	tag;			/* returned with APPENDED */
} gsort_chunk;

typedef enum gsort_cut_how
{
	GSORT_SORTED = 1,			/* the run in key order, stable */
	GSORT_SORTED_RUN = 2		/* as SORTED, and keeps beside it what gsort_job_next_run needs; the
								 * sort takes no more memory for it at its peak */
} gsort_cut_how;

typedef enum gsort_window_flags
{
	GSORT_WINDOW_CONTINUED = 1, /* holds the next bytes of the row begun in the window before */
	GSORT_WINDOW_CONTINUES = 2	/* the row goes on in the next window */
} gsort_window_flags;

/*
 * A window holds whole rows, each at a multiple of 8 bytes, one after the
 * other.  Only a row longer than a window is split over windows of its own: the
 * first has rows = 1 and CONTINUES, the following rows = 0 and CONTINUED, all
 * but the last are full.  For those first_row is the row after the split one,
 * so first_row + rows never falls along the directory.  With GSORT_TIES or an
 * open_mask, rows / 64 + 1 uint64 follow the rows of a window with rows > 0:
 * bit r % 64 of word r / 64 is set when row r of the window ties with the row
 * before it, which may stand in the window before (row 0 of the run: not set).
 * Bit rows says it of the row after these; bits past that are 0.  bytes counts
 * these words, row_bytes does not.  Two rows tie if they agree in a column
 * whose value is open and in all columns before it, or, with GSORT_TIES, in all
 * columns.
 *
 * Where windows are cut depends on the lengths in sorted order only (see
 * window_cut.h), so all devices cut alike.
 *
 * After MERGED the windows are those of the merge order: window i holds, a byte
 * for each, the numbers of the runs that rows i * window_bytes ... come from,
 * the first run being 0.  rows counts these bytes; row_bytes = bytes = rows
 * rounded up to 8, what is past rows is zero; flags is 0.
 */
typedef struct gsort_window
{
	uint64_t	first_row;
	uint32_t	rows;
	uint32_t	flags;			/* gsort_window_flags */
	uint32_t	row_bytes;
	uint32_t	bytes;			/* what a fetch writes: at most window_bytes; the rest of the
								 * buffer is left alone */
} gsort_window;

typedef enum gsort_event_kind
{
	GSORT_EVENT_APPENDED = 1,	/* the chunk's buffer is the caller's again */
	GSORT_EVENT_CUT,			/* the directory stands; or status NOMEM (the run may be cut again),
								 * BAD_DATA or DEVICE_LOST */
	GSORT_EVENT_RUN_BEGUN,		/* the job is empty and may be fed again */
	/* The merge order's directory stands; or status NOMEM or DEVICE_LOST. */
	GSORT_EVENT_MERGED,
	GSORT_EVENT_FETCHED,		/* the window is in its buffer */
	GSORT_EVENT_CLOSED			/* no buffer of the job is in use; the job's pointer is dead */
} gsort_event_kind;

typedef struct gsort_event
{
	gsort_event_kind kind;
	gsort_status status;
	uint64_t	job_tag;		/* the job's options.tag */
	uint64_t	tag;			/* the chunk's or the fetch's tag */
} gsort_event;

typedef struct gsort_job_stats
{
	uint32_t	struct_bytes;
	/* of the run now fed or cut */
	uint64_t	rows;			/* after MERGED: of all runs */
	uint64_t	bytes_in;		/* rows, keys and offsets sent to the device */
	uint64_t	row_bytes;		/* a long row's are counted when it begins */
	uint64_t	granted_rows;	/* in all */
	uint64_t	granted_row_bytes;
	uint32_t	incomplete_rows;	/* begun, and not complete: the run cannot be cut */
	/* of the whole job */
	uint64_t	bytes_out;		/* fetched from it */
	uint64_t	granted_bytes;	/* now: the run's grants, and kept keys or the merge order */
	uint64_t	peak_bytes;		/* device memory really allocated, at most */
	/* of the run cut last */
	double		sort_ms;		/* from the last append's end to the directory's */
	uint32_t	key_bits;		/* significant bits over all columns after compaction */
	/* Words of 64 bits or less that they fill: all rows are sorted by the
	 * first, those that it leaves tied by the others. */
	uint32_t	key_words;
	/* of the whole job */
	uint32_t	runs;			/* that gsort_job_next_run has ended */
	uint32_t	keys_kept;		/* 0: the keys of the ended runs are gone,
		they cannot be merged here;
								 * always so with an open_mask */
	double		merge_ms;
	/* of the run cut last */
	gsort_engine engine;		/* that sorted its first word; AUTO: none, all keys were equal */
} gsort_job_stats;

/* --- device ------------------------------------------------------------ */

/*
 * Sets what the device's libraries read of the environment.  A process calls it
 * once, before gsort_open, while it has no other thread: nobody else may read
 * the environment meanwhile. salt: a random number, so that nobody can make
 * keys for which sorts are slow; the same one, and 0 without this call, where
 * times are to be repeated.  No result depends on it.
 */
void		gsort_prepare(uint32_t salt);

/*
 * Opens the device: context, streams, threads, staging; loads every kernel, and
 * sorts a little to see that it can.  Blocks, a second or so for CUDA.
 * UNSUPPORTED: no such device or driver, or built without it; reason (of
 * reason_bytes, may be NULL) then says why, in a sentence without a full stop.
 * NOMEM, BAD_ARG.  All signals are blocked in threads that it starts.
 */
gsort_status gsort_open(const gsort_device_options *options, gsort_device **device,
						char *reason, size_t reason_bytes);

/* Pins [base, base + bytes), page aligned and already touched, for direct
 * copies; once per device.  UNSUPPORTED: not possible; copies go through
 * staging, all else works.  The host device answers OK and does nothing. */
gsort_status gsort_pin(gsort_device *device, void *base, size_t bytes);

/* A descriptor that is readable when gsort_poll may have events; stays the
 * device's.  After a lost device it can stay silent: poll each 100 ms while
 * work is under way. */
int			gsort_fd(gsort_device *device);

/* Writes up to max events to out, returns how many; clears gsort_fd.  Call it
 * again while it returns max.  A job whose CLOSED is among them is dead on
 * return, for its events before that one too. */
int			gsort_poll(gsort_device *device, gsort_event *out, int max);

void		gsort_device_get_info(gsort_device *device, gsort_device_info *info);

/* Changes the budget for grants to come.  0: the default, as in the options. */
void		gsort_set_budget(gsort_device *device, uint64_t budget_bytes);

/* For tests: the n-th from now of what kinds (gsort_fail_kind) say fails; 0:
 * none does.  Counting starts anew.  Jobs may be open. */
void		gsort_set_fail_at(gsort_device *device, uint64_t n, uint32_t kinds);

/* What the last failure was, for a log line; never NULL; valid until the next
 * call. */
const char *gsort_error_text(gsort_device *device);

/* Closes every job and the device, and frees it.  On return no DMA touches
 * pinned memory.  Blocks. */
void		gsort_shut(gsort_device *device);

/* --- jobs ----------------------------------------------------------------- */

/* NOMEM, BAD_ARG, UNSUPPORTED, DEVICE_LOST.  The job starts with no room. */
gsort_status gsort_job_open(gsort_device *device, const gsort_job_options *options,
							gsort_job **job);

/*
 * Adds room for rows more rows of row_bytes more bytes (all chunks' data_bytes
 * and more_bytes), the sort's scratch included.  NOMEM changes nothing.  Where
 * keys may fill several words (several columns, or NULLs) CUDA's sort takes 8
 * bytes a row more: row numbers of what the first word leaves tied.
 */
gsort_status gsort_job_grant(gsort_job *job, uint64_t rows, uint64_t row_bytes);

/* What such a grant would take: device memory beyond what the job has been
 * granted. */
uint64_t	gsort_job_grant_bytes(const gsort_job *job, uint64_t rows, uint64_t row_bytes);

/*
 * Enqueues one chunk; APPENDED follows.  The order of calls is the stable
 * order.  Of pinned memory and within grants NOMEM only if the device refuses
 * it twice, and then nothing has changed; BAD_ARG beyond grants.  UNSUPPORTED:
 * the run would pass GSORT_RUN_ROWS_MAX or GSORT_RUN_BYTES_MAX.  A chunk whose
 * shape is wrong: BAD_DATA at once, and nothing of it was read.
 */
gsort_status gsort_job_append(gsort_job *job, const gsort_chunk *chunk);

/* Ends the run, behind all appends; CUT follows.  BAD_ARG: a row is incomplete,
 * or the run has been cut already with success. */
gsort_status gsort_job_cut(gsort_job *job, gsort_cut_how how);

/* After CUT or MERGED with OK: the directory, the job's until the next run or
 * the close. */
gsort_status gsort_job_windows(gsort_job *job, const gsort_window **windows, uint64_t *n);

/*
 * Enqueues the gather of a window to dst (8-byte aligned, window_bytes long);
 * FETCHED follows.  Any window, any order, any number of times, several at
 * once.  NOMEM: refused twice by the device, or no staging; nothing writes to
 * dst.
 */
gsort_status gsort_job_fetch(gsort_job *job, uint64_t window, void *dst, uint64_t tag);

/*
 * After CUT of a SORTED_RUN with OK, with no fetch under way, else BAD_ARG.
 * Drops the run's rows; RUN_BEGUN follows (OK or DEVICE_LOST), then the job is
 * empty and takes grants and appends as at first.
 *
 * Of the budget the job keeps what it had, for the kept keys and for grants of
 * the next run: at least for one chunk whose data, keys and offsets fit
 * window_bytes together, if it had as much.  Such a grant is NOMEM only if the
 * device itself lacks memory.
 *
 * The run's sorted keys are kept for gsort_job_merge, if those of all runs,
 * what the merge will need, and what other jobs keep stay within half of the
 * budget, the first two within what other jobs leave of it, and if they fit one
 * sort word and come from at most GSORT_MERGE_RUNS_MAX runs; else those of all
 * runs are dropped, for good (stats.keys_kept).  Those of a job with an
 * open_mask are never kept: a merge order says nothing of ties, so who merges
 * has to compare such rows himself.  Keeping them never takes more memory than
 * the run had.  NOMEM: out of host memory, nothing changed.
 */
gsort_status gsort_job_next_run(gsort_job *job);

/*
 * After next_run of the last run, before any append to the next one (else
 * BAD_ARG).  Finds the order of the rows of all runs by key, equal keys by run,
 * and within a run as it was sorted; MERGED follows, then the job's windows are
 * those of that order (see gsort_window), and the kept keys are gone.  Grants
 * for the run that was not fed are given back.  UNSUPPORTED: no run has ended,
 * or their keys are not kept; nothing changed.  NOMEM, at once or as the
 * event's status, may be treated like that: the keys are still kept, and the
 * job may be fed or merged again.
 */
gsort_status gsort_job_merge(gsort_job *job);

/* Any time.  What is said of a run is final after CUT. */
void		gsort_job_get_stats(const gsort_job *job, gsort_job_stats *stats);

/* Ends the job whatever it is doing; CLOSED follows, once, and gives all its
 * buffers back.  Until then its other events may still come. */
void		gsort_job_close(gsort_job *job);

/* --- pairs -------------------------------------------------------------- */

/*
 * Sorts n unsigned keys with their row numbers, ascending by bits [begin_bit,
 * end_bit), stable.  Device memory (plain memory for the host device), each
 * array and the scratch 256-byte aligned, none overlapping another.
 */
typedef struct gsort_pairs
{
	uint32_t	struct_bytes;
	uint32_t	key_bits;		/* 32 or 64 */
	uint32_t	begin_bit;
	uint32_t	end_bit;
	uint64_t	n;				/* at most GSORT_RUN_ROWS_MAX */
	void	   *d_keys;			/* [n] */
	void	   *d_keys_out;		/* [n], or NULL: the sorted keys are not wanted */
	int			keep_keys;		/* 0: d_keys may be used as scratch */
	const uint32_t *d_rows;		/* [n], or NULL: 0, 1, ... n - 1.  Never written */
	uint32_t   *d_rows_out;		/* [n] */
	gsort_engine engine;
} gsort_pairs;

/* 0 for arguments that gsort_pairs_sort would refuse. */
size_t		gsort_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs);

/*
 * Only enqueues (CUDA; stream is a cudaStream_t, NULL the default stream);
 * sorts before it returns on the host device, with some 600 kB of the caller's
 * stack.  BAD_ARG: shapes, or
 * scratch_bytes below gsort_pairs_scratch_bytes; nothing was enqueued.  NOMEM:
 * the device refused a launch; the others may still run, and what they write is
 * void.  DEVICE_LOST.
 */
gsort_status gsort_pairs_sort(gsort_device *device, const gsort_pairs *pairs,
							  void *d_scratch, size_t scratch_bytes, void *stream);

#ifdef __cplusplus
}
#endif

#endif							/* GSORT_H */
