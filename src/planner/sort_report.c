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

#include "commands/explain.h"
#include "nodes/bitmapset.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "keys/key_text.h"
#include "planner/convert_sort.h"
#include "planner/plan_info.h"
#include "planner/plan_walk.h"
#include "planner/refusals.h"
#include "planner/sort_report.h"
#include "settings.h"

typedef struct Report
{
	List	   *deparse_context;
	bool		use_prefix;
	List	   *sorts;			/* of GpuSortReported */
} Report;

/* --- what a sort is ------------------------------------------------------------------ */

static char *
text_of_keys(const GpuSortOrder *order, Plan *plan, bool ordered, const Report *report)
{
	List	   *context = set_deparse_context_plan(report->deparse_context, plan, NIL);
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

static void
report_gpusort(CustomScan *scan, Report *report)
{
	GpuSortReported *sort;
	GpuSortPlanInfo info;

	gpusort_plan_info_read(scan, &info);
	sort = add_sort(report, "GpuSort", &scan->scan.plan, info.rows);
	sort->keys = text_of_keys(&info.order, &scan->scan.plan, !info.grouping, report);
	if (!gpusort_enabled)
		set_native(sort, GPUSORT_REFUSED_DISABLED, "");
	else if (info.rows < gpusort_min_rows && !info.parallel)
	{
		sort->runs_on = "backend";
		sort->code = gpusort_refusal_name(GPUSORT_REFUSED_FEW_ROWS);
		sort->reason = psprintf("%.0f rows are expected, and gpusort.min_rows is %d", info.rows, gpusort_min_rows);
		sort->remedy = "nothing: rows go to the device as soon as that many have come";
	}
	else
	{
		sort->runs_on = "device";
		sort->reason = psprintf("%.0f rows are expected%s", info.rows,
								info.parallel ? ", which parallel workers feed" : "");
	}
}

static void
report_sort(const Sort *plan, double bound, const GpuSortWalk *walk)
{
	Report	   *report = walk->arg;
	GpuSortReported *sort = add_sort(report, "Sort", &plan->plan, outerPlan(plan)->plan_rows);
	GpuSortOrder order = order_of_sort(plan);
	GpuSortPlanInfo info = {0};

	sort->keys = text_of_keys(&order, (Plan *) plan, true, report);
	if (gpusort_examine_sort(plan, bound, walk, &info))
		set_native(sort, GPUSORT_REFUSED_KEPT_PLAN, "");
	else
		set_native(sort, gpusort_last_refusal()->code, gpusort_last_refusal()->detail);
}

static void
report_incremental_sort(const IncrementalSort *plan, Report *report)
{
	GpuSortReported *sort = add_sort(report, "Incremental Sort", &plan->sort.plan, plan->sort.plan.plan_rows);
	GpuSortOrder order = order_of_sort(&plan->sort);

	sort->keys = text_of_keys(&order, (Plan *) plan, true, report);
	set_native(sort, GPUSORT_REFUSED_INCREMENTAL, "");
}

/* Its keys are of the Agg's child. */
static void
report_chain(const Agg *agg, Report *report)
{
	ListCell   *lc;

	foreach(lc, agg->chain)
	{
		Sort	   *sort = (Sort *) outerPlan(lfirst(lc));
		GpuSortOrder order;
		Sort		like;
		GpuSortReported *reported;

		if (sort == NULL)
			continue;
		order = order_of_sort(sort);
		like = *sort;
		like.plan.lefttree = outerPlan(agg);
		like.plan.targetlist = outerPlan(agg)->targetlist;
		reported = add_sort(report, "Aggregate", outerPlan(agg), outerPlan(agg)->plan_rows);
		reported->keys = text_of_keys(&order, &like.plan, true, report);
		set_native(reported, GPUSORT_REFUSED_GROUPING_SETS, "");
	}
}

static Plan *
report_plan(Plan *plan, double bound, GpuSortWalk *walk)
{
	switch (nodeTag(plan))
	{
		case T_Sort:
			report_sort((Sort *) plan, bound, walk);
			break;
		case T_IncrementalSort:
			report_incremental_sort((IncrementalSort *) plan, walk->arg);
			break;
		case T_Agg:
			report_chain((Agg *) plan, walk->arg);
			break;
		case T_CustomScan:
			if (((CustomScan *) plan)->methods == &gpusort_scan_methods)
				report_gpusort((CustomScan *) plan, walk->arg);
			break;
		default:
			break;
	}
	return plan;
}

List *
gpusort_report_sorts(PlannedStmt *statement)
{
	Bitmapset  *relations = bms_add_range(NULL, 1, list_length(statement->rtable));
	Report		report = {.use_prefix = list_length(statement->rtable) > 1};
	GpuSortWalk walk = {.statement = statement,.visit = report_plan,.arg = &report};

	report.deparse_context =
		deparse_context_for_plan_tree(statement, select_rtable_names_for_explain(statement->rtable, relations));
	gpusort_walk_plans(&walk);
	return report.sorts;
}
