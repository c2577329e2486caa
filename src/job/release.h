/*
 * release.h
 *	  Returns a session's holds in shared memory, however their use ends.
 *
 * A query that succeeds gives back its holds itself.  There are two nets for
 * all other ends.  The first is the resource owner under which the hold began,
 * when an abort releases it: of the transaction, of the subtransaction, or of a
 * failed portal.  A memory context may live longer: that of a failed PL/pgSQL
 * statement stays until the client's ROLLBACK.  The second net, if there is no
 * such abort, is the reset of the memory context.
 */
#ifndef GPUSORT_RELEASE_H
#define GPUSORT_RELEASE_H

#include "postgres.h"

#include "lib/ilist.h"
#include "utils/resowner.h"

/* Embedded in whatever holds something.  All zeroes: no hold has begun yet. */
typedef struct GpuSortHold
{
	dlist_node	node;
	bool		held;
	ResourceOwner owner;
	void		(*release) (void *arg);
	void	   *arg;
	MemoryContextCallback on_reset;
} GpuSortHold;

/* Called at the module's start. */
extern void gpusort_release_install(void);

/*
 * From now on, whichever net comes first calls release(arg), which must not
 * fail and must call gpusort_hold_end.  The hold lives in context, which stays
 * the same if the hold begins again.
 */
extern void gpusort_hold_begin(GpuSortHold *hold, MemoryContext context,
							   void (*release) (void *arg), void *arg);

/* The hold has been given back.  Harmless if no hold has begun. */
extern void gpusort_hold_end(GpuSortHold *hold);

#endif							/* GPUSORT_RELEASE_H */
