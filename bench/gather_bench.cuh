/*
 * gather_bench.cuh
 *	  gsort_bench's gather: rows of one length to blocks, in sorted order, on
 *	  the device alone.
 *
 * In:  an input; its reference order is the order of the gather.
 * Out: a line for each block size, and one for a copy of as many bytes.
 *
 * As in jobs, the rows lie in extents, and a block is one launch.  The blocks
 * take turns on GATHER_LANES streams, each with its own buffer.  Only the
 * copies to the host are omitted.
 */
#ifndef GSORT_GATHER_BENCH_CUH
#define GSORT_GATHER_BENCH_CUH

#define GATHERED_ROW_BYTES	56
#define GATHERED_ROW_UNITS	(GATHERED_ROW_BYTES / 8)
#define GATHER_LANES		4
#define GATHER_THREADS		256

/* No row crosses the end of an extent. */
static __host__ __device__ uint64_t
unit_of_row(uint64_t row)
{
	const uint64_t rows_an_extent = GSORT_EXTENT_UNITS / GATHERED_ROW_UNITS;

	return row / rows_an_extent * GSORT_EXTENT_UNITS + row % rows_an_extent * GATHERED_ROW_UNITS;
}

static __device__ uint64_t
content_of(uint64_t row, uint32_t unit)
{
	return mix_bits(row * GATHERED_ROW_UNITS + unit);
}

static __global__ void
fill_rows_kernel(extent_table table, uint64_t n)
{
	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n * GATHERED_ROW_UNITS;
		 i += (uint64_t) gridDim.x * blockDim.x)
	{
		uint64_t	row = i / GATHERED_ROW_UNITS;
		uint32_t	unit = (uint32_t) (i % GATHERED_ROW_UNITS);

		*(uint64_t *) (arena_unit(table, unit_of_row(row)) + unit) = content_of(row, unit);
	}
}

static __global__ void
describe_rows_kernel(uint64_t n, uint64_t *words, uint32_t *low_offsets)
{
	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * blockDim.x)
	{
		words[i] = row_word_make(unit_of_row(i), GATHERED_ROW_UNITS);
		low_offsets[i] = (uint32_t) (i * GATHERED_ROW_UNITS);
	}
}

static __global__ void
count_wrong_units_kernel(const uint32_t *order, uint64_t first_row, uint32_t rows,
						 const uint64_t *block, unsigned long long *wrong)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < rows * GATHERED_ROW_UNITS &&
		block[i] != content_of(order[first_row + i / GATHERED_ROW_UNITS], i % GATHERED_ROW_UNITS))
		atomicAdd(wrong, 1ull);
}

struct gather_lane
{
	cudaStream_t stream;
	cudaEvent_t ended;
	device_array<uint64_t> block;

	gather_lane(): block(GSORT_BLOCK_BYTES_MAX / 8)
	{
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&ended, cudaEventDisableTiming));
	}

	~gather_lane()
	{
		cudaStreamDestroy(stream);
		cudaEventDestroy(ended);
	}
};

template<typename Key>
struct stored_rows
{
	input<Key> &in;
	device_array<uint64_t> arena;
	device_array<uint64_t *> extents;
	device_array<uint64_t> words;	/* by row number */
	device_array<uint64_t *> word_extents;
	device_array<uint32_t> low_offsets;
	gather_lane lanes[GATHER_LANES];
	cudaEvent_t begun;

	static uint64_t extents_of(uint64_t n)
	{
		return unit_of_row(n - 1) / GSORT_EXTENT_UNITS + 1;
	}

	explicit stored_rows(input<Key> &input):
		in(input), arena(extents_of(in.n) * GSORT_EXTENT_UNITS), extents(extents_of(in.n)),
			words(in.n),
		word_extents(key_extents_of_rows(in.n)), low_offsets(in.n)
	{
		tell_extents(extents, arena.data, GSORT_EXTENT_UNITS, extents_of(in.n));
		tell_extents(word_extents, words.data, GSORT_KEY_EXTENT_ROWS, key_extents_of_rows(in.n));
		fill_rows_kernel<<<GRID_BLOCKS, GRID_THREADS>>>(table(), in.n);
		CHECK(cudaGetLastError());
		describe_rows_kernel<<<GRID_BLOCKS, GRID_THREADS>>>(in.n, words.data, low_offsets.data);
		CHECK(cudaGetLastError());
		CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
		CHECK(cudaDeviceSynchronize());
	}

	~stored_rows()
	{
		cudaEventDestroy(begun);
	}

	/* Publishes extents that are contiguous in memory. */
	static void tell_extents(device_array<uint64_t *> &table, uint64_t *first, uint64_t units,
							 uint64_t n)
	{
		std::vector<uint64_t *> begins;

		for (uint64_t e = 0; e < n; e++)
			begins.push_back(first + e * units);
		CHECK(cudaMemcpy(table.data, begins.data(), n * sizeof(uint64_t *),
						 cudaMemcpyHostToDevice));
	}

	extent_table table()
	{
		return {extents.data};
	}

	/* Gathers every block once; then(first row, rows, lane) enqueues work
	 * behind each. */
	template<typename Then>
	void gather_all(uint32_t block_bytes, Then then)
	{
		const sorted_run run = {word_extents.data, in.rows_right.data, low_offsets.data, NULL,
			in.n};
		uint32_t	each = block_bytes / GATHERED_ROW_BYTES;
		int			turn = 0;

		CHECK(cudaEventRecord(begun));
		for (gather_lane &lane : lanes)
			CHECK(cudaStreamWaitEvent(lane.stream, begun, 0));
		for (uint64_t first = 0; first < in.n; first += each)
		{
			gather_lane &lane = lanes[turn++ % GATHER_LANES];
			uint32_t	rows = (uint32_t) std::min<uint64_t>(each, in.n - first);
			uint32_t	lanes_log2 = gather_lanes_log2((uint64_t) rows * GATHERED_ROW_UNITS, rows);

			gather_rows_kernel<<<(((uint64_t) rows << lanes_log2) + GATHER_THREADS -
								  1) / GATHER_THREADS, GATHER_THREADS, 0,
				lane.stream>>>(run, table(), first, rows, lanes_log2, lane.block.data);
			CHECK(cudaGetLastError());
			then(first, rows, lane);
		}
		for (gather_lane &lane : lanes)
		{
			CHECK(cudaEventRecord(lane.ended, lane.stream));
			CHECK(cudaStreamWaitEvent(NULL, lane.ended, 0));
		}
	}

	bool gathers_right(uint32_t block_bytes)
	{
		unsigned long long wrong;

		CHECK(cudaMemset(in.counters.data, 0, sizeof(wrong)));
		gather_all(block_bytes, [&](uint64_t first, uint32_t rows, gather_lane &lane) {
			count_wrong_units_kernel<<<(rows * GATHERED_ROW_UNITS + GATHER_THREADS -
										1) / GATHER_THREADS, GATHER_THREADS, 0,
				lane.stream>>>(in.rows_right.data, first, rows, lane.block.data, in.counters.data);
			CHECK(cudaGetLastError());
		});
		CHECK(cudaMemcpy(&wrong, in.counters.data, sizeof(wrong), cudaMemcpyDeviceToHost));
		return wrong == 0;
	}

	void run_gather(uint32_t block_bytes, const char *name)
	{
		std::vector<float> times = time_repeats([] {}, [&] {
			gather_all(block_bytes, [](uint64_t, uint32_t, gather_lane &) {});
		});

		report("row_gather", 8 * sizeof(Key), in.n, name, times, gathers_right(block_bytes));
	}

	void run_copy()
	{
		device_array<char> copy(in.n * GATHERED_ROW_BYTES);
		std::vector<float> times = time_repeats([] {}, [&] {
			CHECK(cudaMemcpyAsync(copy.data, arena.data, in.n * GATHERED_ROW_BYTES,
								  cudaMemcpyDeviceToDevice));
		});

		report("row_copy", 8 * sizeof(Key), in.n, "56_bytes", times, true);
	}
};

/* Runs the selected gather and copy. */
template<typename Key>
static void
bench_gather(input<Key> &in)
{
	bool		gather = listed(the_options.algorithms, "row_gather");
	bool		copy = listed(the_options.algorithms, "row_copy");

	if (!gather && !copy)
		return;

	stored_rows<Key> rows(in);

	if (gather)
		rows.run_gather(GSORT_BLOCK_BYTES_MAX, "1_MiB_blocks");
	if (copy)
		rows.run_copy();
}

#endif							/* GSORT_GATHER_BENCH_CUH */
