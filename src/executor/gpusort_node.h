/*
 * gpusort_node.h
 *	  The GpuSort node.
 */
#ifndef GPUSORT_NODE_H
#define GPUSORT_NODE_H

#include "postgres.h"

#include "compat.h"
#include "executor/feed_node.h"
#include "executor/page_drain.h"
#include "plan/plan_info.h"
#include "sort/tuplesort.h"

typedef struct GpuSortState
{
	CustomScanState css;		/* must be first */
	GpuSortPlanInfo info;
	GpuSortRowFormat format;
	GpuSortSpec spec;
	GpuSortFeedState *feed_node;	/* below the Gather of a parallel plan, else NULL */

	GpuSortTuplesort *sort;		/* NULL: not begun, or dropped */
	GpuSortOutput *output;		/* the sort's rows; NULL: not sorted yet, or dropped */
} GpuSortState;

/* EXPLAIN's callback (explain.c). */
extern void gpusort_node_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* GPUSORT_NODE_H */
