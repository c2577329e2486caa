/*
 * pairs_radix.cu
 *	  The launches of the radix sort.
 *
 * In:  a gsort_pairs, scratch of the caller.
 * Out: the sorted rows and keys in the caller's arrays.
 *
 *	  keys --count--> digits of all passes
 *	  keys --pass--> items --pass--> ... --pass--> rows
 *
 * Each pass sorts by 8 significant bits.  The remaining key bits determine the
 * form of the items: whole 64-bit keys and separate rows above 32 bits, one
 * word for both below.
 */
#include "sort/pairs_engine.h"

#include "sort/launch_plan.cuh"
#include "sort/radix_items.cuh"
#include "sort/radix_pass.cuh"

#define COUNT_BLOCKS_A_PROCESSOR	2
#define WORD_KEY_BITS	32		/* key bits beside a row */

typedef struct radix_scratch
{
	uint32_t   *next_tile;		/* [RADIX_PASSES_MAX]; zeroed together with the next two */
	uint32_t   *counts;			/* [passes][RADIX_BINS] */
	uint32_t   *states;			/* [tiles][RADIX_BINS] */
	size_t		zeroed_bytes;
	/* Words, or keys of longer items.  A pass reads one array and writes the
	 * other. */
	uint64_t   *first[2];
	uint32_t   *second[2];		/* rows of longer items */
	size_t		bytes;
} radix_scratch;

/* The digits, lowest first. */
typedef struct radix_shape
{
	uint32_t	passes;
	uint32_t	bits;
	uint32_t	digit_bits;		/* width of every digit but the last, which may be narrower */
	bool		keys_wanted;
	bool		long_keys;		/* does not fit a word, or is requested whole */
	uint32_t	words_begin;	/* the lowest key bit that words hold */
} radix_shape;

/* True if the pass exists and reads items longer than a word. */
static bool
reads_long(const radix_shape &shape, uint32_t pass)
{
	return shape.long_keys && pass < shape.passes &&
		(shape.keys_wanted || shape.bits - pass * shape.digit_bits > WORD_KEY_BITS);
}

static uint32_t
first_pass_of_words(const radix_shape &shape)
{
	uint32_t	pass = 0;

	while (reads_long(shape, pass))
		pass++;
	return pass;
}

static radix_shape
shape_of(const gsort_pairs *pairs)
{
	radix_shape shape;

	shape.bits = pairs->bits;
	/* without any bits one pass keeps the order */
	shape.passes = shape.bits > 0 ? (shape.bits + RADIX_DIGIT_BITS - 1) / RADIX_DIGIT_BITS : 1;
	shape.digit_bits = (shape.bits + shape.passes - 1) / shape.passes;
	shape.keys_wanted = pairs->d_keys_out != NULL;
	shape.long_keys = pairs->key_bits == 64 && (shape.bits > WORD_KEY_BITS || shape.keys_wanted);
	/* Keys of 32 bits stay whole, because they may be requested.  The upper
	 * half of a 64-bit key holds everything above. */
	shape.words_begin = pairs->key_bits == 32 ? 0 :
		first_pass_of_words(shape) * shape.digit_bits;
	if (shape.words_begin > 64 - WORD_KEY_BITS)
		shape.words_begin = 64 - WORD_KEY_BITS;
	return shape;
}

/* The pass's digit within the rest of a key, which begins at rest_begin. */
static radix_digit
digit_of_pass(const radix_shape &shape, uint32_t pass, uint32_t rest_begin)
{
	uint32_t	begin = pass * shape.digit_bits;
	uint32_t	bits = shape.bits - begin < shape.digit_bits ? shape.bits - begin :
		shape.digit_bits;

	return {begin - rest_begin, (1u << bits) - 1};
}

static radix_scratch
lay_out_radix(const gsort_pairs *pairs, void *d_scratch)
{
	scratch_cursor cursor = {(uintptr_t) d_scratch};
	radix_scratch scratch;
	radix_shape shape = shape_of(pairs);
	uint64_t	n = pairs->n;
	uint32_t	tile = shape.long_keys ? RADIX_TILE<RADIX_ROW, uint64_t> :
		RADIX_TILE<RADIX_ROW, uint32_t>;
	bool		keys_serve = pairs->key_bits == 64;

	take(&cursor, &scratch.next_tile, RADIX_PASSES_MAX);
	take(&cursor, &scratch.counts, shape.passes * RADIX_BINS);
	take(&cursor, &scratch.states, (size_t) tiles_for(n, tile) * RADIX_BINS);
	scratch.zeroed_bytes = cursor.at - (uintptr_t) d_scratch;
	take(&cursor, &scratch.first[0], shape.passes > 1 ? n : 0);
	take(&cursor, &scratch.first[1], shape.passes > 2 && !keys_serve ? n : 0);
	take(&cursor, &scratch.second[0], shape.keys_wanted && reads_long(shape, 1) ? n : 0);
	take(&cursor, &scratch.second[1], reads_long(shape, 2) ? n : 0);
	if (keys_serve)
		scratch.first[1] = (uint64_t *) pairs->d_keys;
	if (!shape.keys_wanted)		/* the last pass reads words, or the caller's keys */
		scratch.second[0] = pairs->d_rows_out;
	scratch.bytes = cursor.at - (uintptr_t) d_scratch;
	return scratch;
}

size_t
pairs_radix_scratch_bytes(const gsort_pairs *pairs)
{
	return pairs->n <= RADIX_PAIRS_MAX ? lay_out_radix(pairs, NULL).bytes : 0;
}

template<bool TilesInTurn>
struct radix_job
{
	const gsort_pairs *pairs;
	radix_shape shape;
	radix_scratch scratch;
	sort_device device;
	const uint32_t *wanted;
	early_stream stream;
};

/* Passes: at least the sort's number of passes. */
template<typename Key, int Passes, bool TilesInTurn>
static cudaError_t
launch_count(const radix_job<TilesInTurn> &job)
{
	uint32_t	n = (uint32_t) job.pairs->n;
	uint32_t	blocks = tiles_up_to(n, RADIX_COUNT_TILE,
									 job.device.processors * COUNT_BLOCKS_A_PROCESSOR);
	radix_digits<Passes> digits;

	static_assert(COUNTERS<Passes> * sizeof(uint32_t) <= RADIX_ROW::SHARED_BYTES,
				  "shared memory of the row");
	if constexpr (Passes > 1)
	{
		if (job.shape.passes < Passes)
			return launch_count<Key, Passes - 1>(job);
	}
	for (uint32_t p = 0; p < Passes; p++)
		digits.digit[p] = digit_of_pass(job.shape, p, 0);
	return launch(radix_count_kernel<Key, Passes>, blocks, RADIX_COUNT_THREADS,
				  COUNTERS<Passes> * sizeof(uint32_t), job.stream, (const Key *) job.pairs->d_keys,
				  n, digits, job.scratch.counts, job.wanted);
}

/* rest_begin: the lowest key bit in the items. */
template<bool TilesInTurn, typename Input, typename Output>
static cudaError_t
launch_pass(const radix_job<TilesInTurn> &job, uint32_t p, uint32_t rest_begin, Input input,
			Output output)
{
	typedef typename Input::rest_type Rest;
	constexpr uint32_t TILE = RADIX_TILE<RADIX_ROW, Rest>;
	uint32_t	n = (uint32_t) job.pairs->n;
	uint32_t	blocks = TilesInTurn ? tiles_up_to(n, TILE,
												   job.device.processors * RADIX_ROW::BLOCKS) :
		tiles_for(n, TILE);
	radix_pass	pass = {n, p, digit_of_pass(job.shape, p, rest_begin),
		job.scratch.counts + p * RADIX_BINS, job.scratch.next_tile + p, job.scratch.states,
		job.wanted};

	static_assert(sizeof(radix_memory<RADIX_ROW, Rest>) <= RADIX_ROW::SHARED_BYTES,
				  "shared memory of the row");
	static_assert(RADIX_TILE<RADIX_ROW, uint64_t> <= RADIX_TILE<RADIX_ROW, uint32_t>,
				  "words need no more states");
	return launch(radix_pass_kernel<RADIX_ROW, TilesInTurn, Input, Output>, blocks,
				  RADIX_ROW::THREADS, sizeof(radix_memory<RADIX_ROW, Rest>), job.stream, input,
				  output, pass);
}

/* From items that are or become words: to words, or to the output. */
template<bool TilesInTurn, typename Input>
static cudaError_t
launch_pass_of_words(const radix_job<TilesInTurn> &job, uint32_t p, Input input)
{
	uint32_t   *keys_out = (uint32_t *) (job.pairs->key_bits == 32 ? job.pairs->d_keys_out : NULL);

	if (p + 1 == job.shape.passes)
		return launch_pass(job, p, job.shape.words_begin, input,
						   radix_output<uint32_t>{job.pairs->d_rows_out, keys_out});
	return launch_pass(job, p, job.shape.words_begin, input, radix_words{job.scratch.first[p % 2]});
}

/* From longer items: to longer items, to words, or to the output. */
template<bool TilesInTurn, typename Input>
static cudaError_t
launch_pass_of_long(const radix_job<TilesInTurn> &job, uint32_t p, Input input)
{
	uint64_t   *first = job.scratch.first[p % 2];

	if (p + 1 == job.shape.passes)
		return launch_pass(job, p, 0, input, radix_output<uint64_t>{job.pairs->d_rows_out,
			(uint64_t *) job.pairs->d_keys_out});
	if (reads_long(job.shape, p + 1))
		return launch_pass(job, p, 0, input, radix_pairs{first, job.scratch.second[p % 2]});
	return launch_pass(job, p, 0, input, radix_shortened{first, job.shape.words_begin});
}

template<typename Key, bool TilesInTurn>
static cudaError_t
launch_first_pass(const radix_job<TilesInTurn> &job)
{
	const Key  *keys = (const Key *) job.pairs->d_keys;
	const uint32_t *rows = job.pairs->d_rows;

	if constexpr (sizeof(Key) == sizeof(uint64_t))
	{
		if (job.shape.long_keys)
			return launch_pass_of_long(job, 0, radix_keys<uint64_t, uint64_t>{keys, rows, 0});
	}
	if constexpr (TilesInTurn)	/* only sorts of long keys have longer items */
		return cudaErrorInvalidValue;
	else
		return launch_pass_of_words(job, 0, radix_keys<Key, uint32_t>{keys, rows,
			job.shape.words_begin});
}

template<bool TilesInTurn>
static cudaError_t
launch_next_pass(const radix_job<TilesInTurn> &job, uint32_t p)
{
	uint64_t   *first = job.scratch.first[(p - 1) % 2];

	if (reads_long(job.shape, p))
		return launch_pass_of_long(job, p, radix_pairs{first, job.scratch.second[(p - 1) % 2]});
	return launch_pass_of_words(job, p, radix_words{first});
}

template<bool TilesInTurn>
static cudaError_t
launch_clear(const radix_job<TilesInTurn> &job)
{
	uint64_t	words = job.scratch.zeroed_bytes / sizeof(uint4);

	static_assert(SCRATCH_ALIGNMENT % sizeof(uint4) == 0, "whole words");
	if (job.wanted == NULL)
		return cudaMemsetAsync(job.scratch.next_tile, 0, job.scratch.zeroed_bytes,
							   job.stream.stream);
	return launch(radix_clear_kernel,
				  tiles_up_to(words, RADIX_COUNT_THREADS,
							  job.device.processors * COUNT_BLOCKS_A_PROCESSOR),
				  RADIX_COUNT_THREADS, 0, job.stream, (uint4 *) job.scratch.next_tile, words,
				  job.wanted);
}

template<typename Key, bool TilesInTurn>
static cudaError_t
launch_sort(const radix_job<TilesInTurn> &job)
{
	CUDA_TRY(launch_clear(job));
	CUDA_TRY((launch_count<Key, sizeof(Key) * 8 / RADIX_DIGIT_BITS>(job)));
	CUDA_TRY(launch_first_pass<Key>(job));
	for (uint32_t p = 1; p < job.shape.passes; p++)
		CUDA_TRY(launch_next_pass(job, p));
	return cudaSuccess;
}

template<typename Key, bool TilesInTurn>
static cudaError_t
sort_by_radix(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
			  const uint32_t *wanted, cudaStream_t stream)
{
	radix_job<TilesInTurn> job = {pairs, shape_of(pairs), lay_out_radix(pairs, d_scratch), {},
		wanted, {stream, false}};

	CUDA_TRY(describe_device(&job.device));
	CUDA_TRY(find_early_launches((const void *) radix_clear_kernel, &job.stream.early));
	if (pairs->n > RADIX_PAIRS_MAX || scratch_bytes < job.scratch.bytes ||
		(uintptr_t) d_scratch % SCRATCH_ALIGNMENT != 0)
		return cudaErrorInvalidValue;
	return pairs->n > 0 ? launch_sort<Key>(job) : cudaSuccess;
}

cudaError_t
pairs_radix_sort(const gsort_pairs *pairs, void *d_scratch, size_t scratch_bytes,
				 cudaStream_t stream)
{
	if (pairs->key_bits == 32)
		return sort_by_radix<uint32_t, false>(pairs, d_scratch, scratch_bytes, NULL, stream);
	return sort_by_radix<uint64_t, false>(pairs, d_scratch, scratch_bytes, NULL, stream);
}

cudaError_t
pairs_radix_sort_if(const uint32_t *wanted, const gsort_pairs *pairs, void *d_scratch,
					size_t scratch_bytes, cudaStream_t stream)
{
	if (shape_of(pairs).passes == 1)
		return cudaErrorInvalidValue;
	/* Blocks that end at once cost 13 us per pass of 100 M pairs.  Tiles in
	 * turn cost one twelfth of a pass more. */
	if (pairs->key_bits == 32)
		return sort_by_radix<uint32_t, false>(pairs, d_scratch, scratch_bytes, wanted, stream);
	return shape_of(pairs).long_keys ? sort_by_radix<uint64_t, true>(pairs, d_scratch,
		scratch_bytes, wanted, stream) :
		sort_by_radix<uint64_t, false>(pairs, d_scratch, scratch_bytes, wanted, stream);
}
