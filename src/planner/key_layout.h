/*
 * key_layout.h
 *	  Which keys of a sort have words, and how many there may be.
 */
#ifndef GPUSORT_KEY_LAYOUT_H
#define GPUSORT_KEY_LAYOUT_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/plan_info.h"
#include "planner/key_statistics.h"

/*
 * Of the keys of info->order, which are columns of target, for info->rows rows: sets n_keys, the number of the first
 * ones that have words, up to one that has none or for which none are left; 0 if the first key has none.  Sets their
 * key_figures, and n_words.
 */
extern void gpusort_lay_out_keys(const GpuSortColumns *columns, const PathTarget *target,
								 GpuSortPlanInfo *info);

/* Can the i-th key of these columns have words, and how many, if there is room for them? */
extern bool gpusort_key_has_words(const PathTarget *target, const GpuSortOrder *order, int i, int *least, int *most);

#endif							/* GPUSORT_KEY_LAYOUT_H */
