/*
 * explain.c
 *	  What EXPLAIN shows of a GpuSort.
 *
 * In:  the node's plan and, under ANALYZE, its last sort, which tells its own figures.
 * Out: properties, in every EXPLAIN format.
 */
#include "postgres.h"

#include "compat.h"
#include "executor/gpusort_node.h"
#include "keys/key_text.h"

/* What is sorted by; of a grouping, which has no order, what is equal in its groups. */
static void
show_sort_key(GpuSortState *state, List *ancestors, ExplainState *es)
{
	List	   *keys = gpusort_key_texts(&state->info.order, state->css.ss.ps.plan, ancestors, es,
									   !state->info.grouping);

	ExplainPropertyList(state->info.grouping ? "Group Key" : "Sort Key", keys, es);
}

/*
 * Whose sort the lines below tell of, where each of several processes has sorted a part.  The figures of workers end
 * with them: only a parallel-aware custom scan is given room to hand its own over.  Their rows, times and buffers
 * are PostgreSQL's to show.
 */
static void
show_whose(const GpuSortState *state, ExplainState *es)
{
	if (state->css.ss.ps.worker_instrument != NULL)
		ExplainPropertyText("Shown Of", state->output != NULL ? "leader, without workers" : "none, as workers alone have sorted", es);
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
