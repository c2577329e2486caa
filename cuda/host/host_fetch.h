/*
 * host_fetch.h
 *	  Windows of a run on the host device: from the arena to the caller's
 *	  buffer.
 *
 * In:  a run that was cut; which rows, or which stretch of bytes.
 * Out: the window's bytes, as gsort.h describes them.  Any number of threads at
 *	    once.
 */
#ifndef GSORT_HOST_FETCH_H
#define GSORT_HOST_FETCH_H

#include "host/host_run.h"

/* Bytes of one window, and where they come from. */
typedef struct host_window
{
	uint64_t	first_row;
	uint32_t	rows;			/* the rows that begin in it */
	uint64_t	units;
	int			is_stretch;		/* a piece of first_row: one stretch of bytes */
	uint64_t	first_unit;		/* of it, in the row */
} host_window;

void		host_run_fetch(const host_run *run, const host_window *window, uint64_t *to);

#endif							/* GSORT_HOST_FETCH_H */
