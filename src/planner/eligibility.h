/*
 * eligibility.h
 *	  Which sorts may ride the device.
 */
#ifndef GPUSORT_ELIGIBILITY_H
#define GPUSORT_ELIGIBILITY_H

#include "postgres.h"

#include "keys/sortkey.h"
#include "plan/plan_info.h"

/* The types of a sort's keys. */
typedef struct GpuSortKeyTypes
{
	int			n;
	GpuSortKeyType *of;
} GpuSortKeyTypes;

/* Fills in the type of a key, which has the values of expr. */
extern void gpusort_set_key_type(GpuSortKeyType *type, const Node *expr, Oid sort_operator, Oid collation);

/*
 * Sets info->n_keys, the number of the first keys that have words, and info->n_words, how many words are expected; of
 * a grouping, one word of all keys.  False, a refusal: the device cannot sort by them.
 */
extern bool gpusort_set_keys(const GpuSortKeyTypes *types, GpuSortPlanInfo *info);

/* Can a job ever have so many feeders? */
extern bool gpusort_takes_feeders(int feeders);

#endif							/* GPUSORT_ELIGIBILITY_H */
