/*
 * aggregate_why.c
 *	  Why a sort inside an Agg gets its rows in order from the device, or not.
 *
 * In:  an Agg of a finished plan, and one of its aggregates that sort.
 * Out: a code, the reason, and the remedy.
 *
 * Runs in any backend.  All memory is the caller's.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"

#include "keys/key_text.h"
#include "plan/aggregates.h"
#include "plan/plan_info.h"
#include "views/why.h"

/* Returns an aggregate that forbids another order of the Agg's rows.  NULL:
 * there is none. */
static const Aggref *
find_ordered_aggregate(const Agg *agg)
{
	ListCell   *lc;

	foreach(lc, gpusort_aggregates_of(agg))
	{
		if (gpusort_order_of_aggregate(lfirst(lc)) == NIL &&
			!gpusort_aggregate_ignores_order(lfirst(lc), agg->numCols > 0))
			return lfirst(lc);
	}
	return NULL;
}

/* Returns the order of the rows that the Agg gets from a GpuSort.  No keys: it
 * gets them from another node. */
static GpuSortOrder
order_below(const Agg *agg)
{
	GpuSortPlanInfo info = {0};

	if (gpusort_plan_is_ours(outerPlan(agg)))
		gpusort_plan_info_read((const CustomScan *) outerPlan(agg), &info);
	return info.order;
}

static GpuSortReasonText
unordered_because(const char *text, const char *remedy)
{
	return (GpuSortReasonText) {"aggregate", text, remedy};
}

GpuSortReasonText
gpusort_aggregate_why(const Agg *agg, const Aggref *aggregate, List *ancestors,
					  const ExplainState *es)
{
	GpuSortOrder order = order_below(agg);
	const Aggref *ordered = find_ordered_aggregate(agg);

	if (gpusort_aggregate_is_presorted(agg, aggregate, &order))
		return (GpuSortReasonText) {
			"presorted",
			"the rows arrive in order, so that PostgreSQL's sort of them takes one comparison a row"
		};
	if (aggregate->aggkind == AGGKIND_HYPOTHETICAL)
		return unordered_because("the aggregate adds a row after all others", "none");
	if (agg->groupingSets != NIL)
		return unordered_because("the Agg sorts the rows of grouping sets itself",
								 "UNION ALL of queries with one GROUP BY each");
	if (ordered != NULL)
	{
		char	   *text = gpusort_aggregate_text(ordered, &agg->plan, ancestors, es);

		return unordered_because(psprintf("%s depends on the order of its rows", text),
								 "a query of its own for that aggregate, or an ORDER BY in it");
	}
	if (order.n_keys > agg->numCols)
		return unordered_because("the rows arrive in the order of another aggregate",
								 "a query of its own for each order");
	return unordered_because("rows in order are not expected to save time, or the aggregate's keys do not allow it",
							 "none; as a superuser, SET gpusort.debug_force = on shows the other plan");
}
