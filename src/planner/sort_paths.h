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
	double		native_factor;	/* set when paths are made: PostgreSQL's comparisons take so many times what
								 * cost_sort says */
} GpuSortInput;

/* Is the path's node a GpuSort or a GpuSortFeed? */
extern bool gpusort_is_our_path(const Path *path);

/* All rows of a rel, in parallel too if it can give them so. */
extern GpuSortInput gpusort_input_of_rel(RelOptInfo *rel, List *pathkeys);

/*
 * Paths that sort so, of rel: a serial one, a parallel one, both or none.  They are in none of
 * rel's lists.  Each gives the child's columns, in the order of the input's pathkeys;
 * or its groups, in no order.
 */
extern List *gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel,
									 GpuSortInput *input);

#endif							/* GPUSORT_SORT_PATHS_H */
