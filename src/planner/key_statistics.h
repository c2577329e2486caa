/*
 * key_statistics.h
 *	  What statistics show of a key's values.
 */
#ifndef GPUSORT_KEY_STATISTICS_H
#define GPUSORT_KEY_STATISTICS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "keys/key_samples.h"

/* What a sort's columns are expressions over: root's relations while paths are made; of a finished plan the
 * tables of rtable, where rtable is not NIL.  Statistics of other columns are out of reach. */
typedef struct GpuSortColumns
{
	PlannerInfo *root;
	List	   *rtable;
} GpuSortColumns;

/* Of a key of a sort of so many rows.  All are 0 if there are no statistics. */
extern void gpusort_key_statistics_take(const GpuSortColumns *columns, Node *expr, double rows,
										GpuSortKeyFigures *figures);

/* Are there statistics of such an expression's values? */
extern bool gpusort_has_statistics(PlannerInfo *root, Node *expr);

#endif							/* GPUSORT_KEY_STATISTICS_H */
