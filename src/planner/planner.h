/*
 * planner.h
 *	  The planner's hooks.
 */
#ifndef GPUSORT_PLANNER_H
#define GPUSORT_PLANNER_H

#include "postgres.h"

#include "nodes/plannodes.h"

extern void gpusort_planner_install_hooks(void);

/* From now on each plan that is made, but for those made while another is, is handed to this function, with
 * arg; NULL ends it. */
typedef void (*GpuSortPlanWatcher) (PlannedStmt *statement, void *arg);
extern void gpusort_planner_watch(GpuSortPlanWatcher watcher, void *arg);

#endif							/* GPUSORT_PLANNER_H */
