/*
 * output.c
 *	  The rows of a finished sort that are not in files.
 *
 * In:  a sorted array; a job that has been finished, whose blocks come through
 *	    the ordered reader; or a tuplesort that has been performed.
 * Out: slots that point to rows of the array, or into the block being read,
 *	    valid until the next call; or a tuplesort's.  A tuplesort returns
 *	    minimal tuples.  A virtual slot has their columns if rows are narrow, or
 *	    if some columns do not go out.
 *
 * Runs in the backend that leads the sort, which also ends the array or the
 * tuplesort.
 */
#include "postgres.h"

#include "explain_figures.h"
#include "job/stats.h"
#include "sort/ordered_reader.h"
#include "sort/output.h"

/* --- what the device did -------------------------------------------------- */

void
gpusort_device_figures_add_run(GpuSortDeviceFigures *figures, GpuSortJob *job)
{
	gsort_job_stats *sum = &figures->sum;
	gsort_job_stats run;

	gpusort_job_stats(job, &run);
	sum->rows += run.rows;
	sum->bytes_in += run.bytes_in;
	sum->peak_bytes = Max(sum->peak_bytes, run.peak_bytes);
	sum->key_bits = Max(sum->key_bits, run.key_bits);
	if (run.rows > 0)
		sum->engine = run.engine;
}

const char *
gpusort_device_figures_method(const GpuSortDeviceFigures *figures)
{
	return figures->kind == GSORT_KIND_HOST ? "host" : "gpu";
}

/* Shows the algorithm by its name in gpusort.algorithm; none if all keys were
 * equal. */
static void
explain_algorithm(gsort_engine engine, ExplainState *es)
{
	const char *name = engine == GSORT_ENGINE_PARTITION ? "partition" :
		engine == GSORT_ENGINE_MERGE ? "merge" :
		engine == GSORT_ENGINE_CUB_RADIX ? "cub_radix" : "radix";

	if (engine != GSORT_ENGINE_AUTO)
		ExplainPropertyText("Sort Algorithm", name, es);
}

void
gpusort_device_figures_explain(const GpuSortDeviceFigures *figures, ExplainState *es)
{
	if (figures->device != NULL && figures->device[0] != '\0')
		ExplainPropertyText("Device", figures->device, es);
	ExplainPropertyUInteger("Device Rows", NULL, figures->sum.rows, es);
	gpusort_explain_bytes("Sent", figures->sum.bytes_in, es);
	gpusort_explain_bytes("Received", figures->bytes_received, es);
	gpusort_explain_bytes("Peak Device Memory", figures->sum.peak_bytes, es);
	ExplainPropertyUInteger("Key Bits", NULL, figures->sum.key_bits, es);
	explain_algorithm(figures->sum.engine, es);
}

/* --- rows that are numbered: an array's, a job's -------------------------- */

typedef struct NumberedOutput
{
	GpuSortOutput output;		/* must be first */
	uint64		rows;
	uint64		current;		/* rows before the current place */
	bool		eof_reached;
	uint64		marked;			/* current when the place was marked */
	bool		marked_eof;
} NumberedOutput;

/* Sets the number of the next row in this direction.  False: there is none. */
static inline bool
step(NumberedOutput *numbered, bool forward, uint64 *row)
{
	if (forward)
	{
		if (numbered->current >= numbered->rows)
		{
			numbered->eof_reached = true;
			return false;
		}
		*row = numbered->current++;
		return true;
	}
	if (numbered->current == 0)
		return false;
	if (numbered->eof_reached)
		numbered->eof_reached = false;
	else if (--numbered->current == 0)
		return false;
	*row = numbered->current - 1;
	return true;
}

static bool
numbered_rewind(GpuSortOutput *output)
{
	NumberedOutput *numbered = (NumberedOutput *) output;

	numbered->current = 0;
	numbered->eof_reached = false;
	return true;
}

static void
numbered_mark(GpuSortOutput *output)
{
	NumberedOutput *numbered = (NumberedOutput *) output;

	numbered->marked = numbered->current;
	numbered->marked_eof = numbered->eof_reached;
}

static void
numbered_restore(GpuSortOutput *output)
{
	NumberedOutput *numbered = (NumberedOutput *) output;

	numbered->current = numbered->marked;
	numbered->eof_reached = numbered->marked_eof;
}

/* --- of an array ---------------------------------------------------------- */

typedef struct ArrayOutput
{
	NumberedOutput numbered;	/* must be first */
	const GpuSortRowArray *array;
} ArrayOutput;

static TupleTableSlot *
array_next(GpuSortOutput *output, bool forward)
{
	ArrayOutput *source = (ArrayOutput *) output;
	uint64		row;

	if (!step(&source->numbered, forward, &row))
		return ExecClearTuple(output->slots->result);
	return gpusort_row_array_get(source->array, row, output->slots->result);
}

static void
array_explain(const GpuSortOutput *output, ExplainState *es)
{
	ExplainPropertyText("Sort Method", "in backend", es);
	ExplainPropertyText("Sort Space Type", "Memory", es);
	ExplainPropertyUInteger("Sort Space Used", "kB",
							(gpusort_row_array_bytes(((const ArrayOutput *) output)->array) +
							 1023) / 1024, es);
}

static const GpuSortOutputMethods array_methods = {
	.next = array_next,
	.rewind = numbered_rewind,
	.mark = numbered_mark,
	.restore = numbered_restore,
	.explain = array_explain,
};

GpuSortOutput *
gpusort_output_array_begin(GpuSortSlots *slots, const GpuSortRowArray *array)
{
	ArrayOutput *source = palloc0(sizeof(ArrayOutput));

	source->numbered.output.methods = &array_methods;
	source->numbered.output.slots = slots;
	source->numbered.rows = gpusort_row_array_rows(array);
	source->array = array;
	return &source->numbered.output;
}

/* --- of a job ------------------------------------------------------------- */

typedef struct DeviceOutput
{
	NumberedOutput numbered;	/* must be first */
	GpuSortOrderedReader *ordered;	/* NULL: all rows have been read and given back */
	GpuSortOrdering *ordering;
	GpuSortJob *job;
	bool		random_access;
	GpuSortDeviceFigures *figures;
} DeviceOutput;

/* Finds a row that is not the next one of its block.  Waits for another block
 * if necessary. */
static const char *
seek_row(DeviceOutput *device, uint64 row)
{
	const char *bytes = gpusort_ordered_reader_seek(device->ordered, row);

	device->figures->output_ms = device->ordered->reader->wait_ms;
	device->figures->bytes_received = device->ordered->reader->bytes_read;
	gpusort_job_report(device->job, GPUSORT_ROWS_RETURNED, row);
	return bytes;
}

/* The end was reached, and nobody can ask again: gives all back early. */
static void
give_back(DeviceOutput *device)
{
	if (device->random_access || device->ordered == NULL)
		return;
	gpusort_ordered_reader_end(device->ordered);
	gpusort_job_close(device->job);
	device->ordered = NULL;
}

/* Reading forward to the end gives the job back, unless rows may be read
 * again. */
static TupleTableSlot *
device_next(GpuSortOutput *output, bool forward)
{
	DeviceOutput *device = (DeviceOutput *) output;
	TupleTableSlot *slot = output->slots->result;
	const char *bytes;
	uint64		row;

	if (unlikely(!step(&device->numbered, forward, &row)))
	{
		ExecClearTuple(slot);
		gpusort_job_report(device->job, GPUSORT_ROWS_RETURNED, device->numbered.current);
		if (forward)
			give_back(device);
		return slot;
	}
	if (unlikely(!gpusort_ordered_reader_next(device->ordered, row, &bytes)))
		bytes = seek_row(device, row);
	return gpusort_row_store(device->ordering->spec->format, bytes, slot);
}

static bool
device_rewind(GpuSortOutput *output)
{
	return numbered_rewind(output) && ((DeviceOutput *) output)->ordered != NULL;
}

static void
device_explain(const GpuSortOutput *output, ExplainState *es)
{
	const DeviceOutput *device = (const DeviceOutput *) output;

	ExplainPropertyText("Sort Method", gpusort_device_figures_method(device->figures), es);
	gpusort_device_figures_explain(device->figures, es);
}

static void
device_end(GpuSortOutput *output)
{
	DeviceOutput *device = (DeviceOutput *) output;

	if (device->ordered != NULL)
		gpusort_ordered_reader_end(device->ordered);
}

static const GpuSortOutputMethods device_methods = {
	.next = device_next,
	.rewind = device_rewind,
	.mark = numbered_mark,
	.restore = numbered_restore,
	.explain = device_explain,
	.end = device_end,
};

/* The order is checked before the first row goes out. */
GpuSortOutput *
gpusort_output_device_begin(GpuSortSlots *slots, GpuSortOrdering *ordering, GpuSortJob *job,
							bool random_access, GpuSortDeviceFigures *figures)
{
	DeviceOutput *device = palloc0(sizeof(DeviceOutput));
	GpuSortOrderedReader *ordered = gpusort_ordered_reader_begin(job, ordering);

	gpusort_ordered_reader_check(ordered);
	device->numbered.output.methods = &device_methods;
	device->numbered.output.slots = slots;
	device->numbered.rows = gpusort_job_rows(job);
	device->ordered = ordered;
	device->ordering = ordering;
	device->job = job;
	device->random_access = random_access;
	device->figures = figures;
	return &device->numbered.output;
}

/* --- of a tuplesort ------------------------------------------------------- */

typedef struct NativeOutput
{
	GpuSortOutput output;		/* must be first */
	Tuplesortstate *native;
	bool		can_rewind;
	GpuSortNativeReason reason;
} NativeOutput;

/* Lets a virtual slot have a tuple's visible columns.  The tuple may have more,
 * and must not go out itself. */
static TupleTableSlot *
project(TupleTableSlot *native, TupleTableSlot *projected)
{
	int			natts = projected->tts_tupleDescriptor->natts;

	ExecClearTuple(projected);
	slot_getallattrs(native);
	memcpy(projected->tts_values, native->tts_values, natts * sizeof(Datum));
	memcpy(projected->tts_isnull, native->tts_isnull, natts * sizeof(bool));
	return ExecStoreVirtualTuple(projected);
}

static TupleTableSlot *
native_next(GpuSortOutput *output, bool forward)
{
	NativeOutput *native = (NativeOutput *) output;
	GpuSortSlots *slots = output->slots;

	if (!tuplesort_gettupleslot(native->native, forward, false, slots->native, NULL))
		return ExecClearTuple(slots->result);
	return slots->projected != NULL ? project(slots->native, slots->projected) : slots->native;
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

/* Rows that the device was never to have are sorted in the backend, without a
 * reason. */
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
