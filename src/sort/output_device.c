/*
 * output_device.c
 *	  The rows of a sort that the device holds.
 *
 * In:  a job that has been cut: windows, by way of the ordered reader.
 * Out: slots that point into the window being read, valid until the next call.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "sort/ordered_reader.h"
#include "sort/output_device.h"

typedef struct DeviceOutput
{
	GpuSortOutput output;		/* must be first */
	GpuSortPosition position;
	GpuSortOrderedReader *ordered;	/* NULL: all has been read and given back */
	GpuSortOrdering *ordering;
	GpuSortJob *job;
	bool		keep_rows;
	GpuSortDeviceFigures *figures;
	GpuSortProgress *progress;
} DeviceOutput;

/* A row that is not the next one of its window: waits for another window, if need be. */
static const char *
seek_row(DeviceOutput *device, uint64 row)
{
	const char *bytes = gpusort_ordered_reader_seek(device->ordered, row);

	device->figures->output_ms = device->ordered->reader->wait_ms;
	device->figures->bytes_received = device->ordered->reader->bytes_read;
	gpusort_progress_set_returned(device->progress, row);
	return bytes;
}

/* The end was reached, and nobody can ask again: gives all back early. */
static void
give_back(DeviceOutput *device)
{
	if (device->keep_rows || device->ordered == NULL)
		return;
	gpusort_ordered_reader_end(device->ordered);
	gpusort_job_close(device->job);
	gpusort_progress_end(device->progress);
	device->ordered = NULL;
}

static TupleTableSlot *
device_next(GpuSortOutput *output, bool forward)
{
	DeviceOutput *device = (DeviceOutput *) output;
	TupleTableSlot *slot = output->slots->result;
	const char *bytes;
	uint64		row;

	if (unlikely(!gpusort_position_step(&device->position, forward, &row)))
	{
		ExecClearTuple(slot);
		gpusort_progress_set_returned(device->progress, device->position.current);
		if (forward)
			give_back(device);
		return slot;
	}
	if (unlikely(!gpusort_ordered_reader_next(device->ordered, row, &bytes)))
		bytes = seek_row(device, row);
	return gpusort_row_store(device->ordering->format, bytes, slot);
}

static bool
device_rewind(GpuSortOutput *output)
{
	DeviceOutput *device = (DeviceOutput *) output;

	gpusort_position_rewind(&device->position);
	return device->ordered != NULL;
}

static void
device_mark(GpuSortOutput *output)
{
	gpusort_position_mark(&((DeviceOutput *) output)->position);
}

static void
device_restore(GpuSortOutput *output)
{
	gpusort_position_restore(&((DeviceOutput *) output)->position);
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
	.mark = device_mark,
	.restore = device_restore,
	.explain = device_explain,
	.end = device_end,
};

GpuSortOutput *
gpusort_output_device_begin(GpuSortSlots *slots, GpuSortOrdering *ordering, GpuSortJob *job,
							bool keep_rows, GpuSortDeviceFigures *figures,
							GpuSortProgress *progress)
{
	DeviceOutput *device = palloc0(sizeof(DeviceOutput));
	GpuSortOrderedReader *ordered = gpusort_ordered_reader_begin(job, ordering);

	gpusort_ordered_reader_check(ordered);
	device->output.methods = &device_methods;
	device->output.slots = slots;
	device->position.rows = gpusort_job_rows(job);
	device->ordered = ordered;
	device->ordering = ordering;
	device->job = job;
	device->keep_rows = keep_rows;
	device->figures = figures;
	device->progress = progress;
	return &device->output;
}
