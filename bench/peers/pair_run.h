/*
 * pair_run.h
 *	  A sorted run of (key, row) pairs, as input of the merges of two runs.
 *
 * Plain data.  The caller owns the arrays.
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
