/*
 * tuplesort.c
 *	  A sort of rows, on the device or in this process.
 *
 * In:  rows, put one by one.  In a parallel plan the feed nodes pack the rows,
 *	    and only those that they return are put.
 * Out: a source of the sorted rows.
 *
 * A sort is in one stage at a time:
 *
 *	  ARRAY		the first rows, in an array (row_array.c): if there are no
 *				others it is sorted here
 *	  DEVICE	rows go to a job; when it is full, its rows become a run in a
 *				file (spill.c)
 *	  MERGE		all rows are in runs
 *	  NATIVE	rows go into a native tuplesort
 *	  OUTPUT	the sorted rows can be read, from whichever of these has them
 *
 * A sort begins as an array.  When this has enough rows for the device, or
 * exceeds work_mem, its rows decide the encodings of the keys.  Then they stay
 * if comparisons cost less, or go to the device.  They go to a native tuplesort
 * if there is no room for them to stay, or the device takes no sort now.
 * This is decided before the first row is sent: a job opens when it has device
 * memory for some rows, and keeps that memory until it is closed.  The feed
 * nodes of a parallel plan have returned their rows so far.  They get the job
 * and the encodings now, and pack further rows themselves.
 *
 * A sort of few rows must not cost more than a Sort node does, because
 * estimates may be wrong, and every Sort of a plan may be ours.
 *
 * Runs in the backend that leads the sort.  All memory is in the sort's
 * context.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "explain_figures.h"
#include "job/clock.h"
#include "job/server_state.h"
#include "job/stats.h"
#include "keys/key_types.h"
#include "settings.h"
#include "sort/row_encodings.h"
#include "sort/spill.h"
#include "sort/tuplesort.h"

/* The array is checked again after this many more rows in order.  Fewer may be
 * in order by chance, or because they are a table's first ones. */
#define ROWS_BETWEEN_LOOKS		1000

/* An estimate beyond this is no better than this. */
#define EXPECTED_ROWS_MAX		1e12

/* Speed of the native sort, for plans whose estimates are known to be wrong. */
#define USUAL_NATIVE_ROWS_PER_MS	1000

typedef enum SortStage
{
	ARRAY,
	DEVICE,
	MERGE,
	NATIVE,
	OUTPUT
} SortStage;

struct GpuSortTuplesort
{
	const GpuSortSpec *spec;
	GpuSortSlots slots;
	MemoryContext context;
	SortStage	stage;

	/* ARRAY, and the OUTPUT of one; NULL: its rows have gone elsewhere */
	GpuSortRowArray *array;
	uint64		array_rows_left;	/* rows that it may get */
	/* sorts that have ended in the array, not yet counted in shared memory */
	uint64		in_backend;

	/* the means to pack rows, from DEVICE on; made by begin_packing */
	GpuSortKeyEncoding encodings[GPUSORT_WORDS_MAX];
	int			n_encodings;	/* of the first keys; 0: of a grouping */
	GpuSortKeys keys;
	GpuSortOrdering ordering;
	double		expected_rows;

	/* DEVICE, MERGE, and the OUTPUT of these */
	GpuSortJob *job;
	GpuSortFeed *feed;			/* feed of the rows that are put */
	GpuSortSpill *spill;		/* NULL: no run has been spilled */
	uint64		rows_fed;		/* by all feeders, when they have ended */
	uint64		own_rows;		/* of these, those of this process's own feed */

	/* NATIVE, and the OUTPUT of it */
	Tuplesortstate *native;
	GpuSortNativeReason native_reason;

	GpuSortOutput *output;		/* OUTPUT */

	/* for EXPLAIN and the counters */
	GpuSortDeviceFigures figures;
	instr_time	begun;
	double		feed_ms;
	double		sort_ms;
};

/* --- NATIVE: into PostgreSQL's own sort ----------------------------------- */

/* Lets further rows go into a native sort. */
static void
begin_native(GpuSortTuplesort *sort, GpuSortNativeReason reason)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	sort->stage = NATIVE;
	sort->native_reason = reason;
	sort->native = gpusort_begin_native(sort->spec, sort->spec->random_access);
	MemoryContextSwitchTo(old_context);
}

/* --- DEVICE, MERGE: into a job, and its runs into files ------------------- */

/* Makes the keys that rows are packed by, from the rows of the array.  Or
 * returns a reason to sort the rows natively. */
static GpuSortNativeReason
begin_packing(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;
	bool		pays = true;

	sort->n_encodings = spec->grouping ? 0 :
		gpusort_choose_encodings(sort->array, sort->slots.array_row, spec, sort->expected_rows,
								 sort->encodings, &pays);
	/* a setting, or distrust, has taken the first key's words */
	if (sort->n_encodings == 0 && !spec->grouping)
		return GPUSORT_NATIVE_COLLATION;
	if (!pays)
		return GPUSORT_NATIVE_COST;
	gpusort_keys_make(spec->order, sort->n_encodings, sort->encodings, spec->desc, &sort->keys);
	gpusort_ordering_make(&sort->ordering, spec, &sort->keys, &sort->slots);
	return GPUSORT_NATIVE_NONE;
}

/* Returns the time of the native sort, for as many rows as are expected now. */
static int
native_milliseconds(const GpuSortTuplesort *sort)
{
	if (sort->expected_rows <= sort->spec->rows)
		return sort->spec->native_ms;
	return (int) Min(INT_MAX, Max(1, sort->expected_rows / USUAL_NATIVE_ROWS_PER_MS));
}

/* Opens a job for the rows.  If the device takes none now, they go into a
 * native sort. */
static void
begin_device(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;
	int			feeders = gpusort_is_parallel(spec) ? GPUSORT_PARALLEL_FEEDERS(spec->workers) : 1;
	uint64		rows = (uint64) Min(sort->expected_rows, EXPECTED_ROWS_MAX);
	GpuSortNativeReason reason = GPUSORT_NATIVE_NONE;
	GpuSortJobOptions options = {
		.feeders = feeders,
		.device.engine = gpusort_algorithm,
		.wait_ms = spec->never_waits ? 0 : native_milliseconds(sort),
		.expected_rows = rows,
		.expected_bytes = rows * spec->packed_bytes,
	};

	options.sort_start = GetCurrentTimestamp() -
		(TimestampTz) (gpusort_milliseconds_since(sort->begun) * 1000);
	gpusort_ordering_describe(&sort->ordering, &options);
	sort->job = gpusort_job_open(&options, &reason);
	if (sort->job == NULL)
	{
		begin_native(sort, reason);
		return;
	}
	sort->stage = DEVICE;
	sort->figures.kind = sort->job->device_kind;
	sort->figures.device = pstrdup(sort->job->device_name);
	/* the feed nodes are the first feeders */
	sort->feed = gpusort_feed_begin(spec->format, &sort->keys, spec->row_width, sort->job,
									feeders - 1);
}

/* Spills the run that the job has been finished to. */
static void
spill_run(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);

	if (sort->spill == NULL)
		sort->spill = gpusort_spill_begin(&sort->ordering, sort->slots.merge_run, sort->job);
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	gpusort_spill_add_run(sort->spill);
	sort->figures.bytes_received = sort->spill->bytes;
	MemoryContextSwitchTo(old_context);
}

/* The job is full: its rows become a run, and the next run begins. */
static void
spill_full_job(GpuSortTuplesort *sort)
{
	(void) gpusort_job_finish_run(sort->job, GSORT_SORTED_RUN, true);
	spill_run(sort);
	gpusort_job_next_run(sort->job);
}

/* A long row that an empty job has no room for is a run of its own.  False: the
 * row is not so long, but others were. */
static bool
spill_long_row(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	char	   *row = gpusort_feed_take_long_row(sort->feed, slot);

	if (row != NULL)
	{
		gpusort_spill_add_row(sort->spill, row);
		pfree(row);
	}
	MemoryContextSwitchTo(old_context);
	return row != NULL;
}

/* Packs a row, or writes it if it is too long.  Feeders of a full job wait. */
static void
feed_row(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	if (gpusort_is_parallel(sort->spec) && gpusort_job_is_full(sort->job))
		spill_full_job(sort);
	while (!gpusort_feed_row(sort->feed, slot))
	{
		uint64		rows = sort->spill != NULL ? sort->spill->rows : 0;

		spill_full_job(sort);
		if (sort->spill->rows == rows && spill_long_row(sort, slot))
			break;
	}
}

/* Finishes the run that has all rows, or the last of several. */
static void
finish_last_run(GpuSortTuplesort *sort)
{
	while (!gpusort_job_finish_run(sort->job,
								   sort->spill != NULL ? GSORT_SORTED_RUN : GSORT_SORTED, false))
		spill_full_job(sort);
}

/* Checks that the device has returned as many rows as it was fed. */
static void
check_rows(const GpuSortTuplesort *sort)
{
	uint64		got = sort->spill != NULL ? sort->spill->rows : gpusort_job_rows(sort->job);

	if (got != sort->rows_fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows and got " UINT64_FORMAT,
			 sort->rows_fed, got);
}

/* Sorts after the last row has been fed, by this process and all others.  The
 * output follows, or, with the last run spilled, the merge. */
static void
perform_on_device(GpuSortTuplesort *sort)
{
	bool		to_verify;

	gpusort_feed_finish(sort->feed);
	sort->own_rows = sort->feed->rows;
	sort->rows_fed = gpusort_job_rows_fed(sort->job, &to_verify);
	/* all rows have their words, and none needs a check after all */
	if (!to_verify)
		sort->ordering.check = NULL;
	finish_last_run(sort);
	if (sort->spill != NULL)
	{
		spill_run(sort);
		check_rows(sort);
		sort->stage = MERGE;
		return;
	}
	check_rows(sort);
	gpusort_device_figures_add_run(&sort->figures, sort->job);
	sort->output = gpusort_output_device_begin(&sort->slots, &sort->ordering, sort->job,
											   sort->spec->random_access, &sort->figures);
	sort->stage = OUTPUT;
}

/* The job keeps its device only for the merge's order. */
static void
perform_merge(GpuSortTuplesort *sort)
{
	/* the device tells the order in which to read the runs, if it can */
	bool		by_order = sort->ordering.ties == NULL && !sort->spill->by_keys &&
		gpusort_job_merge(sort->job);

	if (!by_order)
		gpusort_job_release_device(sort->job);
	sort->output = gpusort_output_spilled_begin(&sort->slots, sort->spill, by_order,
												sort->spec->random_access, &sort->figures);
	sort->stage = OUTPUT;
}

static void
perform_native(GpuSortTuplesort *sort)
{
	tuplesort_performsort(sort->native);
	sort->output = gpusort_output_native_begin(&sort->slots, sort->native,
											   sort->spec->random_access, sort->native_reason);
	sort->stage = OUTPUT;
}

/* --- ARRAY: few rows ------------------------------------------------------ */

/* Returns the rows that the array may get, if the device is worth it from
 * min_rows on. */
static uint64
array_rows(const GpuSortTuplesort *sort, uint64 min_rows)
{
	return gpusort_is_parallel(sort->spec) ? Min(min_rows, GPUSORT_PARALLEL_ARRAY_ROWS) : min_rows;
}

static void
begin_array(GpuSortTuplesort *sort)
{
	const GpuSortSpec *spec = sort->spec;

	sort->stage = ARRAY;
	sort->array_rows_left = spec->may_use_device ?
		array_rows(sort, gpusort_min_rows_of_any()) : PG_UINT64_MAX;
	if (sort->array != NULL)
		gpusort_row_array_reset(sort->array);
	else
		sort->array = gpusort_row_array_begin(spec->order, spec->desc, spec->format, spec->row,
											  (Size) spec->work_mem * 1024);
}

/*
 * Are there fewer rows than the device is worth?  Or do they come in order, and
 * do this many fit half of work_mem?  The other half is for a tuplesort that
 * they may go to.  The kind of device is looked up only when there are enough
 * rows for any device, since a sort of few rows must take no lock.
 */
static bool
array_stays(GpuSortTuplesort *sort, double rows)
{
	if (likely(sort->array_rows_left > 0))
		return true;
	sort->array_rows_left = array_rows(sort, gpusort_min_rows_of(gpusort_server_state()->kind));
	sort->array_rows_left -= Min(sort->array_rows_left, gpusort_row_array_rows(sort->array));
	if (sort->array_rows_left == 0 && !gpusort_is_parallel(sort->spec) &&
		gpusort_row_array_rows(sort->array) >= ROWS_BETWEEN_LOOKS &&
		gpusort_row_array_fits(sort->array, rows, sort->spec->work_mem * 512.0) &&
		gpusort_row_array_is_in_order(sort->array, PG_UINT64_MAX))
		sort->array_rows_left = ROWS_BETWEEN_LOOKS;
	return sort->array_rows_left > 0;
}

/* Begins the stage that the array's rows go on to.  They stay in the array if
 * comparisons cost less, until there are more rows than expected. */
static void
begin_next_stage(GpuSortTuplesort *sort)
{
	uint64		rows = gpusort_row_array_rows(sort->array);
	GpuSortNativeReason reason;

	/* the estimate was too low, and nobody knows by how much */
	if (rows > sort->expected_rows)
		sort->expected_rows = 2.0 * rows;
	if (sort->slots.array_row == NULL)
		gpusort_slots_make(&sort->slots, sort->spec);
	reason = sort->spec->may_use_device ? begin_packing(sort) : GPUSORT_NATIVE_NONE;
	if (reason == GPUSORT_NATIVE_COST && sort->array_rows_left == 0 &&
		gpusort_row_array_fits(sort->array, sort->expected_rows, sort->spec->work_mem * 1024.0))
		sort->array_rows_left = (uint64) sort->expected_rows - rows + 1;
	else if (reason != GPUSORT_NATIVE_NONE || !sort->spec->may_use_device)
		begin_native(sort, reason);
	else
		begin_device(sort);
}

void
gpusort_tuplesort_leave_array(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	uint64		rows = gpusort_row_array_rows(sort->array);
	TupleTableSlot *slot;

	begin_next_stage(sort);
	MemoryContextSwitchTo(old_context);
	slot = sort->slots.array_row;
	for (uint64 i = 0; sort->stage != ARRAY && i < rows; i++)
	{
		gpusort_tuplesort_put(sort, gpusort_row_array_get(sort->array, i, slot));
		CHECK_FOR_INTERRUPTS();
	}
	ExecClearTuple(slot);
	if (sort->stage == ARRAY)
		return;
	ExecClearTuple(sort->spec->row);
	gpusort_row_array_end(sort->array);
	sort->array = NULL;
}

static void
perform_array(GpuSortTuplesort *sort)
{
	gpusort_row_array_sort(sort->array);
	sort->output = gpusort_output_array_begin(&sort->slots, sort->array);
	sort->in_backend++;
	sort->stage = OUTPUT;
}

/* --- the life of a sort --------------------------------------------------- */

/* A sort with a reason to be native has no array. */
GpuSortTuplesort *
gpusort_tuplesort_begin(const GpuSortSpec *spec, MemoryContext parent, GpuSortNativeReason reason)
{
	MemoryContext context = AllocSetContextCreate(parent, "GpuSort", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	GpuSortTuplesort *sort = palloc0(sizeof(GpuSortTuplesort));

	sort->spec = spec;
	sort->slots = (GpuSortSlots) {spec->result, spec->native, spec->projected};
	sort->context = context;
	sort->expected_rows = spec->rows;
	sort->native_reason = GPUSORT_NATIVE_NONE;
	INSTR_TIME_SET_CURRENT(sort->begun);
	if (reason != GPUSORT_NATIVE_NONE)
		begin_native(sort, reason);
	else
		begin_array(sort);
	MemoryContextSwitchTo(old_context);
	return sort;
}

bool
gpusort_tuplesort_restart(GpuSortTuplesort *sort)
{
	if (sort->stage != OUTPUT || sort->array == NULL)
		return false;
	ExecClearTuple(sort->slots.result);
	ExecClearTuple(sort->slots.native);
	pfree(sort->output);
	sort->output = NULL;
	INSTR_TIME_SET_CURRENT(sort->begun);
	begin_array(sort);
	return true;
}

const GpuSortKeyEncoding *
gpusort_tuplesort_encodings(const GpuSortTuplesort *sort, GpuSortJobId *job, int *n_encodings)
{
	if (sort->stage != DEVICE)
		return NULL;
	*job = sort->job->id;
	*n_encodings = sort->n_encodings;
	return sort->encodings;
}

GpuSortFeed *
gpusort_tuplesort_feed(GpuSortTuplesort *sort)
{
	return sort->stage == DEVICE ? sort->feed : NULL;
}

/* A row that ends the array's stage is put again in the next stage. */
void
gpusort_tuplesort_put(GpuSortTuplesort *sort, TupleTableSlot *slot)
{
	switch (sort->stage)
	{
		case ARRAY:
			if (array_stays(sort, sort->expected_rows) &&
				likely(gpusort_row_array_put(sort->array, slot)))
			{
				sort->array_rows_left--;
				return;
			}
			gpusort_tuplesort_leave_array(sort);
			gpusort_tuplesort_put(sort, slot);
			return;
		case DEVICE:
			feed_row(sort, slot);
			return;
		case NATIVE:
			tuplesort_puttupleslot(sort->native, slot);
			return;
		default:
			elog(ERROR, "gpusort has got a row after the last one");
	}
}

void
gpusort_tuplesort_wait_for_feeders(GpuSortTuplesort *sort, int feeders)
{
	while (!gpusort_job_wait_for_feeders(sort->job, feeders))
		spill_full_job(sort);
}

/* Each step leads to another stage, until there is an output. */
GpuSortOutput *
gpusort_tuplesort_perform(GpuSortTuplesort *sort)
{
	MemoryContext old_context = MemoryContextSwitchTo(sort->context);
	/* reading a clock costs as much as some rows */
	bool		timed = sort->spec->timed || sort->stage != ARRAY;
	instr_time	start;

	INSTR_TIME_SET_ZERO(start);
	if (timed)
	{
		sort->feed_ms = gpusort_milliseconds_since(sort->begun);
		INSTR_TIME_SET_CURRENT(start);
	}
	while (sort->stage != OUTPUT)
	{
		switch (sort->stage)
		{
			case ARRAY:
				if (array_stays(sort, 0))
					perform_array(sort);
				else
					gpusort_tuplesort_leave_array(sort);
				break;
			case DEVICE:
				perform_on_device(sort);
				break;
			case MERGE:
				perform_merge(sort);
				break;
			case NATIVE:
				perform_native(sort);
				break;
			case OUTPUT:
				break;
		}
	}
	if (timed)
		sort->sort_ms = gpusort_milliseconds_since(start);
	MemoryContextSwitchTo(old_context);
	return sort->output;
}

/* --- after that ----------------------------------------------------------- */

GpuSortNativeReason
gpusort_tuplesort_native_reason(const GpuSortTuplesort *sort)
{
	if (sort->native_reason == GPUSORT_NATIVE_NONE && sort->ordering.n_violated > 0)
		return GPUSORT_NATIVE_COLLATION;
	return sort->native_reason;
}

void
gpusort_tuplesort_explain(const GpuSortTuplesort *sort, ExplainState *es)
{
	sort->output->methods->explain(sort->output, es);
	if (sort->figures.sum.rows > 0)
		gpusort_ordering_explain(&sort->ordering, es);
	if (gpusort_is_parallel(sort->spec) && sort->rows_fed > sort->own_rows)
		ExplainPropertyUInteger("Rows Fed", NULL, sort->rows_fed - sort->own_rows, es);
	if (!es->timing)
		return;
	gpusort_explain_ms("Feed Time", sort->feed_ms, es);
	gpusort_explain_ms("Sort Time", sort->sort_ms, es);
	if (sort->figures.output_ms > 0)
		gpusort_explain_ms("Output Time", sort->figures.output_ms, es);
	gpusort_ordering_explain_times(&sort->ordering, es);
}

/* The output goes first, since it refers to all others. */
void
gpusort_tuplesort_end(GpuSortTuplesort *sort)
{
	ExecClearTuple(sort->slots.result);
	ExecClearTuple(sort->slots.native);
	gpusort_slots_drop(&sort->slots);
	if (sort->in_backend > 0)
		gpusort_stats_count_in_backend(sort->in_backend);
	/* the device has taken part */
	if (sort->output != NULL && sort->figures.sum.rows > 0)
		gpusort_stats_add_times(sort->feed_ms, sort->figures.output_ms);
	if (sort->output != NULL && sort->output->methods->end != NULL)
		sort->output->methods->end(sort->output);
	if (sort->array != NULL)
		gpusort_row_array_end(sort->array);
	if (sort->native != NULL)
		tuplesort_end(sort->native);
	if (sort->spill != NULL)
		gpusort_spill_end(sort->spill);
	if (sort->job != NULL)
		gpusort_job_close(sort->job);
	MemoryContextDelete(sort->context);
}
