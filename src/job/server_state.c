/*
 * server_state.c
 *	  A backend's copy of shared state that seldom changes.
 *
 * In:  the services' states and devices, and the list of distrusted collations,
 *	    in shared memory.
 * Out: a copy of the states and devices in this process.
 *
 * Runs in backends.  Each planning and each execution of a sort reads the
 * copy.  A generation number tells whether it is current, so the shared lock is
 * taken only after a change.  Reserved memory and open jobs change with every
 * job, so they are not copied.  A process that opens a job reads them under the
 * lock.
 *
 * A collation is distrusted after its comparison function has contradicted its
 * sort keys: two rows were in order by strxfrm, and not by strcoll.  The list
 * is empty at each start, since the C library may be another one then.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/sinval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "job/server_state.h"

/* The generation of the copy; 0: there is none. */
static uint64 known_generation = 0;
static GpuSortServerState known;

void
gpusort_server_state_changed(void)
{
	pg_atomic_fetch_add_u64(&gpusort_shared->generation, 1);
}

/* The plan cache discards all its plans when a foreign-data wrapper changes.
 * Little else reacts to that. */
void
gpusort_discard_cached_plans(void)
{
	SharedInvalidationMessage message = {
		.cc.id = FOREIGNDATAWRAPPEROID,
		.cc.dbId = InvalidOid,
		.cc.hashValue = 0,
	};

	SendSharedInvalidMessages(&message, 1);
}

/* Copies the device with the most memory among services that serve, a GPU if
 * there is one.  Requires the lock. */
static void
copy_device(void)
{
	for (int i = 0; i < gpusort_shared->n_services; i++)
	{
		const GpuSortService *service = &gpusort_shared->services[i];

		if (!gpusort_service_takes_jobs(service) ||
			(known.serves && service->info.kind != known.kind &&
			 known.kind == GSORT_KIND_CUDA) ||
			(known.serves && service->info.kind == known.kind &&
			 service->info.budget_bytes <= known.budget_bytes))
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

/* --- collations ----------------------------------------------------------- */

/* Returns a collation of this database as a number, and its place. */
static uint64
collation_key(Oid collation, pg_atomic_uint64 **place)
{
	uint32		number = (MyDatabaseId + collation) % GPUSORT_DISTRUSTED_COLLATIONS;

	*place = &gpusort_shared->distrusted[number];
	return (uint64) MyDatabaseId << 32 | collation;
}

void
gpusort_collation_distrust(Oid collation)
{
	pg_atomic_uint64 *place;
	uint64		key = collation_key(collation, &place);

	if (pg_atomic_exchange_u64(place, key) == key)
		return;
	ereport(LOG,
			(errmsg("gpusort: strcoll and strxfrm disagree for collation \"%s\"",
					get_collation_name(collation)),
			 errdetail("PostgreSQL itself does all sorts under this collation until the server restarts.")));
}

bool
gpusort_collation_is_distrusted(Oid collation)
{
	pg_atomic_uint64 *place;
	uint64		key = collation_key(collation, &place);

	return pg_atomic_read_u64(place) == key;
}
