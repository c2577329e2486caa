/*
 * test_host.c
 *	  The host device's use of its machine: processors and memory within the
 *	  limits of control groups (host_limits.h), the number of its threads and
 *	  their nice value, and its shutdown while they work.
 */
#define _GNU_SOURCE				/* for the default stack size of threads */
#include "rig.h"

#include <dirent.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host_limits.h"
#include "host/host_ops.h"
#include "host/host_sort.h"

#define MACHINE_PROCESSORS	64
#define MACHINE_BYTES		(512ull << 30)
#define MACHINE_LEFT_BYTES	(100ull << 30)
#define NOTHING_LEFT		UINT64_MAX
#define NICE_MAX			19

/* --- control groups ------------------------------------------------------- */

typedef struct file_text
{
	/* below the mounts, or "cgroup": the content of the file in /proc */
	const char *path;
	const char *text;
} file_text;

#define FILES_MAX	8

typedef struct limits_case
{
	const char *name;
	file_text	files[FILES_MAX];
	int			processors;
	uint64_t	memory_bytes;
	uint64_t	left_bytes;		/* 0: as much as the machine has left; or NOTHING_LEFT */
} limits_case;

/* why a device cannot be opened */
static char reason[256];

static const limits_case limits_cases[] = {
	{"no file", {{0}}, MACHINE_PROCESSORS, MACHINE_BYTES, 0},
	{"no limit", {{"cgroup", "0::/\n"}, {"cpu.max", "max 100000\n"}, {"memory.max", "max\n"}},
	 MACHINE_PROCESSORS, MACHINE_BYTES, 0},
	{"a container sees its own group as the top",
	 {{"cgroup", "0::/\n"}, {"cpu.max", "200000 100000\n"}, {"memory.max", "4294967296\n"}}, 2,
	 4ull << 30, 0},
	{"a part of a processor counts as one",
	{{"cgroup", "0::/\n"}, {"cpu.max", "50000 100000\n"}}, 1, MACHINE_BYTES, 0},
	{"two and a half are three", {{"cgroup", "0::/\n"}, {"cpu.max", "250000 100000\n"}}, 3,
	 MACHINE_BYTES, 0},
	{"more than the machine has", {{"cgroup", "0::/\n"}, {"cpu.max", "9900000 100000\n"},
								   {"memory.max", "9223372036854771712\n"}}, MACHINE_PROCESSORS,
	 MACHINE_BYTES, 0},
	{"a unit of a slice: the least of both",
	 {{"cgroup", "0::/a.slice/b.service\n"}, {"a.slice/cpu.max", "300000 100000\n"},
	  {"a.slice/b.service/cpu.max", "max 100000\n"},
	{"a.slice/memory.max", "max\n"}, {"a.slice/b.service/memory.max", "1073741824\n"}}, 3,
		1ull << 30, 0},
	{"the group's folder is not to be seen",
	{{"cgroup", "0::/../far/away\n"}, {"cpu.max", "400000 100000\n"}}, 4, MACHINE_BYTES, 0},
	{"version 1",
	 {{"cgroup", "5:memory:/box\n4:cpuset:/\n3:cpu,cpuacct:/box\n1:name=systemd:/box\n"},
	  {"cpu/box/cpu.cfs_quota_us", "700000\n"},
	{"cpu/box/cpu.cfs_period_us", "100000\n"},
		{"memory/box/memory.limit_in_bytes", "2147483648\n"}}, 7, 2ull << 30, 0},
	{"version 1 without limits",
	 {{"cgroup", "5:memory:/\n3:cpuacct,cpu:/\n"}, {"cpu/cpu.cfs_quota_us", "-1\n"},
	  {"cpu/cpu.cfs_period_us", "100000\n"},
	{"memory/memory.limit_in_bytes", "9223372036854771712\n"}}, MACHINE_PROCESSORS,
		MACHINE_BYTES, 0},
	{"names that only contain others",
	 {{"cgroup", "4:cpuset,notmemory:/\n"}, {"cpu.max", "1 1\n"},
	  {"cpu/cpu.max", "100000 100000\n"}, {"memory/memory.max", "4096\n"}}, MACHINE_PROCESSORS,
	 MACHINE_BYTES, 0},
	{"nonsense", {{"cgroup", "\n::\n0:\n0::/\n"}, {"cpu.max", "100000\n"}, {"memory.max", "\n"}},
	 MACHINE_PROCESSORS, MACHINE_BYTES, 0},
	{"what is left of a group, with the pages of files",
	{{"cgroup", "0::/\n"}, {"memory.max", "4294967296\n"}, {"memory.current", "3221225472\n"},
	{"memory.stat", "anon 1\nfile 536870912\nactive_file 100000000\ninactive_file 200000000\n"}},
		MACHINE_PROCESSORS, 4ull << 30, (1ull << 30) + 300000000},
	{"a group without a limit, in one that has little left",
	 {{"cgroup", "0::/a.slice/b.service\n"}, {"a.slice/memory.max", "2147483648\n"},
	  {"a.slice/memory.current", "2147483648\n"},
	{"a.slice/memory.stat", "inactive_file 4096\n"}, {"a.slice/b.service/memory.max", "max\n"},
		{"a.slice/b.service/memory.current", "4096\n"}},
	MACHINE_PROCESSORS, 2ull << 30, 4096},
	{"more in use than the limit allows",
	 {{"cgroup", "0::/\n"}, {"memory.max", "4096\n"}, {"memory.current", "8192\n"}},
	 MACHINE_PROCESSORS, 4096, NOTHING_LEFT},
	{"what is left in version 1",
	 {{"cgroup", "5:memory:/box\n"}, {"memory/box/memory.limit_in_bytes", "2147483648\n"},
	  {"memory/box/memory.usage_in_bytes", "1073741824\n"},
	{"memory/box/memory.stat",
	 "inactive_file 1\nactive_file 1\ntotal_inactive_file 4096\ntotal_active_file 8192\n"}},
		MACHINE_PROCESSORS, 2ull << 30, (1ull << 30) + 12288},
	{"no limit, much in use",
	 {{"cgroup", "5:memory:/\n"}, {"memory/memory.limit_in_bytes", "9223372036854771712\n"},
	  {"memory/memory.usage_in_bytes", "400000000000\n"}}, MACHINE_PROCESSORS, MACHINE_BYTES, 0},
	{"nothing is no limit", {{"cgroup", "0::/\n"}, {"cpu.max", "0 0\n"}, {"memory.max", "0\n"}},
	 MACHINE_PROCESSORS, MACHINE_BYTES, 0},
};

static void
write_file(const char *folder, const file_text *file)
{
	char		path[512];
	FILE	   *stream;

	snprintf(path, sizeof(path), "%s/%s", folder, file->path);
	for (char *at = strchr(path + strlen(folder) + 1, '/'); at != NULL; at = strchr(at + 1, '/'))
	{
		*at = '\0';
		(void) mkdir(path, 0700);
		*at = '/';
	}
	stream = fopen(path, "w");
	if (CHECK(stream != NULL))
	{
		fputs(file->text, stream);
		fclose(stream);
	}
}

/* Removes the files, then the folders, from the longest path up. */
static void
remove_files(const char *folder, const limits_case *one)
{
	char		path[512];

	for (int i = 0; i < FILES_MAX && one->files[i].path != NULL; i++)
	{
		snprintf(path, sizeof(path), "%s/%s", folder, one->files[i].path);
		(void) remove(path);
	}
	for (int i = FILES_MAX - 1; i >= 0; i--)
	{
		if (one->files[i].path == NULL)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, one->files[i].path);
		for (char *at = strrchr(path, '/'); at > path + strlen(folder); at = strrchr(path, '/'))
		{
			*at = '\0';
			(void) rmdir(path);
		}
	}
}

static void
check_limits(const limits_case *one)
{
	char		folder[] = "/tmp/gsort_test.XXXXXX";
	char		groups[512];
	host_limits limits = {MACHINE_PROCESSORS, MACHINE_BYTES, MACHINE_LEFT_BYTES, 0};
	uint64_t	left_bytes = one->left_bytes != 0 ? one->left_bytes : MACHINE_LEFT_BYTES;

	current_test = one->name;
	if (!CHECK(mkdtemp(folder) != NULL))
		return;
	for (int i = 0; i < FILES_MAX && one->files[i].path != NULL; i++)
		write_file(folder, &one->files[i]);
	snprintf(groups, sizeof(groups), "%s/cgroup", folder);
	host_limits_of_groups(groups, folder, &limits);
	CHECK(limits.processors == one->processors);
	CHECK(limits.memory_bytes == one->memory_bytes);
	CHECK(limits.left_bytes == (left_bytes == NOTHING_LEFT ? 0 : left_bytes));
	remove_files(folder, one);
	CHECK(rmdir(folder) == 0);
}

/* --- memory that must be left --------------------------------------------- */

#define MIB		(1ull << 20)

typedef struct room_case
{
	host_limits limits;
	uint64_t	own_bytes;		/* obtainable in total */
	int			leaves_room;
} room_case;

static const room_case room_cases[] = {
	/* a small machine keeps 64 MiB free */
	{{1, 1000 * MIB, 500 * MIB, 100 * MIB}, 536 * MIB, 1},
	{{1, 1000 * MIB, 500 * MIB, 100 * MIB}, 536 * MIB + 1, 0},
	/* a large one keeps a twentieth free */
	{{1, 20000 * MIB, 5000 * MIB, 0}, 4000 * MIB, 1},
	{{1, 20000 * MIB, 5000 * MIB, 0}, 4000 * MIB + 1, 0},
	/* no growth: the process's own memory is the limit */
	{{1, 1000 * MIB, 0, 100 * MIB}, 100 * MIB, 1},
	{{1, 1000 * MIB, 0, 100 * MIB}, 100 * MIB + 1, 0},
	{{1, 1000 * MIB, 63 * MIB, 0}, 1, 0},
	/* unknown */
	{{1, 1000 * MIB, UINT64_MAX, 0}, 1ull << 60, 1},
};

static void
test_room(void)
{
	current_test = "memory that must be left";
	for (size_t i = 0; i < sizeof(room_cases) / sizeof(room_cases[0]); i++)
		CHECK(host_limits_leave_room(&room_cases[i].limits, room_cases[i].own_bytes) ==
			  room_cases[i].leaves_room);
}

/* Without free memory, a machine reserves only the memory that is already
 * reserved. */
static void
test_reservations_leave_room(void)
{
	gsort_device_options device_options = {
		.kind = GSORT_KIND_HOST, .budget_bytes = 1ull << 30
	};
	gsort_job_options options = {.key_columns = 1, .block_bytes = 4096};
	gsort_device *device;
	gsort_job  *job;
	host_device *host;

	current_test = "reservations leave room";
	if (!CHECK(gsort_open(&device_options, &device, reason, sizeof(reason)) == GSORT_OK))
		return;
	host = (host_device *) device;
	host->looked_ms = INFINITY;
	CHECK(gsort_job_open(device, &options, &job) == GSORT_OK);
	host->limits_now = (host_limits) {1, 1000 * MIB, 500 * MIB, 0};
	CHECK(gsort_job_reserve(job, 1000, 8 * MIB) == GSORT_OK);
	host->limits_now.left_bytes = 64 * MIB;
	CHECK(gsort_job_reserve(job, 0, 0) == GSORT_OK);
	CHECK(gsort_job_reserve(job, 1000, 64 * MIB) == GSORT_NOMEM);
	CHECK(strstr(gsort_error_text(device), "the machine's memory") != NULL);
	host->limits_now.left_bytes = 500 * MIB;
	CHECK(gsort_job_reserve(job, 1000, 64 * MIB) == GSORT_OK);
	gsort_shut(device);
}

/* --- threads -------------------------------------------------------------- */

/* Number of threads of this process with that nice value. */
static int
threads_at(int nice_value)
{
	DIR		   *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int			found = 0;

	if (tasks == NULL)
		return -1;
	while ((task = readdir(tasks)) != NULL)
		found += task->d_name[0] != '.' &&
			getpriority(PRIO_PROCESS, (id_t) atoi(task->d_name)) == nice_value;
	closedir(tasks);
	return found;
}

/* Waits for the threads to get the nice value.  A thread sets its nice value
 * when it starts running. */
static int
threads_come_to(int nice_value, int wanted)
{
	for (int i = 0; i < 1000 && threads_at(nice_value) != wanted; i++)
		usleep(1000);
	return threads_at(nice_value) == wanted;
}

static void
check_threads(int threads, int more_nice, int threads_wanted)
{
	gsort_device_options options = {
		.kind = GSORT_KIND_HOST,
		.threads = threads,
		.nice = more_nice,
	};
	gsort_device *device;
	gsort_device_info info;
	char		name[64];
	int			before = getpriority(PRIO_PROCESS, 0);

	if (!CHECK(gsort_open(&options, &device, reason, sizeof(reason)) == GSORT_OK))
		return;
	gsort_device_get_info(device, &info);
	snprintf(name, sizeof(name), "host (%d threads)", threads_wanted);
	CHECK(strcmp(info.name, name) == 0);
	CHECK(info.processors >= 1 && info.processors <= threads_wanted);
	CHECK(info.processors <= host_limits_now().processors);
	CHECK(info.budget_bytes == info.memory_bytes / 8);
	if (more_nice > 0 && before + more_nice <= NICE_MAX)
		CHECK(threads_come_to(before + more_nice, threads_wanted));
	CHECK(getpriority(PRIO_PROCESS, 0) == before);
	gsort_shut(device);
	if (more_nice > 0 && before + more_nice <= NICE_MAX)
		CHECK(threads_come_to(before + more_nice, 0));
}

/* --- which operations run side by side ------------------------------------ */

#define MEETING_APPENDS		2
#define MEETING_WAIT_S		20

/* Appends that end only when all of them have begun. */
static atomic_int appends_begun;
static atomic_int appends_met;
static atomic_int appends_under_way;
static atomic_int appends_beside_alone;

static void
meet(host_op *op)
{
	(void) op;
	atomic_fetch_add(&appends_under_way, 1);
	atomic_fetch_add(&appends_begun, 1);
	for (int i = 0; i < MEETING_WAIT_S * 1000 && atomic_load(&appends_begun) < MEETING_APPENDS; i++)
		usleep(1000);
	if (atomic_load(&appends_begun) >= MEETING_APPENDS)
		atomic_fetch_add(&appends_met, 1);
	atomic_fetch_sub(&appends_under_way, 1);
}

static void
look_for_appends(host_op *op)
{
	atomic_store(&appends_beside_alone, atomic_load(&appends_under_way));
	op->status = GSORT_NOMEM;
}

static void
enqueue(gsort_job *job, gsort_event_kind kind, void (*work) (host_op *op))
{
	host_op    *op = host_op_new((host_job *) job, kind, 0, 0, work);

	if (CHECK(op != NULL))
		host_op_enqueue(op);
}

static void
wait_for_event(gsort_device *device, gsort_event_kind kind)
{
	struct pollfd readable = {.fd = gsort_fd(device), .events = POLLIN};
	gsort_event event = {0};

	while (event.kind != kind)
	{
		if (gsort_poll(device, &event, 1) == 0)
			(void) poll(&readable, 1, -1);
	}
}

static void
test_appends_side_by_side(void)
{
	gsort_device_options device_options = {
		.kind = GSORT_KIND_HOST,
			.threads = MEETING_APPENDS + 1
	};
	gsort_job_options options = {
		.key_columns = 1, .block_bytes = GSORT_BLOCK_BYTES_MAX
	};
	gsort_device *device;
	gsort_job  *job;

	current_test = "appends side by side, a finish alone";
	if (!CHECK(gsort_open(&device_options, &device, reason, sizeof(reason)) == GSORT_OK))
		return;
	CHECK(gsort_job_open(device, &options, &job) == GSORT_OK);
	for (int i = 0; i < MEETING_APPENDS; i++)
		enqueue(job, GSORT_EVENT_APPENDED, meet);
	enqueue(job, GSORT_EVENT_RUN_FINISHED, look_for_appends);
	wait_for_event(device, GSORT_EVENT_RUN_FINISHED);
	CHECK(atomic_load(&appends_met) == MEETING_APPENDS);
	CHECK(atomic_load(&appends_beside_alone) == 0);
	gsort_shut(device);
}

/* --- long segments -------------------------------------------------------- */

#define SEGMENT_INPUT_ROWS	200000
#define LONG_BEGIN			70000
#define LONG_ROWS			70000

/* A long segment takes a sort of its own rows, not of all rows. */
static void
test_long_segment(void)
{
	uint64_t   *words = malloc(SEGMENT_INPUT_ROWS * sizeof(*words));
	host_segments segments = {.n = SEGMENT_INPUT_ROWS, .sides = {{words, NULL}}};
	uint64_t	begin;
	uint64_t	end = 0;

	current_test = "a long segment is sorted alone";
	if (!CHECK(words != NULL))
		return;
	for (uint64_t i = 0; i < SEGMENT_INPUT_ROWS; i++)
		words[i] = i < LONG_BEGIN || i >= LONG_BEGIN + LONG_ROWS ? i : LONG_BEGIN;
	CHECK(host_segments_next_long(&segments, &begin, &end) && begin == LONG_BEGIN &&
		  end == LONG_BEGIN + LONG_ROWS);
	CHECK(!host_segments_next_long(&segments, &begin, &end));
	free(words);
}

/* --- stacks --------------------------------------------------------------- */

/* The stack of a thread under musl; the merge of runs needs more. */
#define SMALL_STACK_BYTES	(128u << 10)
#define STACK_BYTES_WANTED	(768u << 10)

static size_t stack_bytes;

static void
measure_stack(host_op *op)
{
	pthread_attr_t attributes;

	if (pthread_getattr_np(pthread_self(), &attributes) == 0)
	{
		(void) pthread_attr_getstacksize(&attributes, &stack_bytes);
		pthread_attr_destroy(&attributes);
	}
	op->status = GSORT_NOMEM;
}

static void
check_stacks(void)
{
	gsort_device_options device_options = {.kind = GSORT_KIND_HOST};
	gsort_job_options options = {.key_columns = 1, .block_bytes = 4096};
	gsort_device *device;
	gsort_job  *job;

	if (!CHECK(gsort_open(&device_options, &device, reason, sizeof(reason)) == GSORT_OK))
		return;
	CHECK(gsort_job_open(device, &options, &job) == GSORT_OK);
	enqueue(job, GSORT_EVENT_RUN_FINISHED, measure_stack);
	wait_for_event(device, GSORT_EVENT_RUN_FINISHED);
	CHECK(stack_bytes >= STACK_BYTES_WANTED);
	gsort_shut(device);
}

static void
test_stacks(void)
{
	pthread_attr_t before;
	pthread_attr_t small;

	current_test = "stacks of the host's threads";
	CHECK(pthread_getattr_default_np(&before) == 0);
	CHECK(pthread_attr_init(&small) == 0);
	CHECK(pthread_attr_setstacksize(&small, SMALL_STACK_BYTES) == 0);
	CHECK(pthread_setattr_default_np(&small) == 0);
	check_stacks();
	CHECK(pthread_setattr_default_np(&before) == 0);
	pthread_attr_destroy(&small);
	pthread_attr_destroy(&before);
}

/* --- shutting while operations wait --------------------------------------- */

#define WAITING_APPENDS		16

/* Enqueues more appends than threads.  Some may end during the shutdown, and no
 * waiting append may begin then. */
static void
check_shut_while_appends_wait(char *data, useconds_t delay_us)
{
	gsort_device_options device_options = {
		.kind = GSORT_KIND_HOST, .budget_bytes = 1ull << 30,
			.threads = 3
	};
	gsort_job_options options = {.key_columns = 1, .block_bytes = GSORT_BLOCK_BYTES_MAX};
	uint32_t	row_start = 0;
	uint64_t	key = 0;
	gsort_column_stats stats = {0, 0, 0, 0, 0};
	gsort_chunk chunk = {
		.rows = 1, .data = data, .data_bytes = GSORT_BLOCK_BYTES_MAX,
		.row_start = &row_start, .keys = &key, .stats = &stats
	};
	gsort_device *device;
	gsort_job  *job;

	if (!CHECK(gsort_open(&device_options, &device, reason, sizeof(reason)) == GSORT_OK))
		return;
	CHECK(gsort_job_open(device, &options, &job) == GSORT_OK);
	CHECK(gsort_job_reserve(job, WAITING_APPENDS,
							(uint64_t) WAITING_APPENDS * GSORT_BLOCK_BYTES_MAX) == GSORT_OK);
	for (int i = 0; i < WAITING_APPENDS; i++)
		CHECK(gsort_job_append(job, &chunk) == GSORT_OK);
	usleep(delay_us);
	gsort_shut(device);
}

static void
test_shut_while_appends_wait(void)
{
	char	   *data = calloc(1, GSORT_BLOCK_BYTES_MAX);

	current_test = "shut while appends wait";
	for (int i = 0; i < 200 && data != NULL; i++)
		check_shut_while_appends_wait(data, (useconds_t) (i % 20) * 20);
	free(data);
}

void
test_host(void)
{
	host_limits limits = host_limits_now();

	for (size_t i = 0; i < sizeof(limits_cases) / sizeof(limits_cases[0]); i++)
		check_limits(&limits_cases[i]);
	current_test = "host limits";
	CHECK(limits.processors >= 1);
	CHECK(limits.memory_bytes > 0);
	CHECK(limits.left_bytes > 0);
	CHECK(limits.own_bytes > 0 || limits.left_bytes == UINT64_MAX);
	test_room();
	test_reservations_leave_room();
	current_test = "host threads";
	check_threads(5, 0, 5);
	check_threads(3, 7, 3);
	check_threads(1, 1, 2);
	check_threads(0, 0, limits.processors < 2 ? 2 : limits.processors);
	test_long_segment();
	test_appends_side_by_side();
	test_stacks();
	test_shut_while_appends_wait();
}
