/*
 * release.c
 *	  Returns a session's holds in shared memory, however their use ends.
 *
 * In:  holds, as they begin and end; the ends of resource owners and memory
 *	    contexts.
 * Out: calls of the functions that give back the remaining holds.
 *
 * Runs in backends, without a lock, since the list is this process's own.  On
 * an abort PostgreSQL releases all lightweight locks before the resource
 * owners.
 */
#include "postgres.h"

#include "job/release.h"

/* All holds of this process. */
static dlist_head holds = DLIST_STATIC_INIT(holds);

/*
 * PostgreSQL calls this for each owner that is released, children first, with
 * CurrentResourceOwner set to it.  After a commit the parent inherits the
 * remaining holds, so that no hold names an owner that is gone.  Another owner
 * may come to the same address.
 */
static void
release_holds(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	dlist_mutable_iter iter;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	dlist_foreach_modify(iter, &holds)
	{
		GpuSortHold *hold = dlist_container(GpuSortHold, node, iter.cur);

		if (hold->owner != CurrentResourceOwner)
			continue;
		if (is_commit)
			hold->owner = ResourceOwnerGetParent(CurrentResourceOwner);
		else
			hold->release(hold->arg);
	}
}

void
gpusort_release_install(void)
{
	RegisterResourceReleaseCallback(release_holds, NULL);
}

static void
release_on_reset(void *arg)
{
	GpuSortHold *hold = arg;

	if (hold->held)
		hold->release(hold->arg);
}

/* The reset callback is registered once, and serves each time the hold begins
 * again. */
void
gpusort_hold_begin(GpuSortHold *hold, MemoryContext context,
				   void (*release) (void *arg), void *arg)
{
	Assert(!hold->held);
	hold->release = release;
	hold->arg = arg;
	hold->owner = CurrentResourceOwner;
	if (hold->on_reset.func == NULL)
	{
		hold->on_reset.func = release_on_reset;
		hold->on_reset.arg = hold;
		MemoryContextRegisterResetCallback(context, &hold->on_reset);
	}
	dlist_push_head(&holds, &hold->node);
	hold->held = true;
}

void
gpusort_hold_end(GpuSortHold *hold)
{
	if (hold->held)
		dlist_delete(&hold->node);
	hold->held = false;
}
