/*
 * sort_report.c
 *	  Where each sort of a finished plan runs, and why.
 *
 * In:  a PlannedStmt, of which GpuSort nodes are a part already.
 * Out: a report on each sort.
 *
 * A Sort that is left is asked about anew, as when the plan was finished.  Sorts inside aggregates
 * and those of a Gather Merge's workers that are no nodes are not to be seen in a plan.
 *
 * Runs in the backend that plans, or explains.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/explain.h"
#include "nodes/bitmapset.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "keys/key_text.h"
#include "plan/plan_info.h"
#include "planner/convert_sort.h"
#include "planner/plan_walk.h"
#include "planner/refusals.h"
#include "planner/sort_report.h"
#include "settings.h"
#include "shared/job.h"

typedef struct Report
{
	List	   *deparse_context;	/* ruleutils', for the statement */
	bool		use_prefix;
	List	   *sorts;			/* of GpuSortReported */
} Report;

/* --- what a sort is ------------------------------------------------------------------ */

static char *
text_of_keys(const GpuSortOrder *order, Plan *plan, bool ordered, List *ancestors, const Report *report)
{
	List	   *context = set_deparse_context_plan(report->deparse_context, plan, ancestors);
	StringInfoData keys;

	initStringInfo(&keys);
	for (int i = 0; i < order->n_keys; i++)
		appendStringInfo(&keys, "%s%s", i > 0 ? ", " : "",
						 gpusort_key_text(order, i, plan, context, report->use_prefix, ordered, true));
	return keys.data;
}

static GpuSortOrder
order_of_sort(const Sort *sort)
{
	GpuSortOrder order = {
		.n_keys = sort->numCols,
		.columns = sort->sortColIdx,
		.operators = sort->sortOperators,
		.collations = sort->collations,
		.nulls_first = sort->nullsFirst,
	};

	return order;
}

/* Adds a sort of this plan's child, whose place is not known yet. */
static GpuSortReported *
add_sort(Report *report, const char *node, const Plan *plan, double rows)
{
	GpuSortReported *sort = palloc0(sizeof(GpuSortReported));

	sort->node = node;
	sort->rows = rows;
	sort->bytes = rows * plan->plan_width;
	report->sorts = lappend(report->sorts, sort);
	return sort;
}

/* --- where it runs ------------------------------------------------------------------- */

static void
set_native(GpuSortReported *sort, GpuSortRefusalCode code, const char *detail)
{
	sort->runs_on = "native";
	sort->code = gpusort_refusal_name(code);
	sort->remedy = gpusort_refusal_remedy(code);
	sort->reason = detail[0] == '\0' ? pstrdup(gpusort_refusal_text(code)) :
		psprintf("%s (%s)", gpusort_refusal_text(code), detail);
}

/* Does each of several workers do the sort, of its own rows? */
static bool
is_in_workers(const GpuSortWalk *walk)
{
	ListCell   *lc;

	foreach(lc, walk->ancestors)
	{
		if (IsA(lfirst(lc), Gather) || IsA(lfirst(lc), GatherMerge))
			return true;
	}
	return false;
}

/* Rows that work_mem does not hold go to the device, however few they are. */
static bool
fits_work_mem(const Plan *plan, double rows)
{
	return rows * (MAXALIGN(plan->plan_width) + MAXALIGN(SizeofHeapTupleHeader)) <= work_mem * 1024.0;
}

/* What is to be said of the rows that a device gets. */
static const char *
device_note(const GpuSortPlanInfo *info, bool few, const GpuSortWalk *walk)
{
	if (info->parallel)
		return few ? ", which parallel workers feed; so few may stay in the session" : ", which parallel workers feed";
	if (few)
		return ", more than work_mem holds";
	return is_in_workers(walk) ? " in each worker" : "";
}

static void
report_gpusort(CustomScan *scan, const GpuSortWalk *walk)
{
	Report	   *report = walk->arg;
	uint64		min_rows = gpusort_job_min_rows();
	bool		few;
	GpuSortReported *sort;
	GpuSortPlanInfo info;

	gpusort_plan_info_read(scan, &info);
	few = info.rows < min_rows;
	sort = add_sort(report, "GpuSort", &scan->scan.plan, info.rows);
	sort->keys = text_of_keys(&info.order, &scan->scan.plan, !info.grouping, walk->ancestors, report);
	if (gpusort_refuses_all())
		set_native(sort, gpusort_last_refusal()->code, "");
	else if (few && !info.parallel && fits_work_mem(&scan->scan.plan, info.rows))
	{
		sort->runs_on = "backend";
		sort->code = gpusort_refusal_name(GPUSORT_REFUSED_FEW_ROWS);
		sort->reason = psprintf("%.0f rows are expected, and gpusort.min_rows is " UINT64_FORMAT "%s", info.rows, min_rows,
								gpusort_min_rows_depend_on_device() ? " by default" : "");
		sort->remedy = "nothing: rows go to the device as soon as that many have come, or more than work_mem holds";
	}
	else
	{
		sort->runs_on = "device";
		sort->reason = psprintf("%.0f rows are expected%s", info.rows, device_note(&info, few, walk));
	}
}

/* Why is a Sort still there that could be a GpuSort? */
static GpuSortRefusalCode
reason_of_kept(const Sort *plan, const GpuSortWalk *walk)
{
	/* that of a cursor, which is to give its first rows soon */
	if (IsA(plan, IncrementalSort))
		return GPUSORT_REFUSED_INCREMENTAL;
	return walk->foreign_below ? GPUSORT_REFUSED_CUSTOM_SCAN : GPUSORT_REFUSED_KEPT_PLAN;
}

/* Of an Incremental Sort, which begins with one, too. */
static void
report_sort(const Sort *plan, double bound, const GpuSortWalk *walk)
{
	Report	   *report = walk->arg;
	GpuSortReported *sort = add_sort(report, IsA(plan, Sort) ? "Sort" : "Incremental Sort", &plan->plan,
									 outerPlan(plan)->plan_rows);
	GpuSortOrder order = order_of_sort(plan);
	GpuSortPlanInfo info = {0};

	sort->keys = text_of_keys(&order, (Plan *) plan, true, walk->ancestors, report);
	if (gpusort_examine_sort(plan, bound, walk, &info))
		set_native(sort, reason_of_kept(plan, walk), "");
	else
		set_native(sort, gpusort_last_refusal()->code, gpusort_last_refusal()->detail);
}

/* A sort of an Agg's chain.  What its plan has of it are its keys: columns of the Agg's child. */
static void
report_sort_of_chain(const Sort *sort, Agg *agg, const GpuSortWalk *walk)
{
	Report	   *report = walk->arg;
	Plan	   *child = outerPlan(agg);
	GpuSortReported *reported = add_sort(report, "Aggregate", child, child->plan_rows);
	GpuSortOrder order = order_of_sort(sort);
	Sort		like = *sort;

	like.plan.lefttree = child;
	like.plan.targetlist = child->targetlist;
	reported->keys = text_of_keys(&order, &like.plan, true, lcons(agg, walk->ancestors), report);
	set_native(reported, gpusort_refuses_all() ? gpusort_last_refusal()->code : GPUSORT_REFUSED_GROUPING_SETS, "");
}

static void
report_chain(Agg *agg, const GpuSortWalk *walk)
{
	ListCell   *lc;

	foreach(lc, agg->chain)
	{
		const Sort *sort = (const Sort *) outerPlan(lfirst(lc));

		if (sort != NULL)
			report_sort_of_chain(sort, agg, walk);
	}
}

static Plan *
report_plan(Plan *plan, double bound, GpuSortWalk *walk)
{
	switch (nodeTag(plan))
	{
		case T_Sort:
		case T_IncrementalSort:
			report_sort((Sort *) plan, bound, walk);
			break;
		case T_Agg:
			report_chain((Agg *) plan, walk);
			break;
		case T_CustomScan:
			if (((CustomScan *) plan)->methods == &gpusort_scan_methods)
				report_gpusort((CustomScan *) plan, walk);
			break;
		default:
			break;
	}
	return plan;
}

List *
gpusort_report_sorts(PlannedStmt *statement, List *deparse_context, bool use_prefix)
{
	Report		report = {.deparse_context = deparse_context,.use_prefix = use_prefix};
	GpuSortWalk walk = {.statement = statement,.all_read = true,.keep_ancestors = true,.visit = report_plan,.arg = &report};

	gpusort_refusals_want_details(true);
	gpusort_walk_plans(&walk);
	return report.sorts;
}

/* --- names as EXPLAIN has them: of relations that the plan reads ---------------------------- */

static Plan *
note_relations(Plan *plan, double bound, GpuSortWalk *walk)
{
	Bitmapset **relations = walk->arg;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_SubqueryScan:
		case T_FunctionScan:
		case T_TableFuncScan:
		case T_ValuesScan:
		case T_CteScan:
		case T_NamedTuplestoreScan:
		case T_WorkTableScan:
			*relations = bms_add_member(*relations, ((Scan *) plan)->scanrelid);
			break;
		case T_ForeignScan:
			*relations = bms_add_members(*relations, ((ForeignScan *) plan)->fs_relids);
			break;
		case T_CustomScan:
			*relations = bms_add_members(*relations, ((CustomScan *) plan)->custom_relids);
			break;
		case T_ModifyTable:
			*relations = bms_add_member(*relations, ((ModifyTable *) plan)->nominalRelation);
			break;
		default:
			break;
	}
	return plan;
}

List *
gpusort_report_sorts_anew(PlannedStmt *statement)
{
	Bitmapset  *relations = NULL;
	GpuSortWalk walk = {.statement = statement,.visit = note_relations,.arg = &relations};
	List	   *names;

	gpusort_walk_plans(&walk);
	names = select_rtable_names_for_explain(statement->rtable, relations);
	return gpusort_report_sorts(statement, deparse_context_for_plan_tree(statement, names),
								compat_rtable_entries(statement->rtable) > 1);
}
