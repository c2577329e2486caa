/*
 * cuda_finish.cu
 *	  The finish: from a fed run to its directory of output blocks.
 *
 * In:  a job's key and word extents, the statistics of its columns, and the
 *	    extremes of the lengths in its header.
 * Out: SORTED: the order, low offsets and tie bits for the fetches, and the
 *	    list of output block begins, which becomes the directory
 *	    (place_rows.cuh).  SORTED_RUN: also the keys, which cuda_runs.cu gathers
 *	    by the order.
 *
 * The finish is enqueued behind the last append, as a whole if the keys fit one
 * word; the host reads the outcome from one copy at its end.  Keys of several
 * words are sorted by the first (cuda_order.cu).  Then the host reads the
 * number of ties and enqueues the rest.  All memory is allocated before the
 * first launch, and the keys stay until the directory is complete.  Therefore a
 * finish without memory leaves the run unchanged.
 */
#include "device/cuda_finish.cuh"

#include "device/place_rows.cuh"
#include "rows/ties.h"
#include "sort/launch.cuh"

#include <stdlib.h>
#include <string.h>

#define PACK_BLOCKS			2048	/* each thread packs as many words as necessary */
#define SLOT_BEGINS			((BEGINS_SLOT_BYTES - sizeof(run_header)) / sizeof(block_begin))

/* --- memory --------------------------------------------------------------- */

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Peak scratch of the pairs sort and of all later steps, which run one after
 * another. */
static size_t
scratch_bytes_for(gsort_engine engine, uint64_t rows)
{
	size_t		pairs_bytes = cuda_pairs_scratch_at_most(engine, rows);
	size_t		order_bytes = cuda_order_scratch_bytes(rows);

	/* an error leaves 0; the following launch fails too and reports it */
	(void) cudaGetLastError();
	return larger(larger(pairs_bytes, order_bytes), place_scratch_bytes(rows));
}

static void
size_arrays(const gsort_job *job, uint64_t rows, uint64_t units, size_t bytes[SORT_ARRAYS])
{
	uint64_t	begins = block_cut_begins_at_most(rows, units, job->options.block_bytes);
	int			with_ties = tie_bits_wanted(&job->options);
	/* one column without NULLs has one word, whose ties no other word sorts */
	int			with_segments = job->options.key_columns > 1 || job->options.null_mask != 0;

	bytes[SORT_WORDS] = rows * sizeof(uint64_t);
	bytes[SORT_SORTED_WORDS] = with_ties || with_segments ? rows * sizeof(uint64_t) : 0;
	bytes[SORT_ORDER] = rows * sizeof(uint32_t);
	bytes[SORT_LOW_OFFSETS] = rows * sizeof(uint32_t);
	bytes[SORT_TIES] = with_ties ? tie_bits_bytes(rows) : 0;
	bytes[SORT_TIED_ROWS] = with_segments ? rows * sizeof(uint32_t) : 0;
	bytes[SORT_SEGMENTS] = with_segments ? rows * sizeof(uint32_t) : 0;
	bytes[SORT_BEGINS] = begins * sizeof(block_begin);
	bytes[SORT_SCRATCH] = scratch_bytes_for(job->options.engine, rows);
}

uint64_t
cuda_sort_bytes(const gsort_job *job, uint64_t rows, uint64_t units)
{
	size_t		bytes[SORT_ARRAYS];
	uint64_t	sum = 0;

	if (rows == 0)
		return 0;
	size_arrays(job, rows, units, bytes);
	for (int i = 0; i < SORT_ARRAYS; i++)
		sum += bytes[i];
	return sum;
}

static gsort_status
allocate_arrays(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;
	size_t		bytes[SORT_ARRAYS];

	size_arrays(&job->common, job->common.rows, job->common.fed_units, bytes);
	for (int i = 0; i < SORT_ARRAYS; i++)
		GSORT_TRY_STATUS(cuda_allocate(device, job, &job->sort[i], bytes[i]));
	GSORT_TRY(device, cudaEventRecord(job->memory_ready, device->memory_stream));
	return GSORT_OK;
}

void
cuda_finish_free(cuda_job *job, uint32_t kept)
{
	cuda_device *device = (cuda_device *) job->common.device;

	cuda_slot_give(device, &job->finish_slot);
	free(job->begins);
	job->begins = NULL;
	for (int i = 0; i < SORT_ARRAYS; i++)
	{
		if (!(kept >> i & 1))
			cuda_release(device, job, &job->sort[i]);
	}
}

/* Frees the extents that neither fetches nor a gather of keys need. */
static void
free_spare_extents(cuda_job *job)
{
	const gsort_job *common = &job->common;

	if (common->finish_how == GSORT_SORTED_RUN)
		return;
	cuda_job_free_extents(job, KEY_EXTENTS, 0);
	cuda_job_free_extents(job, WORD_EXTENTS, key_extents_of_rows(common->rows));
	cuda_job_free_extents(job, ROW_EXTENTS, arena_extents_for(common->arena_units));
}

/* --- the launches --------------------------------------------------------- */

static uint64_t
begins_room(const cuda_job *job)
{
	return job->sort[SORT_BEGINS].bytes / sizeof(block_begin);
}

static gsort_status
place_rows(sort_run *run)
{
	cuda_job   *job = run->job;
	void	   *scratch = job->sort[SORT_SCRATCH].pointer;
	uint32_t   *lengths = array_of<uint32_t>(run, SORT_WORDS);
	place_input input = {lengths, run->order, (uint32_t) run->n, job->common.fed_units,
		job->common.options.block_bytes,
	tie_bits_wanted(&job->common.options)};
	place_output output = {array_of<uint32_t>(run, SORT_LOW_OFFSETS),
		array_of<block_begin>(run, SORT_BEGINS), begins_room(job),
	run_header_of(run)};

	GSORT_TRY_LAUNCH(run->device, launch(pack_lengths_kernel, PACK_BLOCKS, PACK_THREADS, 0,
										 run->stream, cuda_job_extents(job, WORD_EXTENTS), run->n,
										 run_header_of(run), lengths));
	GSORT_TRY(run->device, cudaMemsetAsync(scratch, 0, place_scratch_bytes(run->n), run->stream));
	GSORT_TRY_LAUNCH(run->device, launch(place_rows_kernel, (unsigned) place_tiles(run->n),
										 PLACE_THREADS, 0, run->stream, input,
										 place_states_in(scratch), output));
	return GSORT_OK;
}

/* --- the read-back ------------------------------------------------------- */

static gsort_status
copy_header_out(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	GSORT_TRY(device, cudaMemcpyAsync(job->finish_slot.memory, job->header.pointer,
									  sizeof(run_header), cudaMemcpyDeviceToHost,
									  job->work_stream));
	return GSORT_OK;
}

static gsort_status
copy_begins_out(cuda_job *job, uint64_t n)
{
	cuda_device *device = (cuda_device *) job->common.device;
	const block_begin *begins = (const block_begin *) job->sort[SORT_BEGINS].pointer;

	if (n > SLOT_BEGINS)
		n = SLOT_BEGINS;
	GSORT_TRY(device, cudaMemcpyAsync(job->finish_slot.memory + sizeof(run_header),
									  begins + job->begins_asked, n * sizeof(block_begin),
									  cudaMemcpyDeviceToHost, job->work_stream));
	job->begins_asked += n;
	return cuda_work_record_end(job);
}

/* Copies as many begins as the slot takes along with their count, which is not
 * known yet.  Mostly these are all. */
static gsort_status
copy_first_begins_out(cuda_job *job)
{
	job->begins_asked = 0;
	job->begins_taken = 0;
	GSORT_TRY_STATUS(copy_header_out(job));
	return copy_begins_out(job, begins_room(job));
}

/* --- finishing a run ------------------------------------------------------ */

static gsort_status
wait_for_appends(cuda_job *job)
{
	cuda_device *device = (cuda_device *) job->common.device;

	GSORT_TRY(device, cudaStreamWaitEvent(job->work_stream, job->memory_ready, 0));
	for (int i = 0; i < APPEND_LANES; i++)
	{
		cuda_lane  *lane = &device->lanes[i];

		GSORT_TRY(device, cudaEventRecord(lane->tail, lane->stream));
		GSORT_TRY(device, cudaStreamWaitEvent(job->work_stream, lane->tail, 0));
	}
	return GSORT_OK;
}

static sort_run
sort_run_of(cuda_job *job)
{
	const gsort_job *common = &job->common;
	sort_run	run;

	run.device = (cuda_device *) common->device;
	run.job = job;
	run.stream = job->work_stream;
	run.n = common->rows;
	run.plan = key_plan_make(common->options.key_columns, common->options.null_first_mask,
							 common->column_stats);
	run.table = cuda_job_key_table(job);
	run.order = NULL;
	return run;
}

static gsort_status
enqueue_output_blocks(sort_run *run)
{
	run->job->sorted_as_fed = run->order == NULL;
	GSORT_TRY_STATUS(cuda_order_mark_ties(run));
	GSORT_TRY_STATUS(place_rows(run));
	return copy_first_begins_out(run->job);
}

/* Enqueues the finish.  If it sorts by the first word alone, it ends with the
 * header.  The host then reads the number of tied rows there and enqueues the
 * rest. */
static gsort_status
enqueue_sort(cuda_job *job)
{
	gsort_job  *common = &job->common;
	cuda_array *begins = &job->sort[SORT_BEGINS];
	sort_run	run = sort_run_of(job);
	int			by_first_word;

	common->stats.key_bits = run.plan.bits;
	common->stats.key_words = run.plan.words;
	common->stats.engine = GSORT_ENGINE_AUTO;

	GSORT_TRY_STATUS(wait_for_appends(job));
	GSORT_TRY(run.device, cudaEventRecord(job->work_began, run.stream));
	/* the slot receives more begins than are written */
	GSORT_TRY(run.device, cudaMemsetAsync(begins->pointer, 0, begins->bytes, run.stream));
	GSORT_TRY_STATUS(cuda_order_begin(&run, &by_first_word));
	if (!by_first_word)
		return enqueue_output_blocks(&run);
	job->tied_awaited = 1;
	GSORT_TRY_STATUS(copy_header_out(job));
	return cuda_work_record_end(job);
}

/* Enqueues the rest of the finish when the header holds the number of rows tied
 * by the first word. */
static gsort_status
enqueue_rest(cuda_job *job, const run_header *header)
{
	sort_run	run = sort_run_of(job);

	run.order = array_of<uint32_t>(&run, SORT_ORDER);
	if (header->tied > 0)
		GSORT_TRY_STATUS(cuda_order_tied_rows(&run, header->tied, header->segments));
	return enqueue_output_blocks(&run);
}

static gsort_status
finish_sorted(cuda_job *job)
{
	job->common.stats.sort_ms = 0;
	if (job->common.rows == 0)
	{
		GSORT_TRY_STATUS(gsort_make_directory(&job->common, NULL, 0));
		free_spare_extents(job);
		return GSORT_OK;
	}
	cuda_take_sort_stream(job);
	job->tied_awaited = 0;
	GSORT_TRY_STATUS(allocate_arrays(job));
	return cuda_work_enqueued(job, enqueue_sort(job));
}

gsort_status
cuda_job_finish_run(gsort_job *base)
{
	cuda_job   *job = (cuda_job *) base;
	gsort_status status = cuda_slot_take((cuda_device *) base->device, &job->finish_slot,
										 BEGINS_SLOT_BYTES);

	if (status == GSORT_OK)
		status = finish_sorted(job);
	if (status == GSORT_DEVICE_LOST)
		return status;
	/* no memory, no rows, or refused and drained */
	if (!job->work_on_device)
		cuda_finish_free(job, 0);
	cuda_work_begun(job, GSORT_EVENT_RUN_FINISHED, status);
	return GSORT_OK;
}

/* --- the finish's end ----------------------------------------------------- */

static int
take_begins(cuda_job *job, uint64_t n)
{
	const block_begin *begins =
		(const block_begin *) (job->finish_slot.memory + sizeof(run_header));

	if (job->begins == NULL)
		job->begins = (block_begin *) malloc((n + 1) * sizeof(block_begin));
	if (job->begins == NULL)
		return 0;
	for (uint64_t i = 0; job->begins_taken < job->begins_asked && job->begins_taken < n; i++)
		job->begins[job->begins_taken++] = begins[i];
	return 1;
}

static int
compare_begins(const void *a, const void *b)
{
	uint64_t	x = ((const block_begin *) a)->row;
	uint64_t	y = ((const block_begin *) b)->row;

	return x < y ? -1 : x > y;
}

static gsort_status
end_sort(cuda_job *job, const run_header *header)
{
	gsort_job  *common = &job->common;
	gsort_status status;

	if (header->longest_units > block_cut_long_units(common->options.block_bytes))
		qsort(job->begins, job->begins_taken, sizeof(block_begin), compare_begins);
	status = gsort_make_directory(common, job->begins, job->begins_taken);
	if (status != GSORT_OK)
		return status;
	common->stats.sort_ms = cuda_work_ms(job);
	/* stay for fetches and for the next gather of keys */
	cuda_finish_free(job, 1u << SORT_LOW_OFFSETS | 1u << SORT_TIES |
					 (job->sorted_as_fed ? 0 : 1u << SORT_ORDER));
	free_spare_extents(job);
	return GSORT_OK;
}

/* Evaluates the slot.  Returns OK with work_on_device set again if more begins
 * follow. */
static gsort_status
read_outcome(cuda_job *job)
{
	run_header	header;

	memcpy(&header, job->finish_slot.memory, sizeof(header));
	if (header.bad_data)
		return gsort_fail_bad_data(job->common.device, header.bad_data);
	if (job->tied_awaited)
	{
		job->tied_awaited = 0;
		return cuda_work_enqueued(job, enqueue_rest(job, &header));
	}
	if (!take_begins(job, header.n_begins))
		return gsort_fail(job->common.device, GSORT_NOMEM, "out of memory for the directory");
	if (job->begins_taken < header.n_begins)
		return cuda_work_enqueued(job, copy_begins_out(job, header.n_begins - job->begins_taken));
	return end_sort(job, &header);
}

void
cuda_finish_ended(cuda_job *job, gsort_status status)
{
	if (status == GSORT_OK && !job->common.closing)
		status = read_outcome(job);
	job->work_status = status;
	if (status != GSORT_OK || job->common.closing)
		cuda_finish_free(job, 0);
}
