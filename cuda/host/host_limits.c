/*
 * host_limits.c
 *	  The processors and the memory that this process may use.
 *
 * In:  the machine's figures, the process's affinity, and the limits of its
 *	    control groups, as set by a container or by systemd's CPUQuota and
 *	    MemoryMax.
 * Out: the smallest of them.  The functions run on any thread.
 *
 * The kernel halts a process that exceeds its processor quota for the rest of
 * each period, which stalls the whole server, and kills one that exceeds the
 * memory limit of its group.  The page cache counts as free, as in
 * MemAvailable, because the kernel reclaims it on demand.
 *
 * A group's limit also applies to the groups below it, so every group up to the
 * root counts.  In a container, the file system may show the container's group
 * as the root while /proc still lists the full path.  Folders that do not exist
 * are skipped.
 */
#define _GNU_SOURCE				/* for cpu_set_t */

#include "host/host_limits.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES	4096

/* The share and the minimum of memory that must stay free. */
#define LEFT_SHARE		20
#define LEFT_BYTES_MIN	(64ull << 20)

/* Reads up to two words of a file and returns their number.  The second may be
 * NULL. */
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

/* The number after a name at the beginning of a line; 0 if there is no name. */
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

/* Lowers the processors to a quota.  No limit reads "max" or, in version 1, as
 * a negative quota; either leaves the processors unchanged. */
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

/* The file names of a version, and two numbers' names in the last file. */
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

/* Applies the limits of a group and of all groups above it.  group: its path
 * below the controller's mount, with a leading slash; it is shortened on the
 * way up. */
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

/* True if name is in the comma-separated list names. */
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

/* Reads the process's groups.  A line reads "0::/group" in version 2 of control
 * groups and "4:cpu,cpuacct:/group" in version 1. */
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

/* Counts the processors of the affinity.  The call fails if the machine has
 * more processors than the set. */
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
