/*
 * host_fetch.h
 *	  Fetches of blocks on the host device: from the arena to the caller's
 *	  buffer.
 *
 * In:  a finished run; a range of rows, or a stretch of one row's bytes.
 * Out: the block's bytes, as gsort.h describes them.
 *
 * Any number of threads may fetch at once.
 */
#ifndef GSORT_HOST_FETCH_H
#define GSORT_HOST_FETCH_H

#include "host/host_run.h"

/* The contents of one block. */
typedef struct host_block
{
	uint64_t	first_row;
	uint32_t	rows;			/* rows that begin in the block */
	uint64_t	units;
	int			is_stretch;		/* the block holds a piece of first_row */
	uint64_t	first_unit;		/* offset of the piece in the row */
} host_block;

void		host_run_fetch(const host_run *run, const host_block *block, uint64_t *to);

#endif							/* GSORT_HOST_FETCH_H */
