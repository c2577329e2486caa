/*
 * grouping.h
 *	  Offers ways to groups over rows that the device has sorted, beside PostgreSQL's own.
 */
#ifndef GPUSORT_GROUPING_H
#define GPUSORT_GROUPING_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "planner/hash_costs.h"
#include "planner/sort_paths.h"

/* What groups sorted rows, at the head of what its maker has to know besides. */
typedef struct GpuSortGrouping
{
	double		groups;			/* the estimate */
	GpuSortRivals rivals;		/* paths that do not sort all rows */

	/* The node over rows in which equal ones are together; without pathkeys they are in no order. */
	Path	   *(*make_path) (PlannerInfo *root, RelOptInfo *rel,
							  const struct GpuSortGrouping *grouping, Path *sorted);
} GpuSortGrouping;

/* The rows that a path of groups is made of; NULL if it is no such path, or of several inputs. */
extern const Path *gpusort_path_below_groups(const Path *path);

/* Those paths of rel that do not sort all rows, of which there are so many. */
extern GpuSortRivals gpusort_rivals_without_sort(const RelOptInfo *rel, double rows);

/* Can groups be hashed, and is their number a guess?  No path is to be offered then.  Of the clause's columns, of so many
 * rows. */
extern bool gpusort_leaves_groups_to_hashing(PlannerInfo *root, List *clause, double rows,
											 const GpuSortGrouping *grouping);

/* Rows of which equal ones are together, each once: by Unique, which finds its first n columns by the
 * order of its rows, or, if they are in none, by an Agg over these columns. */
extern Path *gpusort_make_unique_path(PlannerInfo *root, RelOptInfo *rel, Path *sorted, int n,
									  List *columns, double groups);

/* Adds paths to rel: groups in the order of the input's pathkeys, or in none. */
extern void gpusort_offer_groups(PlannerInfo *root, RelOptInfo *rel,
								 const GpuSortGrouping *grouping, GpuSortInput input);
extern void gpusort_offer_groups_in_no_order(PlannerInfo *root, RelOptInfo *rel,
											 const GpuSortGrouping *grouping, GpuSortInput input);

#endif							/* GPUSORT_GROUPING_H */
