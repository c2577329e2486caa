/*
 * eligibility.h
 *	  Which sorts may ride the device.
 */
#ifndef GPUSORT_ELIGIBILITY_H
#define GPUSORT_ELIGIBILITY_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/plan_info.h"

/* The column of exprs that has the same values as this one, if that only gives them another
 * collation: such a column is a copy, which the parser makes for ORDER BY s COLLATE "C". */
extern AttrNumber gpusort_plain_column(const List *exprs, AttrNumber column);

/* Refuses a sort for its i-th key, which has none.  Returns false. */
extern bool gpusort_refuse_key(const PathTarget *target, const GpuSortOrder *order, int i);

/* Can a job ever have so many feeders? */
extern bool gpusort_takes_feeders(int feeders);

#endif							/* GPUSORT_ELIGIBILITY_H */
