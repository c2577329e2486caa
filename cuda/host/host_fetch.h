/*
 * host_fetch.h
 *	  Windows of a run on the host device: from the arena to the caller's buffer.
 *
 * In:  a run that was cut; which rows, or which stretch of bytes.
 * Out: the window's bytes, as gsort.h describes them.  Any number of threads at once.
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
	uint64_t	first_unit;		/* is_stretch: in the arena, or in the row */
	int			is_stretch;		/* AS_FED, or a piece of a row: one stretch of bytes */
	int			of_row;			/* is_stretch: first_unit counts from first_row's begin */
} host_window;

void		host_run_fetch(const host_run *run, const host_window *window, uint64_t *to);

#endif							/* GSORT_HOST_FETCH_H */
