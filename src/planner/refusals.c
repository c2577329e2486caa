/*
 * refusals.c
 *	  Why a Sort stays PostgreSQL's own.
 *
 * In:  a code and figures from the caller that refuses.
 * Out: the last refusal, for reports; for each Sort that stays, a counter and a
 *	    line at DEBUG1.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "job/stats.h"
#include "planner/refusals.h"

const GpuSortRefusal gpusort_refusals[] = {
#define REFUSAL(enumerator, name, text, remedy) {#name, text, remedy},
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
#undef REFUSAL
	{"kept_plan", "the plan was made, and kept, when it could not be a GpuSort", "DISCARD PLANS"},
};

static GpuSortRefusalCode last_code;
static char last_detail[256];
static bool details_are_read = false;

void
gpusort_refusals_want_details(bool want)
{
	details_are_read = want;
}

/* Formats the detail only if somebody reads it. */
bool
gpusort_refuse(GpuSortRefusalCode code, const char *detail,...)
{
	last_code = code;
	last_detail[0] = '\0';
	if (detail != NULL && details_are_read)
	{
		va_list		args;

		va_start(args, detail);
		vsnprintf(last_detail, sizeof(last_detail), detail, args);
		va_end(args);
	}
	return false;
}

const GpuSortRefusal *
gpusort_last_refusal(void)
{
	return &gpusort_refusals[last_code];
}

const char *
gpusort_last_refusal_detail(void)
{
	return last_detail;
}

void
gpusort_refusal_count(void)
{
	const GpuSortRefusal *why = gpusort_last_refusal();

	gpusort_stats_count_refused(last_code);
	elog(DEBUG1, "gpusort: %s: %s%s%s", why->name, why->text, last_detail[0] != '\0' ? ": " : "",
		 last_detail);
}
