/*
 * setop_paths.c
 *	  Ways to UNION, INTERSECT and EXCEPT over rows that the device has sorted.
 *
 * In:  the rel of a set operation, with PostgreSQL's own paths.
 * Out: Unique, sorted Agg and SetOp over GpuSort over the same rows, for add_path to judge; in the
 *	    order of all columns, or in none.
 *
 * From 18 on the two inputs of INTERSECT and EXCEPT are sorted apart, and read in step: those Sorts
 * become GpuSorts in the finished plan.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"

#include "compat.h"
#include "planner/eligibility.h"
#include "planner/grouping.h"
#include "planner/upper_paths.h"

/* A set operation's node. */
typedef struct SetOpNode
{
	GpuSortGrouping base;
	const SetOpPath *native;	/* NULL: a UNION, which has none */
	PathTarget *target;			/* what is asked for: casts, or a flag column, beside what the node gives */
	List	   *columns;		/* that make rows equal, as SortGroupClauses */
} SetOpNode;

static Path *
make_setop_path(PlannerInfo *root, RelOptInfo *rel, const GpuSortGrouping *grouping, Path *sorted)
{
	const SetOpNode *node = (const SetOpNode *) grouping;
	Path	   *path = node->native != NULL ? compat_sorted_setop(root, rel, node->native, sorted) :
		gpusort_make_unique_path(root, rel, sorted, list_length(sorted->pathkeys), node->columns,
								 node->base.groups);

	if (equal(path->pathtarget->exprs, node->target->exprs))
		return path;
	return (Path *) create_projection_path(root, rel, path, node->target);
}

/* All columns but SetOp's flag.  NIL: one of them has no order. */
static List *
columns_of_target(const PathTarget *target)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		SortGroupClause *column = makeNode(SortGroupClause);
		Oid			equals;

		column->tleSortGroupRef = get_pathtarget_sortgroupref(target, foreach_current_index(lc));
		if (column->tleSortGroupRef == 0)
			continue;
		get_sort_group_operators(exprType(lfirst(lc)), false, false, false, &column->sortop,
								 &equals, NULL, &column->hashable);
		if (!OidIsValid(column->sortop))
			return NIL;
		column->eqop = equals;
		columns = lappend(columns, column);
	}
	return columns;
}

/* The path of a set operation, in any way, with one input.  NULL if there is none. */
static Path *
find_native(const RelOptInfo *setop_rel)
{
	ListCell   *lc;

	foreach(lc, setop_rel->pathlist)
	{
		Path	   *path = lfirst(lc);
		const Path *below = gpusort_path_below_groups(path);

		/* one whose input is in order says nothing of the rows before that */
		if (below != NULL && (below->pathkeys == NIL || IsA(below, SortPath)))
			return path;
	}
	return NULL;
}

/* Its rows before they were sorted; and in parallel, if a Gather collects them. */
static GpuSortInput
input_of_native(const Path *native)
{
	GpuSortInput input = {.child = unconstify(Path *, gpusort_path_below_groups(native))};

	if (IsA(input.child, SortPath))
		input.child = ((SortPath *) input.child)->subpath;
	if (IsA(input.child, GatherPath))
		input.partial = ((GatherPath *) input.child)->subpath;
	return input;
}

/* What makes the same of other rows.  It outlives native, which is freed if it loses against one. */
static SetOpNode
describe_node(const RelOptInfo *setop_rel, const Path *native, const GpuSortInput *input,
			  List *columns)
{
	SetOpNode	node = {.base.make_path = make_setop_path,.columns = columns};

	node.base.groups = native->rows;
	node.base.rivals = gpusort_rivals_without_sort(setop_rel, input->child->rows);
	node.target = native->pathtarget;
	if (IsA(native, ProjectionPath))
		native = ((const ProjectionPath *) native)->subpath;
	if (IsA(native, SetOpPath))
		node.native = memcpy(makeNode(SetOpPath), native, sizeof(SetOpPath));
	return node;
}

void
gpusort_add_setop_paths(PlannerInfo *root, RelOptInfo *setop_rel)
{
	const Path *native = find_native(setop_rel);
	GpuSortInput input;
	SetOpNode	node;
	List	   *columns;

	if (native == NULL)
		return;
	input = input_of_native(native);
	columns = columns_of_target(input.child->pathtarget);
	input.pathkeys = make_pathkeys_for_sortclauses(root, columns,
												   make_tlist_from_pathtarget(input.child->pathtarget));
	if (!gpusort_worth_sorting(input.child, input.pathkeys))
		return;
	node = describe_node(setop_rel, native, &input, columns);
	gpusort_offer_groups(root, setop_rel, &node.base, input);
	gpusort_offer_groups_in_no_order(root, setop_rel, &node.base, input);
}
