/*
 * refusals.h
 *	  Why a Sort stays PostgreSQL's own: every reason, stated once.
 *
 * The table in job/counters.h yields the columns refused_... of
 * gpusort_stats, the reasons in gpusort_why and EXPLAIN (GPUSORT), and a line
 * at DEBUG1 for each Sort that stays in a finished plan.
 */
#ifndef GPUSORT_REFUSALS_H
#define GPUSORT_REFUSALS_H

#include "postgres.h"

#include "job/counters.h"

typedef struct GpuSortRefusal
{
	const char *name;
	const char *text;
	const char *remedy;			/* what the user can do */
} GpuSortRefusal;

/* Indexed by the codes. */
extern const GpuSortRefusal gpusort_refusals[];

/* Switches the details of refusals on or off.  To print a number may take
 * longer than to plan a small sort. */
extern void gpusort_refusals_want_details(bool want);

/* Notes a refusal; detail, a format, may be NULL.  Returns false. */
extern bool gpusort_refuse(GpuSortRefusalCode code, const char *detail,...)
	pg_attribute_printf(2, 3);

/* Return the refusal that this process noted last, to be read right after it;
 * and the figures or names of that case, empty if nobody wants them. */
extern const GpuSortRefusal *gpusort_last_refusal(void);
extern const char *gpusort_last_refusal_detail(void);

/* Counts a Sort of a finished plan that stays for the last refusal's reason,
 * and logs it at DEBUG1. */
extern void gpusort_refusal_count(void);

#endif							/* GPUSORT_REFUSALS_H */
