/*
 * server_state.c
 *	  What changes seldom in shared memory, as this backend knows it.
 *
 * In:  the services' states and devices, and the collations that are distrusted, in shared memory.
 * Out: a copy in this process.
 *
 * Each planning and each execution of a sort asks.  A generation number tells whether the copy is
 * current, so the shared lock is taken after a change only.  Memory that is granted and jobs that
 * are open change with every job, so they are not copied: whoever opens a job looks at these under
 * the lock.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/sinval.h"
#include "utils/syscache.h"

#include "shared/server_state.h"

/* The generation of the copy; 0: there is none. */
static uint64 known_generation = 0;
static GpuSortServerState known;

void
gpusort_server_state_changed(void)
{
	pg_atomic_fetch_add_u64(&gpusort_shared->generation, 1);
}

/* The plan cache discards all its plans when a foreign-data wrapper changes, and little else looks at these. */
void
gpusort_discard_kept_plans(void)
{
	SharedInvalidationMessage message = {
		.cc.id = FOREIGNDATAWRAPPEROID,
		.cc.dbId = InvalidOid,
		.cc.hashValue = 0,
	};

	SendSharedInvalidMessages(&message, 1);
}

/* The service whose device has the most memory; -1: none serves.  With the lock held. */
static int
largest_service(void)
{
	int			largest = -1;

	for (int i = 0; i < gpusort_shared->n_services; i++)
	{
		const GpuSortService *service = &gpusort_shared->services[i];

		if (gpusort_service_takes_jobs(service) &&
			(largest < 0 || service->info.budget_bytes > gpusort_shared->services[largest].info.budget_bytes))
			largest = i;
	}
	return largest;
}

/* With the lock held. */
static void
copy_device(void)
{
	int			service = largest_service();
	const gsort_device_info *info;

	known.serves = service >= 0;
	if (!known.serves)
		return;
	info = &gpusort_shared->services[service].info;
	known.kind = info->kind;
	known.processors = info->processors;
	known.budget_bytes = info->budget_bytes;
}

/* With the lock held. */
static void
copy_collations(void)
{
	known.distrusts_all = gpusort_shared->n_distrusted == GPUSORT_DISTRUSTED_COLLATIONS_MAX;
	for (int i = 0; i < gpusort_shared->n_distrusted; i++)
		if (gpusort_shared->distrusted[i].database == MyDatabaseId)
			known.distrusted[known.n_distrusted++] = gpusort_shared->distrusted[i].collation;
}

const GpuSortServerState *
gpusort_server_state(void)
{
	if (pg_atomic_read_u64(&gpusort_shared->generation) == known_generation)
		return &known;
	memset(&known, 0, sizeof(known));
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	known_generation = pg_atomic_read_u64(&gpusort_shared->generation);
	copy_device();
	copy_collations();
	LWLockRelease(gpusort_shared_lock());
	return &known;
}
