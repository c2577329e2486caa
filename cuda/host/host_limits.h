/*
 * host_limits.h
 *	  The processors and the memory that this process may use.
 */
#ifndef GSORT_HOST_LIMITS_H
#define GSORT_HOST_LIMITS_H

#include <stdint.h>

typedef struct host_limits
{
	int			processors;		/* at least 1; a fraction counts as one */
	uint64_t	memory_bytes;
	/* memory that is available without taking it from other processes;
	 * UINT64_MAX: unknown */
	uint64_t	left_bytes;
	uint64_t	own_bytes;		/* memory of this process */
} host_limits;

/*
 * Lowers *limits to those of the control groups.  groups: a file that lists the
 * process's groups, like /proc/self/cgroup.  mounts: the folder where the
 * groups are mounted.  An unreadable file imposes no limit.
 */
void		host_limits_of_groups(const char *groups, const char *mounts, host_limits *limits);

/* The current limits of this process: the machine, lowered by its affinity and
 * its control groups. */
host_limits host_limits_now(void);

/*
 * True if the process may grow to own_bytes.  At least a twentieth of the
 * memory and 64 MiB must stay free.  Without free memory the kernel kills a
 * process, which ends all sessions of the server.
 */
int			host_limits_leave_room(const host_limits *limits, uint64_t own_bytes);

#endif							/* GSORT_HOST_LIMITS_H */
