/*
 * cuda_device.cuh
 *	  What the files of the CUDA device share: its structs, and each file's
 *	  functions for the others.  No bodies but arithmetic of launches and a test's failures.
 *
 * gsort_cuda.cu   the device: opening, pinning, events, shutting
 * cuda_memory.cu  device memory, pinned staging
 * cuda_self_job.cu  jobs that run every kernel once
 * cuda_job.cu     jobs: room, appends, fetches, the end
 * cuda_sort.cu    the cut
 * cuda_runs.cu    several runs: their kept keys, the merge, by order_merge.cu
 * pairs_sort.cu   the pairs sort, by the engines of cuda/sort
 *
 * One thread of the host calls all of it.  CUDA's own threads run wake_caller,
 * which touches nothing but the eventfd.  Nothing here throws: no new, no
 * containers, and CUB's and the runtime's functions return codes.
 *
 * Order on the device.  Work of one lane (a stream with its staging buffers) runs in
 * order; lanes run beside each other.  The cut waits for all append lanes.  A job's cuts, ends of
 * runs and merge follow one another, the host seeing each end before the next.  All
 * memory is allocated and freed on the memory stream, where nothing else ever
 * waits: a job's 'room' event orders its allocations before the streams that use
 * them, and memory is freed once the host has seen the last such work end.
 */
#ifndef GSORT_CUDA_DEVICE_CUH
#define GSORT_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "rows/arena.cuh"
#include "sort/pairs_engine.h"

#define APPEND_LANES		4
#define FETCH_LANES			4
#define SORT_STREAMS		2
#define SLICE_ROWS			GSORT_KEY_EXTENT_ROWS	/* rows of a chunk that are staged together */
#define LAUNCH_THREADS		256
#define BEGINS_SLOT_BYTES	((size_t) 256 << 10)	/* of a directory read back at once */

/* A chunk of at most window_bytes has a row for each 8 bytes. */
#define SLICE_KEYS_BYTES	(SLICE_ROWS * sizeof(uint64_t) * GSORT_MAX_KEY_COLUMNS)

typedef struct cuda_job cuda_job;

/* Device memory with the size it is accounted by. */
typedef struct cuda_array
{
	void	   *pointer;
	size_t		bytes;
} cuda_array;

/* Pinned memory of our own, for callers whose memory is not. */
typedef struct pinned_slot
{
	struct pinned_slot *next;
	char	   *memory;
	size_t		bytes;
} pinned_slot;

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
	pinned_slot *slot;			/* staging, or NULL */
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
	char		name[128];
	uint64_t	memory_bytes;
	int			compute_capability;
	int			driver_version;
	int			runtime_version;
	int			pinned;
	int			event_fd;
	int			drained;		/* lost, and all work has stopped */

	cudaMemPool_t pool;
	uint64_t	allocated_bytes;

	cudaStream_t memory_stream;
	cudaStream_t control_stream;	/* cuts AS_FED: behind no sort */
	cudaStream_t append_notices;
	cudaStream_t fetch_notices;
	cudaStream_t sort_streams[SORT_STREAMS];
	uint32_t	next_sort_stream;
	cuda_lane	append_lanes[APPEND_LANES];
	uint32_t	next_append_lane;
	cuda_lane	fetch_lanes[FETCH_LANES];
	uint32_t	next_fetch_lane;

	cuda_operation *free_operations;
	pinned_slot *free_slots;
	pinned_region *regions;
	cuda_job   *jobs;
} cuda_device;

/* The arrays of one cut.  Until it ends they are all allocated; what a fetch needs
 * stays (words, low offsets, ties), and for another run the order; the rest goes. */
typedef enum sort_array
{
	SORT_WORDS,					/* [rows] uint64: sort words, then the rows' words in sorted order */
	SORT_OFFSETS,				/* [rows] uint64: sort words out, then offsets in the sorted stream */
	SORT_ORDER,					/* [rows] uint32 */
	SORT_LOW_OFFSETS,			/* [rows] uint32: the other half of the order while it is sorted */
	SORT_TIES,					/* [rows / 32] uint32, with GSORT_TIES */
	SORT_BEGIN_ROWS,			/* [begins] uint32 */
	SORT_BEGINS,				/* [begins] window_begin */
	SORT_SCRATCH,				/* of the pairs sort, the scan and the selection, in turn */
	SORT_ARRAYS
} sort_array;

/* The sorted keys of a run that has ended: [columns][rows] uint64, then maybe [rows] uint8. */
typedef struct kept_run
{
	cuda_array	keys;
	uint32_t	rows;
	int			has_nulls;
} kept_run;

struct cuda_job
{
	gsort_job	common;			/* first */
	cuda_job   *next;
	uint64_t	allocated_bytes;
	uint32_t	in_flight;		/* appends and fetches */

	cuda_array	header;			/* run_header */
	cuda_array	row_table;		/* device: uint64_t *[], room for all that the device can hold */
	cuda_array	key_table;
	void	  **row_extents;	/* the same on the host */
	void	  **key_extents;
	uint64_t	n_row_extents;
	uint64_t	n_key_extents;
	cudaEvent_t room;			/* the extents and tables stand */

	gsort_event_kind work_kind; /* CUT, RUN_BEGUN or MERGED: one at a time */
	int			work_pending;	/* its event has not been handed out */
	int			work_on_device;	/* and the device is at work on it */
	gsort_status work_status;	/* once it is not */
	cudaStream_t work_stream;
	cudaEvent_t work_began;
	cudaEvent_t work_ended;

	pinned_slot *cut_slot;		/* run_header, then window_begins */
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

/* --- failures (gsort_cuda.cu) -------------------------------------------- */

/* Records a CUDA error and gives the device up: nothing but the allocator survives one. */
gsort_status cuda_fail(cuda_device *device, cudaError_t error, const char *expression,
					   const char *file, int line);

/* Every CUDA call whose failure loses the device passes here; for tests one of them fails. */
static inline cudaError_t
cuda_checked(cuda_device *device, cudaError_t error)
{
	if (error == cudaSuccess && gsort_fails_now(&device->common.faults, GSORT_FAIL_CALLS))
		return cudaErrorLaunchFailure;
	return error;
}

#define GSORT_TRY(device, expression) \
	do \
	{ \
		cudaError_t try_error = cuda_checked((device), (expression)); \
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

/* --- events (gsort_cuda.cu) --------------------------------------------- */

/* Makes gsort_fd readable: a cudaHostFn_t, also called directly. */
void		CUDART_CB cuda_wake(void *device);

/* --- memory (cuda_memory.cu) -------------------------------------------- */

gsort_status cuda_memory_open(cuda_device *device);
void		cuda_memory_close(cuda_device *device);

/* job: whose peak it counts to, or NULL.  NOMEM leaves the array empty; DEVICE_LOST. */
gsort_status cuda_allocate(cuda_device *device, cuda_job *job, cuda_array *array, size_t bytes);

/* No work that names it is under way.  Empties the array; an empty one is fine. */
void		cuda_release(cuda_device *device, cuda_job *job, cuda_array *array);

/* No job is open: gives what the pool holds, but for a little, back to the system. */
void		cuda_memory_trim(cuda_device *device);

/* A slot of at least bytes, NULL if the host has no memory to pin. */
pinned_slot *cuda_slot_take(cuda_device *device, size_t bytes);
void		cuda_slot_give(cuda_device *device, pinned_slot *slot);

gsort_status cuda_region_pin(cuda_device *device, void *base, size_t bytes);
int			cuda_region_holds(const cuda_device *device, const void *memory, size_t bytes);

/* --- jobs (cuda_job.cu) -------------------------------------------------- */

uint64_t	cuda_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units);
gsort_status cuda_job_open(gsort_device *device, const gsort_job *blank, gsort_job **job);
gsort_status cuda_job_reserve(gsort_job *job, uint64_t rows, uint64_t units);
gsort_status cuda_job_append(gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit);
gsort_status cuda_job_fetch(gsort_job *job, uint64_t window, void *dst, uint64_t tag);
gsort_status cuda_job_fetch_order(gsort_job *job, uint64_t first_row, uint32_t bytes, void *dst,
								  uint64_t tag);
void		cuda_job_close(gsort_job *job);

/* Frees all that the job has; nothing of it runs any more. */
void		cuda_job_free(cuda_job *job);

key_table	cuda_job_key_table(const cuda_job *job);

/* Frees the key extents: the run is sorted, and its keys are gathered or not wanted. */
void		cuda_job_free_keys(cuda_job *job);

/* Frees the row extents: nobody fetches from them any more. */
void		cuda_job_free_rows(cuda_job *job);

/* A stream for the job's next cut, end of a run or merge. */
void		cuda_take_sort_stream(cuda_job *job);

/* Behind the last launch of a cut, an end of a run or a merge: marks its end on the device. */
gsort_status cuda_finish_work(cuda_job *job);

/* Looks whether the device is done with the work; then takes its outcome. */
void		cuda_work_advance(cuda_job *job);

/* --- the cut (cuda_sort.cu) ---------------------------------------------- */

/* Device memory that a cut SORTED of so many rows takes beside the extents. */
uint64_t	cuda_sort_bytes(const gsort_job *job, uint64_t rows, uint64_t units);
gsort_status cuda_job_cut(gsort_job *job, gsort_cut_how how);

/* Frees what a cut has allocated; the host has seen it end. */
void		cuda_cut_free(cuda_job *job);

/* The same, but for what cuda_job_next_run gathers the keys with. */
void		cuda_cut_free_all_but_order(cuda_job *job);

/* The device is done with the cut, or with the last part of it: takes what it found and sets
 * work_status, or asks for the rest of it. */
void		cuda_cut_ended(cuda_job *job);

/* --- several runs (cuda_runs.cu) ------------------------------------------- */

uint64_t	cuda_kept_bytes(const gsort_job *job, uint64_t rows, gsort_keep keep);
uint64_t	cuda_merge_bytes(const gsort_job *job, uint64_t rows, uint32_t runs);
uint64_t	cuda_order_bytes(const gsort_job *job, uint64_t rows);
gsort_status cuda_job_next_run(gsort_job *job);
gsort_status cuda_job_merge(gsort_job *job, const key_plan *plan);

/* The device is done with gathering keys, or with the merge. */
void		cuda_run_ended(cuda_job *job);
void		cuda_merge_ended(cuda_job *job);

/* Frees the kept keys, the order and the merge's scratch. */
void		cuda_runs_free(cuda_job *job);

/* --- pairs (cuda_pairs.cu) -------------------------------------------------- */

size_t		cuda_pairs_scratch_bytes(gsort_device *device, const gsort_pairs *pairs);
gsort_status cuda_pairs_sort(gsort_device *device, const gsort_pairs *pairs, void *d_scratch,
							 size_t scratch_bytes, void *stream);

/* --- opening (cuda_self_job.cu) -------------------------------------------- */

/* Runs small jobs through gsort.h, so that every kernel is loaded, and checks them. */
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
