/*
 * gsort.h
 *	  The contract between the sort service and a device.
 *
 * In:  chunks of rows with their normalized keys, in pinned host memory.
 * Out: output blocks: the same rows in key order, gathered into pinned host
 *	    memory.
 *
 * Two devices implement the contract: CUDA (cuda/device) and the CPU
 * (cuda/host).  Both produce the same output blocks, byte for byte.
 *
 * The device holds one run of a job's rows at a time.  Input beyond the budget
 * is sorted run by run.  The caller fetches each run's output blocks and stores
 * them elsewhere; the device retains the sorted keys only.  The final merge of
 * these keys yields the merge order: for each row of the whole output, the run
 * that it comes from.
 *
 * Rules for every function, unless its comment states otherwise:
 * - One thread calls.  Only gsort_open, gsort_pin and gsort_shut may block.
 *   Another thread may call these three while the first thread makes no call.
 *   All other functions enqueue work and return; an event reports completion.
 *   A device that refuses a call in the middle of an operation is drained
 *   first, because the memory of the enqueued part must not be reused earlier.
 * - Memory outside the range of gsort_pin is copied through a staging buffer of
 *   fixed size: 48 MiB.  A failed gsort_pin adds staging of the size of its
 *   range, at most 256 MiB.  If staging is full, an append or a fetch returns
 *   NOMEM without effect.  A retry can succeed once other operations have
 *   ended.
 * - No function prints, exits, throws, or calls back.  A failure is a status;
 *   gsort_error_text describes it.
 * - The caller owns every host buffer.  The device may read or write a buffer
 *   until the event of the operation that names it returns the buffer.
 *
 * The header is plain C11 and includes no PostgreSQL header and no CUDA header.
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
/* A row word has 36 bits of offset and 28 bits of length, in 8-byte units. */
#define GSORT_RUN_BYTES_MAX		(1ull << 39)
#define GSORT_ROW_BYTES_MAX		((1ull << 31) - 8)
#define GSORT_FEEDERS_MAX		64
#define GSORT_MERGE_RUNS_MAX	255		/* the merge order has one byte per row */

typedef enum gsort_status
{
	GSORT_OK = 0,
	/* The budget or the memory is exhausted, or the device refused a call, for
	 * example because other programs hold its memory.  The job goes on. */
	GSORT_NOMEM,
	GSORT_UNSUPPORTED,			/* this device cannot do it */
	GSORT_BAD_ARG,				/* the caller broke this contract; nothing changed */
	GSORT_BAD_DATA,				/* a chunk contradicts itself; the job fails */
	GSORT_DEVICE_LOST			/* every job of the device fails */
} gsort_status;

/*
 * The engines that sort pairs on the CUDA device.  If the device cannot run the
 * requested engine, it substitutes another.  The host device has RADIX only and
 * substitutes it for any engine.
 */
typedef enum gsort_engine
{
	GSORT_ENGINE_AUTO = 0,		/* the fastest, by the rules of pairs_choice.h */
	GSORT_ENGINE_RADIX,			/* one pass per 8 significant bits */
	GSORT_ENGINE_PARTITION,		/* partitions by a sample, then sorts tiles */
	GSORT_ENGINE_MERGE,			/* CUB's merge sort, of few pairs only */
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
	gsort_kind	kind;
	int			n_ordinals;		/* 0: the first device; 1 */
	const int  *ordinals;
	/* Upper limit of all reservations together.  0 selects the default.  GPU:
	 * 80 % of its free memory.  Host device: one eighth of the memory that the
	 * process may use. */
	uint64_t	budget_bytes;
	/* Worker threads of the host device, at least two.  0: one per processor
	 * that the process may use. */
	int			threads;
	/* increment of the nice value of the host device's threads, 0 to 19 */
	int			nice;
} gsort_device_options;

typedef struct gsort_device_info
{
	gsort_kind	kind;
	int			ordinal;
	char		name[128];		/* "NVIDIA H200", "host (2 threads)" */
	uint64_t	memory_bytes;	/* total; for the host device, the memory the process may use */
	uint64_t	budget_bytes;
	uint64_t	reserved_bytes; /* to all open jobs */
	uint64_t	used_bytes;		/* allocated at present */
	int			driver_version; /* CUDA's form, 13000 = 13.0; 0 for the host device */
	int			runtime_version;
	int			pinned;			/* 1: gsort_pin succeeded; 0: copies go through staging */
	int			lost;			/* 1: every call returns DEVICE_LOST */
	uint64_t	fail_at;		/* the n of gsort_set_fail_at */
	uint64_t	fail_count;		/* operations counted so far */
	int			processors;		/* processors available to the host device's threads; 0 for a GPU */
	/* Devices of this kind that existed at gsort_open; 1 for the host
	 * device. */
	int			devices;
} gsort_device_info;

/* The operations that gsort_set_fail_at counts. */
typedef enum gsort_fail_kind
{
	GSORT_FAIL_ALLOCATIONS = 1, /* allocations; these fail with NOMEM */
	/* Operations of this API, their completions, CUDA calls and launches.
	 * These fail as on a lost device. */
	GSORT_FAIL_CALLS = 2,
	/* Launches, and CUDA calls that enqueue.  The device refuses these and goes
	 * on.  With CALLS: launches only, each counted once.  The host device has
	 * none. */
	GSORT_FAIL_LAUNCHES = 4,
	GSORT_FAIL_TRANSFERS = 8,	/* appends and fetches of the host device; these fail with NOMEM */
	GSORT_FAIL_LATER_TOO = 16	/* modifier: everything after the n-th fails too */
} gsort_fail_kind;

typedef enum gsort_job_flags
{
	GSORT_TIES = 1				/* output blocks carry tie bits, also where all columns agree */
} gsort_job_flags;

typedef struct gsort_job_options
{
	/* 1 to GSORT_MAX_KEY_COLUMNS, most significant first.  Each column is a
	 * uint64 in ascending unsigned order. */
	uint32_t	key_columns;
	uint32_t	null_mask;		/* bit c: column c may be NULL; chunks then carry nulls */
	uint32_t	null_first_mask;	/* bit c: NULLs of column c sort before every value */
	/* size of an output block's buffer: a multiple of 8, at least 4096 */
	uint32_t	block_bytes;
	uint32_t	flags;			/* gsort_job_flags */
	uint64_t	tag;			/* returned with each event of the job */
	gsort_engine engine;
	/*
	 * An inexact value may stand for several keys.  A non-NULL value v of
	 * column c is inexact if bit c of inexact_mask is set and (v &
	 * inexact_bits[c]) == inexact_code[c].  Two rows that agree up to and
	 * including an inexact value tie, and lie in the order of later columns.
	 */
	/* If not 0, output blocks carry tie bits and no keys are retained for a
	 * merge. */
	uint32_t	inexact_mask;
	/* 0, with inexact_code 0: every value is inexact */
	uint64_t	inexact_bits[GSORT_MAX_KEY_COLUMNS];
	uint64_t	inexact_code[GSORT_MAX_KEY_COLUMNS];
} gsort_job_options;

/*
 * Statistics of the non-NULL values of one key column in one chunk.  A column
 * without such a value has min = UINT64_MAX, max = 0, any = 0, all =
 * UINT64_MAX.  Statistics may be loose (a wider range, more varying bits, NULLs
 * that do not occur), never wrong.  A chunk is refused if no column can have
 * its statistics.  If a key contradicts the run's statistics, the finish ends
 * as BAD_DATA.
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
 * One buffer of rows.  The chunks of one feeder form one byte stream.  A row
 * longer than a buffer is the only row of its first chunk, and more_bytes gives
 * the number of bytes that follow.  The feeder's next chunks have rows = 0 and
 * carry only these bytes, until the row is complete.
 */
typedef struct gsort_chunk
{
	uint32_t	feeder;			/* below GSORT_FEEDERS_MAX */
	uint32_t	rows;			/* rows that start in this chunk */
	const void *data;			/* 8-byte aligned */
	uint64_t	data_bytes;		/* a multiple of 8, at most the job's block_bytes */
	uint64_t	more_bytes;		/* a multiple of 8 */
	/* [rows] offsets from data in 8-byte units: the first is 0, the others rise
	 * strictly and lie in range.  The device checks them; a violation ends the
	 * job as BAD_DATA. */
	const uint32_t *row_start;
	const uint64_t *keys;		/* [rows][key_columns]; the key of a NULL is ignored */
	/* [rows] bit c: column c is NULL; a null pointer if null_mask is 0 */
	const uint32_t *nulls;
	const gsort_column_stats *stats;	/* [key_columns], copied by the call */
	uint64_t	tag;			/* returned with APPENDED */
} gsort_chunk;

typedef enum gsort_finish_how
{
	/* The run in key order, stable.  The run ends here, and its reservation
	 * shrinks to the memory that fetches need. */
	GSORT_SORTED = 1,
	/* As SORTED, and retains the data that gsort_job_next_run needs.  The
	 * sort's peak memory stays the same. */
	GSORT_SORTED_RUN = 2
} gsort_finish_how;

typedef enum gsort_block_flags
{
	/* holds the next bytes of the row begun in the output block before */
	GSORT_BLOCK_CONTINUED = 1,
	GSORT_BLOCK_CONTINUES = 2	/* the row continues in the next output block */
} gsort_block_flags;

/*
 * An output block holds whole rows back to back, each at a multiple of 8 bytes.
 * A row is split only if it is longer than an output block, over output blocks
 * of its own.  The first output block of a split row has rows = 1 and
 * CONTINUES; the following ones have rows = 0 and CONTINUED; all but the last
 * are full.  In a CONTINUED output block, first_row is the row after the split
 * one.  Therefore first_row + rows never decreases along the directory.
 *
 * Tie bits exist with GSORT_TIES or an inexact_mask: rows / 64 + 1 uint64
 * follow the rows of an output block with rows > 0.  Bit r % 64 of word r / 64
 * is set if row r of the output block ties with its predecessor, which may be
 * in the output block before.  Row 0 of the run has no predecessor, and its bit
 * is 0.  Bit number rows describes the row after the output block; all higher
 * bits are 0.  The field bytes includes these words, row_bytes does not.  Two
 * rows tie if they agree in a column whose value is inexact and in all columns
 * before it.  With GSORT_TIES, rows that agree in all columns also tie.
 *
 * The cuts between output blocks depend only on the row lengths in sorted order
 * (block_cut.h), so that all devices make the same output blocks.
 *
 * After MERGED the directory describes the merge order.  Output block i holds
 * one byte per row, for the rows from i * block_bytes on: the number of the run
 * that the row comes from, counted from 0.  The field rows counts these bytes;
 * row_bytes = bytes = rows rounded up to 8; the padding is zero; flags is 0.
 */
typedef struct gsort_block
{
	uint64_t	first_row;
	uint32_t	rows;
	uint32_t	flags;			/* gsort_block_flags */
	uint32_t	row_bytes;
	/* Bytes that a fetch writes, at most block_bytes.  The rest of the buffer
	 * stays unchanged. */
	uint32_t	bytes;
} gsort_block;

typedef enum gsort_event_kind
{
	GSORT_EVENT_APPENDED = 1,	/* the caller owns the chunk's buffer again */
	/* OK: the directory is complete.  NOMEM: the run may be finished again.
	 * Otherwise BAD_DATA or DEVICE_LOST. */
	GSORT_EVENT_RUN_FINISHED,
	GSORT_EVENT_RUN_BEGUN,		/* the job is empty and accepts chunks again */
	/* OK: the directory of the merge order is complete.  Otherwise NOMEM or
	 * DEVICE_LOST. */
	GSORT_EVENT_MERGED,
	GSORT_EVENT_FETCHED,		/* the buffer holds the output block */
	/* the device uses no buffer of the job; the job pointer is invalid */
	GSORT_EVENT_CLOSED
} gsort_event_kind;

typedef struct gsort_event
{
	gsort_event_kind kind;
	gsort_status status;
	uint64_t	job_tag;		/* options.tag of the job */
	uint64_t	tag;			/* tag of the chunk or of the fetch */
} gsort_event;

typedef struct gsort_job_stats
{
	/* The current run: fed or finished. */
	uint64_t	rows;			/* after MERGED: the total of all runs */
	uint64_t	bytes_in;		/* rows, keys and offsets sent to the device */
	uint64_t	row_bytes;		/* includes a long row in full from its first chunk on */
	uint64_t	reserved_rows;	/* total */
	uint64_t	reserved_row_bytes;
	/* rows begun but not complete; above 0 the run cannot be finished */
	uint32_t	incomplete_rows;
	/* The whole job. */
	uint64_t	bytes_out;		/* fetched so far */
	/* at present: the run's reservations, and retained keys or the merge
	 * order */
	uint64_t	reserved_bytes;
	uint64_t	peak_bytes;		/* peak of the device memory allocated */
	/* The last run that was finished. */
	double		sort_ms;		/* from the end of the last append to the directory */
	uint32_t	key_bits;		/* significant bits of all columns after compaction */
	/* Number of sort words, of up to 64 bits each, that hold these bits.  The
	 * first word sorts all rows; the others sort the rows that it leaves
	 * tied. */
	uint32_t	key_words;
	/* The whole job. */
	uint32_t	runs;			/* runs ended by gsort_job_next_run */
	/* 0: the keys of the ended runs are gone, and the device cannot merge them.
	 * Always 0 with an inexact_mask. */
	uint32_t	keys_retained;
	double		merge_ms;
	/* The last run that was finished. */
	gsort_engine engine;		/* sorted the first word; AUTO: no sort, all keys were equal */
} gsort_job_stats;

/* --- device ------------------------------------------------------------ */

/*
 * Sets the environment variables that the device's libraries read.  A process
 * calls it once, before gsort_open, while the process is single-threaded: no
 * other thread may read the environment meanwhile.
 *
 * salt: a random number that prevents crafted input for which sorts are slow.
 * The default is 0; a fixed salt makes timings repeatable.  No result depends
 * on it.
 */
void		gsort_prepare(uint32_t salt);

/*
 * Opens the device: context, streams, threads, staging.  Loads every kernel and
 * runs a small test sort.  Blocks for about a second with CUDA.  New threads
 * block all signals.
 *
 * UNSUPPORTED: no such device or driver, or a build without it.  In this case
 * reason (reason_bytes long) receives a sentence without a full stop.  NOMEM,
 * BAD_ARG.
 */
gsort_status gsort_open(const gsort_device_options *options, gsort_device **device,
						char *reason, size_t reason_bytes);

/*
 * Pins [base, base + bytes) for direct copies; once per device.  The range is
 * page-aligned and every page has been touched.  UNSUPPORTED: the range cannot
 * be pinned; copies go through staging, and everything else works.  The host
 * device returns OK without effect.
 */
gsort_status gsort_pin(gsort_device *device, void *base, size_t bytes);

/* A descriptor that becomes readable when gsort_poll may have events.  The
 * device owns the descriptor.  After a loss of the device the descriptor may
 * stay silent: poll every 100 ms while work is in progress. */
int			gsort_fd(gsort_device *device);

/*
 * Writes up to max events to out and returns their number; clears gsort_fd.  If
 * the result is max, call gsort_poll again.  When out holds a job's CLOSED
 * event, the job pointer is already invalid, also for that job's earlier events
 * in out.
 */
int			gsort_poll(gsort_device *device, gsort_event *out, int max);

void		gsort_device_get_info(gsort_device *device, gsort_device_info *info);

/* Changes the budget for future reservations.  0 selects the default, as in
 * gsort_device_options. */
void		gsort_set_budget(gsort_device *device, uint64_t budget_bytes);

/* For tests: the n-th operation of the given kinds (gsort_fail_kind) fails.
 * With n = 0, none fails.  The call restarts the count.  Jobs may be open. */
void		gsort_set_fail_at(gsort_device *device, uint64_t n, uint32_t kinds);

/* Describes the last failure for a log line.  Never NULL; valid until the next
 * call. */
const char *gsort_error_text(gsort_device *device);

/* Closes every job, then closes and frees the device.  Blocks.  On return no
 * DMA accesses pinned memory. */
void		gsort_shut(gsort_device *device);

/* --- jobs ----------------------------------------------------------------- */

/* Opens a job that reserves nothing.  NOMEM, BAD_ARG, UNSUPPORTED,
 * DEVICE_LOST. */
gsort_status gsort_job_open(gsort_device *device, const gsort_job_options *options,
							gsort_job **job);

/*
 * Reserves device memory for rows more rows of row_bytes more bytes (the sum of
 * all data_bytes and more_bytes).  The reservation includes the sort's scratch
 * memory.  NOMEM changes nothing.
 *
 * If keys may fill several words (several columns, or NULLs), CUDA reserves 8
 * more bytes per row for the row numbers of ties in the first word.
 */
gsort_status gsort_job_reserve(gsort_job *job, uint64_t rows, uint64_t row_bytes);

/* Device memory that such a reservation would add to the job. */
uint64_t	gsort_job_reservation_bytes(const gsort_job *job, uint64_t rows, uint64_t row_bytes);

/*
 * Enqueues one chunk; APPENDED follows.  The order of calls is the stable
 * order.  BAD_ARG: beyond the reservations.  UNSUPPORTED: the run would exceed
 * GSORT_RUN_ROWS_MAX or GSORT_RUN_BYTES_MAX.  BAD_DATA at once: the chunk's
 * shape is wrong, and nothing was read.  NOMEM changes nothing; with pinned
 * memory and within the reservations it means that the device refused twice.
 */
gsort_status gsort_job_append(gsort_job *job, const gsort_chunk *chunk);

/* Ends the run after all appends; RUN_FINISHED follows.  BAD_ARG: a row is
 * incomplete, or the run has already been finished with success. */
gsort_status gsort_job_finish_run(gsort_job *job, gsort_finish_how how);

/* Returns the directory after RUN_FINISHED or MERGED with OK.  The job owns it
 * until the next run or the close. */
gsort_status gsort_job_blocks(gsort_job *job, const gsort_block **blocks, uint64_t *n);

/*
 * Enqueues the gather of an output block to dst (8-byte aligned, block_bytes
 * long); FETCHED follows.  Output blocks may be fetched in any order,
 * repeatedly, and several at once.  NOMEM: the device refused twice, or staging
 * is full; nothing writes to dst.
 */
gsort_status gsort_job_fetch(gsort_job *job, uint64_t block, void *dst, uint64_t tag);

/*
 * Ends a run after RUN_FINISHED of a SORTED_RUN with OK; RUN_BEGUN follows (OK
 * or DEVICE_LOST).  BAD_ARG in any other state or with a fetch in progress.
 * NOMEM: no host memory; only a close is legal then.  Drops the run's rows.
 * The job is then empty and accepts reservations and appends.
 *
 * The job retains its share of the budget for retained keys and for
 * reservations of the next run.  The share covers at least one chunk whose
 * data, keys and offsets together fit block_bytes, if the job had that much.  A
 * reservation for such a chunk is NOMEM only if the device itself lacks memory.
 *
 * The device retains the run's sorted keys for gsort_job_merge if
 * - the keys fit one sort word and come from at most GSORT_MERGE_RUNS_MAX runs;
 * - the keys of all runs and the merge's memory fit the budget left by other
 *   jobs;
 * - both, plus the keys retained by other jobs, stay within half of the budget;
 * - the job has no inexact_mask, since a merge order carries no ties.
 *
 * Otherwise the keys of all runs are dropped for good (stats.keys_retained).
 * Retained keys never take more memory than the run had.
 */
gsort_status gsort_job_next_run(gsort_job *job);

/*
 * Merges the ended runs; MERGED follows.  Legal after next_run of the last run,
 * before any append to the next one; otherwise BAD_ARG.  The merge order is by
 * key, then by run, then by the order within the run.  The job's output blocks
 * become those of the merge order (gsort_block), and the retained keys are
 * freed.  The reservations of the unfed run are returned.
 *
 * UNSUPPORTED: no run has ended, or the keys are not retained; nothing changed.
 * NOMEM, at once or in the event: the keys are still retained, and the job may
 * be fed or merged again.
 */
gsort_status gsort_job_merge(gsort_job *job);

/* Legal at any time.  The figures of a run are final after RUN_FINISHED. */
void		gsort_job_get_stats(const gsort_job *job, gsort_job_stats *stats);

/* Ends the job in any state.  CLOSED follows exactly once and returns all
 * buffers.  Other events of the job may precede it. */
void		gsort_job_close(gsort_job *job);

#ifdef __cplusplus
}
#endif

#endif							/* GSORT_H */
