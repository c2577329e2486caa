/*
 * job_bench.cuh
 *	  gsort_bench's jobs: rows fed, finished and fetched through gsort.h, as the
 *	  service does it, without PostgreSQL.
 *
 * In:  an input, whose keys become the rows' keys; the shapes of rows.
 * Out: for each shape, a line for the finish's time on the device, and one for
 *	    each time that the caller observes: feeding, the finish, fetching; the
 *	    peak of device memory per row.  The first job of each shape is not
 *	    timed: all its output is compared with the rows in reference order.
 *
 * The chunks lie ready in pinned memory, which the bench owns.  The rows of a
 * job have one length, or any between two, by their numbers.  With two keys,
 * several rows share the first key, and the input provides the second.
 */
#ifndef GSORT_JOB_BENCH_CUH
#define GSORT_JOB_BENCH_CUH

#include <sys/mman.h>
#include <time.h>

#define JOB_BLOCK_BYTES	(1u << 20)
#define JOB_CHUNK_UNITS		(JOB_BLOCK_BYTES / 8)
#define JOB_BLOCKS_AHEAD	8

struct job_shape
{
	const char *algorithm;		/* selects this shape */
	const char *name;
	uint32_t	least_units;	/* minimum length of a row */
	uint32_t	most_units;
	uint32_t	keys;			/* 1 or 2 */
	uint64_t	sharing;		/* average number of rows for each first key of two */
};

static const job_shape job_shapes[] = {
	{"job_cut", "56_bytes", 7, 7, 1, 1},
	{"job_cut", "24_to_200_bytes", 3, 25, 1, 1},
	{"job_cut", "8_to_16_bytes", 1, 2, 1, 1},
	{"job_cut_keys", "56_bytes_2_keys", 7, 7, 2, 1},
	{"job_cut_keys", "56_bytes_2_keys_100_share", 7, 7, 2, 100},
	{"job_cut_long", "8_bytes_to_600_kB", 1, 75000, 1, 1},
};

/* The first of two keys. */
static __host__ __device__ uint64_t
shared_key(uint64_t row, uint64_t n, uint64_t sharing)
{
	return mix_bits(mix_bits(row) % (n / sharing + 1));
}

static __global__ void
shared_keys_kernel(const uint32_t *rows, uint64_t n, uint64_t sharing, uint64_t *keys)
{
	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * blockDim.x)
		keys[i] = shared_key(rows[i], n, sharing);
}

static double
now_ms()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* Host memory in whole pages, which a device can pin. */
struct host_pages
{
	void	   *base;
	size_t		bytes;

	explicit host_pages(size_t wanted): bytes(wanted)
	{
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (base == MAP_FAILED)
		{
			fprintf(stderr, "gsort_bench: no %zu bytes of memory\n", bytes);
			exit(2);
		}
	}

	~host_pages()
	{
		munmap(base, bytes);
	}

	host_pages(const host_pages &) = delete;
	host_pages &operator=(const host_pages &) = delete;
};

struct job_times
{
	std::vector<float> feed;
	std::vector<float> finish;
	std::vector<float> finish_awaited;
	std::vector<float> fetch;
};

struct job_bench
{
	const job_shape &shape;
	uint64_t	n;
	uint64_t	chunk_rows;
	uint64_t	n_chunks;
	std::vector<uint32_t> order;	/* the reference order */
	host_pages	pages;			/* the four arrays, since a device pins one range */
	uint64_t   *data;			/* [n_chunks][JOB_CHUNK_UNITS] */
	uint64_t   *blocks;			/* [JOB_BLOCKS_AHEAD][JOB_CHUNK_UNITS] */
	uint64_t   *keys;			/* [n][shape.keys] */
	uint32_t   *row_start;		/* [n] */
	std::vector<uint64_t> chunk_units;
	/* a device of its own, because pinned memory stays pinned until the
	 * shutdown */
	gsort_device *device = NULL;
	gsort_job  *job = NULL;
	uint64_t	events[GSORT_EVENT_CLOSED + 1] = {};
	uint64_t	rows_right = 0; /* correct rows fetched so far, from the first on */
	job_times	times;

	job_bench(const job_shape &wanted, input<uint64_t> &in):
		shape(wanted), n(in.n), chunk_rows(JOB_CHUNK_UNITS / wanted.most_units),
			n_chunks((n + chunk_rows - 1) / chunk_rows),
		order(n),
		pages((n_chunks + JOB_BLOCKS_AHEAD) * JOB_BLOCK_BYTES + n * wanted.keys * 8 + n * 4),
		data((uint64_t *) pages.base), blocks(data + n_chunks * JOB_CHUNK_UNITS),
		keys(blocks + JOB_BLOCKS_AHEAD * JOB_CHUNK_UNITS),
		row_start((uint32_t *) (keys + n * wanted.keys)), chunk_units(n_chunks)
	{
		device = open_device();
		check_job(gsort_pin(device, pages.base, pages.bytes));
		find_order(in);
		fill_keys(in);
		for (uint64_t chunk = 0; chunk < n_chunks; chunk++)
			fill_chunk(chunk);
	}

	/* Shuts the device before its pinned memory is freed. */
	~job_bench()
	{
		gsort_shut(device);
	}

	job_bench(const job_bench &) = delete;
	job_bench &operator=(const job_bench &) = delete;

	void check_job(gsort_status status)
	{
		if (status == GSORT_OK)
			return;
		fprintf(stderr, "gsort_bench: %s: %s\n", shape.name, gsort_error_text(device));
		exit(2);
	}

	/* Orders stably by the input's keys, and with two keys by the first one. */
	void find_order(input<uint64_t> &in)
	{
		device_array<uint64_t> shared(shape.keys > 1 ? n : 0);
		size_t		bytes = 0;

		if (shape.keys > 1)
		{
			shared_keys_kernel<<<GRID_BLOCKS, GRID_THREADS>>>(in.rows_right.data, n, shape.sharing,
															  shared.data);
			CHECK(cudaGetLastError());
			CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, shared.data, in.keys_out.data,
												  in.rows_right.data, in.rows_out.data,
												  (uint32_t) n));
			device_array<char> scratch(bytes);

			CHECK(cub::DeviceRadixSort::SortPairs(scratch.data, bytes, shared.data,
												  in.keys_out.data, in.rows_right.data,
												  in.rows_out.data, (uint32_t) n));
			CHECK(cudaDeviceSynchronize());
		}
		CHECK(cudaMemcpy(order.data(), shape.keys > 1 ? in.rows_out.data : in.rows_right.data,
						 n * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	}

	void fill_keys(input<uint64_t> &in)
	{
		std::vector<uint64_t> last(n);

		CHECK(cudaMemcpy(last.data(), in.keys.data, n * sizeof(uint64_t), cudaMemcpyDeviceToHost));
		for (uint64_t row = 0; row < n; row++)
		{
			keys[row * shape.keys] = shared_key(row, n, shape.sharing);
			keys[row * shape.keys + shape.keys - 1] = last[row];
		}
	}

	uint64_t units_of(uint64_t row) const
	{
		return shape.least_units + mix_bits(row) % (shape.most_units - shape.least_units + 1);
	}

	uint64_t rows_of_chunk(uint64_t chunk) const
	{
		return std::min(chunk_rows, n - chunk * chunk_rows);
	}

	/* Each unit holds the number of its row and its own number. */
	static uint64_t content(uint64_t row, uint64_t unit)
	{
		return unit << 32 | row;
	}

	void fill_chunk(uint64_t chunk)
	{
		uint64_t   *to = data + chunk * JOB_CHUNK_UNITS;
		uint64_t	units = 0;

		for (uint64_t row = chunk * chunk_rows; row < chunk * chunk_rows + rows_of_chunk(chunk);
			 row++)
		{
			row_start[row] = (uint32_t) units;
			for (uint64_t unit = 0; unit < units_of(row); unit++)
				to[units++] = content(row, unit);
		}
		chunk_units[chunk] = units;
	}

	void take_events(gsort_event_kind kind, uint64_t wanted)
	{
		gsort_event taken[64];

		while (events[kind] < wanted)
		{
			int			found = gsort_poll(device, taken, 64);

			for (int i = 0; i < found; i++)
			{
				check_job(taken[i].status);
				events[taken[i].kind]++;
			}
			if (found == 0)
			{
				struct timespec pause = {0, 50000};

				nanosleep(&pause, NULL);
			}
		}
	}

	void open()
	{
		gsort_job_options options = {};
		uint64_t	units = 0;

		for (uint64_t of_chunk : chunk_units)
			units += of_chunk;
		std::fill(std::begin(events), std::end(events), 0);
		options.key_columns = shape.keys;
		options.block_bytes = JOB_BLOCK_BYTES;
		options.inexact_mask = shape.keys > 1 ? 1u << (shape.keys - 1) : 0;
		check_job(gsort_job_open(device, &options, &job));
		check_job(gsort_job_reserve(job, n, units * 8));
	}

	void feed()
	{
		gsort_column_stats stats[2];

		for (gsort_column_stats &of_column : stats)
			of_column = {0, UINT64_MAX, UINT64_MAX, 0, 0};
		for (uint64_t i = 0; i < n_chunks; i++)
		{
			gsort_chunk chunk = {};

			chunk.rows = (uint32_t) rows_of_chunk(i);
			chunk.data = data + i * JOB_CHUNK_UNITS;
			chunk.data_bytes = chunk_units[i] * 8;
			chunk.row_start = row_start + i * chunk_rows;
			chunk.keys = keys + i * chunk_rows * shape.keys;
			chunk.stats = stats;
			check_job(gsort_job_append(job, &chunk));
		}
		take_events(GSORT_EVENT_APPENDED, n_chunks);
	}

	void check_block(const gsort_block &block, const uint64_t *unit)
	{
		const uint64_t *end = unit + block.row_bytes / 8;

		while (unit < end && rows_right < n)
		{
			uint64_t	row = order[rows_right];

			for (uint64_t i = 0; i < units_of(row); i++)
			{
				if (unit == end || *unit++ != content(row, i))
					return;
			}
			rows_right++;
		}
	}

	/* Pending blocks complete in any order, so a checked fetch has only one in
	 * progress. */
	void fetch(bool checked)
	{
		const gsort_block *listed;
		uint64_t	n_blocks = 0;
		uint64_t	ahead = checked ? 1 : JOB_BLOCKS_AHEAD;

		check_job(gsort_job_blocks(job, &listed, &n_blocks));
		rows_right = 0;
		for (uint64_t i = 0; i < n_blocks; i++)
		{
			uint64_t   *to = blocks + i % JOB_BLOCKS_AHEAD * JOB_CHUNK_UNITS;

			if (i >= ahead)
				take_events(GSORT_EVENT_FETCHED, i - ahead + 1);
			check_job(gsort_job_fetch(job, i, to, i));
			if (!checked)
				continue;
			take_events(GSORT_EVENT_FETCHED, i + 1);
			check_block(listed[i], to);
		}
		take_events(GSORT_EVENT_FETCHED, n_blocks);
	}

	gsort_job_stats run_once(bool checked)
	{
		gsort_job_stats stats;
		double		begin;
		double		fed;
		double		finished;

		open();
		begin = now_ms();
		feed();
		fed = now_ms();
		check_job(gsort_job_finish_run(job, GSORT_SORTED));
		take_events(GSORT_EVENT_RUN_FINISHED, 1);
		finished = now_ms();
		fetch(checked);
		if (!checked)
		{
			times.fetch.push_back((float) (now_ms() - finished));
			times.feed.push_back((float) (fed - begin));
			times.finish_awaited.push_back((float) (finished - fed));
		}
		gsort_job_get_stats(job, &stats);
		gsort_job_close(job);
		take_events(GSORT_EVENT_CLOSED, 1);
		if (!checked)
			times.finish.push_back((float) stats.sort_ms);
		return stats;
	}

	void report_times(const char *algorithm, std::vector<float> &measured, bool ok)
	{
		std::sort(measured.begin(), measured.end());
		report(algorithm, 64, n, shape.name, measured, ok);
	}

	void run()
	{
		gsort_job_stats stats = run_once(true);
		bool		ok = rows_right == n;

		for (int i = 0; i < the_options.repeat; i++)
			run_once(false);
		report_times("job_cut", times.finish, ok);
		report_times("job_cut_awaited", times.finish_awaited, ok);
		report_times("job_feed", times.feed, ok);
		report_times("job_fetch", times.fetch, ok);
		printf("%s: %.1f bytes of device memory a row at most\n", shape.name,
			   (double) stats.peak_bytes / (double) n);
	}
};

static void
bench_jobs(input<uint64_t> &in)
{
	for (const job_shape &shape : job_shapes)
	{
		if (listed(the_options.algorithms, shape.algorithm))
		{
			job_bench	bench(shape, in);

			bench.run();
		}
	}
}

#endif							/* GSORT_JOB_BENCH_CUH */
