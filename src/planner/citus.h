/*
 * citus.h
 *	  What of a plan is Citus's.
 */
#ifndef GPUSORT_CITUS_H
#define GPUSORT_CITUS_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* Is it the node that returns what the tasks of a query on Citus's workers have given?  It runs them
 * once and keeps their rows. */
extern bool gpusort_plan_is_citus(const Plan *plan);

/* Is it the scan of a table of Citus's columnar storage? */
extern bool gpusort_plan_is_columnar(const Plan *plan);

/* Does a query read what Citus's workers give? */
extern bool gpusort_query_reads_citus(const PlannerInfo *root);

#endif							/* GPUSORT_CITUS_H */
