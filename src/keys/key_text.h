/*
 * key_text.h
 *	  Sort keys in words, as EXPLAIN shows them.
 */
#ifndef GPUSORT_KEY_TEXT_H
#define GPUSORT_KEY_TEXT_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "compat.h"
#include "keys/sort_order.h"

/*
 * Returns the keys that the plan sorts its child's rows by, a string each: the
 * expression, and its direction, collation and place of NULLs if they are not
 * the default.
 *
 * ancestors: the plans above it, its parent first.
 * es: of the EXPLAIN that shows the plan.
 * ordered: false for a grouping, which has no direction.
 */
extern List *gpusort_key_texts(const GpuSortOrder *order, const Plan *plan, List *ancestors,
							   const ExplainState *es, bool ordered);

/* Returns all of them in one string, with their types, separated by commas. */
extern char *gpusort_keys_text(const GpuSortOrder *order, const Plan *plan, List *ancestors,
							   const ExplainState *es, bool ordered);

/* Returns an aggregate of the Agg, as EXPLAIN VERBOSE shows it. */
extern char *gpusort_aggregate_text(const Aggref *aggregate, const Plan *agg, List *ancestors,
									const ExplainState *es);

#endif							/* GPUSORT_KEY_TEXT_H */
