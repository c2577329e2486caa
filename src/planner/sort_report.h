/*
 * sort_report.h
 *	  Where each sort of a finished plan runs, and why.
 */
#ifndef GPUSORT_SORT_REPORT_H
#define GPUSORT_SORT_REPORT_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Of one sort.  Texts are in the memory context of the report. */
typedef struct GpuSortReported
{
	const char *node;			/* the plan node, as EXPLAIN names it */
	char	   *keys;			/* what it sorts by, with types, by commas */
	double		rows;			/* expected */
	double		bytes;			/* of these */
	const char *runs_on;		/* device, backend or native */
	const char *code;			/* a short name of the reason; NULL for device */
	char	   *reason;			/* in words, with figures */
	const char *remedy;			/* what would change it; NULL: nothing */
} GpuSortReported;

/* A list of GpuSortReported, in the order in which the sorts run: leaves first, but subplans before
 * all.  What is true now is said of a plan that was kept too. */
extern List *gpusort_report_sorts(PlannedStmt *statement, List *deparse_context, bool use_prefix);

/* The same for who has no context of ruleutils' for the statement. */
extern List *gpusort_report_sorts_anew(PlannedStmt *statement);

#endif							/* GPUSORT_SORT_REPORT_H */
