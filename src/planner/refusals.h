/*
 * refusals.h
 *	  Why a Sort stays PostgreSQL's own: every reason, said once.
 *
 * From the table in shared/counters.h come the columns refused_... of gpusort_stats, what
 * gpusort_why and EXPLAIN (GPUSORT) say, and what is said at DEBUG1 of each Sort that stays in a finished plan.
 */
#ifndef GPUSORT_REFUSALS_H
#define GPUSORT_REFUSALS_H

#include "postgres.h"

#include "shared/counters.h"

typedef struct GpuSortRefusal
{
	const char *name;
	const char *text;
	const char *remedy;			/* what the user can do */
} GpuSortRefusal;

/* By their codes. */
extern const GpuSortRefusal gpusort_refusals[];

/* From now on refusals have their details, or not: to print a number takes longer than to plan a small sort may. */
extern void gpusort_refusals_want_details(bool want);

/* Notes a refusal; detail, a format, may be NULL.  Returns false. */
extern bool gpusort_refuse(GpuSortRefusalCode code, const char *detail,...) pg_attribute_printf(2, 3);

/* What this process noted last, to be read at once after a refusal; and the figures or names of that case, empty if
 * nobody wants them. */
extern const GpuSortRefusal *gpusort_last_refusal(void);
extern const char *gpusort_last_refusal_detail(void);

/* Counts a Sort of a finished plan that stays for the last refusal's reason, and says so at DEBUG1. */
extern void gpusort_refusal_count(void);

#endif							/* GPUSORT_REFUSALS_H */
