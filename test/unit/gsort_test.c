/*
 * gsort_test.c
 *	  Tests of gsort.h without PostgreSQL.
 *
 *	  gsort_test host|cuda [SEED [ROWS]]
 *	      runs all tests against that device, with inputs of at most ROWS rows
 *	  gsort_test host|cuda --keys [SEED]
 *	      tests keys of several words and tie bits alone, on small inputs
 *	  gsort_test host|cuda --merge ROWS
 *	      times the merge of 16 runs with that many rows
 *	  gsort_test host|cuda --calls ROWS
 *	      times each call of several concurrent jobs, the largest with that
 *	      many rows: no call may wait
 *	  gsort_test host|cuda --failures [SECONDS [SEED]]
 *	      tests failures and refusals alone, on small inputs.  Each sweep takes
 *	      at most SECONDS; 0 (default): every point
 *	  gsort_test cuda --lose
 *	      tests a lost device
 *
 * On a GPU the other tests try points of failure for SWEEP_LIMIT_MS in each
 * sweep, selected by the seed.  On the host they try all points.
 *
 * cuda:N is the GPU with that number, and cuda is cuda:0.
 *
 * Prints the seed, one line for each group of tests, one for each failed check,
 * and finally "N passed, N failed".  Exit status 0: all passed; 1: some failed;
 * 2: bad usage, or no such device.
 *
 * Link the C files of cuda/api and cuda/host with device_memory.c, or with
 * GSORT_TEST_WITH_CUDA the CUDA library and device_memory.cu.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAILURES_ROWS	20000	/* maximum rows for --failures */
#define KEYS_ROWS		6000	/* rows for --keys: enough for a sort by the first word */
#define SWEEP_LIMIT_MS	4000

static int
usage(void)
{
	printf("usage: gsort_test host|cuda [SEED [ROWS] | --keys [SEED] | --merge ROWS | --calls ROWS | --failures [SECONDS [SEED]] | --lose]\n");
	return 2;
}

static void
group_ended(const char *name)
{
	printf("%s: %d passed, %d failed so far\n", name, checks_passed, checks_failed);
	fflush(stdout);
}

static int
run_tests(gsort_kind kind)
{
	rig			rig;

	if (!rig_open(&rig, kind, 0))
		return 2;
	test_key_plan();
	test_block_cut();
	test_row_word();
	test_cuda_rules();
	group_ended("rules");
	test_host();
	group_ended("host limits");
	test_jobs(&rig);
	group_ended("jobs");
	test_inexact_values(&rig);
	group_ended("ties");
	test_segments(&rig);
	group_ended("segments");
	test_runs(&rig);
	group_ended("runs");
	test_lies(&rig);
	group_ended("lies");
	test_pairs(&rig);
	group_ended("pairs");
	rig_close(&rig);
	test_failures(kind);
	group_ended("failures");
	test_lost_at(kind);
	group_ended("lost devices");
	printf("%d passed, %d failed\n", checks_passed, checks_failed);
	return checks_failed > 0;
}

static int
run_failures(gsort_kind kind)
{
	rows_limit = FAILURES_ROWS;
	printf("seed %llu\n", (unsigned long long) random_state);
	test_failures(kind);
	group_ended("failures");
	test_lost_at(kind);
	group_ended("lost devices");
	printf("%d passed, %d failed\n", checks_passed, checks_failed);
	return checks_failed > 0;
}

static int
run_keys(gsort_kind kind)
{
	rig			rig;

	rows_limit = KEYS_ROWS;
	printf("seed %llu\n", (unsigned long long) random_state);
	if (!rig_open(&rig, kind, 0))
		return 2;
	test_segments(&rig);
	group_ended("segments");
	test_inexact_values(&rig);
	rig_close(&rig);
	printf("%d passed, %d failed\n", checks_passed, checks_failed);
	return checks_failed > 0;
}

int
main(int argc, char **argv)
{
	gsort_kind	kind;

	if (argc < 2)
		return usage();
	if (strcmp(argv[1], "host") == 0)
		kind = GSORT_KIND_HOST;
#ifdef GSORT_TEST_WITH_CUDA
	else if (strcmp(argv[1], "cuda") == 0 || strncmp(argv[1], "cuda:", 5) == 0)
	{
		kind = GSORT_KIND_CUDA;
		rig_ordinal = argv[1][4] == ':' ? atoi(argv[1] + 5) : 0;
	}
#endif
	else
		return usage();
	random_state = (uint64_t) time(NULL) * 1000003;
	/* the salt is constant, so that runs with one seed are alike */
	gsort_prepare(1);
	if (argc == 4 && strcmp(argv[2], "--merge") == 0)
		return time_merge(kind, strtoull(argv[3], NULL, 10));
	if (argc == 4 && strcmp(argv[2], "--calls") == 0)
		return time_calls(kind, strtoull(argv[3], NULL, 10));
	if (argc >= 3 && argc <= 5 && strcmp(argv[2], "--failures") == 0)
	{
		if (argc >= 4)
			sweep_limit_ms = (uint32_t) strtoul(argv[3], NULL, 10) * 1000;
		if (argc == 5)
			random_state = strtoull(argv[4], NULL, 10);
		return run_failures(kind);
	}
	if (argc >= 3 && argc <= 4 && strcmp(argv[2], "--keys") == 0)
	{
		if (argc == 4)
			random_state = strtoull(argv[3], NULL, 10);
		return run_keys(kind);
	}
	if (argc == 3 && kind == GSORT_KIND_CUDA && strcmp(argv[2], "--lose") == 0)
		return test_lost(kind);
	if (argc > 4)
		return usage();
	if (argc >= 3)
		random_state = strtoull(argv[2], NULL, 10);
	if (argc == 4)
		rows_limit = (uint32_t) strtoul(argv[3], NULL, 10);
	if (kind == GSORT_KIND_CUDA)
		sweep_limit_ms = SWEEP_LIMIT_MS;
	printf("seed %llu\n", (unsigned long long) random_state);
	return run_tests(kind);
}
