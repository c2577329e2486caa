/*
 * cuda_device.cuh
 *	  The structs of the CUDA device, and the functions that its files share.
 *	  The only bodies are launch arithmetic and injected failures.
 *
 * cuda_open.cu       opening and shutting, the table of operations
 * cuda_self_job.cu   self-test jobs at opening
 * cuda_errors.cu     classification of CUDA errors
 * cuda_memory.cu     device memory; pinned memory of the host: gsort_pin's
 *                    range, our staging
 * cuda_job.cu        jobs: open, extents, close
 * cuda_transfers.cu  chunks to the device, output blocks to the host
 * cuda_work.cu       the common part of all work, and its events
 * cuda_finish.cu     the finish
 * cuda_order.cu      the order of its rows (interface: cuda_finish.cuh)
 * cuda_runs.cu       several runs: their retained keys, their merge
 *
 * One thread of the host calls every function.  CUDA's own threads run
 * cuda_wake, which touches only the eventfd.  Nothing throws: there is no new
 * and no container, and CUB and the runtime return error codes.
 *
 * Order on the device: work of one lane (a stream with its staging buffers)
 * runs in order; lanes run concurrently.  The finish waits for all append
 * lanes.  A job's finishes, ends of runs and merge follow one another, and the
 * host observes each end before the next begins.  All memory is allocated and
 * freed on the memory stream, where nothing else waits.  A job's event
 * 'memory_ready' orders its allocations before the streams that use them.
 * Memory is freed, reused or returned once the host has observed the end of the
 * last work on it, the earlier part of a refused operation included.
 */
#ifndef GSORT_CUDA_DEVICE_CUH
#define GSORT_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "api/gsort_device.h"
#include "device/block_map.h"
#include "device/arena.cuh"
#include "sort/order_merge.h"
#include "sort/pairs_engine.h"

#define APPEND_LANES		4
#define FETCH_LANES			4
#define LANES				(APPEND_LANES + FETCH_LANES)
#define SORT_STREAMS		2
#define LAUNCH_THREADS		256
#define BEGINS_SLOT_BYTES	((size_t) 256 << 10)	/* bytes of a directory read back at once */
#define STAGINGS			2		/* one made at opening, one more if pinning fails */

#define CHUNK_ROWS_MAX		(GSORT_BLOCK_BYTES_MAX / 8)	/* a row has at least 8 bytes */

typedef struct cuda_job cuda_job;

/* Device memory, with the size that it is accounted by. */
typedef struct cuda_array
{
	void	   *pointer;
	size_t		bytes;
} cuda_array;

/* A part of the staging; memory is NULL if there is none. */
typedef struct pinned_slot
{
	char	   *memory;
	size_t		bytes;
} pinned_slot;

/* Our own pinned memory, in blocks, for the read-back of finishes and for
 * callers whose memory is not pinned.  memory is NULL if there is none. */
typedef struct pinned_staging
{
	char	   *memory;
	block_map	blocks;
} pinned_staging;

typedef struct cuda_operation
{
	struct cuda_operation *next;
	cuda_job   *job;
	gsort_event_kind kind;
	uint64_t	tag;
	cudaEvent_t done;			/* kept when the struct is reused */
	pinned_slot slot;			/* staging, if the caller's memory is not pinned */
	void	   *unpinned_dst;	/* destination of a fetch's slot at the end, or NULL */
} cuda_operation;

typedef struct cuda_lane
{
	cudaStream_t stream;
	cudaEvent_t tail;			/* append lanes: recorded for a finish to wait for */
	cudaStream_t notices;		/* runs cuda_wake after each operation */
	cuda_operation *oldest;
	cuda_operation *newest;
	cuda_array	keys;			/* append lanes: hold a chunk's arrays */
	cuda_array	row_start;
	cuda_array	nulls;
	cuda_array	block;			/* fetch lanes: holds the gathered output block */
} cuda_lane;

typedef struct cuda_device
{
	gsort_device common;		/* must be first */
	gsort_device_info facts;	/* those that do not change */
	int			event_fd;
	int			drained;		/* the lost device has stopped all work */

	cudaMemPool_t pool;
	uint64_t	allocated_bytes;

	cudaStream_t memory_stream;
	cudaStream_t append_notices;
	cudaStream_t fetch_notices;
	cudaStream_t sort_streams[SORT_STREAMS];
	uint32_t	next_sort_stream;
	cuda_lane	lanes[LANES];	/* those of appends, then those of fetches */
	uint32_t	next_append_lane;
	uint32_t	next_fetch_lane;

	int			trim_wanted;	/* the last job has closed: memory can be returned to the system */
	/* Recorded behind the frees, because the stream itself is busy while it
	 * runs cuda_wake. */
	cudaEvent_t idle;

	cuda_operation *free_operations;
	pinned_staging staging[STAGINGS];
	char	   *pinned_base;	/* the range of gsort_pin; NULL: none */
	size_t		pinned_bytes;
	cuda_job   *jobs;
} cuda_device;

/* The arrays of one finish.  All are allocated until the finish ends.  The
 * arrays that a fetch needs stay (order, low offsets, ties); the others are
 * freed. */
typedef enum sort_array
{
	SORT_WORDS,					/* [rows] uint64: sort words, then the packed row lengths */
	/* [rows] uint64: the sorted first words, if the search for ties or segments
	 * needs them */
	SORT_SORTED_WORDS,
	SORT_ORDER,					/* [rows] uint32 */
	/* [rows] uint32: the second buffer of the order while it is sorted */
	SORT_LOW_OFFSETS,
	/* [rows] uint32, if there may be several words: rows that share their first
	 * word */
	SORT_TIED_ROWS,
	/* [rows] uint32, likewise: per row, the number of its segment, which shares
	 * the first word */
	SORT_SEGMENTS,
	SORT_TIES,					/* [rows / 32] uint32, if output blocks carry tie bits */
	SORT_BEGINS,				/* [begins] block_begin */
	/* Scratch, in turn, of the pairs sort, of the sort of tied rows, and of
	 * placing the rows. */
	SORT_SCRATCH,
	SORT_ARRAYS
} sort_array;

typedef enum extent_kind
{
	ROW_EXTENTS,
	WORD_EXTENTS,				/* share the lifetime of the rows */
	KEY_EXTENTS,
	EXTENT_KINDS
} extent_kind;

typedef struct extent_list
{
	void	  **extents;		/* on the host, sized for everything that the device can hold */
	uint64_t	capacity;
	uint64_t	n;
	uint64_t	n_published;	/* number of extents published in the table on the device */
	cuda_array	table;			/* on the device: uint64_t *[capacity] */
} extent_list;

struct cuda_job
{
	gsort_job	common;			/* must be first */
	cuda_job   *next;
	uint64_t	allocated_bytes;
	uint32_t	in_flight;		/* number of appends and fetches */

	cuda_array	header;			/* run_header */
	int			header_used;	/* must be zeroed before the next append */
	extent_list extents[EXTENT_KINDS];
	cudaEvent_t memory_ready;	/* the extents and tables are complete */

	gsort_event_kind work_kind; /* RUN_FINISHED, RUN_BEGUN or MERGED: one at a time */
	int			work_pending;	/* its event has not been returned yet */
	int			work_on_device;	/* the device is working on it */
	/* Not OK: the device refused a part of the work.  This is its status once
	 * the other part has ended. */
	gsort_status work_failed;
	gsort_status work_status;	/* valid once work_on_device is 0 */
	cudaStream_t work_stream;
	cudaEvent_t work_began;
	cudaEvent_t work_ended;

	pinned_slot finish_slot;	/* run_header, then block begins */
	/* The host reads the number of rows tied by their first word, then enqueues
	 * the rest. */
	int			tied_awaited;
	uint64_t	begins_asked;	/* block begins copied to the slot, or being copied */
	uint64_t	begins_taken;	/* block begins taken from it */
	block_begin *begins;		/* malloc'd, input of gsort_make_directory */
	cuda_array	sort[SORT_ARRAYS];
	int			sorted_as_fed;	/* all keys of the run are equal, and SORT_ORDER is undefined */

	/* the sorted keys of ended runs, and how the merge finds them there */
	cuda_array	retained_keys[GSORT_MERGE_RUNS_MAX];
	merge_run	retained[GSORT_MERGE_RUNS_MAX];
	uint32_t	n_retained;
	/* merge: the run of each row, padded with zeros to a multiple of 8 */
	cuda_array	order;
	cuda_array	merge_scratch;
};

/* --- failures (cuda_errors.cu) -------------------------------------------- */

/* Records a CUDA error.  NOMEM: the device refused a call and goes on.
 * DEVICE_LOST: the device is unusable and drained, so none of its work runs any
 * more. */
gsort_status cuda_fail(cuda_device *device, cudaError_t error, const char *expression,
					   const char *file, int line);

/* The same for calls that a working device never refuses: any error loses the
 * device. */
gsort_status cuda_lose(cuda_device *device, cudaError_t error, const char *expression,
					   const char *file, int line);

/* Drains a lost device, once.  Its remaining work must not outlive the memory
 * that it uses. */
void		cuda_drain(cuda_device *device);

/* For tests: launches of this thread ask this device for injected failures;
 * NULL: none.  Each call sets it again, since there may be several devices. */
void		cuda_watch_launches(cuda_device *device);

/* For tests: injects an error into a call that enqueues, or into a query or a
 * free, which no device refuses. */
cudaError_t cuda_checked(cuda_device *device, cudaError_t error);
cudaError_t cuda_checked_query(cuda_device *device, cudaError_t error);

/* Wraps launch(), which has injected failures of its own. */
#define GSORT_TRY_LAUNCH(device, expression) GSORT_TRY_CUDA(device, expression, #expression)

/* Launches a kernel with at least n threads, in blocks of LAUNCH_THREADS. */
#define GSORT_LAUNCH(device, n, stream, kernel, ...) \
	GSORT_TRY_CUDA(device, launch(kernel, tiles_for(n, LAUNCH_THREADS), LAUNCH_THREADS, 0, stream, \
								  __VA_ARGS__), #kernel)

/* Wraps other CUDA calls that a device may refuse, because they enqueue or
 * allocate. */
#define GSORT_TRY(device, expression) \
	GSORT_TRY_CUDA(device, cuda_checked((device), (expression)), #expression)

#define GSORT_TRY_CUDA(device, checked, text) \
	do \
	{ \
		cudaError_t try_error; \
		cuda_watch_launches(device); \
		try_error = (checked); \
		cuda_watch_launches(NULL); \
		if (try_error != cudaSuccess) \
			return cuda_fail((device), try_error, text, __FILE__, __LINE__); \
	} while (0)

#define GSORT_TRY_STATUS(expression) \
	do \
	{ \
		gsort_status try_status = (expression); \
		if (try_status != GSORT_OK) \
			return try_status; \
	} while (0)

/* --- memory (cuda_memory.cu) -------------------------------------------- */

gsort_status cuda_memory_open(cuda_device *device);
void		cuda_memory_close(cuda_device *device);
uint64_t	cuda_default_budget(gsort_device *device);

/* job: the owner of the peak, or NULL.  NOMEM leaves the array empty;
 * DEVICE_LOST. */
gsort_status cuda_allocate(cuda_device *device, cuda_job *job, cuda_array *array, size_t bytes);

/* Requires that no work on the array is in progress.  Empties the array; an
 * empty one is allowed. */
void		cuda_release(cuda_device *device, cuda_job *job, cuda_array *array);

void		cuda_memory_idle(cuda_device *device);

/* Returns a part of the pool's memory to the system while no job is open.
 * Never waits.  While much remains, it wakes the caller for another call. */
void		cuda_memory_trim(cuda_device *device);

/* --- pinned memory (cuda_memory.cu) --------------------------------------- */

gsort_status cuda_staging_open(cuda_device *device);
void		cuda_staging_close(cuda_device *device);

/* Takes a slot of at least bytes.  NOMEM leaves it empty: other operations hold
 * the room. */
gsort_status cuda_slot_take(cuda_device *device, pinned_slot *slot, size_t bytes);

/* Requires that no copy of the slot is in progress.  Empties the slot; an empty
 * one is allowed. */
void		cuda_slot_give(cuda_device *device, pinned_slot *slot);

gsort_status cuda_pin(gsort_device *device, void *base, size_t bytes);
int			cuda_is_pinned(const cuda_device *device, const void *memory, size_t bytes);

/* --- opening (cuda_open.cu) ----------------------------------------------- */

/* Makes the device current for this thread.  CUDA keeps the current device per
 * thread, and the service has several.  A thread calls this before it launches
 * or makes a stream, an event or memory. */
gsort_status cuda_enter(cuda_device *device);

/* --- jobs (cuda_job.cu) -------------------------------------------------- */

uint64_t	cuda_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units);
uint64_t	cuda_job_held_bytes(const gsort_job *job);
gsort_status cuda_job_open(gsort_device *device, const gsort_job *blank, gsort_job **job);
gsort_status cuda_job_reserve(gsort_job *job, uint64_t rows, uint64_t units);
void		cuda_job_close(gsort_job *job);

/* Frees all resources of the job; none of its work may still run. */
void		cuda_job_free(cuda_job *job);

extent_table cuda_job_extents(const cuda_job *job, extent_kind kind);
key_table	cuda_job_key_table(const cuda_job *job);

/* The order of the sorted run; NULL: the order as fed. */
const uint32_t *cuda_job_order(const cuda_job *job);

/* Frees the extents of a kind but for the first ones: of keys after these were
 * gathered or discarded, of rows and their words after the last fetch, or those
 * behind the rows of a sorted run. */
void		cuda_job_free_extents(cuda_job *job, extent_kind kind, uint64_t kept);

/* --- appends, fetches (cuda_transfers.cu) --------------------------------- */

/* Reserves n more operations in advance, so that these need no host memory
 * later. */
gsort_status cuda_operations_reserve(cuda_device *device, uint64_t n);
void		cuda_operations_free(cuda_device *device);

/* Drops an unfinished operation, after all of its work has ended. */
void		cuda_operation_drop(cuda_device *device, cuda_operation *operation);

gsort_status cuda_job_append(gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit);
gsort_status cuda_job_fetch(gsort_job *job, const gsort_block *block, void *dst, uint64_t tag);

/* --- work (cuda_work.cu) -------------------------------------------------- */

/* Makes gsort_fd readable.  A cudaHostFn_t, also called directly. */
void		CUDART_CB cuda_wake(void *device);

int			cuda_poll(gsort_device *device, gsort_event *out, int max);

void		cuda_take_sort_stream(cuda_job *job);

/* Marks the end of a finish, an end of a run or a merge on the device, behind
 * its last launch. */
gsort_status cuda_work_record_end(cuda_job *job);

/* status: the result of enqueuing the work.  If it failed midway, the enqueued
 * part ends normally, the work then fails with that status, and the function
 * returns OK.  The function returns status only if no part of the work runs. */
gsort_status cuda_work_enqueued(cuda_job *job, gsort_status status);

/* Registers work, whose event will follow.  status: the outcome, if no part of
 * it is on the device. */
void		cuda_work_begun(cuda_job *job, gsort_event_kind kind, gsort_status status);

/* Device time of the work; 0 if unknown. */
double		cuda_work_ms(cuda_job *job);

/* --- the finish (cuda_finish.cu) ------------------------------------------ */

/* Device memory of a finish SORTED of that many rows, beside the extents. */
uint64_t	cuda_sort_bytes(const gsort_job *job, uint64_t rows, uint64_t units);
gsort_status cuda_job_finish_run(gsort_job *job);

/* Frees the memory of a finish, after the host has observed its end.  kept: bit
 * i: array i stays. */
void		cuda_finish_free(cuda_job *job, uint32_t kept);

/* Handles the end of the finish or of its last part, with status: takes its
 * results and sets work_status, or enqueues the next part. */
void		cuda_finish_ended(cuda_job *job, gsort_status status);

/* --- several runs (cuda_runs.cu) ------------------------------------------ */

gsort_status cuda_job_next_run(gsort_job *job);
gsort_status cuda_job_merge(gsort_job *job, const key_plan *plan);

void		cuda_run_ended(cuda_job *job, gsort_status status);
void		cuda_merge_ended(cuda_job *job, gsort_status status);

void		cuda_runs_free(cuda_job *job);

/* --- opening (cuda_self_job.cu) ------------------------------------------- */

gsort_status cuda_run_self_jobs(gsort_device *device);

static inline size_t
aligned_bytes(size_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

#endif							/* GSORT_CUDA_DEVICE_CUH */
