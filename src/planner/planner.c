/*
 * planner.c
 *	  Offers a GpuSort for a query's final ORDER BY.
 *
 * In:  the upper rel that is to be ordered, and the cheapest way to its rows.
 * Out: a CustomPath with its costs, for add_path to judge against PostgreSQL's own
 *	    sorts; if it wins, a CustomScan plan over the child's plan.
 *
 * Runs in the backend that plans.  Nothing is offered that the device cannot
 * sort, while no device serves, below gpusort.min_rows, or where a LIMIT lets the
 * native sort keep a few rows only; each refusal says so at DEBUG1.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "executor/gpusort_node.h"
#include "executor/feed_node.h"
#include "shared/job.h"
#include "planner/plan_repeat.h"
#include "planner/planner.h"
#include "keys/sortkey.h"
#include "settings.h"

/*
 * Costs, in units of cpu_operator_cost, which is what cost_sort charges twice for
 * a comparison: a native sort of n rows costs 2 n log2 n of them.  One unit is 5.7 ns
 * where 100 M rows took 34.2 s natively; see bench/NOTES.md for what each of these is
 * made of.
 */
#define COST_PACK_ROW			3.0 /* copy the row, take its key: 24 ns a row, its bytes included */
#define COST_KEY_COLUMN			1.0 /* each key column after the first */
#define COST_ROW_BYTE			0.03	/* a byte's way into the buffers, to the device and back */
#define COST_SORT_ROW_CUDA		0.1 /* less than 0.2 ns */
#define COST_SORT_ROW_HOST		12.0	/* 35 to 70 ns a row and key word */
#define COST_OUTPUT_ROW			2.0 /* 12.4 ns */
#define COST_JOB				100000.0	/* the round trips of a job: 0.2 to 0.6 ms */

static create_upper_paths_hook_type prev_create_upper_paths_hook = NULL;
static planner_hook_type prev_planner_hook = NULL;

/* Plan nodes of ours made by the planner run under way; gpusort_planner finishes them.
 * Whoever calls standard_planner directly gets none. */
static List *scans_being_planned = NIL;
static int	planner_depth = 0;

static Plan *plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
							   List *tlist, List *clauses, List *custom_plans);

static Plan *plan_gpusort_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
									List *tlist, List *clauses, List *custom_plans);

static const CustomPathMethods gpusort_path_methods = {
	.CustomName = "GpuSort",
	.PlanCustomPath = plan_gpusort_path,
};

static const CustomPathMethods gpusort_feed_path_methods = {
	.CustomName = "GpuSortFeed",
	.PlanCustomPath = plan_gpusort_feed_path,
};

/* --- custom_private -------------------------------------------------------- */

static List *
plan_info_write(const GpuSortPlanInfo *info)
{
	List	   *columns = NIL;
	List	   *operators = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;

	for (int i = 0; i < info->n_keys; i++)
	{
		columns = lappend_int(columns, info->columns[i]);
		operators = lappend_oid(operators, info->operators[i]);
		collations = lappend_oid(collations, info->collations[i]);
		nulls_first = lappend_int(nulls_first, info->nulls_first[i]);
	}
	return list_make5(columns, operators, collations, nulls_first,
					  list_make2_int(info->parallel, info->child_repeats));
}

void
gpusort_plan_info_read(const CustomScan *scan, GpuSortPlanInfo *info)
{
	List	   *columns = linitial(scan->custom_private);
	List	   *flags = llast(scan->custom_private);

	info->n_keys = list_length(columns);
	info->parallel = linitial_int(flags) != 0;
	info->child_repeats = lsecond_int(flags) != 0;
	for (int i = 0; i < info->n_keys; i++)
	{
		info->columns[i] = list_nth_int(columns, i);
		info->operators[i] = list_nth_oid(lsecond(scan->custom_private), i);
		info->collations[i] = list_nth_oid(lthird(scan->custom_private), i);
		info->nulls_first[i] = list_nth_int(lfourth(scan->custom_private), i) != 0;
	}
}

void
gpusort_plan_info_make_keys(const GpuSortPlanInfo *info, TupleDesc desc, GpuSortKey *keys)
{
	for (int i = 0; i < info->n_keys; i++)
	{
		AttrNumber	column = info->columns[i];

		if (!gpusort_sortkey_make(TupleDescAttr(desc, column - 1)->atttypid, info->operators[i],
								  info->nulls_first[i], column, &keys[i]))
			elog(ERROR, "gpusort cannot sort column %d of its child", column);
	}
}

/* --- eligibility ----------------------------------------------------------- */

static bool
refuse(const char *reason)
{
	elog(DEBUG1, "gpusort: no path offered: %s", reason);
	return false;
}

/* The column of target that carries the pathkey's values, and their type there. */
static AttrNumber
find_pathkey_column(PathKey *pathkey, PathTarget *target, Oid *type_oid)
{
	EquivalenceClass *ec = pathkey->pk_eclass;
	AttrNumber	column = 0;
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		Expr	   *expr = lfirst(lc);
		EquivalenceMember *member;

		column++;
		if (ec->ec_has_volatile)
		{
			if (ec->ec_sortref == 0 || get_pathtarget_sortgroupref(target, column - 1) != ec->ec_sortref)
				continue;
			member = linitial(ec->ec_members);
		}
		else
			member = find_ec_member_matching_expr(ec, expr, NULL);
		if (member == NULL)
			continue;
		*type_oid = member->em_datatype;
		return column;
	}
	return 0;
}

static bool
read_pathkeys(List *pathkeys, PathTarget *target, GpuSortPlanInfo *info)
{
	ListCell   *lc;

	if (list_length(pathkeys) > GPUSORT_MAX_KEYS)
		return refuse("too many sort keys");
	info->parallel = false;
	info->child_repeats = false;	/* known when the plan is finished */
	info->n_keys = 0;
	foreach(lc, pathkeys)
	{
		PathKey    *pathkey = lfirst(lc);
		int			i = info->n_keys++;
		Oid			type_oid = InvalidOid;
		GpuSortKey	key;

		info->columns[i] = find_pathkey_column(pathkey, target, &type_oid);
		if (info->columns[i] == 0)
			return refuse("a sort key is not among the child's columns");
		info->operators[i] = get_opfamily_member(pathkey->pk_opfamily, type_oid, type_oid,
												 compat_pathkey_strategy(pathkey));
		info->collations[i] = pathkey->pk_eclass->ec_collation;
		info->nulls_first[i] = pathkey->pk_nulls_first;
		type_oid = exprType(list_nth(target->exprs, info->columns[i] - 1));
		if (!OidIsValid(info->operators[i]) ||
			!gpusort_sortkey_make(type_oid, info->operators[i], info->nulls_first[i],
								  info->columns[i], &key))
			return refuse("a sort key's type or operator is not supported");
	}
	return true;
}

/* A constant LIMIT or OFFSET; 0 for none or NULL, -1 if it is not known yet. */
static double
constant_count(Node *node)
{
	Const	   *constant = (Const *) node;

	if (node == NULL)
		return 0;
	if (!IsA(node, Const))
		return -1;
	return constant->constisnull ? 0 : (double) DatumGetInt64(constant->constvalue);
}

static bool
is_null_constant(Node *node)
{
	return node != NULL && IsA(node, Const) && ((Const *) node)->constisnull;
}

/*
 * Would a native sort under this query's LIMIT keep only as many rows as it asks for, in
 * work_mem?  That is far cheaper than any sort of all rows.  A count not known yet may
 * turn out to be small.
 */
static bool
limit_keeps_top_rows(const Query *parse, const Path *child)
{
	double		limit = constant_count(parse->limitCount);
	double		offset = constant_count(parse->limitOffset);
	double		width = child->pathtarget->width + SizeofHeapTupleHeader;

	if (parse->limitCount == NULL || is_null_constant(parse->limitCount) ||
		parse->limitOption == LIMIT_OPTION_WITH_TIES || parse->rowMarks != NIL)
		return false;
	if (limit < 0 || offset < 0)
		return true;
	return (limit + offset) * width <= work_mem * 1024.0 && child->rows > 2 * (limit + offset);
}

/* Does a query pass its one subquery's rows on in order, so that its LIMIT bounds the
 * subquery's sort? */
static bool
passes_rows_on(const Query *parse)
{
	return !parse->hasAggs && !parse->hasWindowFuncs && !parse->hasTargetSRFs &&
		parse->groupClause == NIL && parse->groupingSets == NIL &&
		parse->distinctClause == NIL && parse->sortClause == NIL &&
		parse->setOperations == NULL && list_length(parse->rtable) == 1;
}

static bool
native_keeps_top_rows(PlannerInfo *root, const Path *child)
{
	PlannerInfo *parent = root->parent_root;

	if (limit_keeps_top_rows(root->parse, child))
		return true;
	return parent != NULL && passes_rows_on(parent->parse) &&
		limit_keeps_top_rows(parent->parse, child);
}

/* child: the cheapest path to the rows, by whose count and target the sort is judged. */
static bool
worth_a_path(PlannerInfo *root, const Path *child)
{
	if (!gpusort_enabled || planner_depth == 0)
		return false;
	if (root->sort_pathkeys == NIL || pathkeys_contained_in(root->sort_pathkeys, child->pathkeys))
		return false;
	if (child->rows < gpusort_min_rows)
		return refuse("fewer rows than gpusort.min_rows are expected");
	if (native_keeps_top_rows(root, child))
		return refuse("LIMIT lets the native sort keep the top rows only");
	if (!gpusort_job_service_serves())
		return refuse("no device serves");
	return true;
}

/* --- the path -------------------------------------------------------------- */

static double
cost_of_sorting_a_row(void)
{
	gsort_kind	kind;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	kind = gpusort_shared->service.info.kind;
	LWLockRelease(gpusort_shared_lock());
	return kind == GSORT_KIND_HOST ? COST_SORT_ROW_HOST : COST_SORT_ROW_CUDA;
}

/* What packing the child's rows costs one feeder that packs all of them. */
static Cost
cost_of_packing(const Path *child, double rows, int n_keys)
{
	double		width = MAXALIGN(child->pathtarget->width + SizeofMinimalTupleHeader);

	return cpu_operator_cost * rows *
		(COST_PACK_ROW + COST_KEY_COLUMN * (n_keys - 1) + COST_ROW_BYTE * width);
}

/* before: when all rows have been packed. */
static void
cost_gpusort(Path *path, Cost before, double rows, int n_keys)
{
	path->rows = rows;
	path->startup_cost = before + cpu_operator_cost *
		(COST_JOB + rows * cost_of_sorting_a_row() * n_keys);
	path->total_cost = path->startup_cost + cpu_operator_cost * COST_OUTPUT_ROW * rows;
}

static CustomPath *
make_custom_path(RelOptInfo *rel, Path *child, const CustomPathMethods *methods,
				 const GpuSortPlanInfo *info)
{
	CustomPath *custom = makeNode(CustomPath);

	custom->path.pathtype = T_CustomScan;
	custom->path.parent = rel;
	custom->path.pathtarget = child->pathtarget;
	custom->custom_paths = list_make1(child);
	custom->custom_private = plan_info_write(info);
	custom->methods = methods;
	compat_copy_disabled_nodes(&custom->path, child);
	return custom;
}

/* Adds a GpuSort over child, whose rows are all packed at cost before. */
static void
add_gpusort_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *child,
				 const GpuSortPlanInfo *info, Cost before, double rows)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	CustomPath *custom = make_custom_path(ordered_rel, child, &gpusort_path_methods, info);
	Path	   *path = &custom->path;

	custom->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->pathkeys = root->sort_pathkeys;
	cost_gpusort(path, before, rows, info->n_keys);
	/* a set operation's rows are final: it has no target of its own here */
	if (target != NULL && path->pathtarget != target)
		path = apply_projection_to_path(root, ordered_rel, path, target);
	add_path(ordered_rel, path);
}

static void
add_serial_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *child)
{
	GpuSortPlanInfo info;

	if (read_pathkeys(root->sort_pathkeys, child->pathtarget, &info))
		add_gpusort_path(root, ordered_rel, child, &info,
						 child->total_cost + cost_of_packing(child, child->rows, info.n_keys),
						 child->rows);
}

/* Can a job ever have so many feeders? */
static bool
takes_feeders(int feeders)
{
	if (feeders > GPUSORT_FEEDERS_MAX)
		return refuse("more parallel workers than can feed a sort");
	if (GPUSORT_JOB_BUFFERS_SHORT(feeders) + GPUSORT_SPILL_BUFFERS > gpusort_shared->n_buffers)
		return refuse("gpusort.buffer_memory is too small for so many parallel workers");
	return true;
}

/*
 * GpuSort over Gather over GpuSortFeed over the partial path.  The Gather passes no row
 * on, so it costs its start only.
 */
static void
add_parallel_path(PlannerInfo *root, RelOptInfo *ordered_rel, Path *partial, double rows)
{
	GpuSortPlanInfo info;
	CustomPath *feed;
	Path	   *gather;
	double		rows_through_gather = 0;

	if (!takes_feeders(GPUSORT_PARALLEL_FEEDERS(partial->parallel_workers)) ||
		!read_pathkeys(root->sort_pathkeys, partial->pathtarget, &info))
		return;
	info.parallel = true;
	feed = make_custom_path(ordered_rel, partial, &gpusort_feed_path_methods, &info);
	feed->path.parallel_aware = true;
	feed->path.parallel_safe = true;
	feed->path.parallel_workers = partial->parallel_workers;
	feed->path.rows = 0;
	feed->path.total_cost = partial->total_cost +
		cost_of_packing(partial, partial->rows, info.n_keys);
	feed->path.startup_cost = feed->path.total_cost;
	gather = (Path *) create_gather_path(root, ordered_rel, &feed->path, partial->pathtarget,
										 NULL, &rows_through_gather);
	add_gpusort_path(root, ordered_rel, gather, &info, gather->total_cost, rows);
}

static void
gpusort_create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
						   RelOptInfo *output_rel, void *extra)
{
	Path	   *child;

	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (stage != UPPERREL_ORDERED)
		return;					/* a set operation has no input_rel */
	child = input_rel->cheapest_total_path;
	if (!worth_a_path(root, child))
		return;
	add_serial_path(root, output_rel, child);
	if (input_rel->consider_parallel && input_rel->partial_pathlist != NIL)
		add_parallel_path(root, output_rel, linitial(input_rel->partial_pathlist), child->rows);
}

/* --- the plan -------------------------------------------------------------- */

static Plan *
make_custom_scan(CustomPath *best_path, List *tlist, List *custom_plans,
				 const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *child = linitial(custom_plans);

	Assert(list_length(tlist) == list_length(child->targetlist));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.lefttree = child;
	scan->custom_scan_tlist = copyObject(child->targetlist);
	scan->flags = best_path->flags;
	scan->custom_private = best_path->custom_private;
	scan->methods = methods;
	scans_being_planned = lappend(scans_being_planned, scan);
	return &scan->scan.plan;
}

static Plan *
plan_gpusort_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
				  List *clauses, List *custom_plans)
{
	return make_custom_scan(best_path, tlist, custom_plans, &gpusort_scan_methods);
}

static Plan *
plan_gpusort_feed_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
					   List *clauses, List *custom_plans)
{
	return make_custom_scan(best_path, tlist, custom_plans, &gpusort_feed_scan_methods);
}

/* Makes the i-th entry of tlist refer to the i-th column of varno. */
static void
point_tlist_at(List *tlist, int varno)
{
	ListCell   *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = lfirst(lc);
		Node	   *expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr),
									   exprCollation(expr), 0);
	}
}

/* Notes whether the child of a finished node may be scanned again. */
static void
note_whether_child_repeats(CustomScan *scan, List *subplans)
{
	GpuSortPlanInfo info;

	gpusort_plan_info_read(scan, &info);
	info.child_repeats = gpusort_plan_repeats(outerPlan(scan), subplans);
	scan->custom_private = plan_info_write(&info);
}

/*
 * Gives finished nodes the target lists of a sort: column i is the child's column i.
 *
 * set_plan_references matches a custom scan's target list with custom_scan_tlist by
 * equal expressions, which is wrong for a sort: two columns that are both random() are
 * equal and differ.  And the columns of a set operation are Vars of no relation, which
 * EXPLAIN can resolve through the child only.
 */
static PlannedStmt *
gpusort_planner(COMPAT_PLANNER_PARAMS)
{
	List	   *outer_scans = scans_being_planned;
	PlannedStmt *result;

	scans_being_planned = NIL;
	planner_depth++;
	PG_TRY();
	{
		ListCell   *lc;

		result = prev_planner_hook ? prev_planner_hook(COMPAT_PLANNER_ARGS) :
			standard_planner(COMPAT_PLANNER_ARGS);
		foreach(lc, scans_being_planned)
		{
			CustomScan *scan = lfirst(lc);

			point_tlist_at(scan->scan.plan.targetlist, INDEX_VAR);
			point_tlist_at(scan->custom_scan_tlist, OUTER_VAR);
			note_whether_child_repeats(scan, result->subplans);
		}
	}
	PG_FINALLY();
	{
		planner_depth--;
		scans_being_planned = outer_scans;
	}
	PG_END_TRY();
	return result;
}

void
gpusort_planner_install_hooks(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = gpusort_create_upper_paths;
	prev_planner_hook = planner_hook;
	planner_hook = gpusort_planner;
}
