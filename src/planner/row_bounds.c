/*
 * row_bounds.c
 *	  How many rows a plan gives at most: not an estimate.
 *
 * In:  a finished plan and the tables it scans.
 * Out: yes, if no more than so many rows can come.
 *
 * Nodes that give no more rows than their child, as groups and windows do, are looked through.
 *
 * A table of few pages holds few rows, whatever statistics say.  A plan may be kept while its tables
 * grow; so only tables count that have been analyzed: those are again when they have grown, and
 * the plan is made anew then.
 *
 * How many pages there are the scan's cost tells, since each page costs something, and so quickly that planning
 * for a small table hardly takes longer.  If a scan costs more than few pages do, the table is looked at.
 *
 * The planner has locked the tables of a plan that it has made; but another extension's hook may
 * return one that it has kept, and a table that nobody has locked may be truncated or dropped
 * meanwhile.  So it is locked while it is looked at, and left alone if that would mean to wait.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_am.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"
#include "utils/syscache.h"

#include "planner/row_bounds.h"

/* Of a heap that has been analyzed; of another table a page may hold any number. */
static bool
pages_bound_rows(Form_pg_class table)
{
	return table->relam == HEAP_TABLE_AM_OID && table->reltuples >= 0;
}

/* Rows of a table, by what a scan of it costs. */
static double
most_rows_by_cost(Oid relid, Cost cost)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		page_cost;
	double		rows = HUGE_VAL;

	if (!HeapTupleIsValid(tuple))
		return rows;
	get_tablespace_page_costs(((Form_pg_class) GETSTRUCT(tuple))->reltablespace, NULL, &page_cost);
	if (page_cost > 0 && pages_bound_rows((Form_pg_class) GETSTRUCT(tuple)))
		rows = cost / page_cost * MaxHeapTuplesPerPage;
	ReleaseSysCache(tuple);
	return rows;
}

static double
most_rows_of_table(Relation relation)
{
	if (!pages_bound_rows(relation->rd_rel))
		return HUGE_VAL;
	return (double) RelationGetNumberOfBlocks(relation) * MaxHeapTuplesPerPage;
}

/* The same of a table that may be locked, or may be gone. */
static double
most_rows_of(Oid relid)
{
	Relation	relation;
	double		rows = HUGE_VAL;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return rows;
	relation = try_relation_open(relid, NoLock);
	if (relation != NULL)
	{
		rows = most_rows_of_table(relation);
		relation_close(relation, NoLock);
	}
	UnlockRelationOid(relid, AccessShareLock);
	return rows;
}

static bool
scan_gives_at_most(const Plan *plan, Oid relid, double rows)
{
	return most_rows_by_cost(relid, plan->total_cost) <= rows || most_rows_of(relid) <= rows;
}

bool
gpusort_gives_at_most(const Plan *plan, List *rtable, double rows)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
			return scan_gives_at_most(plan, rt_fetch(((const SeqScan *) plan)->scan.scanrelid, rtable)->relid, rows);
		case T_ValuesScan:
			return list_length(((const ValuesScan *) plan)->values_lists) <= rows;
		case T_Agg:
			/* each grouping set has groups of its own */
			return ((const Agg *) plan)->groupingSets == NIL && gpusort_gives_at_most(outerPlan(plan), rtable, rows);
		case T_SubqueryScan:
			return gpusort_gives_at_most(((const SubqueryScan *) plan)->subplan, rtable, rows);
		case T_Group:
		case T_Unique:
		case T_Limit:
		case T_WindowAgg:
		case T_Material:
		case T_Sort:
		case T_IncrementalSort:
			return gpusort_gives_at_most(outerPlan(plan), rtable, rows);
		default:
			return false;
	}
}
