/*
 * plan_finish.h
 *	  What is done to GpuSort's nodes when their plan is finished.
 */
#ifndef GPUSORT_PLAN_FINISH_H
#define GPUSORT_PLAN_FINISH_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Has a node finished when the planner run under way ends. */
extern void gpusort_plan_finish_later(CustomScan *scan);

/* Around a planner run: begin returns what end is given back. */
extern List *gpusort_plan_finish_begin(void);
extern void gpusort_plan_finish(PlannedStmt *statement);
extern void gpusort_plan_finish_end(List *outer_scans);

#endif							/* GPUSORT_PLAN_FINISH_H */
