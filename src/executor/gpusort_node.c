/*
 * gpusort_node.c
 *	  The GpuSort node.
 *
 * In:  the child's slots; in a parallel plan none, for the feed nodes (feed_node.c) below
 *	    the child Gather put the rows into the job themselves.
 * Out: rows in key order, from one of four places: the device, by way of
 *	    shared windows; temporary files of sorted runs, for an input beyond the device's
 *	    budget; private memory, for one under the crossover; or a native tuplesort, when
 *	    the device cannot serve.
 *
 * Runs in one backend.  All memory of a sort is in its sort_context, a child of the
 * query's: its reset, by ReScan, End or the end of the query in any way, closes the
 * job.  A returned slot points into a window or private memory and is valid
 * until the next call.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/nodeCustom.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "executor/gpusort_node.h"
#include "executor/feed_node.h"
#include "sort/local_sort.h"
#include "keys/sortkey.h"
#include "settings.h"
#include "shared/stats.h"

/* Rows stay in the backend up to this, or work_mem if that is less. */
#define PRIVATE_ROWS_BYTES_MAX	((Size) 8 * 1024 * 1024)

static Node *GpuSortCreateState(CustomScan *scan);
static void GpuSortBegin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *GpuSortExec(CustomScanState *node);
static void GpuSortEnd(CustomScanState *node);
static void GpuSortReScan(CustomScanState *node);

const CustomScanMethods gpusort_scan_methods = {
	.CustomName = "GpuSort",
	.CreateCustomScanState = GpuSortCreateState,
};

static const CustomExecMethods gpusort_exec_methods = {
	.CustomName = "GpuSort",
	.BeginCustomScan = GpuSortBegin,
	.ExecCustomScan = GpuSortExec,
	.EndCustomScan = GpuSortEnd,
	.ReScanCustomScan = GpuSortReScan,
	.ExplainCustomScan = GpuSortExplain,
};

static double
milliseconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* --- begin and end ---------------------------------------------------------- */

static Node *
GpuSortCreateState(CustomScan *scan)
{
	GpuSortState *state = (GpuSortState *) newNode(sizeof(GpuSortState), T_CustomScanState);

	state->css.methods = &gpusort_exec_methods;
	gpusort_plan_info_read(scan, &state->info);
	return (Node *) state;
}

/* Makes the slots and declares what the node returns: PostgreSQL assumes virtual slots of a
 * custom scan.  They outlive a sort, so none may be made in its context. */
static void
make_slots(GpuSortState *state, EState *estate)
{
	PlanState  *ps = &state->css.ss.ps;
	const TupleTableSlotOps *ops = state->format.narrow_bytes != 0 ?
		&TTSOpsVirtual : &TTSOpsMinimalTuple;

	state->slot = ExecInitExtraTupleSlot(estate, ps->ps_ResultTupleDesc, ops);
	state->native_slot = state->slot;
	if (ops != &TTSOpsMinimalTuple)
		state->native_slot = ExecInitExtraTupleSlot(estate, ps->ps_ResultTupleDesc,
													&TTSOpsMinimalTuple);
	state->merge_slots[0] = ExecInitExtraTupleSlot(estate, ps->ps_ResultTupleDesc, ops);
	state->merge_slots[1] = ExecInitExtraTupleSlot(estate, ps->ps_ResultTupleDesc,
												   &TTSOpsMinimalTuple);
	ps->ps_ResultTupleSlot = state->slot;
	ps->resultops = ops;
	ps->resultopsset = true;
	ps->resultopsfixed = true;
}

static void
GpuSortBegin(CustomScanState *node, EState *estate, int eflags)
{
	GpuSortState *state = (GpuSortState *) node;
	int			special = EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK;

	/* what can only be read forward may be spilled; the rest is then sorted natively */
	state->random_access = (eflags & special) != 0;
	state->native_reason = GPUSORT_NATIVE_NONE;
	/* the sorted rows are kept here: the child need not go back */
	outerPlanState(state) = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags & ~special);
	gpusort_row_format_choose(&state->format, ExecGetResultType(outerPlanState(state)));
	make_slots(state, estate);
	gpusort_plan_info_make_keys(&state->info, ExecGetResultType(outerPlanState(state)),
								state->keys);
	gpusort_page_drain_begin(&state->drain, outerPlanState(state), &state->format,
							 state->info.n_keys, state->keys);
	if (state->info.parallel)
		state->feed_node = (GpuSortFeedState *) outerPlanState(outerPlanState(state));
}

/* Drops the sorted rows, whatever holds them. */
static void
drop_sort(GpuSortState *state)
{
	ExecClearTuple(state->slot);
	ExecClearTuple(state->native_slot);
	ExecClearTuple(state->merge_slots[0]);
	ExecClearTuple(state->merge_slots[1]);
	if (state->method == GPUSORT_METHOD_DEVICE || state->method == GPUSORT_METHOD_SPILLED)
		gpusort_stats_add_times(state->feed_ms, state->output_ms);
	if (state->native != NULL)
		tuplesort_end(state->native);
	if (state->spill != NULL)
		gpusort_spill_end(state->spill);
	if (state->sort_context != NULL)
		MemoryContextDelete(state->sort_context);	/* closes the job */
	state->native = NULL;
	state->spill = NULL;
	state->merge = NULL;
	state->sort_context = NULL;
	state->feed = NULL;
	state->job = NULL;
	state->reader = NULL;
	state->local_rows = NULL;
	state->method = GPUSORT_METHOD_NONE;
}

static void
GpuSortEnd(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;

	drop_sort(state);
	ExecEndNode(outerPlanState(state));
}

/* Puts a row into the output slot; a minimal tuple as ExecStoreMinimalTuple does, but
 * without a call for each row. */
static inline TupleTableSlot *
store_row(GpuSortState *state, const char *row)
{
	TupleTableSlot *slot = state->slot;
	MinimalTupleTableSlot *minimal = (MinimalTupleTableSlot *) slot;

	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);	/* a parent has materialized it */
	if (state->format.narrow_bytes != 0)
	{
		gpusort_row_format_read(&state->format, row, slot);
		return slot;
	}
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = 0;
	minimal->mintuple = (MinimalTuple) row;
	minimal->off = 0;
	minimal->minhdr.t_len = minimal->mintuple->t_len + MINIMAL_TUPLE_OFFSET;
	minimal->minhdr.t_data = (HeapTupleHeader) (row - MINIMAL_TUPLE_OFFSET);
	return slot;
}

/*
 * Looks whether the device has failed the job.  Then all that was read so far is void, and
 * whoever notices returns: sort_and_return_first_row starts over.
 */
static bool
notice_lost_device(GpuSortState *state)
{
	if (state->job != NULL && gpusort_job_failed(state->job))
		state->device_lost = true;
	return state->device_lost;
}

/* --- native ----------------------------------------------------------------- */

static void
begin_native(GpuSortState *state, GpuSortNativeReason reason)
{
	GpuSortPlanInfo *info = &state->info;
	MemoryContext old_context = MemoryContextSwitchTo(state->sort_context);

	state->method = GPUSORT_METHOD_NATIVE;
	state->native_reason = reason;
	state->native = tuplesort_begin_heap(ExecGetResultType(outerPlanState(state)),
										 info->n_keys, info->columns, info->operators,
										 info->collations, info->nulls_first, work_mem, NULL,
										 state->random_access ? TUPLESORT_RANDOMACCESS : TUPLESORT_NONE);
	MemoryContextSwitchTo(old_context);
}

static void
put_native_block(GpuSortState *state, GpuSortRowBlock *block)
{
	const char *row;

	while ((row = gpusort_rowblock_next(block)) != NULL)
	{
		tuplesort_puttupleslot(state->native, store_row(state, row));
		state->rows_drawn_back++;
	}
	ExecClearTuple(state->slot);
	CHECK_FOR_INTERRUPTS();
}

/*
 * Draws back the rows that the device has accepted.  blocks: one for each feeder, since
 * the buffers of their long rows may alternate.
 */
static void
put_native_accepted(GpuSortState *state, GpuSortRowBlock *blocks)
{
	uint64		windows;

	if (gpusort_job_cut(state->job, GSORT_AS_FED) != GPUSORT_CUT_DONE)
	{
		if (notice_lost_device(state))
			return;
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("The sort service could not list the rows that are to be drawn back from the device.")));
	}
	windows = gpusort_job_windows(state->job);
	for (uint64 number = 0; number < windows; number++)
	{
		gsort_window window;
		uint64		got;
		int			buffer;

		do
		{
			buffer = gpusort_job_fetch_window(state->job, number);
			if (buffer < 0 && notice_lost_device(state))
				return;
			if (buffer < 0)
				elog(ERROR, "gpusort job has no buffer to draw rows back");
		} while (!gpusort_job_read_buffer(state->job, buffer, &window, &got));
		gpusort_rowblock_load(&blocks[window.feeder], gpusort_buffer_memory(buffer),
							  window.row_bytes,
							  (window.flags & GSORT_WINDOW_CONTINUED) != 0,
							  (window.flags & GSORT_WINDOW_CONTINUES) != 0);
		put_native_block(state, &blocks[window.feeder]);
		gpusort_job_buffer_done(state->job, buffer);
	}
}

static void
put_native_chunks(GpuSortState *state, GpuSortRowBlock *blocks, List *chunks)
{
	ListCell   *lc;

	foreach(lc, chunks)
	{
		const GpuSortChunkHeader *chunk = lfirst(lc);
		GpuSortRowBlock *block = &blocks[chunk->feeder];

		gpusort_rowblock_load(block, gpusort_chunk_data(chunk), chunk->data_bytes,
							  chunk->rows == 0, chunk->more_bytes > 0);
		put_native_block(state, block);
	}
}

/* Copies the job's chunks in a state to private memory and makes their buffers idle. */
static List *
copy_chunks(GpuSortState *state, GpuSortBufferState buffer_state)
{
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];
	int			n = gpusort_job_list_buffers(state->job, buffer_state, buffers);
	List	   *chunks = NIL;

	for (int i = 0; i < n; i++)
	{
		const GpuSortChunkHeader *chunk =
			(const GpuSortChunkHeader *) gpusort_buffer_memory(buffers[i]);
		Size		bytes = chunk->data_offset + chunk->data_bytes;

		chunks = lappend(chunks, memcpy(palloc(bytes), chunk, bytes));
		gpusort_job_buffer_done(state->job, buffers[i]);
	}
	return chunks;
}

/*
 * Draws back what the job's feeders have sent: first what the device accepted, then what
 * it refused, then what was not sent, since a long row may go through all three.
 * The refused chunks make room first: drawing back needs buffers.
 */
static void
draw_back_job(GpuSortState *state, GpuSortRowBlock *blocks)
{
	List	   *refused;
	List	   *kept;

	gpusort_job_wait_quiet(state->job);
	refused = copy_chunks(state, GPUSORT_BUFFER_REFUSED);
	kept = copy_chunks(state, GPUSORT_BUFFER_KEPT);
	put_native_accepted(state, blocks);
	if (state->device_lost)
		return;
	put_native_chunks(state, blocks, refused);
	put_native_chunks(state, blocks, kept);
	/* they may be hundreds of megabytes, and the sort's context lives as long as its output */
	list_free_deep(refused);
	list_free_deep(kept);
}

/* Draws back every row fed so far, wherever it is. */
static void
draw_back_rows(GpuSortState *state)
{
	GpuSortRowBlock blocks[GPUSORT_FEEDERS_MAX];
	uint64		fed = 0;
	uint64		spilled = state->spill != NULL ? state->spill->rows : 0;

	for (int i = 0; i < GPUSORT_FEEDERS_MAX; i++)
		gpusort_rowblock_init(&blocks[i], &state->format, state->sort_context);
	if (state->job != NULL)
	{
		draw_back_job(state, blocks);
		if (notice_lost_device(state))
			return;
		fed = gpusort_job_rows_fed(state->job);
		gpusort_job_close(state->job);
		state->job = NULL;
	}
	if (state->feed != NULL)
	{
		put_native_chunks(state, blocks, state->feed->private_chunks);
		/* of a parallel plan, the feeders' sum is known */
		if (state->feed_node == NULL)
			fed = state->feed->rows;
		gpusort_feed_free_private(state->feed);
		state->feed = NULL;
	}
	for (int i = 0; i < GPUSORT_FEEDERS_MAX; i++)
		gpusort_rowblock_clear(&blocks[i]);
	if (state->rows_drawn_back + spilled != fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows, spilled " UINT64_FORMAT " and drew back " UINT64_FORMAT,
			 fed, spilled, state->rows_drawn_back);
}

/*
 * The device cannot take the sort: hands every row fed so far to a native sort, which may
 * have begun.  A long row that was refused in its middle is left out here; its feeder
 * still has it.
 */
static void
switch_to_native(GpuSortState *state, GpuSortNativeReason reason)
{
	MemoryContext old_context;

	if (notice_lost_device(state))
		return;
	old_context = MemoryContextSwitchTo(state->sort_context);
	if (state->native == NULL)
		begin_native(state, reason);
	draw_back_rows(state);
	MemoryContextSwitchTo(old_context);
}

/* --- sorting ---------------------------------------------------------------- */

/* Why the device cannot serve this execution; the plan may be old. */
static GpuSortNativeReason
reason_to_be_native(void)
{
	if (!gpusort_enabled)
		return GPUSORT_NATIVE_DISABLED;
	if (!gpusort_job_service_serves())
		return GPUSORT_NATIVE_NO_DEVICE;
	return GPUSORT_NATIVE_NONE;
}

static void
begin_feed(GpuSortState *state)
{
	Size		limit = Min((Size) work_mem * 1024, PRIVATE_ROWS_BYTES_MAX);
	MemoryContext old_context = MemoryContextSwitchTo(state->sort_context);

	state->feed = gpusort_feed_begin(&state->format, state->info.n_keys, state->keys,
									 outerPlan(state->css.ss.ps.plan)->plan_width,
									 Max(limit, GPUSORT_BUFFER_BYTES));
	MemoryContextSwitchTo(old_context);
}

/* A job for so many feeders; NULL and the reason if the device takes none now. */
static GpuSortJob *
open_job(GpuSortState *state, int feeders, GpuSortNativeReason *reason)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->sort_context);
	GpuSortJobOptions options = {
		.key_columns = state->info.n_keys,
		.null_mask = gpusort_feed_null_mask(state->info.n_keys),
		.feeders = feeders,
		.may_spill = !state->random_access,
		.engine = gpusort_algorithm,
	};
	GpuSortJob *job;

	for (int i = 0; i < state->info.n_keys; i++)
		if (state->info.nulls_first[i])
			options.null_first_mask |= 1u << i;
	job = gpusort_job_open(&options, reason);
	MemoryContextSwitchTo(old_context);
	return job;
}

/*
 * The device takes no more rows.  In a parallel plan the others may still feed: what the
 * device has is drawn back when they have ended.
 */
static void
leave_device(GpuSortState *state, GpuSortNativeReason reason)
{
	if (state->feed_node == NULL)
		switch_to_native(state, reason);
	else if (!notice_lost_device(state))
		begin_native(state, reason);
}

static void
add_run_stats(GpuSortState *state)
{
	gsort_job_stats *sum = &state->device_stats;
	gsort_job_stats run;

	gpusort_job_stats(state->job, &run);
	sum->rows += run.rows;
	sum->bytes_in += run.bytes_in;
	sum->peak_bytes = Max(sum->peak_bytes, run.peak_bytes);
	sum->key_bits = Max(sum->key_bits, run.key_bits);
	if (run.rows > 0)
		sum->engine = run.engine;
}

/* Spills the run that the job has been cut to, and begins the next one. */
static void
spill_run(GpuSortState *state)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->sort_context);

	if (state->spill == NULL)
		state->spill = gpusort_spill_begin(&state->format);
	add_run_stats(state);
	if (gpusort_spill_add_run(state->spill, state->job))
		gpusort_job_next_run(state->job);
	else
		state->device_lost = true;
	state->bytes_received = state->spill->bytes;
	MemoryContextSwitchTo(old_context);
}

/* The job is full: makes room by spilling what it has. */
static void
make_room(GpuSortState *state)
{
	if (gpusort_job_cut_full_run(state->job))
		spill_run(state);
	else
		leave_device(state, gpusort_job_refused_reason(state->job));
}

/* From here on the rows go to the device; if it takes none now, to a native sort. */
static void
go_to_device(GpuSortState *state)
{
	GpuSortNativeReason reason = GPUSORT_NATIVE_NONE;
	GpuSortFeedResult result = GPUSORT_FEED_FULL;

	state->job = open_job(state, 1, &reason);
	if (state->job == NULL)
	{
		switch_to_native(state, reason);
		return;
	}
	while (state->native == NULL && !state->device_lost && result == GPUSORT_FEED_FULL)
	{
		result = gpusort_feed_attach_job(state->feed, state->job);
		if (result == GPUSORT_FEED_FULL)
			make_room(state);
		else if (result == GPUSORT_FEED_REFUSED)
			switch_to_native(state, gpusort_job_refused_reason(state->job));
	}
}

/* Inside EvalPlanQual the child gives a row or two: those stay in the backend. */
static bool
may_use_device(GpuSortState *state)
{
	return state->css.ss.ps.state->es_epq_active == NULL;
}

static void
leave_private_memory(GpuSortState *state)
{
	if (may_use_device(state))
		go_to_device(state);
	else
		switch_to_native(state, GPUSORT_NATIVE_NONE);
}

static void
feed_slot(GpuSortState *state, TupleTableSlot *slot)
{
	while (state->native == NULL && !state->device_lost)
	{
		switch (gpusort_feed_row(state->feed, slot))
		{
			case GPUSORT_FEED_TAKEN:
				return;
			case GPUSORT_FEED_WANTS_JOB:
				leave_private_memory(state);
				break;
			case GPUSORT_FEED_FULL:
				make_room(state);
				break;
			case GPUSORT_FEED_REFUSED:
				leave_device(state, gpusort_job_refused_reason(state->job));
				break;
		}
	}
	if (!state->device_lost)
		tuplesort_puttupleslot(state->native, slot);
}

/* A serial plan: this process packs the rows. */
static void
read_child(GpuSortState *state)
{
	PlanState  *child = outerPlanState(state);
	uint64		private_rows = may_use_device(state) ? gpusort_min_rows : PG_UINT64_MAX;

	while (!state->device_lost)
	{
		TupleTableSlot *slot;

		if (state->feed != NULL && state->job == NULL && state->feed->rows >= private_rows)
			leave_private_memory(state);
		slot = ExecProcNode(child);
		if (TupIsNull(slot))
			break;
		if (likely(state->method != GPUSORT_METHOD_NATIVE))
		{
			feed_slot(state, slot);
			if (state->drain.scan != NULL && state->feed != NULL)
				gpusort_page_drain(&state->drain, state->feed);
		}
		else
			tuplesort_puttupleslot(state->native, slot);
	}
	gpusort_page_drain_end(&state->drain);
}

/* A row that the feed nodes give: the job takes no more, or it is full. */
static void
take_returned_row(GpuSortState *state, TupleTableSlot *slot)
{
	GpuSortNativeReason reason = gpusort_job_refused_reason(state->job);

	if (notice_lost_device(state))
		return;
	if (reason != GPUSORT_NATIVE_NONE)
	{
		begin_native(state, reason);
		tuplesort_puttupleslot(state->native, slot);
		return;
	}
	/* before the row, since the others wait for it */
	if (gpusort_job_is_full(state->job))
		make_room(state);
	if (state->feed == NULL)
	{
		int			workers = castNode(Gather, outerPlanState(state)->plan)->num_workers;

		begin_feed(state);
		gpusort_feed_join_job(state->feed, state->job, GPUSORT_PARALLEL_FEEDERS(workers) - 1);
	}
	feed_slot(state, slot);
}

/*
 * A parallel plan: the feed nodes below the Gather pack the rows, and give it only those
 * that the job does not take.
 */
static void
read_gather(GpuSortState *state, GpuSortNativeReason reason)
{
	PlanState  *gather = outerPlanState(state);
	GpuSortJobId no_job = {.slot = -1};

	if (reason == GPUSORT_NATIVE_NONE)
	{
		int			workers = castNode(Gather, gather->plan)->num_workers;

		state->job = open_job(state, GPUSORT_PARALLEL_FEEDERS(workers), &reason);
	}
	gpusort_feed_node_set_job(state->feed_node,
								 state->job != NULL ? &state->job->id : &no_job);
	if (state->job == NULL)
		begin_native(state, reason);
	while (!state->device_lost)
	{
		TupleTableSlot *slot = ExecProcNode(gather);

		if (TupIsNull(slot))
			break;
		if (state->native == NULL)
			take_returned_row(state, slot);
		else
			tuplesort_puttupleslot(state->native, slot);
	}
}

static void
finish_in_backend(GpuSortState *state)
{
	state->method = GPUSORT_METHOD_IN_BACKEND;
	state->rows = state->feed->rows;
	state->local_rows = gpusort_local_sort(state->feed);
	gpusort_stats_count_in_backend();
}

/*
 * All that the feeders of a parallel plan had may be what they kept; then it is small, and
 * sorted here.  Else what they kept follows what they sent.
 */
static void
finish_feeders(GpuSortState *state)
{
	int			buffers[GPUSORT_JOB_BUFFERS_MAX];
	int			n = gpusort_job_list_buffers(state->job, GPUSORT_BUFFER_KEPT, buffers);

	if (gpusort_job_chunks_sent(state->job) > 0 ||
		gpusort_job_rows_fed(state->job) >= gpusort_min_rows)
	{
		for (int i = 0; i < n; i++)
			gpusort_job_send(state->job, buffers[i]);
		return;
	}
	begin_feed(state);
	for (int i = 0; i < n; i++)
		gpusort_feed_copy_chunk(state->feed,
								(const GpuSortChunkHeader *) gpusort_buffer_memory(buffers[i]));
	gpusort_job_close(state->job);
	state->job = NULL;
}

/* Cuts the run that all rows are in, or the last of several.  False: the rows are in a
 * native sort now, or the device is lost. */
static bool
cut_last_run(GpuSortState *state)
{
	GpuSortCutResult result = GPUSORT_CUT_FULL;

	while (result == GPUSORT_CUT_FULL)
	{
		result = gpusort_job_cut(state->job,
								 state->spill != NULL ? GSORT_SORTED_RUN : GSORT_SORTED);
		if (result == GPUSORT_CUT_REFUSED)
			switch_to_native(state, gpusort_job_refused_reason(state->job));
		else if (result == GPUSORT_CUT_FULL)
			make_room(state);
		if (state->device_lost)
			return false;
		if (state->native != NULL)
		{
			/* of a parallel plan, what is on the device is still to be drawn back */
			if (state->job != NULL)
				switch_to_native(state, state->native_reason);
			return false;
		}
	}
	return true;
}

/* Of the runs, and of the rows that were sorted natively. */
static void
begin_merge(GpuSortState *state)
{
	state->merge = gpusort_run_merge_begin(state->spill, state->info.n_keys, state->keys,
										   state->merge_slots[0], state->native,
										   state->merge_slots[1]);
	state->method = GPUSORT_METHOD_SPILLED;
}

/* All rows are in runs: the device tells the order in which to read them, if it can. */
static void
merge_runs(GpuSortState *state)
{
	begin_merge(state);
	if (gpusort_job_merge(state->job))
		gpusort_run_merge_follow_order(state->merge, state->job);
	else
	{
		gpusort_job_close(state->job);
		state->job = NULL;
	}
}

static void
finish_on_device(GpuSortState *state)
{
	uint64		fed = gpusort_job_rows_fed(state->job);
	uint64		got;

	if (!cut_last_run(state))
		return;
	if (state->feed != NULL)
		gpusort_feed_free_private(state->feed);
	if (state->spill != NULL)
	{
		spill_run(state);
		if (state->device_lost)
			return;
		got = state->spill->rows;
		merge_runs(state);
	}
	else
	{
		state->method = GPUSORT_METHOD_DEVICE;
		add_run_stats(state);
		state->rows = got = gpusort_job_rows(state->job);
		state->reader = gpusort_reader_begin(state->job, &state->format);
	}
	if (got != fed)
		elog(ERROR, "gpusort fed " UINT64_FORMAT " rows and got " UINT64_FORMAT, fed, got);
}

/* Rows that are not on the device, or no longer. */
static void
finish_native(GpuSortState *state)
{
	tuplesort_performsort(state->native);
	if (state->spill != NULL)
		begin_merge(state);
}

/* All rows have been read; sorts them where they are. */
static void
finish(GpuSortState *state)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->sort_context);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (state->feed != NULL)
		gpusort_feed_finish(state->feed, false);
	if (state->job != NULL && state->native != NULL)
		switch_to_native(state, state->native_reason);
	if (state->job != NULL && state->feed_node != NULL)
		finish_feeders(state);
	if (state->job != NULL && !notice_lost_device(state))
		finish_on_device(state);
	else if (state->native == NULL && !state->device_lost)
		finish_in_backend(state);
	if (state->native != NULL && !state->device_lost)
		finish_native(state);
	state->sort_ms = milliseconds_since(start);
	MemoryContextSwitchTo(old_context);
}

/* Reads all of the child's rows and sorts them: natively, if there is a reason to; else
 * device_lost tells whether that failed. */
static void
sort_rows(GpuSortState *state, GpuSortNativeReason reason)
{
	EState	   *estate = state->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	state->sort_context = AllocSetContextCreate(estate->es_query_cxt, "GpuSort",
												ALLOCSET_DEFAULT_SIZES);
	state->device_kind = gpusort_shared->service.info.kind;
	state->current = 0;
	state->eof_reached = false;
	state->sort_ms = state->output_ms = 0;
	state->bytes_received = 0;
	memset(&state->device_stats, 0, sizeof(state->device_stats));
	state->rows_drawn_back = 0;
	state->native_reason = GPUSORT_NATIVE_NONE;
	state->device_lost = false;
	/* the child must give its rows forward, whichever way we are read */
	estate->es_direction = ForwardScanDirection;
	if (state->feed_node != NULL)
		read_gather(state, reason);
	else
	{
		if (reason == GPUSORT_NATIVE_NONE)
			begin_feed(state);
		else
			begin_native(state, reason);
		read_child(state);
	}
	state->feed_ms = milliseconds_since(start);

	if (!notice_lost_device(state))
		finish(state);
	estate->es_direction = direction;
}

/* The device is lost before any row went out: sorts all rows anew, natively. */
static void
start_over(GpuSortState *state)
{
	if (!state->info.child_repeats)
		gpusort_job_raise_failure(state->job);
	/* first, since it ends workers that may still look at the job */
	ExecReScan(outerPlanState(state));
	drop_sort(state);
	sort_rows(state, GPUSORT_NATIVE_DEVICE_LOST);
}

/* --- output ----------------------------------------------------------------- */

/*
 * The number of the next row to return, by the rules of tuplesort_gettuple: at the end,
 * the first step back returns the last row.  False: there is none.
 */
static bool
step(GpuSortState *state, bool forward, uint64 *row)
{
	if (forward)
	{
		if (state->current >= state->rows)
		{
			state->eof_reached = true;
			return false;
		}
		*row = state->current++;
		return true;
	}
	if (state->current == 0)
		return false;
	if (state->eof_reached)
		state->eof_reached = false;
	else if (--state->current == 0)
		return false;
	*row = state->current - 1;
	return true;
}

static const char *
device_row(GpuSortState *state, uint64 row)
{
	GpuSortReader *reader = state->reader;
	const char *bytes;
	instr_time	start;

	if (likely(gpusort_reader_next(reader, row, &bytes)))
		return bytes;
	INSTR_TIME_SET_CURRENT(start);
	bytes = gpusort_reader_seek(reader, row);
	state->output_ms += milliseconds_since(start);
	state->bytes_received = reader->bytes_read;
	return bytes;
}

static TupleTableSlot *
device_slot(GpuSortState *state, uint64 row)
{
	const char *bytes = device_row(state, row);

	if (unlikely(bytes == NULL))
		return NULL;
	return store_row(state, bytes);
}

/* The device's rows have all been read and nobody can ask again: give all back early. */
static void
release_read_rows(GpuSortState *state)
{
	if (state->random_access || state->job == NULL)
		return;
	ExecClearTuple(state->slot);
	gpusort_job_close(state->job);
	state->job = NULL;
	state->reader = NULL;
}

static TupleTableSlot *
native_row(GpuSortState *state, bool forward)
{
	if (!tuplesort_gettupleslot(state->native, forward, false, state->native_slot, NULL))
		return ExecClearTuple(state->slot);
	if (state->native_slot != state->slot)
		ExecCopySlot(state->slot, state->native_slot);
	return state->slot;
}

static TupleTableSlot *
merged_row(GpuSortState *state)
{
	const char *row;

	if (!gpusort_run_merge_next(state->merge, &row))
	{
		ExecClearTuple(state->slot);
		release_read_rows(state);
		return state->slot;
	}
	if (row == NULL)
		return ExecCopySlot(state->slot, state->merge_slots[1]);
	return store_row(state, row);
}

/* NULL: the device was lost before the first row. */
static TupleTableSlot *
return_row(GpuSortState *state, bool forward)
{
	uint64		row;

	if (state->method == GPUSORT_METHOD_NATIVE)
		return native_row(state, forward);
	if (state->method == GPUSORT_METHOD_SPILLED)
		return merged_row(state);
	if (!step(state, forward, &row))
	{
		ExecClearTuple(state->slot);
		if (forward)
			release_read_rows(state);
		return state->slot;
	}
	if (state->method == GPUSORT_METHOD_DEVICE)
		return device_slot(state, row);
	return store_row(state, state->local_rows[row]);
}

/*
 * Until the first row goes out, a lost device costs time only.  Not after that: rows with
 * equal keys may come in another order the second time, and some of them have gone out.
 * The rows of a spilled sort are in its files by then: it never fails.
 */
static TupleTableSlot *
sort_and_return_first_row(GpuSortState *state, bool forward)
{
	TupleTableSlot *slot = NULL;

	sort_rows(state, reason_to_be_native());
	if (!state->device_lost)
		slot = return_row(state, forward);
	if (slot == NULL)
	{
		start_over(state);
		slot = return_row(state, forward);
	}
	if (state->native_reason != GPUSORT_NATIVE_NONE)
		gpusort_stats_count_native(state->native_reason);
	if (state->job != NULL && state->method == GPUSORT_METHOD_DEVICE)
		gpusort_job_begin_output(state->job);
	return slot;
}

static TupleTableSlot *
GpuSortExec(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;
	bool		forward = ScanDirectionIsForward(node->ss.ps.state->es_direction);

	if (unlikely(state->method == GPUSORT_METHOD_NONE))
		return sort_and_return_first_row(state, forward);
	return return_row(state, forward);
}

static bool
can_rewind(GpuSortState *state)
{
	switch (state->method)
	{
		case GPUSORT_METHOD_DEVICE:
			return state->job != NULL;
		case GPUSORT_METHOD_IN_BACKEND:
			return true;
		case GPUSORT_METHOD_NATIVE:
			return state->random_access;
		case GPUSORT_METHOD_SPILLED:
			return false;
		case GPUSORT_METHOD_NONE:
			break;
	}
	return false;
}

static void
GpuSortReScan(CustomScanState *node)
{
	GpuSortState *state = (GpuSortState *) node;
	PlanState  *child = outerPlanState(state);

	/* not sorted yet: a child with changed parameters rescans itself when it is first read */
	if (state->method == GPUSORT_METHOD_NONE)
		return;
	ExecClearTuple(state->slot);
	if (child->chgParam != NULL || !can_rewind(state))
	{
		drop_sort(state);
		if (child->chgParam == NULL)
			ExecReScan(child);
		return;
	}
	state->current = 0;
	state->eof_reached = false;
	if (state->method == GPUSORT_METHOD_NATIVE)
		tuplesort_rescan(state->native);
}
