/*
 * refusals.c
 *	  Why the planner does not sort through the device.
 *
 * In:  a code from whoever refuses, with figures of the case.
 * Out: the last refusal, for whoever asks why, its figures only if somebody wants them; a line at DEBUG1, once for each
 *	    planning; for Sorts that stay, a counter.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "planner/refusals.h"
#include "shared/stats.h"

static GpuSortRefusal last = {.code = GPUSORT_REFUSED_NOT};
static bool details_are_read = false;

#define REFUSAL(enumerator, name, text, remedy) {#name, text, remedy},

static const struct
{
	const char *name;
	const char *text;
	const char *remedy;
}			refusals[] = {
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
	GPUSORT_PATH_REFUSAL_TABLE(REFUSAL)
};

#undef REFUSAL

/* A code that is counted names its counter. */
#define REFUSAL(enumerator, name, text, remedy) \
	StaticAssertDecl((int) GPUSORT_REFUSED_##enumerator == (int) GPUSORT_SORT_REFUSED_##enumerator, \
					 "codes of refusals differ from those of their counters");
GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
#undef REFUSAL

/* Lines that this planning has said, by their hashes: a query of many joins is refused the same at each.  Lines
 * beyond these may come again. */
#define LINES_MAX	64

static uint32 lines_said[LINES_MAX];
static int	n_lines_said = 0;

void
gpusort_refusals_begin(void)
{
	n_lines_said = 0;
	details_are_read = message_level_is_interesting(DEBUG1);
}

void
gpusort_refusals_want_details(void)
{
	details_are_read = true;
}

static bool
is_said_already(void)
{
	uint32		line = hash_combine(murmurhash32(last.code),
									hash_bytes((const unsigned char *) last.detail, (int) strlen(last.detail)));

	for (int i = 0; i < n_lines_said; i++)
		if (lines_said[i] == line)
			return true;
	if (n_lines_said < LINES_MAX)
		lines_said[n_lines_said++] = line;
	return false;
}

bool
gpusort_refuse(GpuSortRefusalCode code, const char *detail,...)
{
	last.code = code;
	last.detail[0] = '\0';
	/* to print a number takes longer than to plan a small sort may */
	if (detail != NULL && details_are_read)
	{
		va_list		args;

		va_start(args, detail);
		vsnprintf(last.detail, sizeof(last.detail), detail, args);
		va_end(args);
	}
	if (message_level_is_interesting(DEBUG1) && !is_said_already())
		elog(DEBUG1, "gpusort: %s: %s%s%s", refusals[code].name, refusals[code].text,
			 last.detail[0] != '\0' ? ": " : "", last.detail);
	return false;
}

const GpuSortRefusal *
gpusort_last_refusal(void)
{
	return &last;
}

void
gpusort_refusal_count(GpuSortRefusalCode code)
{
	Assert(code > GPUSORT_REFUSED_NOT && (int) code < GPUSORT_SORT_REFUSALS);
	gpusort_stats_count_refused((GpuSortSortRefusal) code);
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
