/*
 * plan_repeat.c
 *	  Whether a plan may be scanned twice for the rows of one scan.
 *
 * In:  a finished plan and the subplans that its expressions refer to; and its state, for what it shares with
 *	    other processes.
 * Out: yes, if a second scan has no effect that the first one did not have, and gives
 *	    rows that a first scan might have given.
 *
 * Runs in the backend that executes the plan, when a device has failed.  Refused are volatile
 * functions anywhere in the plan, sequences included, whatever modifies rows, and nodes not known
 * here: other extensions' may do anything.  Not refused:
 *  - initPlans and CTEs, volatile or modifying: their rows are kept, and a second scan
 *	  reads them again;
 *  - row locks: the session has them already;
 *  - TABLESAMPLE: a node keeps its seed;
 *  - foreign scans that only read: PostgreSQL itself scans them again under a nested loop;
 *  - Citus's scan of what its workers have given: it keeps these rows, and reads them again;
 *  - scans of columnar tables, which are read as others are.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "executor/plan_repeat.h"
#include "plan/plan_info.h"

/* Other extensions make plans too: a subplan that is not in the list may do anything.  A parallel
 * worker has only those that may run in it. */
static bool
subplan_repeats(const SubPlan *subplan, List *subplans)
{
	const Plan *plan = NULL;

	if (subplan->plan_id >= 1 && subplan->plan_id <= list_length(subplans))
		plan = list_nth(subplans, subplan->plan_id - 1);
	return plan != NULL && gpusort_plan_repeats(plan, subplans);
}

/* expression_tree_walker's: true to end the walk, at a subplan that does not repeat. */
static bool
find_subplan_that_does_not_repeat(Node *node, List *subplans)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && !subplan_repeats((SubPlan *) node, subplans))
		return true;
	return expression_tree_walker(node, find_subplan_that_does_not_repeat, subplans);
}

/* Of an expression or a list of them. */
static bool
expr_repeats(void *expr, List *subplans)
{
	return !contain_volatile_functions((Node *) expr) &&
		!find_subplan_that_does_not_repeat((Node *) expr, subplans);
}

static bool
plans_repeat(List *plans, List *subplans)
{
	ListCell   *lc;

	foreach(lc, plans)
		if (!gpusort_plan_repeats(lfirst(lc), subplans))
			return false;
	return true;
}

static bool
custom_scan_repeats(const Plan *plan, List *subplans)
{
	const char *name = ((const CustomScan *) plan)->methods->CustomName;

	if (strcmp(name, "ColumnarScan") == 0)
		return expr_repeats(((const CustomScan *) plan)->custom_exprs, subplans);
	return gpusort_plan_is_ours(plan) || strcmp(name, "Citus Adaptive") == 0;
}

static bool
scan_repeats(const Plan *plan, List *subplans)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_CteScan:
		case T_NamedTuplestoreScan:
		case T_WorkTableScan:
			return true;
		case T_SampleScan:
			return expr_repeats(((const SampleScan *) plan)->tablesample, subplans);
		case T_IndexScan:
			return expr_repeats(((const IndexScan *) plan)->indexqual, subplans) &&
				expr_repeats(((const IndexScan *) plan)->indexorderby, subplans);
		case T_IndexOnlyScan:
			return expr_repeats(((const IndexOnlyScan *) plan)->indexqual, subplans) &&
				expr_repeats(((const IndexOnlyScan *) plan)->indexorderby, subplans);
		case T_BitmapIndexScan:
			return expr_repeats(((const BitmapIndexScan *) plan)->indexqual, subplans);
		case T_BitmapHeapScan:
			return expr_repeats(((const BitmapHeapScan *) plan)->bitmapqualorig, subplans);
		case T_TidScan:
			return expr_repeats(((const TidScan *) plan)->tidquals, subplans);
		case T_TidRangeScan:
			return expr_repeats(((const TidRangeScan *) plan)->tidrangequals, subplans);
		case T_SubqueryScan:
			return gpusort_plan_repeats(((const SubqueryScan *) plan)->subplan, subplans);
		case T_FunctionScan:
			return expr_repeats(((const FunctionScan *) plan)->functions, subplans);
		case T_ValuesScan:
			return expr_repeats(((const ValuesScan *) plan)->values_lists, subplans);
		case T_TableFuncScan:
			return expr_repeats(((const TableFuncScan *) plan)->tablefunc, subplans);
		case T_ForeignScan:
			return ((const ForeignScan *) plan)->operation == CMD_SELECT &&
				expr_repeats(((const ForeignScan *) plan)->fdw_exprs, subplans);
		case T_CustomScan:
			return custom_scan_repeats(plan, subplans);
		default:
			return false;
	}
}

static bool
join_repeats(const Join *join, List *subplans)
{
	const HashJoin *hash_join = (const HashJoin *) join;

	if (!expr_repeats(join->joinqual, subplans))
		return false;
	switch (nodeTag(join))
	{
		case T_MergeJoin:
			return expr_repeats(((const MergeJoin *) join)->mergeclauses, subplans);
		case T_HashJoin:
			return expr_repeats(hash_join->hashclauses, subplans) &&
				expr_repeats(hash_join->hashkeys, subplans);
		default:
			return true;
	}
}

/* What the node itself has beside the target list, the qual and two children. */
static bool
node_repeats(const Plan *plan, List *subplans)
{
	switch (nodeTag(plan))
	{
		case T_ProjectSet:
		case T_RecursiveUnion:
		case T_Material:
		case T_Sort:
		case T_IncrementalSort:
		case T_Group:
		case T_Agg:
		case T_Unique:
		case T_Gather:
		case T_GatherMerge:
		case T_SetOp:
		case T_LockRows:
			return true;
		case T_Result:
			return expr_repeats(((const Result *) plan)->resconstantqual, subplans);
		case T_Append:
			return plans_repeat(((const Append *) plan)->appendplans, subplans);
		case T_MergeAppend:
			return plans_repeat(((const MergeAppend *) plan)->mergeplans, subplans);
		case T_BitmapAnd:
			return plans_repeat(((const BitmapAnd *) plan)->bitmapplans, subplans);
		case T_BitmapOr:
			return plans_repeat(((const BitmapOr *) plan)->bitmapplans, subplans);
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return join_repeats((const Join *) plan, subplans);
		case T_Hash:
			return expr_repeats(((const Hash *) plan)->hashkeys, subplans);
		case T_Memoize:
			return expr_repeats(((const Memoize *) plan)->param_exprs, subplans);
		case T_WindowAgg:
			return expr_repeats(((const WindowAgg *) plan)->startOffset, subplans) &&
				expr_repeats(((const WindowAgg *) plan)->endOffset, subplans);
		case T_Limit:
			return expr_repeats(((const Limit *) plan)->limitOffset, subplans) &&
				expr_repeats(((const Limit *) plan)->limitCount, subplans);
		default:
			return scan_repeats(plan, subplans);
	}
}

bool
gpusort_plan_repeats(const Plan *plan, List *subplans)
{
	check_stack_depth();
	if (plan == NULL)
		return true;
	return expr_repeats(plan->targetlist, subplans) &&
		expr_repeats(plan->qual, subplans) &&
		node_repeats(plan, subplans) &&
		gpusort_plan_repeats(plan->lefttree, subplans) &&
		gpusort_plan_repeats(plan->righttree, subplans);
}

/* --- what processes share ----------------------------------------------------------- */

/* planstate_tree_walker's.  What is below a Gather of the plan's own begins anew with it. */
static bool
find_shared_scan(PlanState *state, void *context)
{
	if (IsA(state->plan, Gather) || IsA(state->plan, GatherMerge))
		return false;
	return state->plan->parallel_aware || planstate_tree_walker(state, find_shared_scan, context);
}

bool
gpusort_plan_takes_a_share(PlanState *state)
{
	return IsInParallelMode() && find_shared_scan(state, NULL);
}
