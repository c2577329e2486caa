/*
 * server_state.h
 *	  A backend's copy of shared state that seldom changes.
 */
#ifndef GPUSORT_SERVER_STATE_H
#define GPUSORT_SERVER_STATE_H

#include "postgres.h"

#include "gsort.h"
#include "job/shmem.h"

typedef struct GpuSortServerState
{
	bool		serves;			/* some device serves; if none does, the figures are 0 */

	/* of the device with the most memory, a GPU if one serves */
	gsort_kind	kind;
	int			processors;
	uint64		budget_bytes;
} GpuSortServerState;

/* Returns the state, current but for changes during the call.  This module
 * keeps it; it is valid until the next call. */
extern const GpuSortServerState *gpusort_server_state(void);

/*
 * Must be called after each change of copied state, with the lock held
 * exclusively: of the services that serve, their number, or a device's budget.
 */
extern void gpusort_server_state_changed(void);

/*
 * Makes all sessions replan their cached plans.  Plans that were made while no
 * device served have no GpuSort.  Requires the lock, so that a session that
 * sees a service serve has the message too.
 */
extern void gpusort_discard_cached_plans(void);

/* From now on, until the server is started again, no sort trusts strxfrm for
 * this collation of the current database.  The log says so once. */
extern void gpusort_collation_distrust(Oid collation);

extern bool gpusort_collation_is_distrusted(Oid collation);

#endif							/* GPUSORT_SERVER_STATE_H */
