/*
 * paths.h
 *	  Paths that sort on the device, alone or below PostgreSQL's own nodes.
 */
#ifndef GPUSORT_PATHS_H
#define GPUSORT_PATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* --- sort_paths.c --- */

/* A set of rows to sort, and their order. */
typedef struct GpuSortInput
{
	Path	   *child;			/* returns all rows; NULL: no path is known to */
	/* returns them in parallel, in the same columns; NULL: no path does */
	Path	   *partial;
	double		rows;
	List	   *pathkeys;
	/* of rows that are equal in all pathkeys, if these need only come together;
	 * 0: the order matters */
	double		groups;
	/* costs that PostgreSQL does not charge its own paths for: the factor by
	 * which its comparisons exceed cost_sort's estimate, set when paths are
	 * made; and the sorts inside an Agg whose rows arrive in no order */
	double		native_factor;
	Cost		inner_sorts;
} GpuSortInput;

/* Describes rows of a rel, which child returns, and others in parallel if the
 * rel has such paths. */
extern GpuSortInput gpusort_input(RelOptInfo *rel, Path *child, double rows, List *pathkeys);

/* Is a path that sorts these rows on the device worth making? */
extern bool gpusort_worth_sorting(const GpuSortInput *input);

/*
 * Returns paths of rel that sort so: serial ones, parallel ones, both or none.
 * They are in none of rel's lists.  Each returns the child's columns, in the
 * order of the input's pathkeys; if groups are enough, others have no order.
 */
extern List *gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input);

/* --- rival_costs.c --- */

/* Returns a node's input, if an upper step makes such nodes.  NULL: it does
 * not. */
extern Path *gpusort_path_below(const Path *path);

/* Adds a cost to a path that reads all of its input before its first row. */
static inline void
gpusort_charge(Path *path, Cost cost)
{
	path->startup_cost += cost;
	path->total_cost += cost;
}

/* Adds our paths, over this input, to the rel's, beside PostgreSQL's at their
 * real costs. */
extern void gpusort_offer_paths(const RelOptInfo *input_rel, RelOptInfo *rel, List *paths,
								const GpuSortInput *input);

/* --- aggregate_order.c --- */

/*
 * Returns the query's group keys, and behind them those of the aggregate whose
 * sort inside the Agg costs most.  *spared: what such sorts cost less if the
 * rows arrive so.  NIL: there is no such sort, or another aggregate depends on
 * the order of its rows.
 */
extern List *gpusort_keys_for_aggregates(PlannerInfo *root, double rows, double groups,
										 Cost *spared);

/* --- upper_paths.c, group_paths.c --- */

/* Each adds paths with GpuSort to the upper rel of its stage, beside
 * PostgreSQL's own, if they are possible and worth it. */
extern void gpusort_add_ordered_paths(PlannerInfo *root, RelOptInfo *input_rel,
									  RelOptInfo *ordered_rel);
extern void gpusort_add_window_paths(PlannerInfo *root, RelOptInfo *input_rel,
									 RelOptInfo *window_rel);
extern void gpusort_add_distinct_paths(PlannerInfo *root, RelOptInfo *input_rel,
									   RelOptInfo *distinct_rel);
extern void gpusort_add_group_paths(PlannerInfo *root, RelOptInfo *input_rel,
									RelOptInfo *grouped_rel, const GroupPathExtraData *extra);

#endif							/* GPUSORT_PATHS_H */
