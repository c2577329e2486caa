/*
 * shmem.c
 *	  The shared state's memory: its size and its creation.
 *
 * In:  gpusort.buffer_memory and gpusort.device, at server start.
 * Out: the variables of shmem.h, in every process forked after that.
 *
 * The postmaster creates it, and nothing here touches the device.  The service
 * is the first to touch the pages of the buffers, and pins them.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "job/shmem.h"
#include "settings.h"

#define BUFFER_ALIGNMENT 4096

GpuSortShared *gpusort_shared = NULL;
GpuSortBuffer *gpusort_buffers = NULL;
char	   *gpusort_buffer_pool = NULL;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/* Did the postmaster have a worker for the first service?  It starts that one
 * itself, so nobody else could tell. */
static bool first_has_worker = true;

/* Fixed when the server starts.  It matches the requested memory even when the
 * postmaster allocates shared memory again after a crash. */
static int	buffer_count = 0;

/* Without a device there are no buffers. */
static int
wanted_buffers(void)
{
	if (gpusort_device_is_off())
		return 0;
	return (int) ((Size) gpusort_buffer_memory_mb * 1024 * 1024 / GPUSORT_BUFFER_BYTES);
}

static Size
buffers_size(void)
{
	return mul_size(buffer_count, sizeof(GpuSortBuffer));
}

static Size
pool_size(void)
{
	return add_size(mul_size(buffer_count, GPUSORT_BUFFER_BYTES), BUFFER_ALIGNMENT);
}

static void
gpusort_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	buffer_count = wanted_buffers();
	RequestAddinShmemSpace(MAXALIGN(sizeof(GpuSortShared)));
	RequestAddinShmemSpace(MAXALIGN(buffers_size()));
	RequestAddinShmemSpace(pool_size());
	RequestNamedLWLockTranche("gpusort", 1);
}

/* Links all buffers into the list of free ones. */
static void
init_buffers(void)
{
	int			n = buffer_count;

	for (int i = 0; i < n; i++)
	{
		gpusort_buffers[i].state = GPUSORT_BUFFER_FREE;
		gpusort_buffers[i].job = -1;
		gpusort_buffers[i].next_free = i + 1 < n ? i + 1 : -1;
	}
	gpusort_shared->n_buffers = n;
	gpusort_shared->n_free_buffers = n;
	gpusort_shared->first_free_buffer = n > 0 ? 0 : -1;
}

void
gpusort_service_set_no_worker(GpuSortService *service)
{
	service->registered = false;
	service->state = GPUSORT_SERVICE_UNAVAILABLE;
	snprintf(service->detail, sizeof(service->detail),
			 "no background worker is free for it; raise max_worker_processes, which is %d",
			 max_worker_processes);
}

static void
init_counters(void)
{
	pg_atomic_uint64 *counters = (pg_atomic_uint64 *) &gpusort_shared->counters;

	for (int i = 0; i < sizeof(GpuSortCounters) / sizeof(pg_atomic_uint64); i++)
		pg_atomic_init_u64(&counters[i], 0);
	pg_atomic_init_u64(&gpusort_shared->counters_reset_at, (uint64) GetCurrentTimestamp());
}

static void
init_service(GpuSortService *service)
{
	service->proc = -1;
	pg_atomic_init_u64(&service->jobs, 0);
	pg_atomic_init_u64(&service->rows, 0);
}

static void
init_job_slot(GpuSortJobSlot *slot)
{
	ConditionVariableInit(&slot->changed);
	pg_atomic_init_u32(&slot->failure_counted, 0);
	for (int i = 0; i < GPUSORT_FIGURES; i++)
		pg_atomic_init_u64(&slot->figures[i], 0);
}

/* Runs in the postmaster, also after a crash.  A process that finds the memory
 * initialized only attaches to it. */
static void
gpusort_shmem_startup(void)
{
	bool		found;
	char	   *pool;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	gpusort_shared = ShmemInitStruct("gpusort", sizeof(GpuSortShared), &found);
	gpusort_buffers = ShmemInitStruct("gpusort buffers", buffers_size(), &found);
	pool = ShmemInitStruct("gpusort buffer pool", pool_size(), &found);
	gpusort_buffer_pool = (char *) TYPEALIGN(BUFFER_ALIGNMENT, pool);
	if (!found)
	{
		memset(gpusort_shared, 0, sizeof(GpuSortShared));
		pg_atomic_init_u64(&gpusort_shared->generation, 1);
		gpusort_shared->n_services = 1;
		for (int i = 0; i < GPUSORT_SERVICES_MAX; i++)
			init_service(&gpusort_shared->services[i]);
		if (!first_has_worker)
			gpusort_service_set_no_worker(&gpusort_shared->services[0]);
		init_counters();
		init_buffers();
		for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
			init_job_slot(&gpusort_shared->jobs[i]);
		for (int i = 0; i < GPUSORT_DISTRUSTED_COLLATIONS; i++)
			pg_atomic_init_u64(&gpusort_shared->distrusted[i], 0);
	}
	LWLockRelease(AddinShmemInitLock);
}

void
gpusort_shmem_install_hooks(bool first_service_has_worker)
{
	first_has_worker = first_service_has_worker;
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

/* A failed job stays in its phase. */
static GpuSortPhase
phase_of(const GpuSortJobSlot *slot)
{
	if (slot->merging)
		return GPUSORT_PHASE_MERGING;
	switch (slot->state)
	{
		case GPUSORT_JOB_FEEDING:
		case GPUSORT_JOB_FULL:
			return GPUSORT_PHASE_FEEDING;
		case GPUSORT_JOB_FINISHING:
			return GPUSORT_PHASE_SORTING;
		case GPUSORT_JOB_BETWEEN_RUNS:
			return GPUSORT_PHASE_SPILLING;
		case GPUSORT_JOB_READY:
			return slot->finish_how == GSORT_SORTED_RUN ? GPUSORT_PHASE_SPILLING :
				GPUSORT_PHASE_OUTPUT;
		default:
			return slot->phase;
	}
}

void
gpusort_job_slot_enter(GpuSortJobSlot *slot, GpuSortJobState state)
{
	GpuSortPhase phase;

	slot->state = state;
	phase = phase_of(slot);
	if (phase != slot->phase)
		slot->phase_start = GetCurrentTimestamp();
	slot->phase = phase;
}

bool
gpusort_job_slot_fail(GpuSortJobSlot *slot, const char *message)
{
	if (slot->state == GPUSORT_JOB_FREE || slot->state == GPUSORT_JOB_FAILED ||
		gpusort_job_slot_is_left(slot))
		return false;
	slot->state = GPUSORT_JOB_FAILED;
	slot->asked = true;
	strlcpy(slot->message, message, sizeof(slot->message));
	ConditionVariableBroadcast(&slot->changed);
	return true;
}

void
gpusort_job_slot_free(GpuSortJobSlot *slot)
{
	Assert(slot->n_buffers == 0);
	slot->state = GPUSORT_JOB_FREE;
	/* a service may look at any moment */
	slot->asked = false;
	slot->n_handed = 0;
	slot->waits_since_us = 0;
}
