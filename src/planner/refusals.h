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

typedef enum GpuSortRefusalCode
{
	GPUSORT_REFUSED_NOT = -1,
#define REFUSAL(enumerator, name, text, remedy) GPUSORT_REFUSED_##enumerator,
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
#undef REFUSAL
	GPUSORT_REFUSED_KEPT_PLAN,	/* of reports alone, not counted */
} GpuSortRefusalCode;

/* The last refusal in this process. */
typedef struct GpuSortRefusal
{
	GpuSortRefusalCode code;
	char		detail[256];	/* figures or names, of this case; empty if nobody wants them */
} GpuSortRefusal;

/* From now on refusals have their details, or not: to print a number takes longer than to plan a small sort may. */
extern void gpusort_refusals_want_details(bool want);

/* Notes a refusal; detail, a format, may be NULL.  Returns false. */
extern bool gpusort_refuse(GpuSortRefusalCode code, const char *detail,...) pg_attribute_printf(2, 3);

/* What was noted last; to be read at once after a refusal. */
extern const GpuSortRefusal *gpusort_last_refusal(void);

/* Counts a Sort of a finished plan that stays for the last refusal's reason, and says so at DEBUG1. */
extern void gpusort_refusal_count(void);

/* The reason's short name, its words, and what the user can do. */
extern const char *gpusort_refusal_name(GpuSortRefusalCode code);
extern const char *gpusort_refusal_text(GpuSortRefusalCode code);
extern const char *gpusort_refusal_remedy(GpuSortRefusalCode code);

#endif							/* GPUSORT_REFUSALS_H */
