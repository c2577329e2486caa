/*
 * tuplesort.c
 *	  A sort of rows that the device may do.
 *
 * In:  rows, packed by put or by the feed nodes of a parallel plan.
 * Out: a source of the sorted rows: the device by way of shared windows
 *	    (output_device.c); temporary files of sorted runs, for an input beyond the device's
 *	    budget (output_spilled.c); private memory, for one under the crossover
 *	    (output_private.c); or a native tuplesort, when the device cannot serve
 *	    (output_native.c).
 *
 * Where rows go: first into private memory.  When there are enough of them a job is
 * opened, and they go to it.  When the job is full, what it has becomes a run, which is
 * spilled.  When the job takes no more rows, all rows that are not in a run are recalled
 * (recall.c) and go, with those to come, into a native tuplesort.
 *
 * Runs in the backend that leads the sort.  All memory is in the sort's context: its
 * reset, by gpusort_tuplesort_end or by the end of the query in any way, closes the job.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "settings.h"
#include "shared/stats.h"
#include "sort/output_device.h"
#include "sort/output_native.h"
#include "sort/output_private.h"
#include "sort/output_spilled.h"
#include "sort/recall.h"
#include "sort/tuplesort.h"

/* Rows stay in the backend up to this, or work_mem if that is less. */
#define PRIVATE_ROWS_BYTES_MAX	((Size) 8 * 1024 * 1024)

/* An estimate beyond this is no better than this. */
#define EXPECTED_ROWS_MAX		1e12

struct GpuSortTuplesort
{
	const GpuSortSpec *spec;
	GpuSortSlots *slots;
	GpuSortOrdering ordering;
	MemoryContext context;
	GpuSortFeed *feed;			/* this process's own; NULL: it packs no rows */
	GpuSortJob *job;			/* NULL: not opened, or closed */
	GpuSortSpill *spill;		/* NULL: no run has been spilled */
	Tuplesortstate *native;		/* NULL: no row goes to a native sort */
	GpuSortNativeReason native_reason;
	uint64		rows_fed;		/* by all feeders, when they have ended */
	uint64		own_rows;		/* of these, by this process's own feed */
	GpuSortOutput *output;		/* when performed */

	/* for EXPLAIN and the counters */
	GpuSortDeviceFigures figures;
	instr_time	begun;
	double		feed_ms;
	double		sort_ms;
};

static double
milliseconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

static bool
is_parallel(const GpuSortTuplesort *sort)
{
	return sort->spec->workers >= 0;
}

/* --- going native -------------------------------------------------------------- */

static void
begin_native(GpuSortTuplesort *sort, GpuSortNativeReason reason)
{
	const GpuSortSpec *spec = sort->spec;
	const GpuSortOrder *order = spec->order;
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	sort->native_reason = reason;
	sort->native = tuplesort_begin_heap(spec->desc, order->n_keys, order->columns, order->operators,
										order->collations, order->nulls_first, work_mem, NULL,
										spec->random_access ? TUPLESORT_RANDOMACCESS : TUPLESORT_NONE);
	MemoryContextSwitchTo(old_context);
}

/* Recalls every row that is not in a run.  False: the device is lost. */
static bool
recall_rows(GpuSortTuplesort *sort)
{
	GpuSortRecall *recall = gpusort_recall_begin(sort->spec->format, sort->native,
												 sort->slots->result);
	uint64		spilled = sort->spill != NULL ? sort->spill->rows : 0;
	uint64		fed = 0;
	uint64		recalled;

	if (sort->job != NULL)
	{
		if (!gpusort_recall_job(recall, sort->job))
			return false;
		fed = gpusort_job_rows_fed(sort->job);
		gpusort_job_close(sort->job);
		sort->job = NULL;
	}
	if (sort->feed != NULL)
	{
		gpusort_recall_private(recall, sort->feed);
		/* of a parallel plan, the feeders' sum is known */
		if (!is_parallel(sort))
			fed = sort->feed->rows;
		sort->feed = NULL;
	}
	recalled = gpusort_recall_end(recall);
	if (recalled + spilled != fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows, spilled " UINT64_FORMAT " and recalled " UINT64_FORMAT,
			 fed, spilled, recalled);
	return true;
}

/*
 * The device cannot take the sort: hands every row fed so far to a native sort, which may
 * have begun.
 */
static bool
switch_to_native(GpuSortTuplesort *sort, GpuSortNativeReason reason)
{
	MemoryContext old_context;
	bool		recalled;

	if (sort->job != NULL && gpusort_job_failed(sort->job))
		return false;
	if (sort->native == NULL)
		begin_native(sort, reason);
	old_context = MemoryContextSwitchTo(sort->context);
	recalled = recall_rows(sort);
	MemoryContextSwitchTo(old_context);
	return recalled;
}

/*
 * The job takes no more rows: those to come are sorted natively.  In a parallel plan the
 * others may still feed; then rows are recalled when all have ended.
 */
static bool
stop_feeding(GpuSortTuplesort *sort)
{
	GpuSortNativeReason reason = gpusort_job_refused_reason(sort->job);

	if (!is_parallel(sort))
		return switch_to_native(sort, reason);
	if (gpusort_job_failed(sort->job))
		return false;
	begin_native(sort, reason);
	return true;
}

/* --- to the device ------------------------------------------------------------- */

/* A job for so many feeders; the reason is set if the device takes none now. */
static void
open_job(GpuSortTuplesort *sort, int feeders, GpuSortNativeReason *reason)
{
	const GpuSortSpec *spec = sort->spec;
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	GpuSortJobOptions options = {
		.feeders = feeders,
		.engine = gpusort_algorithm,
		.wait_ms = spec->native_ms,
		.expected_rows = (uint64) Min(spec->rows, EXPECTED_ROWS_MAX),
	};

	options.expected_bytes = options.expected_rows * spec->packed_bytes;
	gpusort_ordering_describe(&sort->ordering, &options);
	sort->job = gpusort_job_open(&options, reason);
	if (sort->job != NULL)
		sort->figures.kind = sort->job->device_kind;
	MemoryContextSwitchTo(old_context);
}

/* Spills the run that the job has been cut to.  False: the device is lost. */
static bool
spill_run(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	bool		complete;

	if (sort->spill == NULL)
		sort->spill = gpusort_spill_begin(&sort->ordering);
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	complete = gpusort_spill_add_run(sort->spill, sort->job);
	if (complete)
		gpusort_job_next_run(sort->job);
	sort->figures.bytes_received = sort->spill->bytes;
	MemoryContextSwitchTo(old_context);
	return complete;
}

/* The job is full: what it has becomes a run, and the next one begins. */
static bool
spill_full_job(GpuSortTuplesort *sort)
{
	if (gpusort_job_cut_full_run(sort->job))
		return spill_run(sort);
	return stop_feeding(sort);
}

/* From here on the rows go to the device; if it takes none now, to a native sort. */
static bool
go_to_device(GpuSortTuplesort *sort)
{
	GpuSortNativeReason reason = GPUSORT_NATIVE_NONE;

	if (sort->spec->may_use_device)
		open_job(sort, 1, &reason);
	if (sort->job == NULL)
		return switch_to_native(sort, reason);
	for (;;)
	{
		switch (gpusort_feed_attach_job(sort->feed, sort->job))
		{
			case GPUSORT_FEED_FULL:
				if (!spill_full_job(sort))
					return false;
				if (sort->native != NULL)
					return true;
				break;
			case GPUSORT_FEED_REFUSED:
				return stop_feeding(sort);
			default:
				return true;
		}
	}
}

/* --- begin and put ------------------------------------------------------------- */

static void
begin_feed(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;
	Size		limit = Min((Size) work_mem * 1024, PRIVATE_ROWS_BYTES_MAX);
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	sort->feed = gpusort_feed_begin(spec->format, spec->keys, spec->row_width,
									Max(limit, GPUSORT_BUFFER_BYTES));
	MemoryContextSwitchTo(old_context);
}

GpuSortTuplesort *
gpusort_tuplesort_begin(const GpuSortSpec *spec, GpuSortSlots *slots, MemoryContext parent,
						GpuSortNativeReason reason)
{
	MemoryContext context = AllocSetContextCreate(parent, "GpuSort", ALLOCSET_DEFAULT_SIZES);
	GpuSortTuplesort *sort = MemoryContextAllocZero(context, sizeof(GpuSortTuplesort));

	sort->spec = spec;
	sort->slots = slots;
	sort->context = context;
	sort->native_reason = GPUSORT_NATIVE_NONE;
	INSTR_TIME_SET_CURRENT(sort->begun);
	gpusort_ordering_make(&sort->ordering, spec->order, spec->keys, spec->format, spec->desc, slots,
						  context);
	if (is_parallel(sort) && reason == GPUSORT_NATIVE_NONE)
		open_job(sort, GPUSORT_PARALLEL_FEEDERS(spec->workers), &reason);
	if (reason != GPUSORT_NATIVE_NONE)
		begin_native(sort, reason);
	else if (!is_parallel(sort))
		begin_feed(sort);
	return sort;
}

GpuSortJobId
gpusort_tuplesort_feeders_job(const GpuSortTuplesort *sort)
{
	GpuSortJobId none = {.slot = -1};

	return sort->job != NULL ? sort->job->id : none;
}

GpuSortFeed *
gpusort_tuplesort_feed(GpuSortTuplesort *sort)
{
	return sort->native == NULL ? sort->feed : NULL;
}

/* Packs a row; puts it into the native sort, if rows come to go there. */
static bool
feed_row(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	while (sort->native == NULL)
	{
		bool		goes_on = true;

		switch (gpusort_feed_row(sort->feed, slot))
		{
			case GPUSORT_FEED_TAKEN:
				return true;
			case GPUSORT_FEED_WANTS_JOB:
				goes_on = go_to_device(sort);
				break;
			case GPUSORT_FEED_FULL:
				goes_on = spill_full_job(sort);
				break;
			case GPUSORT_FEED_REFUSED:
				goes_on = stop_feeding(sort);
				break;
		}
		if (!goes_on)
			return false;
	}
	tuplesort_puttupleslot(sort->native, slot);
	return true;
}

/* Goes to the device when enough rows are private, before their memory is full.  False: the
 * device is lost. */
static bool
leave_private_memory(GpuSortTuplesort *sort)
{
	if (sort->native != NULL || sort->job != NULL || !sort->spec->may_use_device ||
		sort->feed->rows < (uint64) gpusort_min_rows)
		return true;
	return go_to_device(sort);
}

bool
gpusort_tuplesort_put(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	return leave_private_memory(sort) && feed_row(sort, slot);
}

bool
gpusort_tuplesort_put_returned(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	if (sort->native == NULL)
	{
		if (gpusort_job_refused_reason(sort->job) != GPUSORT_NATIVE_NONE)
		{
			if (!stop_feeding(sort))
				return false;
		}
		/* before the row, since the others wait for it */
		else if (gpusort_job_is_full(sort->job) && !spill_full_job(sort))
			return false;
	}
	if (sort->native == NULL && sort->feed == NULL)
	{
		begin_feed(sort);
		gpusort_feed_join_job(sort->feed, sort->job,
							  GPUSORT_PARALLEL_FEEDERS(sort->spec->workers) - 1);
	}
	return feed_row(sort, slot);
}

/* --- perform ------------------------------------------------------------------- */

/*
 * All that the feeders of a parallel plan had may be what they kept; then it is small, and
 * becomes private.  Else what they kept follows what they sent.
 */
static void
gather_kept_chunks(GpuSortTuplesort *sort)
{
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];
	int			n = gpusort_job_list_buffers(sort->job, GPUSORT_BUFFER_KEPT, buffers);

	if (gpusort_job_chunks_sent(sort->job) > 0 || sort->rows_fed >= (uint64) gpusort_min_rows)
	{
		for (int i = 0; i < n; i++)
			gpusort_job_send(sort->job, buffers[i]);
		return;
	}
	begin_feed(sort);
	for (int i = 0; i < n; i++)
		gpusort_feed_copy_chunk(sort->feed,
								(const GpuSortChunkHeader *) gpusort_buffer_memory(buffers[i]));
	gpusort_job_close(sort->job);
	sort->job = NULL;
}

/* Cuts the run that all rows are in, or the last of several; or all rows that are in none
 * are in a native sort then.  False: the device is lost. */
static bool
cut_last_run(GpuSortTuplesort *sort)
{
	while (sort->native == NULL)
	{
		switch (gpusort_job_cut(sort->job,
								sort->spill != NULL ? GSORT_SORTED_RUN : GSORT_SORTED))
		{
			case GPUSORT_CUT_DONE:
				return true;
			case GPUSORT_CUT_FULL:
				if (!spill_full_job(sort))
					return false;
				break;
			case GPUSORT_CUT_REFUSED:
				return switch_to_native(sort, gpusort_job_refused_reason(sort->job));
		}
	}
	/* of a parallel plan, what is on the device is still to be recalled */
	return sort->job == NULL || switch_to_native(sort, sort->native_reason);
}

/* Of the runs, and of the rows that were sorted natively. */
static void
begin_spilled_output(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;
	GpuSortRunMerge *merge =
		gpusort_run_merge_begin(sort->spill, sort->slots->merge_run, sort->native, sort->slots->merge_native);

	/* all rows are in runs: the device tells the order in which to read them, if it can */
	if (sort->job != NULL && sort->ordering.ties == NULL && gpusort_job_merge(sort->job))
		gpusort_run_merge_follow_order(merge, sort->job);
	else if (sort->job != NULL)
	{
		gpusort_job_close(sort->job);
		sort->job = NULL;
	}
	sort->output = gpusort_output_spilled_begin(sort->slots, sort->spill, merge, sort->job,
												sort->native, sort->native_reason,
												spec->random_access, &sort->figures);
}

static void
begin_device_output(GpuSortTuplesort *sort)
{
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	sort->output = gpusort_output_device_begin(sort->slots, &sort->ordering, sort->job,
											   sort->spec->random_access, &sort->figures);
}

/* The rows that the device has given account for all that it was fed. */
static void
check_rows(const GpuSortTuplesort *sort)
{
	uint64		got = sort->spill != NULL ? sort->spill->rows : gpusort_job_rows(sort->job);

	if (got != sort->rows_fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows and got " UINT64_FORMAT,
			 sort->rows_fed, got);
}

/* All rows are in the job or in runs.  False: the device is lost. */
static bool
perform_on_device(GpuSortTuplesort *sort)
{
	if (!cut_last_run(sort))
		return false;
	if (sort->native != NULL)
		return true;
	if (sort->feed != NULL)
		gpusort_feed_free_private(sort->feed);
	if (sort->spill != NULL && !spill_run(sort))
		return false;
	check_rows(sort);
	if (sort->spill != NULL)
		begin_spilled_output(sort);
	else
		begin_device_output(sort);
	return true;
}

/* Rows that are not on the device, or no longer, and perhaps runs. */
static void
perform_native(GpuSortTuplesort *sort)
{
	if (sort->spill != NULL && gpusort_recall_runs(sort->spill, sort->native, sort->slots->result))
		sort->spill = NULL;
	tuplesort_performsort(sort->native);
	if (sort->spill != NULL)
		begin_spilled_output(sort);
	else
		sort->output = gpusort_output_native_begin(sort->slots, sort->native,
												   sort->spec->random_access, sort->native_reason);
}

/* Ends the feeding and sorts the rows where they are.  False: the device is lost. */
static bool
perform(GpuSortTuplesort *sort)
{
	if (!is_parallel(sort) && !leave_private_memory(sort))
		return false;
	if (sort->feed != NULL)
	{
		gpusort_feed_finish(sort->feed, false);
		sort->own_rows = sort->feed->rows;
	}
	if (sort->job != NULL)
	{
		if (gpusort_job_failed(sort->job))
			return false;
		sort->rows_fed = gpusort_job_rows_fed(sort->job);
	}
	if (sort->job != NULL && sort->native != NULL &&
		!switch_to_native(sort, sort->native_reason))
		return false;
	if (sort->job != NULL && is_parallel(sort))
		gather_kept_chunks(sort);
	if (sort->job != NULL && !perform_on_device(sort))
		return false;
	if (sort->native != NULL)
		perform_native(sort);
	else if (sort->output == NULL)
	{
		sort->output = gpusort_output_private_begin(sort->slots, sort->feed, &sort->ordering);
		gpusort_stats_count_in_backend();
	}
	return true;
}

GpuSortOutput *
gpusort_tuplesort_perform(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	instr_time	start;
	bool		performed;

	sort->feed_ms = milliseconds_since(sort->begun);
	INSTR_TIME_SET_CURRENT(start);
	performed = perform(sort);
	sort->sort_ms = milliseconds_since(start);
	MemoryContextSwitchTo(old_context);
	return performed ? sort->output : NULL;
}

/* --- after that ---------------------------------------------------------------- */

uint64
gpusort_tuplesort_rows_fed(const GpuSortTuplesort *sort)
{
	return sort->rows_fed - (is_parallel(sort) ? sort->own_rows : 0);
}

GpuSortNativeReason
gpusort_tuplesort_native_reason(const GpuSortTuplesort *sort)
{
	return sort->native_reason;
}

GpuSortNativeReason
gpusort_tuplesort_failure_reason(const GpuSortTuplesort *sort)
{
	return OidIsValid(gpusort_ordering_violated(&sort->ordering)) ? GPUSORT_NATIVE_COLLATION :
		GPUSORT_NATIVE_DEVICE_LOST;
}

void
gpusort_tuplesort_raise_failure(const GpuSortTuplesort *sort)
{
	if (OidIsValid(gpusort_ordering_violated(&sort->ordering)))
		gpusort_order_check_raise(gpusort_ordering_violated(&sort->ordering));
	gpusort_job_raise_failure(sort->job);
}

void
gpusort_tuplesort_explain(const GpuSortTuplesort *sort, ExplainState *es)
{
	sort->output->methods->explain(sort->output, es);
	if (sort->figures.sum.rows > 0)
		gpusort_ordering_explain(&sort->ordering, es);
	if (!es->timing)
		return;
	ExplainPropertyFloat("Feed Time", "ms", sort->feed_ms, 3, es);
	ExplainPropertyFloat("Sort Time", "ms", sort->sort_ms, 3, es);
	if (sort->figures.output_ms > 0)
		ExplainPropertyFloat("Output Time", "ms", sort->figures.output_ms, 3, es);
	gpusort_ordering_explain_times(&sort->ordering, es);
}

void
gpusort_tuplesort_end(GpuSortTuplesort *sort)
{
	ExecClearTuple(sort->slots->result);
	ExecClearTuple(sort->slots->native);
	ExecClearTuple(sort->slots->merge_run);
	ExecClearTuple(sort->slots->merge_native);
	ExecClearTuple(sort->slots->tied_native);
	ExecClearTuple(sort->slots->compared[0]);
	ExecClearTuple(sort->slots->compared[1]);
	/* the device has had part in it */
	if (sort->output != NULL && sort->figures.sum.rows > 0)
		gpusort_stats_add_times(sort->feed_ms, sort->figures.output_ms);
	if (sort->output != NULL && sort->output->methods->end != NULL)
		sort->output->methods->end(sort->output);
	if (sort->native != NULL)
		tuplesort_end(sort->native);
	if (sort->spill != NULL)
		gpusort_spill_end(sort->spill);
	MemoryContextDelete(sort->context); /* closes the job */
}
