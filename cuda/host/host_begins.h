/*
 * host_begins.h
 *	  Row words in sorted order, and the block begins of a run.
 *
 * In:  a run and the order of its rows.
 * Out: its row words in that order, and the begins of its blocks.
 *
 * Runs on the thread that finishes the run; idle threads share its parts.
 */
#ifndef GSORT_HOST_BEGINS_H
#define GSORT_HOST_BEGINS_H

#include <stdint.h>

#include "host/host_pool.h"
#include "host/host_run.h"

/* The block begins of a sorted run.  The arrays are malloc'd; the receiver owns
 * them. */
typedef struct host_begins
{
	uint32_t   *rows;
	uint64_t   *units;
	uint64_t	n;
	uint64_t	total_units;
} host_begins;

/* order NULL: as fed.  row_words has room for all rows.  0: out of memory. */
int			host_begins_find(const host_run *run, host_pool *pool, const uint32_t *order,
							 uint64_t rows, uint64_t *row_words, host_begins *begins);

#endif							/* GSORT_HOST_BEGINS_H */
