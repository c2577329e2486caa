/*
 * plan_walk.h
 *	  Visits every node of a finished plan.
 */
#ifndef GPUSORT_PLAN_WALK_H
#define GPUSORT_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * A walk and what it has come across.  visit gets each plan after its children, with the rows that a
 * LIMIT above lets be read of it (or what costs.h has in their place), and returns what is to stand
 * in its place, the plan itself for none.
 */
typedef struct GpuSortWalk
{
	PlannedStmt *statement;
	bool		nested;			/* it was planned while another one was */
	bool		foreign_below;	/* the plan that is visited is above a custom scan of another extension */
	bool		below_foreign;	/* the plan that is visited is below one */
	bool		all_read;		/* all rows of the plan that is visited are read, as far as the plan shows;
								 * before the walk, of the statement's plan */
	bool		keep_ancestors;
	List	   *ancestors;		/* if so, of the plan that is visited, its parent first; up to its
								 * subplan's top */
	Plan	   *(*visit) (Plan *plan, double bound, struct GpuSortWalk *walk);
	void	   *arg;			/* the visitor's own */
} GpuSortWalk;

/* Walks through the statement: its subplans first, and of each plan the leaves first. */
extern void gpusort_walk_plans(GpuSortWalk *walk);

/* A number that no node of the statement has: workers know nodes by it. */
extern int	gpusort_new_node_id(PlannedStmt *statement);

#endif							/* GPUSORT_PLAN_WALK_H */
