/*
 * output_native.c
 *	  The rows of PostgreSQL's own sort, which has done what the device could not, or need not.
 *
 * In:  a tuplesort that has been performed.
 * Out: its rows.  It gives minimal tuples; where the node returns virtual slots only, they are
 *	    copied into one.
 *
 * Runs in the backend that leads the sort, which also ends the tuplesort.
 */
#include "postgres.h"

#include "shared/stats.h"
#include "sort/output_native.h"

typedef struct NativeOutput
{
	GpuSortOutput output;		/* must be first */
	Tuplesortstate *native;
	bool		can_rewind;
	GpuSortNativeReason reason;
} NativeOutput;

static TupleTableSlot *
native_next(GpuSortOutput *output, bool forward)
{
	NativeOutput *native = (NativeOutput *) output;
	GpuSortSlots *slots = output->slots;

	if (!tuplesort_gettupleslot(native->native, forward, false, slots->native, NULL))
		return ExecClearTuple(slots->result);
	if (slots->native_goes_out)
		return slots->native;
	ExecCopySlot(slots->result, slots->native);
	return slots->result;
}

static bool
native_rewind(GpuSortOutput *output)
{
	NativeOutput *native = (NativeOutput *) output;

	if (native->can_rewind)
		tuplesort_rescan(native->native);
	return native->can_rewind;
}

static void
native_mark(GpuSortOutput *output)
{
	tuplesort_markpos(((NativeOutput *) output)->native);
}

static void
native_restore(GpuSortOutput *output)
{
	tuplesort_restorepos(((NativeOutput *) output)->native);
}

static void
native_explain(const GpuSortOutput *output, ExplainState *es)
{
	const NativeOutput *native = (const NativeOutput *) output;
	TuplesortInstrumentation stats;
	const char *method = "in backend";

	if (native->reason != GPUSORT_NATIVE_NONE)
		method = psprintf("native (%s)", gpusort_native_reason_text(native->reason));
	ExplainPropertyText("Sort Method", method, es);
	tuplesort_get_stats(native->native, &stats);
	ExplainPropertyText("Native Sort Method", tuplesort_method_name(stats.sortMethod), es);
	ExplainPropertyText("Native Sort Space Type", tuplesort_space_type_name(stats.spaceType), es);
	ExplainPropertyInteger("Native Sort Space Used", "kB", stats.spaceUsed, es);
}

static const GpuSortOutputMethods native_methods = {
	.next = native_next,
	.rewind = native_rewind,
	.mark = native_mark,
	.restore = native_restore,
	.explain = native_explain,
};

GpuSortOutput *
gpusort_output_native_begin(GpuSortSlots *slots, Tuplesortstate *native, bool can_rewind,
							GpuSortNativeReason reason)
{
	NativeOutput *source = palloc0(sizeof(NativeOutput));

	source->output.methods = &native_methods;
	source->output.slots = slots;
	source->native = native;
	source->can_rewind = can_rewind;
	source->reason = reason;
	return &source->output;
}
