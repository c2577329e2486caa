/*
 * gpusort.c
 *	  The module's start: checks, settings, hooks, shared memory, the worker.
 *
 * Runs in the postmaster while it loads shared_preload_libraries; every other
 * process inherits what is set up here.  No call to the device is made from here:
 * a driver does not survive a fork.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/guc.h"

#include "compat.h"
#include "executor/gpusort_node.h"
#include "executor/feed_node.h"
#include "gpusort.h"
#include "planner/planner.h"
#include "service/service.h"
#include "shared/shmem.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/* Fewest bytes that gpusort.device_memory may name. */
#define DEVICE_MEMORY_MIN_MB	32

int			gpusort_algorithm = GSORT_ENGINE_AUTO;
bool		gpusort_enabled = true;
int			gpusort_device = GPUSORT_DEVICE_AUTO;
int			gpusort_min_rows = 0;
int			gpusort_buffer_memory_mb = 0;
int			gpusort_debug_fail_at = 0;
GpuSortMemorySetting gpusort_device_memory = {0, 0};
int			gpusort_wait_timeout_ms = 0;

static char *device_memory_setting = NULL;

static const struct config_enum_entry algorithm_options[] = {
	{"auto", GSORT_ENGINE_AUTO, false},
	{"merge", GSORT_ENGINE_MERGE, false},
	{"partition", GSORT_ENGINE_PARTITION, false},
	{"radix", GSORT_ENGINE_RADIX, false},
	{NULL, 0, false}
};

static const struct config_enum_entry device_options[] = {
	{"auto", GPUSORT_DEVICE_AUTO, false},
	{"cuda", GPUSORT_DEVICE_CUDA, false},
	{"host", GPUSORT_DEVICE_HOST, false},
	{"off", GPUSORT_DEVICE_OFF, false},
	{NULL, 0, false}
};

/* "80%" */
static bool
parse_percent(const char *value, int *percent)
{
	char	   *end;
	long		number = strtol(value, &end, 10);

	if (end == value || number < 1 || number > 100)
		return false;
	while (*end == ' ')
		end++;
	if (strcmp(end, "%") != 0)
		return false;
	*percent = (int) number;
	return true;
}

static bool
check_device_memory(char **newval, void **extra, GucSource source)
{
	GpuSortMemorySetting setting = {0, 0};
	const char *hint = NULL;
	int			megabytes = 0;

	if (pg_strcasecmp(*newval, "auto") != 0 && !parse_percent(*newval, &setting.percent))
	{
		if (strspn(*newval, "0123456789") == strlen(*newval) ||
			!parse_int(*newval, &megabytes, GUC_UNIT_MB, &hint) ||
			megabytes < DEVICE_MEMORY_MIN_MB)
		{
			GUC_check_errdetail("It must be \"auto\", a share of the device's memory from 1%% to 100%%, or an amount of 32 MB or more with its unit.");
			GUC_check_errhint("Examples: \"auto\", \"50%%\", \"8GB\".");
			return false;
		}
		setting.bytes = (uint64) megabytes * 1024 * 1024;
	}
	*extra = compat_guc_malloc(sizeof(setting));
	if (*extra == NULL)
		return false;
	memcpy(*extra, &setting, sizeof(setting));
	return true;
}

static void
assign_device_memory(const char *newval, void *extra)
{
	gpusort_device_memory = *(GpuSortMemorySetting *) extra;
}

static void
define_settings(void)
{
	DefineCustomEnumVariable("gpusort.algorithm",
							 "The algorithm by which the GPU sorts keys.",
							 "auto: the fastest, by the number of rows and of significant key bits; radix, partition, merge: this one. The host device always sorts by radix.",
							 &gpusort_algorithm, GSORT_ENGINE_AUTO, algorithm_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.buffer_memory",
							"Shared memory for rows on their way to the device and back.",
							"A sort takes 3 MB of it for each process that feeds it, 6 MB at least, and 2 MB for spilling.",
							&gpusort_buffer_memory_mb, 256, 16, 64 * 1024,
							PGC_POSTMASTER, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.debug_fail_at",
							"For tests: the device call or allocation that fails, the first being 1.",
							"An allocation fails as if there were no memory, a call as if the device were lost. Counting begins when this is set, and when the device is opened. 0: none fails.",
							&gpusort_debug_fail_at, 0, 0, INT_MAX,
							PGC_SIGHUP, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.device",
							 "The device that sorts.",
							 "auto: the GPU if there is one, else none; cuda: the GPU; host: threads of the CPU; off: none.",
							 &gpusort_device, GPUSORT_DEVICE_AUTO, device_options,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.device_memory",
							   "The most device memory that all sorts together may use.",
							   "\"auto\" (80% of what a GPU has free, an eighth of the machine's memory for the host device), a share of the device's memory (\"50%\"), or an amount (\"8GB\").",
							   &device_memory_setting, "auto",
							   PGC_SIGHUP, 0,
							   check_device_memory, assign_device_memory, NULL);
	DefineCustomBoolVariable("gpusort.enabled",
							 "Lets sorts use the device.",
							 NULL,
							 &gpusort_enabled, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.min_rows",
							"Sorts of fewer rows stay off the device.",
							"Fewer rows expected: PostgreSQL's own sort is planned; fewer rows found: they are sorted in the backend.",
							&gpusort_min_rows, 10000, 0, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.wait_timeout",
							"The longest time that a sort waits for device memory.",
							"While other sorts have it all, a sort waits for its turn; after this time PostgreSQL's own sort does it. 0: sorts do not wait.",
							&gpusort_wait_timeout_ms, 2000, 0, 60 * 60 * 1000,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	MarkGUCPrefixReserved("gpusort");
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
	{
		/* pg_upgrade loads each library to see whether it can be */
		if (IsBinaryUpgrade)
			return;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("gpusort must be loaded when the server starts"),
				 errhint("Add shared_preload_libraries = 'gpusort' to postgresql.conf and restart the server.")));
	}
	if (IsBinaryUpgrade)
		return;
	define_settings();
	gpusort_shmem_install_hooks();
	gpusort_service_register();
	RegisterCustomScanMethods(&gpusort_scan_methods);
	RegisterCustomScanMethods(&gpusort_feed_scan_methods);
	gpusort_planner_install_hooks();
}
