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
	uint64_t	left_bytes;		/* of these, that can be had without taking memory from others;
		UINT64_MAX:
								 * not known */
	uint64_t	own_bytes;		/* that this process has taken */
} host_limits;

/*
 * Lowers *limits to what control groups allow.  groups: the file that tells
 * which ones the process is in, as /proc/self/cgroup does; mounts: the folder
 * where they are mounted.  What cannot be read limits nothing.
 */
void		host_limits_of_groups(const char *groups, const char *mounts, host_limits *limits);

/* Of this process, now: what the machine has, lowered to its affinity and its
 * control groups. */
host_limits host_limits_now(void);

/*
 * May the process come to have own_bytes in all?  Not if less than a twentieth
 * of the memory, or than 64 MiB, would be left then: where none is left, the
 * kernel kills a process, which ends all sessions of the server.
 */
int			host_limits_leave_room(const host_limits *limits, uint64_t own_bytes);

#endif							/* GSORT_HOST_LIMITS_H */
