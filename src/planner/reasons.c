/*
 * reasons.c
 *	  Why a Sort stays PostgreSQL's own.
 *
 * In:  a code and figures from the caller that leaves a Sort native.
 * Out: the last reason, for reports; for each Sort that stays, a counter and a
 *	    line at DEBUG1.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "job/stats.h"
#include "planner/reasons.h"

/* test/tools/counters compares the names with job/counters.h. */
const GpuSortPlannedReasonText gpusort_planned_reason_texts[] = {
	[GPUSORT_PLANNED_DISABLED] = {
		"disabled",
		"gpusort.enabled is off",
		"SET gpusort.enabled = on"
	},
	[GPUSORT_PLANNED_NO_DEVICE] = {
		"no_device",
		"no device serves",
		"the view gpusort_devices says why; gpusort.device chooses the device"
	},
	[GPUSORT_PLANNED_FEW_ROWS] = {
		"few_rows",
		"fewer rows are expected than a hundredth of gpusort.min_rows",
		"a lower gpusort.min_rows, though so few rows gain nothing; ANALYZE, if there are more"
	},
	[GPUSORT_PLANNED_KEY_WORDS] = {
		"key_words",
		"a key has no words under its operator and collation",
		"ORDER BY an expression of another type, or another COLLATE, in its place"
	},
	[GPUSORT_PLANNED_COLLATION] = {
		"collation",
		"a key's collation has no sort keys to rely on",
		"another COLLATE, or gpusort.libc_collations = verify where it is off"
	},
	[GPUSORT_PLANNED_LIMIT] = {
		"limit",
		"LIMIT lets it keep the top rows only, which is cheaper",
		"nothing: few rows of many are found without sorting all"
	},
	[GPUSORT_PLANNED_COST] = {
		"cost",
		"the device takes longer for its keys",
		"as a superuser SET gpusort.debug_force = on, to see the other plan"
	},
	[GPUSORT_PLANNED_CUSTOM_SCAN] = {
		"custom_scan",
		"it is below another extension's custom scan, or above one in a query that is planned "
		"while another is",
		"nothing here"
	},
	[GPUSORT_PLANNED_INCREMENTAL] = {
		"incremental",
		"it is an Incremental Sort, which gives its first rows soon, as they come in order by "
		"its first keys",
		"SET enable_incremental_sort = off"
	},
	[GPUSORT_PLANNED_CACHED_PLAN] = {
		"cached_plan",
		"the plan was cached when it could not have a GpuSort",
		"DISCARD PLANS"
	},
};

static GpuSortPlannedReason last_code;
static char last_detail[256];

bool
gpusort_reason_set(GpuSortPlannedReason code, const char *detail,...)
{
	last_code = code;
	last_detail[0] = '\0';
	if (detail != NULL)
	{
		va_list		args;

		va_start(args, detail);
		vsnprintf(last_detail, sizeof(last_detail), detail, args);
		va_end(args);
	}
	return false;
}

const GpuSortPlannedReasonText *
gpusort_reason_last(void)
{
	return &gpusort_planned_reason_texts[last_code];
}

const char *
gpusort_reason_last_detail(void)
{
	return last_detail;
}

void
gpusort_reason_count(void)
{
	const GpuSortPlannedReasonText *why = gpusort_reason_last();

	gpusort_stats_count_planned(last_code);
	elog(DEBUG1, "gpusort: %s: %s%s%s", why->name, why->text, last_detail[0] != '\0' ? ": " : "",
		 last_detail);
}
