/*
 * key_costs.h
 *	  What the keys' types make dearer: their words, and PostgreSQL's own comparisons.
 */
#ifndef GPUSORT_KEY_COSTS_H
#define GPUSORT_KEY_COSTS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/plan_info.h"

/*
 * Sets info->key_costs, once the keys have been laid out.  target: the columns that the keys
 * are among.
 */
extern void gpusort_cost_keys(PlannerInfo *root, const PathTarget *target, GpuSortPlanInfo *info);

#endif							/* GPUSORT_KEY_COSTS_H */
