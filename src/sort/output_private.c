/*
 * output_private.c
 *	  The rows of a small input, which has never left the backend.
 *
 * In:  a feed's private chunks.
 * Out: slots that point into them, in key order (local_sort.c).
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "sort/local_sort.h"
#include "sort/output_private.h"

typedef struct PrivateOutput
{
	GpuSortOutput output;		/* must be first */
	GpuSortPosition position;
	const GpuSortRowFormat *format;
	const char **rows;
} PrivateOutput;

static TupleTableSlot *
private_next(GpuSortOutput *output, bool forward)
{
	PrivateOutput *private = (PrivateOutput *) output;
	uint64		row;

	if (!gpusort_position_step(&private->position, forward, &row))
		return ExecClearTuple(output->slots->result);
	return gpusort_row_store(private->format, private->rows[row], output->slots->result);
}

static bool
private_rewind(GpuSortOutput *output)
{
	gpusort_position_rewind(&((PrivateOutput *) output)->position);
	return true;
}

static void
private_mark(GpuSortOutput *output)
{
	gpusort_position_mark(&((PrivateOutput *) output)->position);
}

static void
private_restore(GpuSortOutput *output)
{
	gpusort_position_restore(&((PrivateOutput *) output)->position);
}

static void
private_explain(const GpuSortOutput *output, ExplainState *es)
{
	ExplainPropertyText("Sort Method", "in backend", es);
}

static const GpuSortOutputMethods private_methods = {
	.next = private_next,
	.rewind = private_rewind,
	.mark = private_mark,
	.restore = private_restore,
	.explain = private_explain,
};

GpuSortOutput *
gpusort_output_private_begin(GpuSortSlots *slots, const GpuSortFeed *feed,
							GpuSortOrdering *ordering)
{
	PrivateOutput *private = palloc0(sizeof(PrivateOutput));

	private->output.methods = &private_methods;
	private->output.slots = slots;
	private->position.rows = feed->rows;
	private->format = feed->format;
	private->rows = gpusort_local_sort(feed, ordering);
	return &private->output;
}
