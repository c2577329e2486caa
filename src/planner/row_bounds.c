/*
 * row_bounds.c
 *	  How many rows a plan gives at most: not an estimate.
 *
 * In:  a finished plan and the tables it scans, which the planner has locked.
 * Out: yes, if no more than so many rows can come.
 *
 * A table of few pages holds few rows, whatever statistics say.  A plan may be kept while its tables
 * grow; so only tables count that have been analyzed: those are again when they have grown, and
 * the plan is made anew then.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "planner/row_bounds.h"

/* Rows of a heap that has been analyzed; of another table a page may hold any number. */
static double
most_rows_of_table(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);
	double		rows = HUGE_VAL;

	if (relation->rd_rel->relam == HEAP_TABLE_AM_OID && relation->rd_rel->reltuples >= 0)
		rows = (double) RelationGetNumberOfBlocks(relation) * MaxHeapTuplesPerPage;
	table_close(relation, NoLock);
	return rows;
}

static double
most_rows(const Plan *plan, List *rtable)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
			return most_rows_of_table(rt_fetch(((const SeqScan *) plan)->scan.scanrelid, rtable)->relid);
		case T_ValuesScan:
			return list_length(((const ValuesScan *) plan)->values_lists);
		default:
			return HUGE_VAL;
	}
}

bool
gpusort_gives_at_most(const Plan *plan, List *rtable, double rows)
{
	return most_rows(plan, rtable) <= rows;
}
