/*
 * output_array.c
 *	  The rows of an array: of a small input, which has never left the backend.
 *
 * In:  an array that has been sorted.
 * Out: slots that point to its rows.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "sort/output_array.h"

typedef struct ArrayOutput
{
	GpuSortOutput output;		/* must be first */
	GpuSortPosition position;
	const GpuSortRowArray *array;
} ArrayOutput;

static TupleTableSlot *
array_next(GpuSortOutput *output, bool forward)
{
	ArrayOutput *source = (ArrayOutput *) output;
	uint64		row;

	if (!gpusort_position_step(&source->position, forward, &row))
		return ExecClearTuple(output->slots->result);
	return gpusort_row_array_get(source->array, row, output->slots->result);
}

static bool
array_rewind(GpuSortOutput *output)
{
	gpusort_position_rewind(&((ArrayOutput *) output)->position);
	return true;
}

static void
array_mark(GpuSortOutput *output)
{
	gpusort_position_mark(&((ArrayOutput *) output)->position);
}

static void
array_restore(GpuSortOutput *output)
{
	gpusort_position_restore(&((ArrayOutput *) output)->position);
}

static void
array_explain(const GpuSortOutput *output, ExplainState *es)
{
	Size		bytes = gpusort_row_array_bytes(((const ArrayOutput *) output)->array);

	ExplainPropertyText("Sort Method", "in backend", es);
	ExplainPropertyText("Sort Space Type", "Memory", es);
	ExplainPropertyInteger("Sort Space Used", "kB", (bytes + 1023) / 1024, es);
}

static const GpuSortOutputMethods array_methods = {
	.next = array_next,
	.rewind = array_rewind,
	.mark = array_mark,
	.restore = array_restore,
	.explain = array_explain,
};

GpuSortOutput *
gpusort_output_array_begin(GpuSortSlots *slots, const GpuSortRowArray *array)
{
	ArrayOutput *source = palloc0(sizeof(ArrayOutput));

	source->output.methods = &array_methods;
	source->output.slots = slots;
	source->position.rows = gpusort_row_array_rows(array);
	source->array = array;
	return &source->output;
}
