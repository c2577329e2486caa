/*
 * host_fetch.h
 *	  Fetches of windows on the host device: from the arena to the caller's
 *	  buffer.
 *
 * In:  a run that was cut; a range of rows, or a stretch of one row's bytes.
 * Out: the window's bytes, as gsort.h describes them.
 *
 * Any number of threads may fetch at once.
 */
#ifndef GSORT_HOST_FETCH_H
#define GSORT_HOST_FETCH_H

#include "host/host_run.h"

/* The contents of one window. */
typedef struct host_window
{
	uint64_t	first_row;
	uint32_t	rows;			/* rows that begin in the window */
	uint64_t	units;
	int			is_stretch;		/* the window holds a piece of first_row */
	uint64_t	first_unit;		/* offset of the piece in the row */
} host_window;

void		host_run_fetch(const host_run *run, const host_window *window, uint64_t *to);

#endif							/* GSORT_HOST_FETCH_H */
