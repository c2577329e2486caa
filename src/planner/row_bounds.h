/*
 * row_bounds.h
 *	  How many rows a plan gives at most.
 */
#ifndef GPUSORT_ROW_BOUNDS_H
#define GPUSORT_ROW_BOUNDS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Can the plan, of a statement with this range table, give no more than so many rows, unless a
 * table grows that it scans? */
extern bool gpusort_gives_at_most(const Plan *plan, List *rtable, double rows);

#endif							/* GPUSORT_ROW_BOUNDS_H */
