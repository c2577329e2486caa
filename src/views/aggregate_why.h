/*
 * aggregate_why.h
 *	  Why a sort inside an Agg gets its rows in order from the device, or not.
 */
#ifndef GPUSORT_AGGREGATE_WHY_H
#define GPUSORT_AGGREGATE_WHY_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "compat.h"

typedef struct GpuSortAggregateWhy
{
	const char *code;			/* the reason's short name */
	const char *reason;			/* in words */
	const char *remedy;			/* NULL: none is needed */
} GpuSortAggregateWhy;

/* ancestors: of the Agg, as a deparse context wants them.  es: EXPLAIN's state,
 * which has the names of the relations. */
extern GpuSortAggregateWhy gpusort_aggregate_why(const Agg *agg, const Aggref *aggregate,
												 List *ancestors, const ExplainState *es);

#endif							/* GPUSORT_AGGREGATE_WHY_H */
