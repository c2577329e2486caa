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
	/* set when paths are made: the factor by which PostgreSQL's comparisons
	 * exceed cost_sort's estimate */
	double		native_factor;
} GpuSortInput;

/* Describes rows of a rel, which child returns, and others in parallel if the
 * rel has such paths. */
extern GpuSortInput gpusort_input(RelOptInfo *rel, Path *child, double rows, List *pathkeys);

/* Are these enough rows for the device, and does one serve? */
extern bool gpusort_rows_suffice(double rows);

/* Is a path that sorts these rows on the device worth making? */
extern bool gpusort_worth_sorting(const GpuSortInput *input);

/*
 * Returns paths of rel that sort so: a serial one, a parallel one, both or
 * none.  They are in none of rel's lists.  Each returns the child's columns, in
 * the order of the input's pathkeys, or in groups without an order.
 */
extern List *gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel, GpuSortInput *input);

/* --- rival_costs.c --- */

/* Returns a node's input, if an upper step makes such nodes.  NULL: it does
 * not. */
extern Path *gpusort_path_below(const Path *path);

/* Costs that PostgreSQL does not charge its own paths for. */
typedef struct GpuSortUncharged
{
	double		native_factor;	/* by which its comparisons exceed cost_sort's estimate */
	Cost		inner_sorts;	/* of an Agg whose rows arrive in no order */
} GpuSortUncharged;

/* Adds our paths to the rel's, beside PostgreSQL's at their real costs. */
extern void gpusort_offer_paths(const RelOptInfo *input_rel, RelOptInfo *rel, List *paths,
								const GpuSortUncharged *uncharged);

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
