/*
 * cuda_device.cuh
 *	  What the files of the CUDA device share: its structs, and each file's
 *	  functions for the others.  No bodies but arithmetic of launches and a
 *	  test's failures.
 *
 * gsort_cuda.cu      the table of operations; pinning, the figures
 * cuda_open.cu       opening and shutting
 * cuda_self_job.cu   jobs that show that the device sorts
 * cuda_errors.cu     what an error of CUDA means
 * cuda_memory.cu     device memory
 * cuda_staging.cu    pinned memory of the host
 * cuda_poll.cu       what has ended, as events
 * cuda_job.cu        jobs: their room, their end
 * cuda_operation.cu  what appends and fetches have in common
 * cuda_append.cu, cuda_fetch.cu
 * cuda_work.cu       what cuts, ends of runs and merges have in common
 * cuda_sort.cu       the cut
 * cuda_order.cu      the order of its rows (cuda_cut.cuh: what both share)
 * cuda_runs.cu       several runs: their kept keys, their merge
 * cuda_pairs.cu      the pairs sort, by the engines of cuda/sort
 *
 * One thread of the host calls all of it.  CUDA's own threads run wake_caller,
 * which touches nothing but the eventfd.  Nothing here throws: no new, no
 * containers, and CUB's and the runtime's functions return codes.
 *
 * Order on the device.  Work of one lane (a stream with its staging buffers)
 * runs in order; lanes run beside each other.  The cut waits for all append
 * lanes.  A job's cuts, ends of runs and merge follow one another, the host
 * seeing each end before the next.  All memory is allocated and freed on the
 * memory stream, where nothing else ever waits: a job's 'room' event orders its
 * allocations before the streams that use them, and memory is freed once the
 * host has seen the last such work end.
 *
 * When a call is refused in the midst of an operation, what was enqueued before
 * still runs.  Nothing that it touches is freed, reused or given back before it
 * has ended: a cut, an end of a run or a merge marks its end as ever, and fails
 * then; an append or a fetch waits for its lane.
 */
#ifndef GSORT_CUDA_DEVICE_CUH
#define GSORT_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "api/gsort_device.h"
#include "device/block_map.h"
#include "device/arena.cuh"
#include "sort/pairs_engine.h"

#define APPEND_LANES		4
#define FETCH_LANES			4
#define SORT_STREAMS		2
#define SLICE_ROWS			GSORT_KEY_EXTENT_ROWS	/* rows of a chunk that are staged together */
#define LAUNCH_THREADS		256
#define BEGINS_SLOT_BYTES	((size_t) 256 << 10)	/* of a directory read back at once */
#define STAGINGS			2		/* made at opening; and when pinning has failed */

/* A chunk of at most window_bytes has a row for each 8 bytes. */
#define SLICE_KEYS_BYTES	(SLICE_ROWS * sizeof(uint64_t) * GSORT_MAX_KEY_COLUMNS)

typedef struct cuda_job cuda_job;

/* Device memory with the size it is accounted by. */
typedef struct cuda_array
{
	void	   *pointer;
	size_t		bytes;
} cuda_array;

/* A part of the staging.  memory is NULL: none. */
typedef struct pinned_slot
{
	char	   *memory;
	size_t		bytes;
} pinned_slot;

/* Pinned memory of our own, in blocks, for what comes back of cuts, and for
 * callers whose memory is not pinned.  memory is NULL: there is none. */
typedef struct pinned_staging
{
	char	   *memory;
	block_map	blocks;
} pinned_staging;

/* What gsort_pin registered. */
typedef struct pinned_region
{
	struct pinned_region *next;
	char	   *base;
	size_t		bytes;
} pinned_region;

/* An append or a fetch on its way. */
typedef struct cuda_operation
{
	struct cuda_operation *next;
	cuda_job   *job;
	gsort_event_kind kind;
	uint64_t	tag;
	cudaEvent_t done;			/* kept when the struct is reused */
	pinned_slot slot;			/* staging, if the caller's memory needs it */
	void	   *unpinned_dst;	/* where a fetch's slot is copied in the end, or NULL */
	size_t		unpinned_bytes;
} cuda_operation;

typedef struct cuda_lane
{
	cudaStream_t stream;
	cudaEvent_t tail;			/* append lanes: recorded for a cut to wait for */
	cudaStream_t notices;		/* runs wake_caller behind each operation's end */
	cuda_operation *oldest;
	cuda_operation *newest;
	cuda_array	keys;			/* append lanes: a slice of a chunk */
	cuda_array	row_start;
	cuda_array	nulls;
	cuda_array	window;			/* fetch lanes: the gathered window */
} cuda_lane;

typedef struct cuda_device
{
	gsort_device common;		/* first */
	int			ordinal;
	int			devices;		/* that there were when it was opened */
	char		name[128];
	uint64_t	memory_bytes;
	int			compute_capability;
	int			driver_version;
	int			runtime_version;
	int			event_fd;
	int			drained;		/* lost, and all work has stopped */

	cudaMemPool_t pool;
	uint64_t	allocated_bytes;

	cudaStream_t memory_stream;
	cudaStream_t append_notices;
	cudaStream_t fetch_notices;
	cudaStream_t sort_streams[SORT_STREAMS];
	uint32_t	next_sort_stream;
	cuda_lane	append_lanes[APPEND_LANES];
	uint32_t	next_append_lane;
	cuda_lane	fetch_lanes[FETCH_LANES];
	uint32_t	next_fetch_lane;

	int			trim_wanted;	/* the last job has closed: memory goes back to the system */
	/* Behind what it freed: the stream itself is busy while it runs
	 * cuda_wake. */
	cudaEvent_t idle;

	cuda_operation *free_operations;
	uint64_t	n_operations;	/* in all, free or not */
	pinned_staging staging[STAGINGS];
	pinned_region *regions;
	cuda_job   *jobs;
} cuda_device;

/* The arrays of one cut.  Until it ends they are all allocated; what a fetch
 * needs stays (order, low offsets, ties); the rest goes. */
typedef enum sort_array
{
	SORT_WORDS,					/* [rows] uint64: sort words, then the packed lengths of the rows */
	/* [rows] uint64, where ties or segments are found by them: the first sort
	 * words, sorted */
	SORT_SORTED_WORDS,
	SORT_ORDER,					/* [rows] uint32 */
	SORT_LOW_OFFSETS,			/* [rows] uint32: the other half of the order while it is sorted */
	/* [rows] uint32, where words may be several: rows that share their first
	 * word */
	SORT_TIED_ROWS,
	/* [rows] uint32, likewise: by row, the number of those that share its first
	 * word */
	SORT_SEGMENTS,
	SORT_TIES,					/* [rows / 32] uint32, where windows carry tie bits */
	SORT_BEGINS,				/* [begins] window_begin */
	/* Of the pairs sort, of what is tied by its first word, and of placing the
	 * rows, in turn. */
	SORT_SCRATCH,
	SORT_ARRAYS
} sort_array;

/* The sorted keys of a run that has ended: [columns][rows] uint64, then maybe
 * [rows] uint8. */
typedef struct kept_run
{
	cuda_array	keys;
	uint32_t	rows;
	int			has_nulls;
} kept_run;

/* The extents of one kind that a job has. */
typedef struct extent_list
{
	void	  **extents;		/* on the host: room for all that the device can hold */
	uint64_t	room;
	uint64_t	n;
	uint64_t	n_told;			/* of these the table on the device has */
	cuda_array	table;			/* device: uint64_t *[room] */
} extent_list;

struct cuda_job
{
	gsort_job	common;			/* first */
	cuda_job   *next;
	uint64_t	allocated_bytes;
	uint32_t	in_flight;		/* appends and fetches */

	cuda_array	header;			/* run_header */
	int			header_used;	/* it is to be zeroed before the next append */
	extent_list row_extents;
	extent_list word_extents;	/* go and stay with the rows */
	extent_list key_extents;
	cudaEvent_t room;			/* the extents and tables stand */

	gsort_event_kind work_kind; /* CUT, RUN_BEGUN or MERGED: one at a time */
	int			work_pending;	/* its event has not been handed out */
	int			work_on_device;	/* and the device is at work on it */
	/* Not OK: on a part only, the rest was refused; its status when that has
	 * ended. */
	gsort_status work_failed;
	gsort_status work_status;	/* once it is not */
	cudaStream_t work_stream;
	cudaEvent_t work_began;
	cudaEvent_t work_ended;

	pinned_slot cut_slot;		/* run_header, then window_begins */
	/* The host looks how many rows are tied by their first word, then enqueues
	 * the rest. */
	int			tied_awaited;
	uint64_t	begins_asked;	/* window_begins that were or are being copied to the slot */
	uint64_t	begins_taken;	/* that were taken from it */
	uint32_t   *begin_rows;		/* malloc'd, for gsort_make_directory */
	uint64_t   *begin_units;
	cuda_array	sort[SORT_ARRAYS];
	int			sorted_as_fed;	/* the run's keys are all equal: SORT_ORDER says nothing */

	kept_run	kept[GSORT_MERGE_RUNS_MAX];
	uint32_t	n_kept;
	int			keys_kept;		/* of all runs */
	cuda_array	order;			/* merge: the run of each row, zeros up to a multiple of 8 */
	cuda_array	merge_scratch;
};

/* --- failures (cuda_errors.cu) -------------------------------------------- */

/* Records an error of CUDA.  NOMEM: a call was refused, by a device that goes
 * on.  DEVICE_LOST: the device does not; it has been waited for, so nothing of
 * it runs any more. */
gsort_status cuda_fail(cuda_device *device, cudaError_t error, const char *expression,
					   const char *file, int line);

/* The same for calls that no sound device refuses: whatever the error, the
 * device is lost. */
gsort_status cuda_lose(cuda_device *device, cudaError_t error, const char *expression,
					   const char *file, int line);

/* Once: work that a lost device still does must not outlive what it works
 * on. */
void		cuda_drain(cuda_device *device);

/* For tests: launches of this thread ask this device whether they fail; NULL:
 * none.  Said for each call, as there may be several devices. */
void		cuda_watch_launches(cuda_device *device);

/* For tests: the error of a call that enqueues, or of one that asks or frees,
 * which no device refuses. */
cudaError_t cuda_checked(cuda_device *device, cudaError_t error);
cudaError_t cuda_checked_query(cuda_device *device, cudaError_t error);

/* For calls of CUDA that a device may refuse: they enqueue or make
 * something. */
#define GSORT_TRY(device, expression) \
	do \
	{ \
		cudaError_t try_error; \
		cuda_watch_launches(device); \
		try_error = cuda_checked((device), (expression)); \
		cuda_watch_launches(NULL); \
		if (try_error != cudaSuccess) \
			return cuda_fail((device), try_error, #expression, __FILE__, __LINE__); \
	} while (0)

/* For launch(), which tests make fail by itself. */
#define GSORT_TRY_LAUNCH(device, expression) \
	do \
	{ \
		cudaError_t try_error; \
		cuda_watch_launches(device); \
		try_error = (expression); \
		cuda_watch_launches(NULL); \
		if (try_error != cudaSuccess) \
			return cuda_fail((device), try_error, #expression, __FILE__, __LINE__); \
	} while (0)

#define GSORT_TRY_STATUS(expression) \
	do \
	{ \
		gsort_status try_status = (expression); \
		if (try_status != GSORT_OK) \
			return try_status; \
	} while (0)

/* --- events (cuda_poll.cu) ------------------------------------------------ */

/* Makes gsort_fd readable: a cudaHostFn_t, also called directly. */
void		CUDART_CB cuda_wake(void *device);

/* True when the device has passed the event.  False also where that loses the
 * device. */
int			cuda_event_passed(cuda_device *device, cudaEvent_t event);

int			cuda_poll(gsort_device *device, gsort_event *out, int max);

/* --- memory (cuda_memory.cu) -------------------------------------------- */

gsort_status cuda_memory_open(cuda_device *device);
void		cuda_memory_close(cuda_device *device);
uint64_t	cuda_default_budget(gsort_device *device);

/* job: whose peak it counts to, or NULL.  NOMEM leaves the array empty;
 * DEVICE_LOST. */
gsort_status cuda_allocate(cuda_device *device, cuda_job *job, cuda_array *array, size_t bytes);

/* No work that names it is under way.  Empties the array; an empty one is
 * fine. */
void		cuda_release(cuda_device *device, cuda_job *job, cuda_array *array);

/* The last job has closed: cuda_memory_trim has something to do. */
void		cuda_memory_idle(cuda_device *device);

/* While no job is open: gives some of what the pool holds back to the system.
 * Waits for nothing; until little is left it wakes the caller, to be called
 * again. */
void		cuda_memory_trim(cuda_device *device);

/* --- staging (cuda_staging.cu) -------------------------------------------- */

gsort_status cuda_staging_open(cuda_device *device);
void		cuda_staging_close(cuda_device *device);

/* A slot of at least bytes.  NOMEM leaves it empty: others hold the room. */
gsort_status cuda_slot_take(cuda_device *device, pinned_slot *slot, size_t bytes);

/* No copy from or to it is under way.  Empties the slot; an empty one is
 * fine. */
void		cuda_slot_give(cuda_device *device, pinned_slot *slot);

gsort_status cuda_region_pin(gsort_device *device, void *base, size_t bytes);
int			cuda_region_holds(const cuda_device *device, const void *memory, size_t bytes);

/* --- opening (cuda_open.cu) ----------------------------------------------- */

gsort_status cuda_open(const gsort_device_options *options, gsort_device **device, char *reason,
					   size_t reason_bytes);
void		cuda_shut(gsort_device *device);

/* CUDA knows the current device by the thread, and several threads call in the
 * service: each that makes anything of CUDA's, a stream, an event or memory, or
 * launches, says first for which device. */
gsort_status cuda_enter(cuda_device *device);

/* --- jobs (cuda_job.cu) -------------------------------------------------- */

uint64_t	cuda_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units);
gsort_status cuda_job_open(gsort_device *device, const gsort_job *blank, gsort_job **job);
gsort_status cuda_job_reserve(gsort_job *job, uint64_t rows, uint64_t units);
void		cuda_job_close(gsort_job *job);

/* Frees all that the job has; nothing of it runs any more. */
void		cuda_job_free(cuda_job *job);

word_table	cuda_job_word_table(const cuda_job *job);
key_table	cuda_job_key_table(const cuda_job *job);

/* Of the run that was sorted; NULL: as fed. */
const uint32_t *cuda_job_order(const cuda_job *job);

/* Frees the key extents: the run is sorted, and its keys are gathered or not
 * wanted. */
void		cuda_job_free_keys(cuda_job *job);

/* Frees the extents of rows and their words: nobody fetches from them any
 * more. */
void		cuda_job_free_rows(cuda_job *job);

/* --- operations (cuda_operation.cu) --------------------------------------- */

/* So many more may be under way without asking the host for memory. */
gsort_status cuda_operations_reserve(cuda_device *device, uint64_t n);
void		cuda_operations_free(cuda_device *device);

/* slot_bytes: of staging that it needs, 0 for none.  NOMEM; nothing has changed
 * then. */
gsort_status cuda_operation_begin(cuda_job *job, gsort_event_kind kind, uint64_t tag,
								  size_t slot_bytes, cuda_operation **operation);

/* Behind the operation's last work: its event, and what wakes the caller. */
gsort_status cuda_operation_finish(cuda_device *device, cuda_lane *lane, cuda_operation *operation);

/* Waits for what a lane has enqueued, part of an operation that was refused
 * included. */
gsort_status cuda_lane_quiet(cuda_device *device, cuda_lane *lane);

/* It was not finished, and nothing of it runs. */
void		cuda_operation_drop(cuda_device *device, cuda_operation *operation);

gsort_status cuda_copy(cuda_device *device, cuda_lane *lane, void *to, const void *from,
					   size_t bytes, cudaMemcpyKind kind);

/* From host memory to a stretch of the job's rows, extent by extent. */
gsort_status cuda_copy_rows(cuda_job *job, cuda_lane *lane, uint64_t first_unit, uint64_t units,
							const char *host);

/* --- appends, fetches (cuda_append.cu, cuda_fetch.cu) --------------------- */

gsort_status cuda_job_append(gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit);
gsort_status cuda_job_fetch(gsort_job *job, uint64_t window, void *dst, uint64_t tag);
gsort_status cuda_job_fetch_order(gsort_job *job, uint64_t first_row, uint32_t bytes, void *dst,
								  uint64_t tag);

/* --- work (cuda_work.cu) -------------------------------------------------- */

/* A stream for the job's next cut, end of a run or merge. */
void		cuda_take_sort_stream(cuda_job *job);

/* Behind the last launch of a cut, an end of a run or a merge: marks its end on
 * the device. */
gsort_status cuda_finish_work(cuda_job *job);

/* status: of enqueuing the work.  If it failed, what is enqueued ends like all
 * work, which then fails with that status, and OK is returned; status itself
 * only if nothing of it runs. */
gsort_status cuda_work_enqueued(cuda_job *job, gsort_status status);

/* The event of the work will come; status: the outcome, if none of it is on the
 * device. */
void		cuda_work_begun(cuda_job *job, gsort_event_kind kind, gsort_status status);

/* Looks whether the device is done with the work; then takes its outcome. */
void		cuda_work_advance(cuda_job *job);

/* What the device took for it; 0 if it does not tell. */
double		cuda_work_ms(cuda_job *job);

/* --- the cut (cuda_sort.cu) ---------------------------------------------- */

/* Device memory that a cut SORTED of so many rows takes beside the extents. */
uint64_t	cuda_sort_bytes(const gsort_job *job, uint64_t rows, uint64_t units);
gsort_status cuda_job_cut(gsort_job *job);

/* Frees what a cut has allocated; the host has seen it end. */
void		cuda_cut_free(cuda_job *job);

/* The same, but for what cuda_job_next_run gathers the keys with. */
void		cuda_cut_free_all_but_order(cuda_job *job);

/* The device is done with the cut, or with the last part of it, with status:
 * takes what it found and sets work_status, or asks for the rest of it. */
void		cuda_cut_ended(cuda_job *job, gsort_status status);

/* --- several runs (cuda_runs.cu) ------------------------------------------ */

uint64_t	cuda_kept_bytes(const gsort_job *job, uint64_t rows, gsort_keep keep);
uint64_t	cuda_merge_bytes(const gsort_job *job, uint64_t rows, uint32_t runs);
uint64_t	cuda_order_bytes(const gsort_job *job, uint64_t rows);
gsort_status cuda_job_next_run(gsort_job *job);
gsort_status cuda_job_merge(gsort_job *job, const key_plan *plan);

/* The device is done with gathering keys, or with the merge. */
void		cuda_run_ended(cuda_job *job, gsort_status status);
void		cuda_merge_ended(cuda_job *job, gsort_status status);

/* Frees the kept keys, the order and the merge's scratch. */
void		cuda_runs_free(cuda_job *job);

/* --- pairs (cuda_pairs.cu) ------------------------------------------------ */

size_t		cuda_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs);
gsort_status cuda_pairs_sort(gsort_device *device, const gsort_pairs *pairs, void *d_scratch,
							 size_t scratch_bytes, void *stream);

/* The same by an engine that the caller has chosen (cuda_pairs_engine). */
gsort_status cuda_sort_by_engine(cuda_device *device, gsort_engine engine, const gsort_pairs *pairs,
								 void *d_scratch, size_t scratch_bytes, cudaStream_t stream);

/* --- opening (cuda_self_job.cu) ------------------------------------------- */

/* Runs small jobs through gsort.h, and checks them. */
gsort_status cuda_run_self_jobs(gsort_device *device);

/* Blocks of LAUNCH_THREADS for so many threads. */
static inline unsigned int
blocks_for(uint64_t threads)
{
	return (unsigned int) ((threads + LAUNCH_THREADS - 1) / LAUNCH_THREADS);
}

static inline size_t
aligned_bytes(size_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

#endif							/* GSORT_CUDA_DEVICE_CUH */
