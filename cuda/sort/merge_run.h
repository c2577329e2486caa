/*
 * merge_run.h
 *	  One sorted run, as input of the multiway merge.
 *
 * Plain data, filled by the host and read by kernels.  The caller owns the
 * arrays.
 */
#ifndef GSORT_MERGE_RUN_H
#define GSORT_MERGE_RUN_H

#include <stdint.h>

#define MERGE_RUNS_MAX	255		/* a run's number fits a byte */

typedef struct merge_run
{
	const void *keys;			/* device: [columns][count] raw uint64 */
	const uint8_t *nulls;		/* device: [count] bit c: column c is NULL; NULL: no NULLs */
	uint32_t	count;
	uint32_t	first_sample;	/* number of the run's first sample, set by the merge */
} merge_run;

#endif							/* GSORT_MERGE_RUN_H */
