/*
 * key_text.h
 *	  A sort key in words, as EXPLAIN shows it.
 */
#ifndef GPUSORT_KEY_TEXT_H
#define GPUSORT_KEY_TEXT_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "keys/sort_order.h"

/*
 * Key i of what is sorted by: its expression, its direction, collation and place of NULLs where they are
 * not the default.  context: ruleutils' for the plan whose child has the columns.  ordered: false for a
 * grouping, which has no direction.  typed: with its type.
 */
extern char *gpusort_key_text(const GpuSortOrder *order, int i, const Plan *plan, List *context,
							  bool use_prefix, bool ordered, bool typed);

#endif							/* GPUSORT_KEY_TEXT_H */
