/*
 * aggregates.h
 *	  Which aggregates of an Agg sort, and whether their rows arrive in order.
 */
#ifndef GPUSORT_AGGREGATES_H
#define GPUSORT_AGGREGATES_H

#include "postgres.h"

#include "nodes/plannodes.h"
#include "nodes/primnodes.h"

/* Returns the SortGroupClauses by which the Agg sorts the aggregate's rows.
 * NIL: it does not sort them. */
extern List *gpusort_order_of_aggregate(const Aggref *aggregate);

/* Is the aggregate's result the same whatever order its rows arrive in?
 * grouped: the rows are a group's, and come from a sort by the group's keys. */
extern bool gpusort_aggregate_ignores_order(const Aggref *aggregate, bool grouped);

/* Returns the Agg's aggregates, each once. */
extern List *gpusort_aggregates_of(const Agg *agg);

/* Does the Agg sort the aggregate's rows, and get them in order from a GpuSort
 * below it? */
extern bool gpusort_aggregate_is_presorted(const Agg *agg, const Aggref *aggregate);

#endif							/* GPUSORT_AGGREGATES_H */
