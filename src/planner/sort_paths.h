/*
 * sort_paths.h
 *	  Ways to sort the rows of a path through the device.
 */
#ifndef GPUSORT_SORT_PATHS_H
#define GPUSORT_SORT_PATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* What is to be sorted, and how. */
typedef struct GpuSortInput
{
	Path	   *child;			/* gives all rows */
	Path	   *partial;		/* gives them in parallel, in the same columns; NULL: nothing does */
	List	   *pathkeys;
	double		groups;			/* of rows equal in all pathkeys, if all that is asked for is that these
								 * come together; 0: the order is asked for */
	bool		beside_sorts;	/* costs stand beside those of Sorts, which are too low for some types;
								 * else beside those of other nodes */
} GpuSortInput;

/* All rows of a rel, in parallel too if it can give them so, beside Sorts. */
extern GpuSortInput gpusort_input_of_rel(RelOptInfo *rel, List *pathkeys);

/*
 * Paths that sort so, of rel: a serial one, a parallel one, both or none.  They are in none of
 * rel's lists.  Each gives the child's columns, in the order of the input's pathkeys;
 * or its groups, in no order.
 */
extern List *gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel,
									 const GpuSortInput *input);

/* Is a GpuSort at the top of the path? */
extern bool gpusort_is_sort_path(const Path *path);

/* What a GpuSort costs beyond the rows that it sorts, its feeding in parallel included. */
extern Cost gpusort_own_cost(const Path *sort);

/* Leaves so much of that, at each node of it. */
extern void gpusort_scale_own_cost(Path *sort, double share);

/* Adds a path with a GpuSort in it, or at its top, to rel's. */
extern void gpusort_offer_path(RelOptInfo *rel, Path *path);

#endif							/* GPUSORT_SORT_PATHS_H */
