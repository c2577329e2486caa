/*
 * host_limits.c
 *	  What of the machine this process may use: processors and memory.
 *
 * In:  the machine's figures, the process's affinity, and the limits of its
 *	    control groups, as a container, or systemd's CPUQuota and MemoryMax,
 *	    sets them.
 * Out: the least of them.
 *
 * A process that runs more threads than its quota allows is halted for the rest
 * of each period, and with it all of the server; one that takes more memory
 * than its group has is killed.
 *
 * Memory that holds copies of files' pages is not lost to anybody: the kernel
 * gives it back when it is asked for more.  MemAvailable counts it as free, and
 * so does this file in a group.
 *
 * A group's limit holds for the groups below it, so all on the way up count.
 * In a container the file system may show the container's own group as the top,
 * while /proc still tells the whole way to it: folders that are not there are
 * passed over.
 */
#define _GNU_SOURCE				/* the set of processors this process may run on */

#include "host/host_limits.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES	4096

/* What must be left. */
#define LEFT_SHARE		20
#define LEFT_BYTES_MIN	(64ull << 20)

/* Reads up to two words of a file; returns how many there are.  The second may
 * be NULL. */
static int
read_words(const char *folder, const char *file, char first[32], char second[32])
{
	char		path[PATH_BYTES + 64];
	char		unused[32];
	FILE	   *stream;
	int			words;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	stream = fopen(path, "re");
	if (stream == NULL)
		return 0;
	words = fscanf(stream, "%31s %31s", first, second != NULL ? second : unused);
	fclose(stream);
	return words > 0 ? words : 0;
}

/* The number behind a name at the beginning of a line; 0, if there is none. */
static uint64_t
read_number(const char *folder, const char *file, const char *name)
{
	char		path[PATH_BYTES + 64];
	char		line[256];
	size_t		length = strlen(name);
	uint64_t	number = 0;
	FILE	   *stream;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	stream = fopen(path, "re");
	if (stream == NULL)
		return 0;
	while (number == 0 && fgets(line, sizeof(line), stream) != NULL)
		if (strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == ':'))
			(void) sscanf(line + length + 1, "%" SCNu64, &number);
	fclose(stream);
	return number;
}

/* No limit is "max" or, in version 1, a negative quota: neither gives
 * processors. */
static void
limit_processors(const char *quota, const char *period, host_limits *limits)
{
	int64_t		quota_us = 0;
	int64_t		period_us = 0;

	if (sscanf(quota, "%" SCNd64, &quota_us) != 1 || sscanf(period, "%" SCNd64, &period_us) != 1 ||
		quota_us <= 0 || period_us <= 0)
		return;
	if ((quota_us - 1) / period_us + 1 < limits->processors)
		limits->processors = (int) ((quota_us - 1) / period_us + 1);
}

/* The names of a version's files, and of two numbers in the last one. */
typedef struct memory_files
{
	const char *limit;
	const char *used;
	const char *inactive;
	const char *active;
} memory_files;

static const memory_files memory_versions[] = {
	{"memory.max", "memory.current", "inactive_file", "active_file"},
	{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"},
};

/* Lowers the limits to those of one control group.  Its cache counts as free,
 * as the kernel gives it up. */
static void
limit_memory(const char *folder, const memory_files *files, host_limits *limits)
{
	char		word[32];
	uint64_t	limit = 0;
	uint64_t	used = 0;
	uint64_t	left;

	if (read_words(folder, files->limit, word, NULL) != 1 ||
		sscanf(word, "%" SCNu64, &limit) != 1 || limit == 0)
		return;
	if (limit < limits->memory_bytes)
		limits->memory_bytes = limit;
	if (read_words(folder, files->used, word, NULL) != 1 || sscanf(word, "%" SCNu64, &used) != 1)
		return;
	left = limit > used ? limit - used : 0;
	if (left < limits->left_bytes)
		left += read_number(folder, "memory.stat", files->inactive) +
			read_number(folder, "memory.stat", files->active);
	if (left < limits->left_bytes)
		limits->left_bytes = left;
}

/* One group's own limits, whichever version's files its folder has. */
static void
limit_to_folder(const char *folder, host_limits *limits)
{
	char		first[32];
	char		second[32];

	if (read_words(folder, "cpu.max", first, second) == 2)
		limit_processors(first, second, limits);
	if (read_words(folder, "cpu.cfs_quota_us", first, NULL) == 1 &&
		read_words(folder, "cpu.cfs_period_us", second, NULL) == 1)
		limit_processors(first, second, limits);
	for (size_t i = 0; i < sizeof(memory_versions) / sizeof(memory_versions[0]); i++)
		limit_memory(folder, &memory_versions[i], limits);
}

/* group: the way to it from the controller's mount, beginning with a slash.  Is
 * cut on the way up. */
static void
limit_to_group(const char *mounts, const char *controller, char *group, host_limits *limits)
{
	char		folder[PATH_BYTES];
	char	   *last;

	do
	{
		last = strrchr(group, '/');
		if (snprintf(folder, sizeof(folder), "%s%s%s", mounts, controller,
					 group) < (int) sizeof(folder))
			limit_to_folder(folder, limits);
		if (last != NULL)
			*last = '\0';
	} while (last != NULL);
}

/* Is name one of names, which commas separate? */
static int
is_among(const char *names, const char *name)
{
	size_t		length = strlen(name);

	for (const char *at = names; at != NULL; at = strchr(at, ','))
	{
		at += *at == ',';
		if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return 1;
	}
	return 0;
}

/* A line is "0::/group" in version 2 of control groups, "4:cpu,cpuacct:/group"
 * in version 1. */
void
host_limits_of_groups(const char *groups, const char *mounts, host_limits *limits)
{
	FILE	   *stream = fopen(groups, "re");
	char		line[PATH_BYTES];

	if (stream == NULL)
		return;
	while (fgets(line, sizeof(line), stream) != NULL)
	{
		char	   *names = strchr(line, ':');
		char	   *group = names != NULL ? strchr(names + 1, ':') : NULL;

		if (group == NULL)
			continue;
		names++;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (*names == '\0')
			limit_to_group(mounts, "", group, limits);
		else if (is_among(names, "cpu"))
			limit_to_group(mounts, "/cpu", group, limits);
		else if (is_among(names, "memory"))
			limit_to_group(mounts, "/memory", group, limits);
	}
	fclose(stream);
}

/* A machine with more processors than the set has room for gives no set. */
static int
allowed_processors(void)
{
	cpu_set_t	allowed;
	long		online = sysconf(_SC_NPROCESSORS_ONLN);

	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		return CPU_COUNT(&allowed);
	return online > 0 ? (int) online : 1;
}

int
host_limits_leave_room(const host_limits *limits, uint64_t own_bytes)
{
	uint64_t	more = own_bytes > limits->own_bytes ? own_bytes - limits->own_bytes : 0;
	uint64_t	keep = limits->memory_bytes / LEFT_SHARE;

	if (keep < LEFT_BYTES_MIN)
		keep = LEFT_BYTES_MIN;
	return more == 0 || (limits->left_bytes >= keep && limits->left_bytes - keep >= more);
}

host_limits
host_limits_now(void)
{
	uint64_t	available_kb = read_number("/proc", "meminfo", "MemAvailable");
	host_limits limits = {
		.processors = allowed_processors(),
		.memory_bytes = (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE),
		.left_bytes = available_kb > 0 ? available_kb * 1024 : UINT64_MAX,
		.own_bytes = read_number("/proc/self", "status", "RssAnon") * 1024,
	};

	host_limits_of_groups("/proc/self/cgroup", "/sys/fs/cgroup", &limits);
	return limits;
}
