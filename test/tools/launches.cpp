/*
 * launches.cpp
 *	  Which kernels the sorts and the merge launch on each chip, with how many threads and how much shared memory.
 *
 * In:  the host code of cuda/sort, which chooses by number of pairs, bits of the keys and shared memory of a block.
 * Out: a line "chip kernel threads shared_bytes" for each, again and again; kernel is the function's address in this
 *	    program, and nm knows its name.
 *
 * Compiled as for the emulator (test/emulator/emulator.h), but nothing is run: a launch is noted, and no memory is
 * touched.  test/tools/ptxas compares this with what ptxas says of the kernels.
 */
#include <stdio.h>

#define launch launch_in_emulator
#define launch_together launch_together_in_emulator
#define cudaMemcpyAsync cudaMemcpyAsync_in_emulator
#define cudaMemsetAsync cudaMemsetAsync_in_emulator
#include "emulator.h"
#undef launch
#undef launch_together
#undef cudaMemcpyAsync
#undef cudaMemsetAsync

static const char *chip_name;

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned, unsigned threads, size_t shared_bytes, cudaStream_t, Arguments...)
{
	printf("%s %lx %u %zu\n", chip_name, (unsigned long) kernel, threads, shared_bytes);
	return cudaSuccess;
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes, const early_stream &stream,
	   Arguments... arguments)
{
	return launch(kernel, blocks, threads, shared_bytes, stream.stream, arguments...);
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_together(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes, cudaStream_t stream,
				Arguments... arguments)
{
	return launch(kernel, blocks, threads, shared_bytes, stream, arguments...);
}

static cudaError_t
cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t)
{
	return cudaSuccess;
}

static cudaError_t
cudaMemsetAsync(void *, int, size_t, cudaStream_t)
{
	return cudaSuccess;
}

#include "sort/multiway_merge.cu"
#include "sort/pairs_partition.cu"
#include "sort/pairs_radix.cu"

/* Nothing is read or written there. */
#define NO_MEMORY	((void *) (uintptr_t) SCRATCH_ALIGNMENT)

#define PROCESSORS	132			/* of each chip: as many as the largest have */

/* Around the numbers at which another tuning row is chosen. */
static const uint64_t numbers_of_pairs[] = {1000, 10000, 100000, 300000, 1000000,
	MEDIUM_PAIRS_MAX, MEDIUM_PAIRS_MAX + 1, RADIX_PAIRS_MAX, RADIX_PAIRS_MAX + 1};

static void
fail_unless(bool right, const char *what)
{
	if (!right)
	{
		fprintf(stderr, "%s: %s\n", chip_name, what);
		exit(1);
	}
}

/* A sort must refuse pairs that it does not support. */
static void
sort_pairs(const gsort_pairs &pairs)
{
	bool		partition = partition_takes(&pairs) && sort_tuning_row(pairs.n, emulator::the_chip.shared_bytes) != TUNING_CHOICE_NONE;
	bool		radix = pairs.n <= RADIX_PAIRS_MAX;

	fail_unless((pairs_partition_sort(&pairs, NO_MEMORY, SIZE_MAX, NULL) == cudaSuccess) == partition, "partition");
	fail_unless((pairs_radix_sort(&pairs, NO_MEMORY, SIZE_MAX, NULL) == cudaSuccess) == radix, "radix sort");
}

static void
sort_all_pairs(void)
{
	gsort_pairs pairs = {};

	pairs.d_keys = NO_MEMORY;
	pairs.d_rows_out = (uint32_t *) NO_MEMORY;
	for (uint64_t n : numbers_of_pairs)
	{
		for (uint32_t key_bits = 32; key_bits <= 64; key_bits += 32)
		{
			for (uint32_t bits = 1; bits <= key_bits; bits++)
			{
				pairs.n = n;
				pairs.key_bits = key_bits;
				pairs.bits = bits;
				pairs.d_keys_out = bits % 2 == 0 ? NO_MEMORY : NULL;
				sort_pairs(pairs);
			}
		}
	}
}

static void
merge_runs_of_keys(void)
{
	const merge_run runs[2] = {{NO_MEMORY, NULL, 100000, 0}, {NO_MEMORY, NULL, 100000, 0}};
	key_plan	plan = {};

	for (plan.bits = 1; plan.bits <= 64; plan.bits++)
		fail_unless(order_merge(&plan, runs, 2, NO_MEMORY, (uint8_t *) NO_MEMORY, NULL) == cudaSuccess, "merge");
}

/* CHIP SHARED_BYTES...: of a block. */
int
main(int count, char **words)
{
	for (int i = 1; i + 1 < count; i += 2)
	{
		chip_name = words[i];
		emulator::the_chip.shared_bytes = atoi(words[i + 1]);
		emulator::the_chip.processors = PROCESSORS;
		sort_all_pairs();
		merge_runs_of_keys();
	}
	return 0;
}
