/*
 * paths.h
 *	  Paths that sort through the device, and what PostgreSQL's own nodes over them are offered for.
 */
#ifndef GPUSORT_PATHS_H
#define GPUSORT_PATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* --- sort_paths.c --- */

/* What is to be sorted, and how. */
typedef struct GpuSortInput
{
	Path	   *child;			/* gives all rows */
	Path	   *partial;		/* gives them in parallel, in the same columns; NULL: nothing does */
	List	   *pathkeys;
	double		groups;			/* of rows equal in all pathkeys, if all that is asked for is that these
								 * come together; 0: the order is asked for */
	double		native_factor;	/* set when paths are made: PostgreSQL's comparisons take so many times what
								 * cost_sort says */
} GpuSortInput;

/* Is the path's node a GpuSort or a GpuSortFeed? */
extern bool gpusort_is_our_path(const Path *path);

/* All rows of a rel, in parallel too if it can give them so. */
extern GpuSortInput gpusort_input_of_rel(RelOptInfo *rel, List *pathkeys);

/* Is it worth a path to sort the rows so through the device?  The cheapest path to them tells how many there are. */
extern bool gpusort_worth_sorting(const Path *child, List *pathkeys);

/* Has the query, or one around it, a LIMIT? */
extern bool gpusort_has_limit(const PlannerInfo *root);

/*
 * Paths that sort so, of rel: a serial one, a parallel one, both or none.  They are in none of
 * rel's lists.  Each gives the child's columns, in the order of the input's pathkeys;
 * or its groups, in no order.
 */
extern List *gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input);

/* --- rival_costs.c --- */

/* Adds paths of ours to the rel's, beside PostgreSQL's at what they take.  native_factor: PostgreSQL's comparisons take so
 * many times what cost_sort says. */
extern void gpusort_offer_paths(RelOptInfo *rel, List *paths, double native_factor);

/* A node's input, if it has one. */
extern Path *gpusort_path_below(const Path *path);

/* --- upper_paths.c, window_paths.c --- */

/* Each adds paths with GpuSort to the upper rel of its stage, in which PostgreSQL's own are, if they
 * can be had and are worth it. */
extern void gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel);
extern void gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel);
extern void gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *distinct_rel);
extern void gpusort_add_group_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel,
									const GroupPathExtraData *extra);

#endif							/* GPUSORT_PATHS_H */
