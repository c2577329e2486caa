/*
 * release.c
 *	  What a session holds in shared memory goes back, however its use ends.
 *
 * In:  holds, as they begin and end; the ends of resource owners and memory contexts.
 * Out: calls of what gives back the holds that are left then.
 *
 * Runs in backends.  No lock: the list is this process's own.  PostgreSQL has released all
 * lightweight locks before it releases the resource owners of what it aborts.
 */
#include "postgres.h"

#include "shared/release.h"

/* All holds of this process. */
static dlist_head holds = DLIST_STATIC_INIT(holds);

/*
 * PostgreSQL calls this for each owner that is released, children first, with CurrentResourceOwner
 * set to it.  After a commit the parent inherits what is still held, so that no hold names an owner
 * that is gone: another one may come to the same address.
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
