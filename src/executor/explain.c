/*
 * explain.c
 *	  EXPLAIN's output for a GpuSort.
 *
 * In:  the node's plan and, under ANALYZE, its last sort, which reports its own
 *	    figures.
 * Out: properties, in every EXPLAIN format.
 */
#include "postgres.h"

#include "compat.h"
#include "executor/gpusort_node.h"
#include "keys/key_text.h"

/* Shows the sort keys; for a grouping, which has no order, the keys that are
 * equal in its groups. */
static void
show_sort_key(GpuSortState *state, List *ancestors, ExplainState *es)
{
	List	   *keys = gpusort_key_texts(&state->info.order, state->css.ss.ps.plan, ancestors, es,
									   !state->info.grouping);

	ExplainPropertyList(state->info.grouping ? "Group Key" : "Sort Key", keys, es);
}

/*
 * Tells whose sort the lines below describe, if several processes have each
 * sorted a part.  The figures of workers end with them, because only a
 * parallel-aware custom scan gets room to hand over its own.  PostgreSQL itself
 * shows the workers' rows, times and buffers.
 */
static void
show_whose(const GpuSortState *state, ExplainState *es)
{
	if (state->css.ss.ps.worker_instrument != NULL)
		ExplainPropertyText("Shown Of", state->output != NULL ? "leader alone" :
							"none, only workers sorted", es);
}

void
gpusort_node_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpuSortState *state = (GpuSortState *) node;

	show_sort_key(state, ancestors, es);
	show_whose(state, es);
	if (es->analyze && state->output != NULL)
		gpusort_tuplesort_explain(state->sort, es);
}
