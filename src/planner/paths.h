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
	Path	   *child;			/* gives all rows; NULL: nothing is known to */
	Path	   *partial;		/* gives them in parallel, in the same columns; NULL: nothing does */
	double		rows;
	List	   *pathkeys;
	double		groups;			/* of rows equal in all pathkeys, if all that is asked for is that these
								 * come together; 0: the order is asked for */
	double		native_factor;	/* set when paths are made: PostgreSQL's comparisons take so many times what
								 * cost_sort says */
} GpuSortInput;

/* So many rows of a rel, which child gives, and others in parallel if the rel can give them so. */
extern GpuSortInput gpusort_input(RelOptInfo *rel, Path *child, double rows, List *pathkeys);

/* Is it worth a path to sort the rows so through the device? */
extern bool gpusort_worth_sorting(const GpuSortInput *input);

/*
 * Paths that sort so, of rel: a serial one, a parallel one, both or none.  They are in none of
 * rel's lists.  Each gives the child's columns, in the order of the input's pathkeys;
 * or its groups, in no order.
 */
extern List *gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input);

/* --- rival_costs.c --- */

/* A node's input, if it is one that an upper step makes; NULL: it is another. */
extern Path *gpusort_path_below(const Path *path);

/* Adds paths of ours to the rel's, beside PostgreSQL's at what they take.  native_factor: PostgreSQL's comparisons take so
 * many times what cost_sort says. */
extern void gpusort_offer_paths(const RelOptInfo *input_rel, RelOptInfo *rel, List *paths, double native_factor);

/* --- upper_paths.c, group_paths.c --- */

/* Each adds paths with GpuSort to the upper rel of its stage, in which PostgreSQL's own are, if they
 * can be had and are worth it. */
extern void gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel);
extern void gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *window_rel);
extern void gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *distinct_rel);
extern void gpusort_add_group_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel,
									const GroupPathExtraData *extra);

#endif							/* GPUSORT_PATHS_H */
