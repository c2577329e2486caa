/*
 * host_begins.h
 *	  Row words in sorted order, and where the windows of a run begin.
 *
 * In:  a run and the order of its rows.
 * Out: its row words in that order, the windows that they are fetched by.
 */
#ifndef GSORT_HOST_BEGINS_H
#define GSORT_HOST_BEGINS_H

#include <stdint.h>

#include "host/host_pool.h"
#include "host/host_run.h"

/* Where a sorted run's windows begin; the arrays are malloc'd, the
 * receiver's. */
typedef struct host_begins
{
	uint32_t   *rows;
	uint64_t   *units;
	uint64_t	n;
	uint64_t	total_units;
} host_begins;

/* order NULL: as fed.  row_words: room for all rows.  0: out of memory. */
int			host_begins_find(const host_run *run, host_pool *pool, const uint32_t *order,
							 uint64_t rows, uint64_t *row_words, host_begins *begins);

#endif							/* GSORT_HOST_BEGINS_H */
