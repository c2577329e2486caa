/*
 * like_citus.c
 *	  Tables named distributed... are scanned by nodes with the names of Citus's.
 *	  Tables named hinted... lose their Seq Scans and Appends, as by a hint.
 *
 * In:  a query.
 * Out: its plan; of distributed tables for EXPLAIN only: the nodes give no row.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/extensible.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook = NULL;

/* --- the node, which is never run ------------------------------------------------------ */

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
}

static TupleTableSlot *
no_row(CustomScanState *node)
{
	elog(ERROR, "like_citus is for EXPLAIN only");
	return NULL;
}

static void
end_scan(CustomScanState *node)
{
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Adaptive",
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = no_row,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = end_scan,
};

static Node *
create_state(CustomScan *scan)
{
	CustomScanState *state = makeNode(CustomScanState);

	state->methods = &exec_methods;
	return (Node *) state;
}

static const CustomScanMethods scan_methods = {
	.CustomName = "Citus Adaptive",
	.CreateCustomScanState = create_state,
};

/* --- its path ------------------------------------------------------------------------- */

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &scan_methods;
	scan->flags = path->flags;
	scan->scan.scanrelid = rel->relid;
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "CitusCustomScanPath",
	.PlanCustomPath = plan_path,
};

/* Is it a scan of a table named so? */
static bool
is_named(const RangeTblEntry *entry, const char *prefix)
{
	return entry->rtekind == RTE_RELATION &&
		strncmp(get_rel_name(entry->relid), prefix, strlen(prefix)) == 0;
}

static void
drop_paths(RelOptInfo *rel)
{
	ListCell   *lc;

	rel->partial_pathlist = NIL;
	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->pathtype == T_SeqScan || IsA(path, AppendPath))
			rel->pathlist = foreach_delete_current(rel->pathlist, lc);
	}
}

static void
replace_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *entry)
{
	CustomPath *path;
	Path	   *own;

	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, entry);
	if (is_named(entry, "hinted"))
		drop_paths(rel);
	if (!is_named(entry, "distributed"))
		return;
	own = linitial(rel->pathlist);
	path = makeNode(CustomPath);
	path->path = *own;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.parallel_safe = false;
	path->path.pathkeys = NIL;
	path->methods = &path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

void
_PG_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = replace_paths;
}
