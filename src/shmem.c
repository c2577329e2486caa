/*
 * shmem.c
 *	  The shared state's memory: its size, its creation, the pool of pieces and
 *	  the request ring.
 *
 * In:  gpusort.buffer_memory, at server start.
 * Out: gpusort_shared and friends, in every process forked after that.
 *
 * The postmaster creates it; nothing here touches the device.  The pages of the
 * buffers are first touched by the service, which pins them.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "shmem.h"

#define BUFFER_ALIGNMENT 4096

GpuSortShared *gpusort_shared = NULL;
GpuSortPiece *gpusort_pieces = NULL;
char	   *gpusort_buffers = NULL;

static GpuSortRequest *requests = NULL;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static int
piece_count(void)
{
	return (int) ((Size) gpusort_buffer_memory_mb * 1024 * 1024 / GPUSORT_PIECE_BYTES);
}

/* Each piece has at most one request under way, each job two cuts, a next
 * run or merge, and a close. */
static uint32
ring_room(void)
{
	return piece_count() + 4 * GPUSORT_JOB_SLOTS;
}

static Size
pieces_size(void)
{
	return mul_size(piece_count(), sizeof(GpuSortPiece));
}

static Size
ring_size(void)
{
	return mul_size(ring_room(), sizeof(GpuSortRequest));
}

static Size
buffers_size(void)
{
	return add_size(mul_size(piece_count(), GPUSORT_PIECE_BYTES), BUFFER_ALIGNMENT);
}

static void
gpusort_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(GpuSortShared)));
	RequestAddinShmemSpace(MAXALIGN(pieces_size()));
	RequestAddinShmemSpace(MAXALIGN(ring_size()));
	RequestAddinShmemSpace(buffers_size());
	RequestNamedLWLockTranche("gpusort", 1);
}

static void
init_counters(GpuSortCounters *counters)
{
	pg_atomic_uint64 *each[] = {
		&counters->jobs, &counters->rows, &counters->bytes_to_device,
		&counters->bytes_from_device, &counters->feed_us, &counters->sort_us,
		&counters->output_us, &counters->in_backend, &counters->runs_spilled,
		&counters->bytes_spilled, &counters->waited, &counters->failed,
	};

	for (int i = 0; i < lengthof(each); i++)
		pg_atomic_init_u64(each[i], 0);
	for (int i = 0; i < GPUSORT_NATIVE_REASONS; i++)
		pg_atomic_init_u64(&counters->native[i], 0);
	pg_atomic_init_u64(&counters->reset_at, (uint64) GetCurrentTimestamp());
}

static void
init_pieces(void)
{
	int			n = piece_count();

	for (int i = 0; i < n; i++)
	{
		gpusort_pieces[i].state = GPUSORT_PIECE_FREE;
		gpusort_pieces[i].job = -1;
		gpusort_pieces[i].next_free = i + 1 < n ? i + 1 : -1;
	}
	gpusort_shared->n_pieces = n;
	gpusort_shared->n_free_pieces = n;
	gpusort_shared->first_free_piece = 0;
}

static void
gpusort_shmem_startup(void)
{
	bool		found;
	char	   *buffers;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	gpusort_shared = ShmemInitStruct("gpusort", sizeof(GpuSortShared), &found);
	gpusort_pieces = ShmemInitStruct("gpusort pieces", pieces_size(), &found);
	requests = ShmemInitStruct("gpusort requests", ring_size(), &found);
	buffers = ShmemInitStruct("gpusort buffers", buffers_size(), &found);
	gpusort_buffers = (char *) TYPEALIGN(BUFFER_ALIGNMENT, buffers);
	if (!found)
	{
		memset(gpusort_shared, 0, sizeof(GpuSortShared));
		gpusort_shared->service.proc = -1;
		gpusort_shared->ring_room = ring_room();
		init_counters(&gpusort_shared->counters);
		init_pieces();
		for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
			ConditionVariableInit(&gpusort_shared->jobs[i].changed);
	}
	LWLockRelease(AddinShmemInitLock);
}

void
gpusort_shmem_install_hooks(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = gpusort_shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = gpusort_shmem_startup;
}

LWLock *
gpusort_shared_lock(void)
{
	static LWLock *lock = NULL;

	if (lock == NULL)
		lock = &GetNamedLWLockTranche("gpusort")->lock;
	return lock;
}

void
gpusort_pieces_allocate(int job, int n)
{
	GpuSortJobSlot *slot = &gpusort_shared->jobs[job];

	Assert(n <= gpusort_shared->n_free_pieces && slot->n_pieces + n <= GPUSORT_JOB_PIECES_MAX);
	for (int i = 0; i < n; i++)
	{
		int			piece = gpusort_shared->first_free_piece;

		gpusort_shared->first_free_piece = gpusort_pieces[piece].next_free;
		gpusort_shared->n_free_pieces--;
		gpusort_pieces[piece].job = job;
		gpusort_pieces[piece].state = GPUSORT_PIECE_HELD;
		slot->pieces[slot->n_pieces++] = piece;
	}
}

void
gpusort_piece_free(int piece)
{
	GpuSortJobSlot *slot = &gpusort_shared->jobs[gpusort_pieces[piece].job];

	Assert(gpusort_pieces[piece].state != GPUSORT_PIECE_FREE);
	for (int i = 0; i < slot->n_pieces; i++)
		if (slot->pieces[i] == piece)
		{
			slot->pieces[i] = slot->pieces[--slot->n_pieces];
			break;
		}
	gpusort_pieces[piece].state = GPUSORT_PIECE_FREE;
	gpusort_pieces[piece].job = -1;
	gpusort_pieces[piece].next_free = gpusort_shared->first_free_piece;
	gpusort_shared->first_free_piece = piece;
	gpusort_shared->n_free_pieces++;
}

void
gpusort_request_push(const GpuSortRequest *request)
{
	if (gpusort_shared->ring_tail - gpusort_shared->ring_head >= gpusort_shared->ring_room)
		elog(ERROR, "gpusort request ring is full");
	requests[gpusort_shared->ring_tail % gpusort_shared->ring_room] = *request;
	gpusort_shared->ring_tail++;
}

bool
gpusort_request_pop(GpuSortRequest *request)
{
	if (gpusort_shared->ring_head == gpusort_shared->ring_tail)
		return false;
	*request = requests[gpusort_shared->ring_head % gpusort_shared->ring_room];
	gpusort_shared->ring_head++;
	return true;
}

void
gpusort_job_slot_free(GpuSortJobSlot *slot)
{
	Assert(slot->n_pieces == 0);
	slot->state = GPUSORT_JOB_FREE;
	slot->known_to_service = false;
}

/* Harmless when another process has the service's PGPROC by now. */
void
gpusort_wake_service(void)
{
	int			proc = gpusort_shared->service.proc;

	if (proc >= 0)
		SetLatch(&ProcGlobal->allProcs[proc].procLatch);
}
