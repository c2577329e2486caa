/*
 * collations.c
 *	  Collations whose sort keys have contradicted them.
 *
 * In:  a collation by which two rows came out of order though their sort keys had been sorted.
 * Out: no sort of any session takes words from that collation's sort keys again.
 *
 * The list is in shared memory, under the shared lock, and empty at each start: another C library
 * may be there then.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "shared/collations.h"
#include "shared/server_state.h"

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
	bool		known;
	bool		full;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	known = is_listed(collation);
	if (!known)
	{
		GpuSortCollation *listed = &gpusort_shared->distrusted[gpusort_shared->n_distrusted++];

		listed->database = MyDatabaseId;
		listed->collation = collation;
		gpusort_server_state_changed();
	}
	full = gpusort_shared->n_distrusted == GPUSORT_DISTRUSTED_COLLATIONS_MAX;
	LWLockRelease(gpusort_shared_lock());
	if (!known)
		ereport(LOG,
				(errmsg("gpusort: collation \"%s\" orders strings otherwise than its own sort keys do",
						get_collation_name(collation)),
				 errdetail("The C library's strcoll and strxfrm disagree.  From now on this server sorts by this collation natively.")));
	if (!known && full)
		ereport(LOG,
				(errmsg("gpusort: %d collations of the C library contradict themselves", GPUSORT_DISTRUSTED_COLLATIONS_MAX),
				 errdetail("From now on this server sorts by all collations of the C library natively.")));
}

bool
gpusort_collation_is_distrusted(Oid collation)
{
	const GpuSortServerState *state = gpusort_server_state();

	for (int i = 0; i < state->n_distrusted; i++)
		if (state->distrusted[i] == collation)
			return true;
	return state->distrusts_all;
}
