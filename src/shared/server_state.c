/*
 * server_state.c
 *	  What changes seldom in shared memory, as this backend knows it.
 *
 * In:  the services' states and devices, in shared memory; the collations that are distrusted.
 * Out: a copy of the former in this process.
 *
 * Each planning and each execution of a sort asks.  A generation number tells whether the copy is
 * current, so the shared lock is taken after a change only.  Memory that is granted and jobs that
 * are open change with every job, so they are not copied: whoever opens a job looks at these under
 * the lock.
 *
 * A collation is distrusted when two rows came out of order though their sort keys had been sorted.  The list
 * is empty at each start: another C library may be there then.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/sinval.h"
#include "utils/lsyscache.h"
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

/* Of the service whose device has the most memory.  With the lock held. */
static void
copy_device(void)
{
	for (int i = 0; i < gpusort_shared->n_services; i++)
	{
		const GpuSortService *service = &gpusort_shared->services[i];

		if (!gpusort_service_takes_jobs(service) || (known.serves && service->info.budget_bytes <= known.budget_bytes))
			continue;
		known.serves = true;
		known.kind = service->info.kind;
		known.processors = service->info.processors;
		known.budget_bytes = service->info.budget_bytes;
	}
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
	LWLockRelease(gpusort_shared_lock());
	return &known;
}

/* --- collations ------------------------------------------------------------------ */

/* With the lock held: another backend may have just listed it. */
static bool
is_listed(Oid collation)
{
	for (int i = 0; i < gpusort_shared->n_distrusted; i++)
		if (gpusort_shared->distrusted[i].database == MyDatabaseId &&
			gpusort_shared->distrusted[i].collation == collation)
			return true;
	return gpusort_shared->n_distrusted == GPUSORT_DISTRUSTED_COLLATIONS_MAX;
}

void
gpusort_collation_distrust(Oid collation)
{
	bool		listed_before;
	bool		full;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	listed_before = is_listed(collation);
	if (!listed_before)
	{
		GpuSortCollation *listed = &gpusort_shared->distrusted[gpusort_shared->n_distrusted++];

		listed->database = MyDatabaseId;
		listed->collation = collation;
	}
	full = gpusort_shared->n_distrusted == GPUSORT_DISTRUSTED_COLLATIONS_MAX;
	LWLockRelease(gpusort_shared_lock());
	if (!listed_before)
		ereport(LOG,
				(errmsg("gpusort: collation \"%s\" orders strings otherwise than its own sort keys do",
						get_collation_name(collation)),
				 errdetail("The C library's strcoll and strxfrm disagree.  From now on this server sorts by this collation natively.")));
	if (!listed_before && full)
		ereport(LOG,
				(errmsg("gpusort: %d collations of the C library contradict themselves", GPUSORT_DISTRUSTED_COLLATIONS_MAX),
				 errdetail("From now on this server sorts by all collations of the C library natively.")));
}

bool
gpusort_collation_is_distrusted(Oid collation)
{
	bool		distrusted;

	/* without the lock: most servers distrust none */
	if (gpusort_shared->n_distrusted == 0)
		return false;
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	distrusted = is_listed(collation);
	LWLockRelease(gpusort_shared_lock());
	return distrusted;
}
