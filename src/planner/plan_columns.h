/*
 * plan_columns.h
 *	  The columns of a finished plan node.
 */
#ifndef GPUSORT_PLAN_COLUMNS_H
#define GPUSORT_PLAN_COLUMNS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* A list with entries like those of tlist, of which the i-th is the i-th column of varno. */
extern List *gpusort_tlist_of(const List *tlist, int varno);

/* Is the i-th entry the i-th column of the node's first child, and nothing else? */
extern bool gpusort_passes_columns_on(const Plan *plan);

/* The plan's columns, as expressions over the tables that it scans where they are columns of these; of others the
 * types alone are to be read. */
extern List *gpusort_columns_over_tables(const Plan *plan);

#endif							/* GPUSORT_PLAN_COLUMNS_H */
