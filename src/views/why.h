/*
 * why.h
 *	  Why sorts run where they do.
 */
#ifndef GPUSORT_WHY_H
#define GPUSORT_WHY_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "compat.h"
#include "planner/reasons.h"

/* Lets gpusort_why see plans, and adds the option GPUSORT to EXPLAIN on
 * versions that let extensions add options. */
extern void gpusort_why_install(void);

/* Returns why the rows of such an aggregate arrive in its order, or not, in the
 * current context.  ancestors: of the Agg, as a deparse context wants them.
 * es: EXPLAIN's state, which has the names of the relations. */
extern GpuSortReasonText gpusort_aggregate_why(const Agg *agg, const Aggref *aggregate,
											   List *ancestors, const ExplainState *es);

#endif							/* GPUSORT_WHY_H */
