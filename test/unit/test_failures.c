/*
 * test_failures.c
 *	  Failed allocations, refused launches, shutting with open jobs, and memory
 *	  that must be released; each test opens its own devices.
 */
#include "rig.h"

#define RUNS			3
/* More than the idle memory that a device may keep between jobs. */
#define IDLE_BYTES_MAX	(64ull << 20)
#define BUDGET_BYTES	(512ull << 20)
#define NEXT_PART		8		/* share of a sweep's input for the job after a failed one */

static uint64_t
used_bytes(rig *rig)
{
	gsort_device_info info;

	gsort_device_get_info(rig->device, &info);
	return info.used_bytes;
}

/* Runs the job with its fail_at-th allocation or launch failing; returns the
 * number of these. */
static uint64_t
run_failing(rig *rig, const input *in, const run_options *options, uint64_t fail_at, uint32_t kinds,
			int *refused)
{
	gsort_device_info info;

	gsort_set_fail_at(rig->device, fail_at, kinds);
	*refused += run_one(rig, in, options);
	gsort_device_get_info(rig->device, &info);
	gsort_set_fail_at(rig->device, 0, 0);
	CHECK(!info.lost);
	if (rig->kind == GSORT_KIND_HOST)
		CHECK(info.used_bytes <= IDLE_BYTES_MAX);
	return info.fail_count;
}

/* Whichever allocation or launch fails, a job ends correctly, with NOMEM, or
 * without a merge.  The next job works. */
static void
test_fail_at(gsort_kind kind, const input *in, uint32_t kinds, int again_after_nomem,
			 int several_runs)
{
	const uint32_t run_rows[RUNS] = {in->n / 3, in->n - in->n / 3 - in->n / 2, in->n / 2};
	run_options options = {
		/* all chunks and all blocks have the same launches, so a few suffice */
		.block_bytes = kinds == GSORT_FAIL_LAUNCHES ? GSORT_BLOCK_BYTES_MAX : 65536,
		.ties = 1,
		.in_flight = 3,
		.run_rows = several_runs ? run_rows : NULL,
		.run_count = RUNS,
	};
	run_options next_options = {.block_bytes = 65536, .ties = 1, .in_flight = 3};
	input	   *next = input_slice(in, 0, in->n / NEXT_PART);
	uint64_t	n;
	int			refused = 0;
	sweep		sweep;
	rig			rig;

	if (!CHECK(rig_open(&rig, kind, BUDGET_BYTES)))
		return;
	n = run_failing(&rig, in, &options, UINT64_MAX, kinds, &refused);
	CHECK(refused == 0);
	options.again_after_nomem = again_after_nomem;
	options.nomem_is_fine = 1;
	sweep_begin(&sweep, n);
	while ((n = sweep_next(&sweep)) != 0)
	{
		run_failing(&rig, in, &options, n, kinds, &refused);
		CHECK(run_one(&rig, next, &next_options) == 0);
	}
	sweep_end(&sweep);
	/* as without any failure */
	options.again_after_nomem = 0;
	options.nomem_is_fine = 0;
	CHECK(run_one(&rig, in, &options) == 0);
	/* the host device has no launches */
	CHECK(refused > 0 || sweep.tried < sweep.points ||
		  (kinds == GSORT_FAIL_LAUNCHES && kind == GSORT_KIND_HOST && sweep.points == 0));
	rig_close(&rig);
	input_free(next);
}

/* Repetitions of one job take no additional memory. */
static void
test_no_leak(gsort_kind kind, const input *in)
{
	run_options options = {.block_bytes = 65536, .ties = 1, .in_flight = 3, .reserve_all = 1};
	uint64_t	first = 0;
	rig			rig;

	current_test = "memory comes back";
	if (!CHECK(rig_open(&rig, kind, BUDGET_BYTES)))
		return;
	for (int round = 0; round < 4; round++)
	{
		CHECK(run_one(&rig, in, &options) == 0);
		if (round == 1)
			first = used_bytes(&rig);
	}
	CHECK(used_bytes(&rig) <= first);
	rig_close(&rig);
}

/* Leaves jobs in every phase when the device is shut. */
static void
test_shut_with_jobs(gsort_kind kind)
{
	current_test = "shut with jobs open";
	for (int appends = 0; appends < 12; appends++)
	{
		gsort_job_options options = {
			.key_columns = 1, .block_bytes = 65536
		};
		gsort_column_stats stats = {0, 63, 63, 0, 0};
		gsort_job  *job;
		rig			rig;

		if (!CHECK(rig_open(&rig, kind, BUDGET_BYTES)))
			return;
		CHECK(gsort_job_open(rig.device, &options, &job) == GSORT_OK);
		CHECK(gsort_job_reserve(job, 64 * 12, 12 * 4096) == GSORT_OK);
		for (int i = 0; i < appends; i++)
		{
			rig_buffer *buffer = &rig.buffers[i];
			gsort_chunk chunk = {
				.rows = 64, .data = buffer->data, .data_bytes = 4096,
				.row_start = buffer->row_start, .keys = buffer->keys, .stats = &stats
			};

			for (uint32_t row = 0; row < 64; row++)
			{
				buffer->row_start[row] = row * 8;
				buffer->keys[row] = row;
			}
			CHECK(gsort_job_append(job, &chunk) == GSORT_OK);
		}
		if (appends % 3 > 0)
			CHECK(gsort_job_finish_run(job, GSORT_SORTED) == GSORT_OK);
		if (appends % 3 > 1)
			gsort_job_close(job);
		rig_close(&rig);
	}
}

/* Each first word occurs twice, so the device reads the number of ties and
 * continues. */
static input *
input_of_words(uint32_t n)
{
	input	   *in = input_make(n, 3, 0, KEYS_UNIFORM, 1, 9, 0, 0);

	for (uint32_t i = 0; i < n; i++)
	{
		in->keys[3 * (uint64_t) i] = mix64(i / 2);
		in->keys[3 * (uint64_t) i + 1] = random64();
	}
	return input_reordered(in);
}

void
test_failures(gsort_kind kind)
{
	input	   *in = input_make(limited_rows(GSORT_KEY_EXTENT_ROWS + 20000), 2, 1, KEYS_FEW, 4,
								24, 0, 0);
	input	   *words = input_of_words(limited_rows(20000));

	current_test = "failing allocations";
	test_fail_at(kind, in, GSORT_FAIL_ALLOCATIONS, 0, 0);
	current_test = "failing allocations, then again";
	test_fail_at(kind, in, GSORT_FAIL_ALLOCATIONS, 1, 0);
	current_test = "failing allocations in several runs";
	test_fail_at(kind, in, GSORT_FAIL_ALLOCATIONS, 0, 1);
	current_test = "failing allocations in several runs, then again";
	test_fail_at(kind, in, GSORT_FAIL_ALLOCATIONS, 1, 1);
	current_test = "refused launches";
	test_fail_at(kind, in, GSORT_FAIL_LAUNCHES, 0, 0);
	current_test = "refused launches, then again";
	test_fail_at(kind, in, GSORT_FAIL_LAUNCHES, 1, 0);
	current_test = "refused launches in several runs";
	test_fail_at(kind, in, GSORT_FAIL_LAUNCHES, 0, 1);
	current_test = "failing allocations of keys of several words";
	test_fail_at(kind, words, GSORT_FAIL_ALLOCATIONS, 0, 0);
	current_test = "refused launches of keys of several words";
	test_fail_at(kind, words, GSORT_FAIL_LAUNCHES, 0, 0);
	current_test = "refused launches of keys of several words, then again";
	test_fail_at(kind, words, GSORT_FAIL_LAUNCHES, 1, 0);
	test_no_leak(kind, in);
	input_free(in);
	input_free(words);
	test_shut_with_jobs(kind);
}
