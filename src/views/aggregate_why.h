/*
 * aggregate_why.h
 *	  Why a sort inside an Agg gets its rows in order from the device, or not.
 */
#ifndef GPUSORT_AGGREGATE_WHY_H
#define GPUSORT_AGGREGATE_WHY_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "compat.h"
#include "planner/reasons.h"

/* Returns why the rows of such an aggregate arrive in its order, or not, in the
 * current context.  ancestors: of the Agg, as a deparse context wants them.
 * es: EXPLAIN's state, which has the names of the relations. */
extern GpuSortReasonText gpusort_aggregate_why(const Agg *agg, const Aggref *aggregate,
											   List *ancestors, const ExplainState *es);

#endif							/* GPUSORT_AGGREGATE_WHY_H */
