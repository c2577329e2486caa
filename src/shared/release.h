/*
 * release.h
 *	  What a session holds in shared memory goes back, however its use ends.
 *
 * A query that succeeds gives back what it holds itself.  For all other ends there are two nets.
 * The resource owner under which the hold began gives it back when it is released by an abort: of
 * the transaction, of the subtransaction, or of a portal that failed.  A memory context may live
 * longer than that: that of a failed PL/pgSQL statement stays until the client's ROLLBACK.  Where
 * there is no such abort, the reset of the memory context gives it back.
 */
#ifndef GPUSORT_RELEASE_H
#define GPUSORT_RELEASE_H

#include "postgres.h"

#include "lib/ilist.h"
#include "utils/resowner.h"

/* Embedded in what holds something.  All zeroes: no hold has begun yet. */
typedef struct GpuSortHold
{
	dlist_node	node;
	bool		held;
	ResourceOwner owner;
	void		(*release) (void *arg);
	void	   *arg;
	MemoryContextCallback on_reset;
} GpuSortHold;

/* At the module's start. */
extern void gpusort_release_install(void);

/*
 * From now on release(arg) is called by whichever net comes first.  It must not fail, and calls
 * gpusort_hold_end.  The hold lives in context, always the same one if it begins again.
 */
extern void gpusort_hold_begin(GpuSortHold *hold, MemoryContext context,
							   void (*release) (void *arg), void *arg);

/* What was held has been given back.  Harmless if no hold has begun. */
extern void gpusort_hold_end(GpuSortHold *hold);

#endif							/* GPUSORT_RELEASE_H */
