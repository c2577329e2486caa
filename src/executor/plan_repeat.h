/*
 * plan_repeat.h
 *	  Whether a plan may be scanned twice for the rows of one scan.
 */
#ifndef GPUSORT_PLAN_REPEAT_H
#define GPUSORT_PLAN_REPEAT_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* plan: finished; subplans: those of its PlannedStmt. */
extern bool gpusort_plan_repeats(const Plan *plan, List *subplans);

/* Does the plan, which is run, take rows of a scan that other processes take theirs of?  A second scan goes on where
 * the first one has come to, and does not give its rows again. */
extern bool gpusort_plan_takes_a_share(PlanState *state);

#endif							/* GPUSORT_PLAN_REPEAT_H */
