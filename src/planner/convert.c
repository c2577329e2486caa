/*
 * convert.c
 *	  Turns the Sorts of a finished plan into GpuSorts, and lets parallel
 *	  workers feed these.
 *
 * In:  a statement's plan.
 * Out: the same plan, in which each Sort that suits the device is a GpuSort,
 *	    with the Sort's columns, order, estimates and number.  A Gather Merge
 *	    over a GpuSort, and a GpuSort over a Gather, become GpuSort over Gather
 *	    over GpuSortFeed over the same partial plan.
 *
 * GpuSort and GpuSortFeed nodes have the target lists of a sort: column i is
 * the child's column i.  Only a GpuSort lacks the last columns if nobody above
 * it reads them.  set_plan_references matches a custom scan's target
 * list with custom_scan_tlist by equal expressions.  That is wrong for a sort:
 * two columns that are both random() are equal and differ.  Also, the columns
 * of a set operation are Vars of no relation, and EXPLAIN can resolve them only
 * through the child.
 *
 * The executor, not this file, decides whether there are enough rows for the
 * device.  Estimates above joins and groups are often wrong by a factor of a
 * thousand, and a GpuSort of few rows costs what a Sort does.  So nearly every
 * Sort is converted.  It stays if the device cannot sort by its keys, or would
 * be slower even with many rows.  It also stays if a LIMIT lets it keep the top
 * rows for less, or if even a hundred times the estimated rows would be few.
 *
 * Incremental Sorts stay: they return their first rows soon, and were chosen
 * although our paths competed.
 *
 * A Sort below another extension's custom scan stays, if no ModifyTable is
 * between them.  A custom scan may inspect its children when it is executed.
 * TimescaleDB's ChunkAppend unwraps Sorts to find the scans of chunks that it
 * can exclude, and passes the LIMIT's bound to them.  A Sort above such a scan
 * stays too if its query is planned while another one is.  Citus plans its
 * subqueries so, and its EXPLAIN ANALYZE crashes, since it takes each custom
 * scan there for its own.
 *
 * Workers feed whatever sort they can, without a comparison of costs.  The
 * device sorts the same rows either way, and the workers pack them in any case,
 * or could.  No row goes through a queue of tuples to the leader, nor through a
 * merge there.
 *
 * Nodes are looked for in the returned plan, not noted when they are made.
 * Other extensions' hooks may plan a query several times and return any of the
 * plans, or one that they have kept since an earlier query.  So a node may come
 * here twice, and the second visit changes nothing.  They may hold the nodes
 * that were replaced, so these stay as they are but for unread columns, and
 * additions to a node live as long as the node.
 *
 * The plan names the table's column that a key comes from, for the statistics
 * (column_statistics.c), but no value, since the session's user can print it.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"

#include "job/job.h"
#include "job/server_state.h"
#include "keys/row_format.h"
#include "planner/planner.h"
#include "settings.h"

/* A sort may turn out to have this many times the expected rows. */
#define MOST_TIMES_EXPECTED	100.0

/* --- columns -------------------------------------------------------------- */

/* Returns a list with entries like those of tlist, whose i-th expression is the
 * i-th column of varno. */
static List *
tlist_of(const List *tlist, int varno)
{
	List	   *result = list_copy(tlist);
	ListCell   *lc;

	foreach(lc, result)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(lc));
		Node	   *expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr),
									   exprCollation(expr), 0);
		lfirst(lc) = entry;
	}
	return result;
}

/* Returns the column of exprs that has the same values as this one, if this one
 * only gives them another collation.  The parser makes such a copy for ORDER BY
 * s COLLATE "C", and the planner a RelabelType of its CollateExpr. */
static AttrNumber
plain_column(const List *exprs, AttrNumber column)
{
	const RelabelType *copy = list_nth(exprs, column - 1);
	ListCell   *lc;

	if (!IsA(copy, RelabelType) || !IsA(copy->arg, Var) ||
		exprType((Node *) copy->arg) != copy->resulttype)
		return column;
	foreach(lc, exprs)
	{
		if (equal(lfirst(lc), copy->arg))
			return foreach_current_index(lc) + 1;
	}
	return column;
}

/* Returns the plan whose column a Var of this plan names, by its varno.  NULL:
 * none is known. */
static const Plan *
plan_of_var(const Plan *plan, int varno)
{
	if (varno == INNER_VAR)
		return innerPlan(plan);
	if (varno == OUTER_VAR && IsA(plan, Append))
		return linitial(((const Append *) plan)->appendplans);
	if (varno == OUTER_VAR || (varno == INDEX_VAR && gpusort_plan_is_ours(plan)))
		return outerPlan(plan);
	if (IsA(plan, SubqueryScan) && varno == ((const SubqueryScan *) plan)->scan.scanrelid)
		return ((const SubqueryScan *) plan)->subplan;
	return NULL;
}

/* Returns the table's column that a plan's column has the values of, if it has
 * those of one.  The first partition stands for all of them. */
static GpuSortKeyOrigin
origin_of(const Plan *plan, AttrNumber column, const List *rtable)
{
	const Var  *var;

	do
	{
		const Expr *expr = list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr;

		while (IsA(expr, RelabelType))
			expr = ((const RelabelType *) expr)->arg;
		var = (const Var *) expr;
		if (IsA(plan, IndexOnlyScan) && IsA(var, Var) && var->varno == INDEX_VAR)
			var = (const Var *) list_nth_node(TargetEntry,
											  ((const IndexOnlyScan *) plan)->indextlist,
											  var->varattno - 1)->expr;
		if (!IsA(var, Var) || var->varattno <= 0)
			return (GpuSortKeyOrigin) {0};
		column = var->varattno;
		plan = plan_of_var(plan, var->varno);
	} while (plan != NULL);
	if (IS_SPECIAL_VARNO(var->varno) || rt_fetch(var->varno, rtable)->rtekind != RTE_RELATION)
		return (GpuSortKeyOrigin) {0};
	return (GpuSortKeyOrigin) {rt_fetch(var->varno, rtable)->relid, column};
}

/* --- how to sort ---------------------------------------------------------- */

/*
 * Sets how to sort info->rows rows of the child by info->order, and the
 * estimates.  info->grouping is set already.  Copies among the order's columns
 * are replaced.  False, with a reason set: the device cannot sort so.
 */
static bool
describe_order(const Plan *child, const List *rtable, GpuSortPlanInfo *info)
{
	const GpuSortOrder *order = &info->order;
	List	   *columns = get_tlist_exprs(child->targetlist, true);
	PathTarget	target = {.type = T_PathTarget,.exprs = columns,.width = child->plan_width};
	List	   *types = NIL;

	for (int i = 0; i < order->n_keys; i++)
	{
		order->columns[i] = plain_column(columns, order->columns[i]);
		types = lappend(types, gpusort_type_of_key(list_nth(columns, order->columns[i] - 1),
												   order->operators[i], order->collations[i]));
	}
	if (!gpusort_set_keys(&target, types, info))
		return false;
	for (int i = 0; i < info->n_keys; i++)
		info->key_origins[i] = origin_of(child, order->columns[i], rtable);
	return true;
}

/* --- is it worth it? ------------------------------------------------------ */

bool
gpusort_all_stay_native(void)
{
	if (!gpusort_enabled)
		return !gpusort_reason_set(GPUSORT_PLANNED_DISABLED, NULL);
	if (!gpusort_server_state()->serves)
		return !gpusort_reason_set(GPUSORT_PLANNED_NO_DEVICE, NULL);
	return false;
}

/*
 * The cheap checks come first, since every Sort of every plan passes here.
 *
 * A Sort of a path of ours that groups, or has a Gather whose workers feed it,
 * was chosen by its cost.  Our path marks its Gather (make_path in
 * sort_paths.c): no other Gather is parallel-safe.
 */
bool
gpusort_examine_sort(const Sort *sort, const GpuSortWalk *walk, GpuSortPlanInfo *info)
{
	const Plan *child = outerPlan(sort);
	Size		bytes = sort->numCols * sizeof(AttrNumber);

	if (gpusort_all_stay_native())
		return false;
	if (IsA(sort, IncrementalSort))
		return gpusort_reason_set(GPUSORT_PLANNED_INCREMENTAL, NULL);
	if (walk->place.below_foreign || (walk->nested && walk->foreign_below))
		return gpusort_reason_set(GPUSORT_PLANNED_CUSTOM_SCAN, NULL);
	if (!gpusort_debug_force &&
		child->plan_rows * MOST_TIMES_EXPECTED < gpusort_min_rows_of_any())
		return gpusort_reason_set(GPUSORT_PLANNED_FEW_ROWS, NULL);
	info->order = (GpuSortOrder) {
		sort->numCols, memcpy(palloc(bytes), sort->sortColIdx, bytes), sort->sortOperators,
		sort->collations, sort->nullsFirst
	};
	info->rows = child->plan_rows;
	if (!describe_order(child, walk->statement->rtable, info))
		return false;
	return gpusort_debug_force || info->grouping || (IsA(child, Gather) && child->parallel_safe) ||
		gpusort_suits_device(*info, walk->place.bound, sort->plan.plan_width);
}

/* --- workers that feed it ------------------------------------------------- */

/* Does each entry of a Gather return the partial plan's column of the same
 * number?  setrefs.c leaves constants as they are, and resolves a duplicate
 * column to its first occurrence. */
static bool
passes_columns_on(const Plan *plan, const Plan *partial)
{
	List	   *below = partial->targetlist;
	ListCell   *lc;

	if (list_length(plan->targetlist) != list_length(below))
		return false;
	foreach(lc, plan->targetlist)
	{
		const TargetEntry *entry = lfirst(lc);
		const TargetEntry *same = list_nth_node(TargetEntry, below, entry->resno - 1);
		Expr	   *expr = entry->expr;

		if (IsA(expr, Var) && ((Var *) expr)->varno == OUTER_VAR)
		{
			if (((Var *) expr)->varattno == entry->resno)
				continue;
			expr = list_nth_node(TargetEntry, below, ((Var *) expr)->varattno - 1)->expr;
		}
		else if (!IsA(expr, Const))
			return false;
		if (!equal(expr, same->expr) || contain_volatile_functions((Node *) expr))
			return false;
	}
	return true;
}

/* Can the workers of the Gather feed its rows to the sort above it?  If so,
 * completes *info, which has the sort's order. */
static bool
can_be_fed(const Gather *gather, const GpuSortWalk *walk, GpuSortPlanInfo *info)
{
	const Plan *partial = outerPlan(gather);

	if (gather->single_copy || gpusort_plan_is_ours(partial) || walk->place.below_foreign ||
		gather->plan.qual != NIL || !passes_columns_on(&gather->plan, partial) ||
		!gpusort_takes_feeders(GPUSORT_PARALLEL_FEEDERS(gather->num_workers)))
		return false;
	info->parallel = true;
	info->rows = gather->plan.plan_rows;
	/* the Gather has hidden which columns are copies of others */
	return describe_order(partial, walk->statement->rtable, info);
}

/* --- the nodes ------------------------------------------------------------ */

/* Makes a node with the plan's estimates, parameters and number.  Its columns,
 * like these of tlist, are its child's by number. */
static CustomScan *
make_node(const Plan *plan, const List *tlist, const CustomScanMethods *methods,
		  const GpuSortPlanInfo *info)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan = *plan;
	scan->scan.plan.type = T_CustomScan;
	scan->scan.plan.targetlist = tlist_of(tlist, INDEX_VAR);
	scan->custom_scan_tlist = plan->targetlist;
	scan->custom_private = gpusort_plan_info_write(info);
	scan->methods = methods;
	return scan;
}

/* A plan's nodes are numbered from 0 on, and workers identify them by number.
 * A feed's number is its Gather's plus this. */
#define FEED_NODE_IDS	(INT_MAX / 2)

/* Makes the feed.  Its columns are the Gather's: the partial plan's columns,
 * with the types that the sort takes them for. */
static Plan *
make_feed(Plan *partial, const Gather *gather, const GpuSortPlanInfo *info)
{
	CustomScan *feed = make_node(partial, gather->plan.targetlist, &gpusort_feed_scan_methods,
								 info);
	Plan	   *plan = &feed->scan.plan;

	feed->custom_scan_tlist = tlist_of(partial->targetlist, OUTER_VAR);
	plan->lefttree = partial;
	plan->righttree = NULL;
	plan->initPlan = NIL;
	plan->qual = NIL;
	plan->parallel_aware = true;
	plan->plan_node_id = FEED_NODE_IDS + gather->plan.plan_node_id;
	plan->extParam = bms_add_member(bms_copy(partial->extParam), gather->rescan_param);
	plan->allParam = bms_add_member(bms_copy(partial->allParam), gather->rescan_param);
	plan->startup_cost = plan->total_cost;
	return plan;
}

/* Returns a copy of the Gather over a feed.  It costs its start only, since
 * rows pass through it only if the job does not take them. */
static Plan *
make_gather(const Gather *old, const GpuSortPlanInfo *info)
{
	Gather	   *gather = memcpy(makeNode(Gather), old, sizeof(Gather));
	Plan	   *plan = &gather->plan;

	plan->parallel_safe = false;	/* our path has set it as a mark */
	plan->startup_cost = plan->total_cost = outerPlan(old)->total_cost + parallel_setup_cost;
	plan->lefttree = make_feed(outerPlan(old), old, info);
	return plan;
}

/* Returns the last of the subquery's columns that the scan reads.  It may read
 * those that the subquery's result lacks. */
static AttrNumber
last_column_read(const SubqueryScan *scan)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) scan->scan.plan.targetlist, scan->scan.scanrelid, &columns);
	pull_varattnos((Node *) scan->scan.plan.qual, scan->scan.scanrelid, &columns);
	return bms_prev_member(columns, -1) + FirstLowInvalidHeapAttributeNumber;
}

/* Returns the last column that is read above a sort of n columns; 0: only the
 * visible ones are, by whoever executes the query.  Lists the Limits up to that
 * reader.  WITH TIES looks at the columns of ORDER BY. */
static AttrNumber
last_column_above(const List *ancestors, int n, List **limits)
{
	ListCell   *lc;

	foreach(lc, ancestors)
	{
		Limit	   *limit = lfirst(lc);

		if (IsA(limit, SubqueryScan))
			return last_column_read((const SubqueryScan *) limit);
		if (!IsA(limit, Limit) || limit->limitOption == LIMIT_OPTION_WITH_TIES)
			return n;
		*limits = lappend(*limits, limit);
	}
	return 0;
}

/* Gives the plan a new list of its first columns, since other plans may share
 * the old one. */
static void
keep_columns(Plan *plan, int n)
{
	if (list_length(plan->targetlist) > n)
		plan->targetlist = list_truncate(list_copy(plan->targetlist), n);
}

/* May the rows be whole tuples, which have the column of this number too?  To
 * take a tuple apart, for each row, takes longer than to remove the column.
 * Rows of small columns are no tuples. */
static bool
may_be_in_tuples(const Plan *source, AttrNumber column)
{
	GpuSortRowFormat format;

	for (int i = 1; i <= column; i++)
	{
		const Var  *var = (const Var *) list_nth_node(TargetEntry, source->targetlist, i - 1)->expr;

		if (!IsA(var, Var) || var->varattno != i)
			return false;
	}
	gpusort_row_format_choose(&format, ExecTypeFromTL(source->targetlist),
							  list_length(source->targetlist));
	return format.narrow_bytes == 0;
}

/*
 * Drops the copies at the end of a sort's columns that neither the sort nor the
 * query's result reads.  Returns how many columns the sort must return: those
 * up to the last one that is read above it.  Limits return as many.  Estimates
 * stay as they are.
 *
 * A column that ORDER BY s COLLATE "C" has added has the bytes of s, and the
 * GpuSort sorts by s instead.  If it stayed, each row would have its longest
 * column twice.  The column of ORDER BY lower(s) is needed, but only by the
 * sort.  If the sort returned it, the leader would have to remove it again, row
 * by row.
 */
static int
drop_columns(Plan *plan, Plan *child, const GpuSortPlanInfo *info, const List *ancestors)
{
	Plan	   *source = info->parallel ? outerPlan(child) : child;
	List	   *columns = get_tlist_exprs(source->targetlist, true);
	List	   *limits = NIL;
	int			kept = list_length(columns);
	int			visible = kept;
	AttrNumber	last_read = last_column_above(ancestors, visible, &limits);
	ListCell   *lc;

	while (visible > last_read && visible > 1 &&
		   list_nth_node(TargetEntry, plan->targetlist, visible - 1)->resjunk)
		visible--;
	last_read = visible;
	for (int i = 0; i < info->order.n_keys; i++)
		last_read = Max(last_read, info->order.columns[i]);
	while (kept > last_read && is_projection_capable_plan(source) &&
		   plain_column(columns, kept) != kept)
		kept--;
	if (visible < kept && may_be_in_tuples(source, visible + 1))
		visible = kept;
	keep_columns(source, kept);
	keep_columns(child, kept);
	keep_columns(plan, kept);
	foreach(lc, limits)
	{
		keep_columns(lfirst(lc), visible);
	}
	return visible;
}

/* Makes a GpuSort of the child in place of the plan, so that the nodes around
 * it need no change.  If workers feed it, the child is their Gather. */
static Plan *
make_sort(Plan *plan, Plan *child, GpuSortPlanInfo *info, const List *ancestors)
{
	MemoryContext old_context = MemoryContextSwitchTo(GetMemoryChunkContext(plan));
	CustomScan *sort;

	info->n_visible = drop_columns(plan, child, info, ancestors);
	sort = make_node(plan, plan->targetlist, &gpusort_scan_methods, info);
	sort->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	keep_columns(&sort->scan.plan, info->n_visible);
	sort->scan.plan.lefttree = info->parallel ? make_gather((Gather *) child, info) : child;
	MemoryContextSwitchTo(old_context);
	return &sort->scan.plan;
}

/* --- Sorts and Gather Merges ---------------------------------------------- */

/* The type modifier of a NULL.  A bigint has none, so others have -1. */
#define MARK_OF_GROUPING	0x67707573

Node *
gpusort_make_grouping_mark(void)
{
	return (Node *) makeConst(INT8OID, MARK_OF_GROUPING, InvalidOid, sizeof(int64), (Datum) 0,
							  true, FLOAT8PASSBYVAL);
}

/* Is it our Limit above the Sort of a grouping? */
static bool
marks_grouping(const Plan *plan)
{
	const Node *count = IsA(plan, Limit) ? ((const Limit *) plan)->limitCount : NULL;

	return count != NULL && IsA(count, Const) && ((const Const *) count)->constisnull &&
		((const Const *) count)->consttypmod == MARK_OF_GROUPING;
}

/* An Incremental Sort is a Sort too, since it begins with one. */
static Plan *
convert_sort(Sort *sort, const GpuSortWalk *walk)
{
	GpuSortPlanInfo info = {
		.grouping = walk->ancestors != NIL && marks_grouping(linitial(walk->ancestors))
	};
	Plan	   *child = outerPlan(sort);
	GpuSortPlanInfo fed;

	if (!gpusort_examine_sort(sort, walk, &info))
	{
		gpusort_reason_count();
		return &sort->plan;
	}
	fed = info;
	if (IsA(child, Gather) && can_be_fed((Gather *) child, walk, &fed))
		info = fed;
	return make_sort(&sort->plan, child, &info, walk->ancestors);
}

/* It stays if a LIMIT bounds its rows, so that few go through its queues, and
 * each worker decides the order of its own. */
static Plan *
convert_gather_merge(GatherMerge *merge, const GpuSortWalk *walk)
{
	const CustomScan *below = (const CustomScan *) outerPlan(merge);
	Gather		gather = {.plan = merge->plan,.num_workers = merge->num_workers,
		.rescan_param = merge->rescan_param,.initParam = merge->initParam
	};
	GpuSortPlanInfo info = {0};
	Plan	   *sort;

	if (!IsA(below, CustomScan) || below->methods != &gpusort_scan_methods ||
		below->scan.plan.initPlan != NIL ||
		gpusort_keeps_top_rows(merge->plan.plan_rows, walk->place.bound, merge->plan.plan_width))
		return &merge->plan;
	gather.plan.type = T_Gather;
	gather.plan.initPlan = NIL;
	gather.plan.lefttree = outerPlan(below);
	gpusort_plan_info_read(below, &info);
	if (!can_be_fed(&gather, walk, &info))
		return &merge->plan;
	sort = make_sort(&merge->plan, &gather.plan, &info, walk->ancestors);
	sort->plan_node_id = below->scan.plan.plan_node_id;
	return sort;
}

/* --- the statement -------------------------------------------------------- */

/* The visitor. */
static Plan *
convert_plan(Plan *plan, GpuSortWalk *walk)
{
	if (IsA(plan, Sort) || IsA(plan, IncrementalSort))
		return convert_sort((Sort *) plan, walk);
	if (IsA(plan, GatherMerge))
		return convert_gather_merge((GatherMerge *) plan, walk);
	if (!marks_grouping(plan))
		return plan;
	outerPlan(plan)->initPlan = plan->initPlan;
	return outerPlan(plan);
}

void
gpusort_convert_plans(PlannedStmt *statement, bool nested)
{
	GpuSortWalk walk = {.statement = statement,.nested = nested,.visit = convert_plan};

	gpusort_walk_plans(&walk);
}
