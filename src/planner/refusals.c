/*
 * refusals.c
 *	  Why a Sort stays PostgreSQL's own.
 *
 * In:  a code from whoever refuses, with figures of the case.
 * Out: the last refusal, for whoever asks why; for Sorts that stay, a counter and a line at DEBUG1.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "planner/refusals.h"
#include "shared/stats.h"

static GpuSortRefusal last = {.code = GPUSORT_REFUSED_NOT};
static bool details_are_read = false;

static const struct
{
	const char *name;
	const char *text;
	const char *remedy;
}			refusals[] = {
#define REFUSAL(enumerator, name, text, remedy) {#name, text, remedy},
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
#undef REFUSAL
	{"kept_plan", "the plan was made, and kept, when it could not be a GpuSort", "DISCARD PLANS"},
};

/* A code that is counted names its counter. */
#define REFUSAL(enumerator, name, text, remedy) \
	StaticAssertDecl((int) GPUSORT_REFUSED_##enumerator == (int) GPUSORT_SORT_REFUSED_##enumerator, \
					 "codes of refusals differ from those of their counters");
GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
#undef REFUSAL

void
gpusort_refusals_want_details(bool want)
{
	details_are_read = want;
}

bool
gpusort_refuse(GpuSortRefusalCode code, const char *detail,...)
{
	last.code = code;
	last.detail[0] = '\0';
	if (detail != NULL && details_are_read)
	{
		va_list		args;

		va_start(args, detail);
		vsnprintf(last.detail, sizeof(last.detail), detail, args);
		va_end(args);
	}
	return false;
}

const GpuSortRefusal *
gpusort_last_refusal(void)
{
	return &last;
}

void
gpusort_refusal_count(void)
{
	Assert(last.code > GPUSORT_REFUSED_NOT && (int) last.code < GPUSORT_SORT_REFUSALS);
	gpusort_stats_count_refused((GpuSortSortRefusal) last.code);
	elog(DEBUG1, "gpusort: %s: %s%s%s", refusals[last.code].name, refusals[last.code].text,
		 last.detail[0] != '\0' ? ": " : "", last.detail);
}

const char *
gpusort_refusal_name(GpuSortRefusalCode code)
{
	return refusals[code].name;
}

const char *
gpusort_refusal_text(GpuSortRefusalCode code)
{
	return refusals[code].text;
}

const char *
gpusort_refusal_remedy(GpuSortRefusalCode code)
{
	return refusals[code].remedy;
}
