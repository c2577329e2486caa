/*
 * refusals.h
 *	  Why the planner does not sort through the device: every reason, said once.
 *
 * From the tables here come the columns refused_... of gpusort_stats (shared/counters.h), what
 * gpusort_why and EXPLAIN (GPUSORT) say, and what is said at DEBUG1.
 */
#ifndef GPUSORT_REFUSALS_H
#define GPUSORT_REFUSALS_H

#include "postgres.h"

#include "shared/counters.h"

/*
 * Reasons why no path through the device was offered.  They keep no Sort native by themselves: those that
 * the plan has in the end are asked about anew.
 *
 *	 REFUSAL(enumerator, name, text, remedy)
 */
#define GPUSORT_PATH_REFUSAL_TABLE(REFUSAL) \
	REFUSAL(KEY_COLUMN, key_column, "a sort key is not among the child's columns", NULL) \
	REFUSAL(KEY_OPERATOR, key_operator, "a sort key has no operator", NULL) \
	REFUSAL(KEY_HASH, key_hash, "a key of a grouping has no hash that goes with its order", NULL) \
	REFUSAL(FEW_TEXTS, few_texts, "texts of few values want a dictionary, which parallel feeders do not share", NULL) \
	REFUSAL(UNKNOWN_TEXTS, unknown_texts, "nothing is known of a text key's values, and parallel feeders do not see each other's", "ANALYZE, or CREATE STATISTICS on the expression") \
	REFUSAL(BUFFERS, buffers, "gpusort.buffer_memory is too small for so many processes", "a larger gpusort.buffer_memory, and a restart") \
	REFUSAL(FEEDERS, feeders, "more parallel workers than can feed a sort", NULL) \
	REFUSAL(KEPT_PLAN, kept_plan, "the plan was made, and kept, when it could not be a GpuSort", "DISCARD PLANS")

typedef enum GpuSortRefusalCode
{
	GPUSORT_REFUSED_NOT = -1,
#define REFUSAL(enumerator, name, text, remedy) GPUSORT_REFUSED_##enumerator,
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
	GPUSORT_PATH_REFUSAL_TABLE(REFUSAL)
#undef REFUSAL
} GpuSortRefusalCode;

/* The last refusal in this process. */
typedef struct GpuSortRefusal
{
	GpuSortRefusalCode code;
	char		detail[256];	/* figures or names, of this case; empty if nobody wants them */
} GpuSortRefusal;

/* A query's planning begins: what is said at DEBUG1 is said anew. */
extern void gpusort_refusals_begin(void);

/* Until the next planning: refusals have their details, which are made for DEBUG1 only otherwise. */
extern void gpusort_refusals_want_details(void);

/* Notes a refusal, and says at DEBUG1 what it is of, if that is not said already.  detail, a format, may be
 * NULL.  Returns false. */
extern bool gpusort_refuse(GpuSortRefusalCode code, const char *detail,...) pg_attribute_printf(2, 3);

/* What was noted last; to be read at once after a refusal. */
extern const GpuSortRefusal *gpusort_last_refusal(void);

/* Counts a Sort of a finished plan that stays. */
extern void gpusort_refusal_count(GpuSortRefusalCode code);

/* The reason's short name, its words, and what the user can do; of remedies NULL: nothing. */
extern const char *gpusort_refusal_name(GpuSortRefusalCode code);
extern const char *gpusort_refusal_text(GpuSortRefusalCode code);
extern const char *gpusort_refusal_remedy(GpuSortRefusalCode code);

#endif							/* GPUSORT_REFUSALS_H */
