/*
 * index_why.h
 *	  Whether CREATE INDEX would build an index through the device, and why not.
 */
#ifndef GPUSORT_INDEX_WHY_H
#define GPUSORT_INDEX_WHY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

typedef struct GpuSortIndexWhy
{
	const char *table;			/* a partitioned table has a build for each partition */
	const char *keys;			/* with their types, separated by commas; NULL: not known, nor is
								 * how many rows there are */
	double		rows;			/* expected */
	double		bytes;			/* of these rows */
	const char *runs_on;		/* device or native */
	const char *code;			/* the reason's short name; NULL for device */
	const char *reason;
	const char *remedy;			/* NULL for device */
} GpuSortIndexWhy;

/* Returns a list of GpuSortIndexWhy for the statement, which is not run; text
 * is its source.  Errors are those of CREATE INDEX.  Memory: the current
 * context. */
extern List *gpusort_index_why(IndexStmt *statement, const char *text);

#endif							/* GPUSORT_INDEX_WHY_H */
