/*
 * reasons.h
 *	  Why the planner leaves a Sort to PostgreSQL: every reason, stated once.
 *	  The reasons that a sort finds when it runs are in job/counters.h.
 *
 * The codes are those of job/counters.h.  Each yields a column
 * planned_native_... of gpusort_stats, a reason in gpusort_why and EXPLAIN
 * (GPUSORT), and a line at DEBUG1 for each Sort that stays in a finished plan.
 */
#ifndef GPUSORT_REASONS_H
#define GPUSORT_REASONS_H

#include "postgres.h"

#include "job/counters.h"

typedef struct GpuSortReasonText
{
	const char *name;
	const char *text;
	const char *remedy;			/* what the user can do; NULL: nothing is needed */
} GpuSortReasonText;

/* Indexed by the codes. */
extern const GpuSortReasonText gpusort_planned_reason_texts[];

/* Stores why a sort is native; detail, a format, may be NULL.  Frequent reasons
 * have none, since to print a number may take longer than to plan a small sort.
 * Returns false, for the caller to return. */
extern bool gpusort_reason_set(GpuSortPlannedReason code, const char *detail,...)
	pg_attribute_printf(2, 3);

/* Return the reason that this process stored last, to be read right after it;
 * and the figures or names of that case, or an empty text. */
extern const GpuSortReasonText *gpusort_reason_last(void);
extern const char *gpusort_reason_last_detail(void);

/* Counts a Sort of a finished plan that stays for the last reason, and logs it
 * at DEBUG1. */
extern void gpusort_reason_count(void);

#endif							/* GPUSORT_REASONS_H */
