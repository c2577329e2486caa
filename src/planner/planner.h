/*
 * planner.h
 *	  The planner's hooks, and what the files behind them ask of each other:
 *	  first about finished plans, then about costs, then about paths.
 */
#ifndef GPUSORT_PLANNER_H
#define GPUSORT_PLANNER_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "job/counters.h"
#include "keys/sortkey.h"
#include "plan/plan_info.h"

/* --- planner.c --- */

extern void gpusort_planner_install_hooks(void);

/* --- plan_walk.c --- */

/* Where a plan is, by its ancestors. */
typedef struct GpuSortPlace
{
	double		bound;			/* rows that a LIMIT lets be read of it; infinity: all */
	bool		below_foreign;	/* another extension's custom scan may look at it */
	bool		in_workers;		/* each parallel worker runs it, for its share of the rows */
} GpuSortPlace;

/* A walk and its state.  visit gets each plan after its children, and returns
 * the plan that is to stand there, or the plan itself. */
typedef struct GpuSortWalk
{
	PlannedStmt *statement;
	bool		nested;			/* the statement was planned while another one was */
	bool		foreign_below;	/* the visited plan is above a custom scan of another extension */
	GpuSortPlace place;			/* of the visited plan */
	List	   *ancestors;		/* of the visited plan, its parent first, up to its subplan's top */
	Plan	   *(*visit) (Plan *plan, struct GpuSortWalk *walk);
} GpuSortWalk;

/* Walks through the statement: its subplans first, and each plan from its
 * leaves on. */
extern void gpusort_walk_plans(GpuSortWalk *walk);

/* --- convert.c --- */

/* Converts the statement's plans, wherever a Sort is.  nested: it was planned
 * while another one was. */
extern void gpusort_convert_plans(PlannedStmt *statement, bool nested);

/* Makes a LIMIT NULL for a Limit above the Sort of a grouping.  The finished
 * plan has neither the Limit nor the order. */
extern Node *gpusort_make_grouping_mark(void);

/* Can the Sort be a GpuSort, and how?  An Incremental Sort is a Sort too.
 * info->grouping is set already.  False: gpusort_reason_last tells why. */
extern bool gpusort_examine_sort(const Sort *sort, const GpuSortWalk *walk, GpuSortPlanInfo *info);

/* Must every sort be native now?  If so, gpusort_reason_last tells why. */
extern bool gpusort_all_stay_native(void);

/* --- reasons.c --- */

/* Why the planner leaves a Sort to PostgreSQL.  The reasons that a sort finds
 * when it runs are in job/counters.h, as the codes of these are. */
typedef struct GpuSortReasonText
{
	const char *name;
	const char *text;
	const char *remedy;			/* what the user can do; NULL: nothing is needed */
} GpuSortReasonText;

/* Stores why a sort is native; detail, a format, may be NULL.  Frequent reasons
 * have none, since to print a number may take longer than to plan a small sort.
 * Returns false, for the caller to return. */
extern bool gpusort_reason_set(GpuSortPlannedReason code, const char *detail,...)
	pg_attribute_printf(2, 3);

/* Returns the reason that this process stored last, to be read right after it,
 * with the detail in its text. */
extern GpuSortReasonText gpusort_reason_last(void);

/* Counts a Sort of a finished plan that stays for the last reason, and logs it
 * at DEBUG1. */
extern void gpusort_reason_count(void);

/* --- costs.c --- */

/* Returns the type of a key that has the values of expr.  The types of a sort's
 * keys are a list of these. */
extern GpuSortKeyType *gpusort_type_of_key(const Node *expr, Oid sort_operator, Oid collation);

/*
 * Sets info->n_keys, the number of leading keys that have words, info->n_words,
 * the number of expected words, and the estimates for a sort of info->rows rows
 * of target.  A grouping has one word for all keys.  False: the device cannot
 * sort by these keys.  The reason is set.
 */
extern bool gpusort_set_keys(const PathTarget *target, const List *types, GpuSortPlanInfo *info);

/* Can a job ever have this many feeders? */
extern bool gpusort_takes_feeders(int feeders);

/* Does a native Sort keep the first bound of these rows only, in work_mem?  A
 * row has width bytes. */
extern bool gpusort_keeps_top_rows(double rows, double bound, int width);

/*
 * Would the device be worth it for such a sort, of rows of this width, if many
 * came?  It must cost no more than a native Sort, from the packing of the rows
 * to their output, but for a job's fixed cost; and until its first row less
 * than a Sort that keeps the first bound rows.  False: the reason is set.
 */
extern bool gpusort_suits_device(GpuSortPlanInfo info, double bound, int width);

/* Returns the cost of a feeder that packs this many of the rows. */
extern Cost gpusort_cost_of_packing(const GpuSortPlanInfo *info, double rows);

/* Returns the cost of sorting these rows on the device by further keys, if most
 * of them tie in the keys before. */
extern Cost gpusort_cost_of_further_keys(double rows);

/* Returns what the sorts inside an Agg cost more if their rows arrive in no
 * order.  type: of the first key.  halvings: how often a sort halves its rows,
 * until only equal ones are left. */
extern Cost gpusort_cost_of_inner_sort(const GpuSortKeyType *type, double rows, double halvings);

/* Sets a GpuSort path's rows and costs, whatever enable_sort says.  before: the
 * cost until all rows were packed. */
extern void gpusort_cost_path(Path *path, const GpuSortPlanInfo *info, Cost before);

/* --- sort_paths.c --- */

/* A set of rows to sort, and their order. */
typedef struct GpuSortInput
{
	const RelOptInfo *rel;		/* of the step below, which gives the rows */
	Path	   *child;			/* returns all rows; NULL: no path is known to */
	/* returns them in parallel, in the same columns; NULL: no path does */
	Path	   *partial;
	double		rows;
	List	   *pathkeys;
	/* of rows that are equal in all pathkeys, if these need only come together;
	 * 0: the order matters */
	double		groups;
	bool		only_groups;	/* for a test: in an order only if not in groups */
} GpuSortInput;

/* Describes rows of a rel, which child returns, and others in parallel if the
 * rel has such paths.  Is a path that sorts them on the device worth making?
 * What serves is asked last: a session's first look takes a lock. */
extern bool gpusort_begin_paths(GpuSortInput *input, RelOptInfo *rel, Path *child, double rows,
								List *pathkeys);

/*
 * Returns paths of rel that sort so: serial ones, parallel ones, both or none.
 * They are in none of rel's lists.  Each returns the child's columns, in the
 * order of the input's pathkeys; if groups are enough, others have no order.
 */
extern List *gpusort_make_sort_paths(PlannerInfo *root, RelOptInfo *rel,
									 const GpuSortInput *input);

/* --- inner_sorts.c --- */

/*
 * Returns the query's group keys, and behind them those of the aggregate whose
 * sort inside the Agg costs most.  *spared: what such sorts cost less if the
 * rows arrive so.  NIL: there is no such sort that costs anything, or another
 * aggregate depends on the order of its rows.
 */
extern List *gpusort_keys_for_aggregates(PlannerInfo *root, double rows, double groups,
										 Cost *spared);

/* --- rival_costs.c --- */

/* Returns a node's input, if an upper step makes such nodes.  NULL: it does
 * not. */
extern Path *gpusort_path_below(const Path *path);

/* Adds a cost that a path has before its first row. */
static inline void
gpusort_charge(Path *path, Cost cost)
{
	path->startup_cost += cost;
	path->total_cost += cost;
}

/* Adds our paths, over this input, to the rel's, beside PostgreSQL's at their
 * real costs. */
extern void gpusort_offer_paths(PlannerInfo *root, RelOptInfo *rel, List *paths,
								const GpuSortInput *input);

/* --- upper_paths.c, group_paths.c --- */

/* Adds paths with GpuSort to the upper rel of a stage, beside PostgreSQL's own,
 * if they are possible and worth it.  extra: of GROUP BY, a
 * GroupPathExtraData. */
typedef void GpuSortAddPaths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel,
							 void *extra);

extern GpuSortAddPaths gpusort_add_ordered_paths;
extern GpuSortAddPaths gpusort_add_window_paths;
extern GpuSortAddPaths gpusort_add_distinct_paths;
extern GpuSortAddPaths gpusort_add_group_paths;

#endif							/* GPUSORT_PLANNER_H */
