/*
 * key_layout.h
 *	  How many words each key of a sort gets, and what they skip.
 */
#ifndef GPUSORT_KEY_LAYOUT_H
#define GPUSORT_KEY_LAYOUT_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/plan_info.h"
#include "planner/key_statistics.h"

/*
 * Sets the words of the keys of info->order, which are columns of target, for info->rows rows: of
 * the first keys, up to the first one that has none or for which none are left.  info->n_keys is
 * 0 if the first key has none.  Sets info->from_statistics, few_texts and unknown_texts.
 */
extern void gpusort_lay_out_keys(const GpuSortColumns *columns, const PathTarget *target,
								 GpuSortPlanInfo *info);

#endif							/* GPUSORT_KEY_LAYOUT_H */
