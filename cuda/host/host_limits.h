/*
 * host_limits.h
 *	  What of the machine this process may use: processors and memory.
 */
#ifndef GSORT_HOST_LIMITS_H
#define GSORT_HOST_LIMITS_H

#include <stdint.h>

typedef struct host_limits
{
	int			processors;		/* 1 or more; a part of one counts as one */
	uint64_t	memory_bytes;
} host_limits;

/*
 * Lowers *limits to what control groups allow.  groups: the file that tells which ones the process
 * is in, as /proc/self/cgroup does; mounts: the folder where they are mounted.  What cannot
 * be read limits nothing.
 */
void		host_limits_of_groups(const char *groups, const char *mounts, host_limits *limits);

/* Of this process, now: what the machine has, lowered to its affinity and its control groups. */
host_limits host_limits_now(void);

#endif							/* GSORT_HOST_LIMITS_H */
