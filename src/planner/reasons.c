/*
 * reasons.c
 *	  Why a Sort stays PostgreSQL's own.
 *
 * In:  a code and figures from the caller that leaves a Sort native.
 * Out: the last reason, for reports; for each Sort that stays, a counter and a
 *	    line at DEBUG1.
 *
 * Runs in the backend that plans.  The last reason is in static memory.
 */
#include "postgres.h"

#include "job/stats.h"
#include "planner/planner.h"

/* Each has a column planned_native_... in gpusort_stats.  test/tools/counters
 * compares the names with job/counters.h. */
static const GpuSortReasonText texts[] = {
	[GPUSORT_PLANNED_DISABLED] = {
		"disabled",
		"gpusort.enabled is off",
		"SET gpusort.enabled = on"
	},
	[GPUSORT_PLANNED_NO_DEVICE] = {
		"no_device",
		"no device serves",
		"see the view gpusort_devices; gpusort.device selects the devices"
	},
	[GPUSORT_PLANNED_FEW_ROWS] = {
		"few_rows",
		"the planner expects too few rows, less than a hundredth of gpusort.min_rows",
		"run ANALYZE if there are more rows; a lower gpusort.min_rows would not make the query faster"
	},
	[GPUSORT_PLANNED_KEY_WORDS] = {
		"key_words",
		"the device cannot sort by a key's type or operator",
		"ORDER BY an expression of another type, such as a number or text, in its place"
	},
	[GPUSORT_PLANNED_COLLATION] = {
		"collation",
		"a key's collation has no reliable sort keys",
		"another COLLATE; SET gpusort.libc_collations = verify, if it is off"
	},
	[GPUSORT_PLANNED_LIMIT] = {
		"limit",
		"LIMIT needs only the top rows, which is cheaper without the device",
		"none; a few rows of many are found without sorting all of them"
	},
	[GPUSORT_PLANNED_COST] = {
		"cost",
		"the device is expected to take longer than PostgreSQL",
		"none; as a superuser, SET gpusort.debug_force = on shows the other plan"
	},
	[GPUSORT_PLANNED_CUSTOM_SCAN] = {
		"custom_scan",
		"another extension's custom scan, which may rely on PostgreSQL's Sort, is above or below it",
		"none"
	},
	[GPUSORT_PLANNED_INCREMENTAL] = {
		"incremental",
		"it is an Incremental Sort, whose input is in order by its first keys",
		"SET enable_incremental_sort = off"
	},
	[GPUSORT_PLANNED_CACHED_PLAN] = {
		"cached_plan",
		"the plan was cached while sorts could not use a device",
		"run DISCARD PLANS in the session"
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

GpuSortReasonText
gpusort_reason_last(void)
{
	GpuSortReasonText why = texts[last_code];

	if (last_detail[0] != '\0')
		why.text = psprintf("%s (%s)", why.text, last_detail);
	return why;
}

void
gpusort_reason_count(void)
{
	gpusort_stats_count_planned(last_code);
	elog(DEBUG1, "gpusort: %s: %s", texts[last_code].name, gpusort_reason_last().text);
}
