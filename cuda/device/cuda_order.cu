/*
 * cuda_order.cu
 *	  From keys to the order of the rows: the sorts of a finish, word by word.
 *
 * In:  a job's key extents and the plan of its sort words.
 * Out: SORT_ORDER, or no order if all keys are equal; SORT_SORTED_WORDS, the
 *	    sorted first words, if the search for ties or segments needs them; tie
 *	    bits.
 *
 * Keys of one word take one sort.  Keys of several words are sorted by the
 * first word, which has 64 bits and separates most rows.  The rows that it
 * leaves tied are listed and sorted by the other words, last to first, then by
 * their segments.  Each sort gathers its words in the current order.  The
 * result is written back to the tied places.  Distinct first words thus take
 * one sort for any number of words, and the worst input takes one sort more
 * than all words.  Few rows are sorted directly by all words, last to first,
 * because the intermediate read-back would not pay.
 *
 *	  keys --first word--> order --list--> tied rows
 *	       --other words, segment--> sorted --places--> order
 */
#include "device/cuda_finish.cuh"

#include "device/tied_rows.cuh"
#include "device/run_keys.cuh"
#include "rows/ties.h"
#include "sort/launch.cuh"

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#define NARROW_WORD_BITS	32
#define SEGMENT_ROWS_MIN	4096

/* --- one sort ------------------------------------------------------------- */

/* True if the words are sorted as 32 bits, which the radix sort alone
 * supports. */
static int
is_narrow(const sort_run *run, uint32_t bits)
{
	return bits <= NARROW_WORD_BITS && run->n <= RADIX_PAIRS_MAX;
}

/* The other one of the two alternating buffers. */
static uint32_t *
turn_of(const sort_run *run, sort_array one, sort_array other)
{
	return run->order == array_of<uint32_t>(run, one) ? array_of<uint32_t>(run, other) :
		array_of<uint32_t>(run, one);
}

/* Sorts run->order by the words in SORT_WORDS, and consumes these; words_out
 * may be NULL. */
template<typename Word>
static gsort_status
sort_pairs(sort_run *run, uint32_t bits, Word *words_out, uint32_t *order_out, gsort_engine *engine)
{
	const gsort_pairs pairs = {8 * sizeof(Word), bits, run->n, array_of<Word>(run, SORT_WORDS),
		words_out, run->order, order_out, run->job->common.options.engine};

	GSORT_TRY_STATUS(cuda_enter(run->device));
	*engine = cuda_pairs_engine(&pairs);
	/* if the device does not answer, the first launch fails too */
	(void) cudaGetLastError();
	GSORT_TRY(run->device, cuda_engine_sort(*engine, &pairs, run->job->sort[SORT_SCRATCH].pointer,
											run->job->sort[SORT_SCRATCH].bytes, run->stream));
	run->order = order_out;
	return GSORT_OK;
}

/* Makes the words of one number, in the current order.  Also checks the keys if
 * header is not NULL. */
template<typename Word>
static gsort_status
make_words(sort_run *run, uint32_t word, run_header *header)
{
	GSORT_LAUNCH(run->device, run->n, run->stream, compact_keys_kernel<Word>, run->plan, word,
				 run->table, run->order, run->n, header, array_of<Word>(run, SORT_WORDS));
	return GSORT_OK;
}

template<typename Word>
static gsort_status
sort_by_word_as(sort_run *run, uint32_t word, run_header *header, int words_wanted,
				uint32_t *order_out)
{
	gsort_engine engine;

	GSORT_TRY_STATUS(make_words<Word>(run, word, header));
	GSORT_TRY_STATUS(sort_pairs<Word>(run, run->plan.word_bits[word],
									  words_wanted ? array_of<Word>(run, SORT_SORTED_WORDS) : NULL,
									  order_out, &engine));
	if (word == 0)
		run->job->common.stats.engine = engine;
	return GSORT_OK;
}

static gsort_status
sort_by_word(sort_run *run, uint32_t word, run_header *header, int words_wanted,
			 uint32_t *order_out)
{
	return is_narrow(run, run->plan.word_bits[word]) ?
		sort_by_word_as<uint32_t>(run, word, header, words_wanted, order_out) :
		sort_by_word_as<uint64_t>(run, word, header, words_wanted, order_out);
}

static int
ties_wanted(const sort_run *run)
{
	return run->job->sort[SORT_TIES].pointer != NULL;
}

/* Sorts all rows by each word, last to first.  The first pass checks the keys
 * of all columns. */
static gsort_status
sort_by_all_words(sort_run *run)
{
	for (uint32_t word = run->plan.words; word-- > 0;)
		GSORT_TRY_STATUS(sort_by_word(run, word, word + 1 == run->plan.words ? run_header_of(run) :
									  NULL, word == 0 && ties_wanted(run),
									  array_of<uint32_t>(run, word % 2 == 0 ? SORT_ORDER :
														 SORT_LOW_OFFSETS)));
	return GSORT_OK;
}

/* --- ties of the first word ---------------------------------------------- */

static cudaError_t
select_tied(void *scratch, size_t *scratch_bytes, const first_word *words, uint64_t n,
			uint32_t *places, uint32_t *n_places, cudaStream_t stream)
{
	is_in_segment tied = {words, n};

	return cub::DeviceSelect::If(scratch, *scratch_bytes, thrust::counting_iterator<uint32_t>(0),
								 places, n_places, (int) n, tied, stream);
}

static cudaError_t
sum_begins(void *scratch, size_t *scratch_bytes, uint32_t *begins, uint64_t tied,
		   cudaStream_t stream)
{
	return cub::DeviceScan::InclusiveSum(scratch, *scratch_bytes, begins, begins, (int) tied,
										 stream);
}

size_t
cuda_order_scratch_bytes(uint64_t rows)
{
	size_t		select_bytes = 0;
	size_t		sum_bytes = 0;

	(void) select_tied(NULL, &select_bytes, NULL, rows, NULL, NULL, NULL);
	(void) sum_begins(NULL, &sum_bytes, NULL, rows, NULL);
	return select_bytes > sum_bytes ? select_bytes : sum_bytes;
}

/* Lists the tied rows' places in the order, in the first half of SORT_WORDS. */
static gsort_status
find_tied_places(sort_run *run)
{
	uint64_t	n = run->job->common.rows;
	size_t		scratch_bytes = run->job->sort[SORT_SCRATCH].bytes;

	GSORT_TRY(run->device, select_tied(run->job->sort[SORT_SCRATCH].pointer, &scratch_bytes,
									   array_of<first_word>(run, SORT_SORTED_WORDS), n,
									   array_of<uint32_t>(run, SORT_WORDS),
									   &run_header_of(run)->tied, run->stream));
	return GSORT_OK;
}

static gsort_status
sort_by_first_word(sort_run *run)
{
	run_header *header = run_header_of(run);

	GSORT_TRY_STATUS(sort_by_word(run, 0, header, 1, array_of<uint32_t>(run, SORT_ORDER)));
	GSORT_TRY(run->device, cudaMemsetAsync(&header->segments, 0, sizeof(header->segments),
										   run->stream));
	GSORT_LAUNCH(run->device, run->n, run->stream, count_segments_kernel,
				 array_of<first_word>(run, SORT_SORTED_WORDS), run->n, header);
	return find_tied_places(run);
}

gsort_status
cuda_order_begin(sort_run *run, int *by_first_word)
{
	*by_first_word = run->plan.words > 1 && run->n >= SEGMENT_ROWS_MIN;
	if (run->plan.words == 0)
		return make_words<uint32_t>(run, 0, run_header_of(run));
	return *by_first_word ? sort_by_first_word(run) : sort_by_all_words(run);
}

/* Copies the tied rows, in order, to SORT_LOW_OFFSETS and the numbers of their
 * segments to SORT_SEGMENTS. */
static gsort_status
list_tied_rows(sort_run *run, uint64_t tied)
{
	const uint32_t *places = array_of<uint32_t>(run, SORT_WORDS);
	uint32_t   *begins = array_of<uint32_t>(run, SORT_WORDS) + run->n;
	uint32_t   *rows = array_of<uint32_t>(run, SORT_LOW_OFFSETS);
	size_t		scratch_bytes = run->job->sort[SORT_SCRATCH].bytes;

	GSORT_LAUNCH(run->device, tied, run->stream, list_tied_rows_kernel,
				 array_of<first_word>(run, SORT_SORTED_WORDS), run->n, run->order, places, tied,
				 rows, begins);
	GSORT_TRY(run->device, sum_begins(run->job->sort[SORT_SCRATCH].pointer, &scratch_bytes,
									  begins, tied, run->stream));
	GSORT_LAUNCH(run->device, tied, run->stream, number_segments_kernel, rows, begins, tied,
				 array_of<uint32_t>(run, SORT_SEGMENTS));
	return GSORT_OK;
}

/* Sorts rows, in order by the later words, back into their segments. */
static gsort_status
sort_by_segment(sort_run *run, uint64_t segments)
{
	uint32_t	bits = significant_bits(segments - 1);
	gsort_engine engine;

	if (bits == 0)
		return GSORT_OK;
	GSORT_LAUNCH(run->device, run->n, run->stream, segment_words_kernel,
				 array_of<uint32_t>(run, SORT_SEGMENTS), run->order, run->n,
				 array_of<uint32_t>(run, SORT_WORDS));
	return sort_pairs<uint32_t>(run, bits, NULL, turn_of(run, SORT_LOW_OFFSETS, SORT_TIED_ROWS),
								&engine);
}

gsort_status
cuda_order_tied_rows(sort_run *run, uint64_t tied, uint64_t segments)
{
	uint64_t	n = run->n;
	uint32_t   *order = run->order;

	GSORT_TRY_STATUS(list_tied_rows(run, tied));
	run->n = tied;
	run->order = array_of<uint32_t>(run, SORT_LOW_OFFSETS);
	for (uint32_t word = run->plan.words; word-- > 1;)
		GSORT_TRY_STATUS(sort_by_word(run, word, NULL, 0,
									  turn_of(run, SORT_LOW_OFFSETS, SORT_TIED_ROWS)));
	GSORT_TRY_STATUS(sort_by_segment(run, segments));
	GSORT_TRY_STATUS(find_tied_places(run));
	GSORT_LAUNCH(run->device, tied, run->stream, put_tied_rows_kernel,
				 array_of<uint32_t>(run, SORT_WORDS), run->order, tied, order);
	run->n = n;
	run->order = order;
	return GSORT_OK;
}

/* --- tie bits ------------------------------------------------------------- */

template<typename Word>
static gsort_status
mark_ties_by(sort_run *run, sort_array sorted_words)
{
	tie_rule	rule = tie_rule_make(&run->job->common.options, &run->plan);

	GSORT_LAUNCH(run->device, run->n, run->stream, mark_ties_kernel<Word>, rule, run->table,
				 array_of<Word>(run, sorted_words), run->order, run->n,
				 array_of<uint32_t>(run, SORT_TIES));
	return GSORT_OK;
}

gsort_status
cuda_order_mark_ties(sort_run *run)
{
	if (!ties_wanted(run))
		return GSORT_OK;
	if (run->plan.words == 0)	/* all words are 0, so none was sorted */
		return mark_ties_by<uint32_t>(run, SORT_WORDS);
	return is_narrow(run, run->plan.word_bits[0]) ?
		mark_ties_by<uint32_t>(run, SORT_SORTED_WORDS) :
		mark_ties_by<uint64_t>(run, SORT_SORTED_WORDS);
}
