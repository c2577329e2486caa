/*
 * server_state.h
 *	  What changes seldom in shared memory, as this backend knows it.
 */
#ifndef GPUSORT_SERVER_STATE_H
#define GPUSORT_SERVER_STATE_H

#include "postgres.h"

#include "gsort.h"
#include "shared/shmem.h"

typedef struct GpuSortServerState
{
	bool		serves;			/* some device does; without one the figures of it are 0 */

	/* of the device with the most memory */
	gsort_kind	kind;
	int			processors;
	uint64		budget_bytes;
} GpuSortServerState;

/* Current but for what changes during the call.  It stays this module's, and valid until the next call. */
extern const GpuSortServerState *gpusort_server_state(void);

/*
 * To be called after each change of what is copied here, with the lock held exclusively: of the
 * services that serve, their number, a device's budget.
 */
extern void gpusort_server_state_changed(void);

/*
 * Has all sessions plan their kept plans anew: those that were made while no device served have no
 * GpuSort.  With the lock held, so that whoever sees a service serve has the message too.
 */
extern void gpusort_discard_kept_plans(void);

/* From now on, until the server is started again, no sort trusts strxfrm for this collation of
 * the current database.  Says so in the log, once. */
extern void gpusort_collation_distrust(Oid collation);

extern bool gpusort_collation_is_distrusted(Oid collation);

#endif							/* GPUSORT_SERVER_STATE_H */
