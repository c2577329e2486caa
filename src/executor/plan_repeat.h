/*
 * plan_repeat.h
 *	  Whether a plan may be scanned twice for the rows of one scan.
 */
#ifndef GPUSORT_PLAN_REPEAT_H
#define GPUSORT_PLAN_REPEAT_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* plan: finished; subplans: those of its PlannedStmt. */
extern bool gpusort_plan_repeats(const Plan *plan, List *subplans);

#endif							/* GPUSORT_PLAN_REPEAT_H */
