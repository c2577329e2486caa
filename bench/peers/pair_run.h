/*
 * pair_run.h
 *	  A sorted run of (key, row) pairs, as the merges of two runs see it.
 *
 * Plain data.  The arrays are the caller's.
 */
#ifndef GSORT_PAIR_RUN_H
#define GSORT_PAIR_RUN_H

#include <stdint.h>

typedef struct pair_run
{
	const void *keys;			/* device: [count], ascending */
	const uint32_t *rows;		/* device: [count] */
	uint32_t	count;
} pair_run;

#endif							/* GSORT_PAIR_RUN_H */
