/*
 * rig_run.c
 *	  Drives jobs from opening to closing and checks all of their answers.
 *
 * A run is a small state machine that never blocks, so that any number of runs
 * can be interleaved.  Buffers come from the rig and return with events.  A
 * buffer returned by APPENDED is overwritten at once, which exposes a device
 * that still reads it.
 *
 * With options.run_rows the input is fed as several runs of the device.  Each
 * run is a slice of the input, read and checked like a single run.  The final
 * merge order must be that of the whole input.
 */
#include "rig_run.h"

#include "device_memory.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_MS_MAX		30000

/* --- buffers -------------------------------------------------------------- */

static rig_buffer *
buffer_take(run *r)
{
	rig_buffer *buffer = r->rig->free_buffers;

	if (buffer == NULL)
		return NULL;
	r->rig->free_buffers = buffer->next_free;
	r->held[buffer - r->rig->buffers] = 1;
	r->n_held++;
	return buffer;
}

static void
buffer_give(run *r, uint64_t number)
{
	rig_buffer *buffer = &r->rig->buffers[number];

	if (!CHECK(number < RIG_BUFFERS && r->held[number]))
		return;
	r->held[number] = 0;
	r->n_held--;
	buffer->next_free = r->rig->free_buffers;
	r->rig->free_buffers = buffer;
}

static void
buffers_give_all(run *r)
{
	for (uint64_t i = 0; i < RIG_BUFFERS; i++)
	{
		if (r->held[i])
			buffer_give(r, i);
	}
}

/* --- feeding -------------------------------------------------------------- */

static void
fill_units(const run *r, uint64_t *to, uint32_t row, uint64_t from_unit, uint64_t units)
{
	for (uint64_t i = 0; i < units; i++)
		to[i] = input_unit(r->in, row, from_unit + i);
}

static void
fill_keys(const run *r, rig_buffer *buffer, uint32_t rows, gsort_column_stats *stats)
{
	const input *in = r->in;

	memcpy(buffer->keys, in->keys + (uint64_t) r->next_row * in->columns,
		   (uint64_t) rows * in->columns * sizeof(uint64_t));
	memcpy(buffer->nulls, in->nulls + r->next_row, rows * sizeof(uint32_t));
	for (uint32_t c = 0; c < in->columns; c++)
	{
		key_stats_init(&stats[c]);
		for (uint32_t i = 0; i < rows; i++)
		{
			uint64_t	key = buffer->keys[(uint64_t) i * in->columns + c];
			gsort_column_stats one = {key, key, key, key, 0};

			if (buffer->nulls[i] >> c & 1)
				stats[c].nulls++;
			else
				key_stats_fold(&stats[c], &one);
		}
	}
}

/* Chooses the number of rows in the next chunk, and their units. */
static uint32_t
rows_that_fit(const run *r, uint64_t *units)
{
	uint64_t	room = r->options.block_bytes / 8;
	uint32_t	limit = r->options.chunk_rows;
	uint32_t	rows = 0;

	if (limit == 0 || limit > RIG_CHUNK_ROWS)
		limit = RIG_CHUNK_ROWS;
	*units = 0;
	while (rows < limit && r->next_row + rows < r->in->n &&
		   *units + r->in->units[r->next_row + rows] <= room)
		*units += r->in->units[r->next_row + rows++];
	return rows;
}

static void
corrupt_starts(run *r, gsort_chunk *chunk, uint32_t *row_start)
{
	uint32_t	last = chunk->rows - 1;

	if (r->options.corrupt == CORRUPT_NOTHING || r->corrupted || chunk->rows < 3)
		return;
	switch (r->options.corrupt)
	{
		case CORRUPT_FIRST_START:
			row_start[0] = 1;
			break;
		case CORRUPT_FALLING:
			row_start[last] = row_start[last - 1] - 1;
			break;
		case CORRUPT_EQUAL:
			row_start[last] = row_start[last - 1];
			break;
		case CORRUPT_RANGE:
			row_start[last] = (uint32_t) (chunk->data_bytes / 8);
			break;
		case CORRUPT_RANGE_FAR:
			row_start[1] = UINT32_MAX;
			break;
		case CORRUPT_NOTHING:
		case CORRUPTIONS:
			break;
	}
	r->corrupted = 1;
}

/* Falsifies a chunk's statistics according to r->options.lie. */
static void
tell_lie(run *r, const rig_buffer *buffer, const gsort_chunk *chunk, gsort_column_stats *stats)
{
	uint32_t	column = r->options.lie_column;
	uint64_t	first = buffer->keys[column];
	uint64_t	other = buffer->keys[(chunk->rows - 1) * r->in->columns + column];
	gsort_column_stats *claim = &stats[column];

	if (r->options.lie == NO_LIE || r->run_number != r->options.lie_run ||
		(r->options.lie_at_times && random_below(2)))
		return;
	switch (r->options.lie)
	{
		case LIE_WIDE:
			*claim = (gsort_column_stats) {0, UINT64_MAX, UINT64_MAX, 0, claim->nulls};
			break;
		case LIE_MIN:
			/* any bits it has may occur */
			claim->min = claim->max > 0 ? claim->max - random_below(claim->max / 2 + 1) : 0;
			claim->any |= claim->min;
			claim->all &= claim->min;
			break;
		case LIE_MAX:
			claim->max = claim->min + random_below((claim->max - claim->min) / 2 + 1);
			claim->any |= claim->max;
			claim->all &= claim->max;
			break;
		case LIE_ANY:
			if (claim->min <= claim->max)
				claim->any = claim->min | claim->max;
			break;
		case LIE_ALL:
			if (claim->min <= claim->max)
				claim->all = claim->min & claim->max;
			break;
		case LIE_EQUAL:
			*claim = (gsort_column_stats) {first, first, first, first, 0};
			break;
		case LIE_NO_VALUE:
			key_stats_init(claim);
			claim->nulls = r->in->null_mask >> column & 1;
			break;
		case LIE_NO_NULL:
			claim->nulls = 0;
			break;
		case LIE_NULLS:
			claim->nulls = r->in->null_mask >> column & 1;
			break;
		case LIE_MIN_ABOVE_MAX:
			*claim = (gsort_column_stats) {UINT64_MAX, other >> 1 | 1, other >> 1 | 1, 0, 0};
			break;
		case LIE_FEWER_BITS:
			*claim = (gsort_column_stats) {0, first | 1, 0, 0, 0};
			break;
		case LIE_MORE_BITS:
			*claim = (gsort_column_stats) {0, UINT64_MAX, UINT64_MAX, first | 1, 0};
			break;
		case LIE_TOO_MANY_NULLS:
			claim->nulls = r->in->null_mask >> column & 1 ? chunk->rows + 1 : 1;
			break;
		case NO_LIE:
		case LIES_THAT_CAN_BE:
		case LIES:
			break;
	}
	r->impossible = r->options.lie > LIES_THAT_CAN_BE;
}

/* True if a key lies outside the claims of the run's chunks. */
static int
claims_are_false(const run *r)
{
	const input *in = r->in;

	for (uint64_t i = 0; i < (uint64_t) in->n * in->columns; i++)
	{
		const gsort_column_stats *claim = &r->claims[i % in->columns];
		uint64_t	key = in->keys[i];

		if (in->nulls[i / in->columns] >> i % in->columns & 1)
		{
			if (claim->nulls == 0)
				return 1;
		}
		else if (key < claim->min || key > claim->max || (key | claim->any) != claim->any ||
				 (key & claim->all) != claim->all)
			return 1;
	}
	return 0;
}

static gsort_status
append_new_rows(run *r, rig_buffer *buffer, gsort_chunk *chunk)
{
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];
	run_feeder *feeder = &r->feeders[chunk->feeder];
	uint32_t	row = r->next_row;
	uint64_t	units;
	uint64_t	at = 0;
	gsort_status status;

	chunk->rows = rows_that_fit(r, &units);
	if (chunk->rows == 0)
	{
		chunk->rows = 1;
		units = r->options.block_bytes / 8;
		chunk->more_bytes = (r->in->units[row] - units) * 8;
	}
	else if (chunk->rows == 1 && units > 1 && random_below(2) == 0)
	{
		/* a row that would fit may still be split */
		uint64_t	begin = 1 + random_below(units - 1);

		chunk->more_bytes = (units - begin) * 8;
		units = begin;
	}
	chunk->data_bytes = units * 8;
	for (uint32_t i = 0; i < chunk->rows; i++)
	{
		uint64_t	here = chunk->rows == 1 ? units : r->in->units[row + i];

		buffer->row_start[i] = (uint32_t) at;
		fill_units(r, buffer->data + at, row + i, 0, here);
		at += here;
	}
	fill_keys(r, buffer, chunk->rows, stats);
	tell_lie(r, buffer, chunk, stats);
	chunk->stats = stats;
	corrupt_starts(r, chunk, buffer->row_start);
	status = gsort_job_append(r->job, chunk);
	if (status != GSORT_OK)
		return status;
	for (uint32_t c = 0; c < r->in->columns; c++)
	{
		key_stats_fold(&r->stats[c], &stats[c]);
		key_stats_fold(&r->claims[c], &stats[c]);
	}
	r->fed_units += units + chunk->more_bytes / 8;
	r->next_row += chunk->rows;
	if (chunk->more_bytes > 0)
	{
		*feeder = (run_feeder) {row, units, chunk->more_bytes / 8};
		r->open_rows++;
	}
	return GSORT_OK;
}

static gsort_status
append_rest_of_row(run *r, rig_buffer *buffer, gsort_chunk *chunk)
{
	run_feeder *feeder = &r->feeders[chunk->feeder];
	uint64_t	units = r->options.block_bytes / 8;
	gsort_status status;

	if (random_below(4) == 0)
		units = 1 + random_below(units);
	if (units > feeder->missing_units)
		units = feeder->missing_units;
	chunk->data_bytes = units * 8;
	fill_units(r, buffer->data, feeder->row, feeder->next_unit, units);
	status = gsort_job_append(r->job, chunk);
	if (status != GSORT_OK)
		return status;
	feeder->next_unit += units;
	feeder->missing_units -= units;
	if (feeder->missing_units == 0)
		r->open_rows--;
	return GSORT_OK;
}

static gsort_job_stats
stats_now(run *r)
{
	gsort_job_stats stats;

	gsort_job_get_stats(r->job, &stats);
	if (stats.reserved_bytes > r->most_reserved_bytes)
		r->most_reserved_bytes = stats.reserved_bytes;
	return stats;
}

/* Requests the room that the next chunk may need, sometimes far more. */
static gsort_status
reserve_more(run *r)
{
	uint64_t	rows = RIG_CHUNK_ROWS;
	uint64_t	units = r->options.block_bytes / 8;
	gsort_status status;

	if (r->next_row < r->in->n && r->in->units[r->next_row] > units)
		units = r->in->units[r->next_row];
	if (r->next_row + rows <= r->reserved_rows && r->fed_units + units <= r->reserved_units)
		return GSORT_OK;
	if (r->options.reserve_all || random_below(2) == 0)
	{
		rows += r->in->n;
		units += r->in->total_units;
	}
	status = gsort_job_reserve(r->job, rows, units * 8);
	if (status == GSORT_OK)
	{
		r->reserved_rows += rows;
		r->reserved_units += units;
		stats_now(r);
	}
	return status;
}

static void
begin_close(run *r)
{
	r->phase = RUN_CLOSING;
	gsort_job_close(r->job);
}

static void
bad_data_found(run *r)
{
	if (r->options.lies_found != NULL)
		++*r->options.lies_found;
	begin_close(r);
}

static int
is_last_run(const run *r)
{
	return r->options.run_rows == NULL || r->run_number + 1 == r->options.run_count;
}

static gsort_finish_how
how_to_finish(const run *r)
{
	if (r->options.run_rows != NULL && !(r->options.last_alone && is_last_run(r)))
		return GSORT_SORTED_RUN;
	return GSORT_SORTED;
}

static int
feed_step(run *r)
{
	int			feeders = r->options.feeders > 0 ? r->options.feeders : 1;
	gsort_chunk chunk = {0};
	run_feeder *feeder;
	rig_buffer *buffer;
	gsort_status status;

	if (r->next_row == r->in->n && r->open_rows == 0)
	{
		r->how = how_to_finish(r);
		r->corrupted |= claims_are_false(r);
		CHECK(gsort_job_finish_run(r->job, r->how) == GSORT_OK);
		r->phase = RUN_FINISHING;
		return 1;
	}
	chunk.feeder = (uint32_t) random_below((uint64_t) feeders);
	feeder = &r->feeders[chunk.feeder];
	if (r->next_row == r->in->n && feeder->missing_units == 0)
		return 1;
	if (reserve_more(r) != GSORT_OK)
	{
		CHECK(r->options.nomem_is_fine);
		r->nomem = 1;
		begin_close(r);
		return 1;
	}
	buffer = buffer_take(r);
	if (buffer == NULL)
		return 0;
	chunk.data = buffer->data;
	chunk.keys = buffer->keys;
	chunk.row_start = buffer->row_start;
	chunk.nulls = r->in->null_mask != 0 ? buffer->nulls : NULL;
	chunk.tag = (uint64_t) (buffer - r->rig->buffers);
	if (feeder->missing_units > 0)
		status = append_rest_of_row(r, buffer, &chunk);
	else
		status = append_new_rows(r, buffer, &chunk);
	if (r->impossible)
	{
		CHECK(status == GSORT_BAD_DATA);
		bad_data_found(r);
		buffer_give(r, chunk.tag);
	}
	else if (!CHECK(status == GSORT_OK))
	{
		printf("  %s\n", gsort_error_text(r->rig->device));
		buffer_give(r, chunk.tag);
		begin_close(r);
	}
	return 1;
}

/* --- fetching ------------------------------------------------------------- */

static void
plan_fetches(run *r)
{
	free(r->fetch_sequence);
	r->next_fetch = 0;
	r->fetched = 0;
	r->fetch_sequence = malloc((r->n_blocks + 1) * sizeof(uint64_t));
	for (uint64_t i = 0; i < r->n_blocks; i++)
		r->fetch_sequence[i] = r->options.order == FETCH_BACKWARD ? r->n_blocks - 1 - i : i;
	for (uint64_t i = r->n_blocks; r->options.order == FETCH_RANDOM && i > 1; i--)
	{
		uint64_t	j = random_below(i);
		uint64_t	swapped = r->fetch_sequence[j];

		r->fetch_sequence[j] = r->fetch_sequence[i - 1];
		r->fetch_sequence[i - 1] = swapped;
	}
}

static void
check_stats(run *r)
{
	gsort_job_stats stats = stats_now(r);

	CHECK(stats.rows == r->in->n);
	CHECK(stats.peak_bytes <= r->most_reserved_bytes);
	CHECK(stats.bytes_in >= r->in->total_units * 8);
	CHECK(stats.bytes_out >= r->in->total_units * 8);
	CHECK(stats.runs == (uint32_t) r->run_number);
}

static void
check_merge_stats(run *r)
{
	gsort_job_stats stats = stats_now(r);

	CHECK(stats.rows == r->whole->n);
	CHECK(stats.peak_bytes <= r->most_reserved_bytes);
	/* the device may have used none of the reservation of a job without rows */
	CHECK(stats.rows == 0 || stats.reserved_bytes < r->whole->n + 8192 + stats.peak_bytes);
	CHECK(stats.bytes_out >= r->whole->total_units * 8 + r->whole->n);
	CHECK(stats.runs == (uint32_t) r->options.run_count);
}

static void
forget_blocks(run *r)
{
	free(r->blocks);
	r->blocks = NULL;
}

static void
take_slice(run *r)
{
	if (r->slice != NULL)
		input_free(r->slice);
	r->slice = input_slice(r->whole, r->rows_before, r->options.run_rows[r->run_number]);
	r->in = r->slice;
	r->next_row = 0;
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
		key_stats_init(&r->claims[c]);
	r->fed_units = 0;
	r->reserved_rows = 0;
	r->reserved_units = 0;
	memset(r->feeders, 0, sizeof(r->feeders));
}

/* True if these runs can be merged, by their keys and their number. */
static int
can_merge(const run *r)
{
	return r->options.inexact_mask == 0 && r->options.run_count <= GSORT_MERGE_RUNS_MAX &&
		key_plan_make(r->whole->columns, r->whole->null_first_mask, r->stats).words <= 1;
}

static void
begin_merge(run *r)
{
	int			may_drop = r->options.keys_may_drop || r->options.nomem_is_fine;
	int			kept = stats_now(r).keys_retained != 0;
	gsort_status status;

	/* reserves room for a run that is never fed */
	if (random_below(2) == 0)
		CHECK(gsort_job_reserve(r->job, 1000, 8000) == GSORT_OK || may_drop);
	stats_now(r);
	status = gsort_job_merge(r->job);
	CHECK(kept == can_merge(r) || (may_drop && !kept));
	r->nomem |= !kept && can_merge(r);
	if (status == GSORT_OK)
	{
		CHECK(kept);
		stats_now(r);
		CHECK(gsort_job_merge(r->job) == GSORT_BAD_ARG);
		r->phase = RUN_MERGING;
		return;
	}
	CHECK(status == GSORT_UNSUPPORTED && !kept);
	begin_close(r);
}

/* Continues after all blocks have arrived and been checked. */
static void
blocks_read(run *r)
{
	if (r->phase == RUN_FETCHING_ORDER)
	{
		check_merge_stats(r);
		CHECK(gsort_job_next_run(r->job) == GSORT_BAD_ARG);
		begin_close(r);
		return;
	}
	check_stats(r);
	if (r->how == GSORT_SORTED_RUN)
	{
		CHECK(gsort_job_next_run(r->job) == GSORT_OK);
		r->phase = RUN_ENDING;
	}
	else
		begin_close(r);
}

static int
fetch_step(run *r)
{
	int			in_flight = r->options.in_flight > 0 ? r->options.in_flight : 1;
	rig_buffer *buffer;
	uint64_t	block;

	if (r->fetched == r->n_blocks)
	{
		blocks_read(r);
		return 1;
	}
	if (r->next_fetch == r->n_blocks || r->n_held >= in_flight)
		return 0;
	buffer = buffer_take(r);
	if (buffer == NULL)
		return 0;
	block = r->fetch_sequence[r->next_fetch++];
	memset(buffer->data, PATTERN, r->options.block_bytes);
	r->fetching[buffer - r->rig->buffers] = block;
	CHECK(gsort_job_fetch(r->job, block, buffer->data,
						  (uint64_t) (buffer - r->rig->buffers)) == GSORT_OK);
	CHECK(gsort_job_next_run(r->job) == GSORT_BAD_ARG);
	return 1;
}

/* --- events --------------------------------------------------------------- */

static void
finish_succeeded(run *r)
{
	CHECK(!r->corrupted);
	run_expect_sorted(r);
	run_check_directory(r);
	plan_fetches(r);
	r->phase = RUN_FETCHING;
}

static void
finish_event(run *r, gsort_status status)
{
	const gsort_block *blocks;
	uint64_t	n;

	if (r->phase == RUN_CLOSING)
		return;
	if (status == GSORT_OK)
	{
		finish_succeeded(r);
		return;
	}
	CHECK(gsort_job_blocks(r->job, &blocks, &n) == GSORT_BAD_ARG);
	CHECK(gsort_job_fetch(r->job, 0, r->rig->arena, 0) == GSORT_BAD_ARG);
	if (status == GSORT_NOMEM && r->options.again_after_nomem && !r->nomem)
	{
		r->nomem = 1;
		CHECK(gsort_job_finish_run(r->job, r->how) == GSORT_OK);
		return;
	}
	CHECK(status == (r->corrupted ? GSORT_BAD_DATA : GSORT_NOMEM));
	if (status == GSORT_BAD_DATA)
	{
		/* none of its rows may be retained, merged or read */
		CHECK(gsort_job_next_run(r->job) == GSORT_BAD_ARG);
		CHECK(gsort_job_merge(r->job) == GSORT_BAD_ARG);
		CHECK(gsort_job_finish_run(r->job, r->how) == GSORT_BAD_ARG);
		bad_data_found(r);
		return;
	}
	if (status == GSORT_NOMEM)
	{
		CHECK(r->options.nomem_is_fine);
		r->nomem = 1;
	}
	begin_close(r);
}

static void
run_begun_event(run *r, gsort_status status)
{
	if (r->phase == RUN_CLOSING)
		return;
	CHECK(status == GSORT_OK);
	stats_now(r);
	forget_blocks(r);
	r->rows_before += r->in->n;
	r->run_number++;
	if (r->run_number == r->options.run_count)
		begin_merge(r);
	else
	{
		take_slice(r);
		r->phase = RUN_FEEDING;
	}
}

static void
merged_event(run *r, gsort_status status)
{
	if (r->phase == RUN_CLOSING)
		return;
	if (status == GSORT_NOMEM)
	{
		CHECK(r->options.nomem_is_fine);
		r->nomem = 1;
		begin_merge(r);
		return;
	}
	CHECK(status == GSORT_OK);
	run_expect_order(r);
	run_check_directory(r);
	plan_fetches(r);
	r->phase = RUN_FETCHING_ORDER;
}

static void
run_event(run *r, const gsort_event *event)
{
	switch (event->kind)
	{
		case GSORT_EVENT_APPENDED:
			CHECK(event->status == GSORT_OK);
			memset(r->rig->buffers[event->tag].data, 0xee, r->options.block_bytes);
			memset(r->rig->buffers[event->tag].keys, 0xee, 4096);
			buffer_give(r, event->tag);
			break;
		case GSORT_EVENT_RUN_FINISHED:
			finish_event(r, event->status);
			break;
		case GSORT_EVENT_FETCHED:
			CHECK(event->status == GSORT_OK);
			if (r->phase == RUN_FETCHING || r->phase == RUN_FETCHING_ORDER)
			{
				run_check_block(r, r->fetching[event->tag], r->rig->buffers[event->tag].data);
				r->fetched++;
			}
			buffer_give(r, event->tag);
			break;
		case GSORT_EVENT_CLOSED:
			CHECK(r->phase == RUN_CLOSING);
			buffers_give_all(r);
			r->phase = RUN_CLOSED;
			break;
		case GSORT_EVENT_RUN_BEGUN:
			run_begun_event(r, event->status);
			break;
		case GSORT_EVENT_MERGED:
			merged_event(r, event->status);
			break;
	}
}

static int
take_events(rig *rig)
{
	gsort_event events[4];
	int			total = 0;
	int			n;

	do
	{
		n = gsort_poll(rig->device, events, 4);
		for (int i = 0; i < n; i++)
			run_event((run *) (uintptr_t) events[i].job_tag, &events[i]);
		total += n;
	} while (n == 4);
	return total;
}

/* Prints what is known when a device stays silent, and ends the program. */
static void
end_in_silence(rig *rig, run **runs, int n, int wakes)
{
	printf("not ok: %s: no event came for %d ms, the device woke us %d times and %s; its last error: %s\n",
		   current_test, SILENCE_MS_MAX, wakes,
		   device_answers(rig->kind == GSORT_KIND_CUDA) ? "answers others" : "answers nobody",
		   gsort_error_text(rig->device));
	for (int i = 0; i < n; i++)
		printf("# job %d: phase %d, run %u of %u, %u of %u blocks fetched, %u buffers held\n", i,
			   (int) runs[i]->phase, (unsigned) runs[i]->run_number,
			   (unsigned) runs[i]->options.run_count, (unsigned) runs[i]->fetched,
			   (unsigned) runs[i]->n_blocks, (unsigned) runs[i]->n_held);
	exit(1);
}

/* Waits for an event of the device.  A device may wake its caller without one. */
static void
wait_for_events(rig *rig, run **runs, int n)
{
	uint64_t	give_up_ms = rig_now_ms() + SILENCE_MS_MAX;
	int			wakes = 0;

	do
	{
		struct pollfd descriptor = {.fd = gsort_fd(rig->device), .events = POLLIN};

		wakes += poll(&descriptor, 1, 100) > 0;
		if (take_events(rig) > 0)
			return;
	} while (rig_now_ms() < give_up_ms);
	end_in_silence(rig, runs, n, wakes);
}

/* --- runs ----------------------------------------------------------------- */

run *
run_start(rig *rig, const input *in, const run_options *options)
{
	run		   *r = calloc(1, sizeof(*r));
	gsort_job_options job_options = {
		.key_columns = in->columns,
		.null_mask = in->null_mask,
		.null_first_mask = in->null_first_mask,
		.block_bytes = options->block_bytes,
		.flags = options->ties ? GSORT_TIES : 0,
		.tag = (uint64_t) (uintptr_t) r,
		.inexact_mask = options->inexact_mask,
	};

	memcpy(job_options.inexact_bits, options->inexact_bits, sizeof(job_options.inexact_bits));
	memcpy(job_options.inexact_code, options->inexact_code, sizeof(job_options.inexact_code));
	r->rig = rig;
	r->in = in;
	r->whole = in;
	r->options = *options;
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
	{
		key_stats_init(&r->stats[c]);
		key_stats_init(&r->claims[c]);
	}
	if (options->run_rows != NULL)
		take_slice(r);
	if (gsort_job_open(rig->device, &job_options, &r->job) != GSORT_OK)
	{
		CHECK(options->nomem_is_fine);
		r->nomem = 1;
		r->phase = RUN_CLOSED;
	}
	return r;
}

static int
run_step(run *r)
{
	if (r->options.close_after > 0 && ++r->steps >= r->options.close_after &&
		r->phase < RUN_CLOSING)
	{
		begin_close(r);
		return 1;
	}
	switch (r->phase)
	{
		case RUN_FEEDING:
			return feed_step(r);
		case RUN_FETCHING:
		case RUN_FETCHING_ORDER:
			return fetch_step(r);
		default:
			return 0;
	}
}

static void
run_free(run *r)
{
	forget_blocks(r);
	if (r->slice != NULL)
		input_free(r->slice);
	free(r->fetch_sequence);
	free(r);
}

int
run_all(rig *rig, run **runs, int n)
{
	gsort_device_info info;
	int			nomem = 0;
	int			closed;

	do
	{
		int			progress = 0;
		int			first = (int) random_below((uint64_t) n);

		closed = 0;
		for (int i = 0; i < n; i++)
		{
			progress += run_step(runs[(first + i) % n]);
			closed += runs[i]->phase == RUN_CLOSED;
		}
		if (progress > 0)
			take_events(rig);
		else if (closed < n)
			wait_for_events(rig, runs, n);
	} while (closed < n);
	for (int i = 0; i < n; i++)
	{
		nomem += runs[i]->nomem;
		run_free(runs[i]);
	}
	gsort_device_get_info(rig->device, &info);
	CHECK(info.reserved_bytes == 0);
	return nomem;
}

int
run_one(rig *rig, const input *in, const run_options *options)
{
	run		   *r = run_start(rig, in, options);

	return run_all(rig, &r, 1);
}
