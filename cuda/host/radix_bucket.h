/*
 * radix_bucket.h
 *	  Sorts a bucket of pairs in one thread.
 */
#ifndef GSORT_RADIX_BUCKET_H
#define GSORT_RADIX_BUCKET_H

#include "host/radix_scatter.h"

/* A thread's memory, 400 kB. A scatter is through with it before a bucket needs
 * it. */
typedef union radix_workspace
{
	line_buffers lines;
	struct
	{
		uint64_t	keys[CACHED_ROWS];
		uint32_t	rows[CACHED_ROWS];
	}			pairs;
} radix_workspace;

/* Sorts the pairs [begin, end), at least one, of a side into side 0; side 1 is
 * overwritten there. */
void		radix_bucket_sort(const host_pairs sides[2], key_window window, radix_workspace *work,
							  int side, uint64_t begin, uint64_t end);

#endif							/* GSORT_RADIX_BUCKET_H */
