/*
 * settings.c
 *	  The settings: their definitions, checks and bounds.  device_setting.c has
 *	  those of gpusort.device.
 *
 * In:  postgresql.conf, ALTER SYSTEM, SET.
 * Out: the variables of settings.h, of which each process has its own copy.
 *
 * Settings are defined in the postmaster while it loads the module.  Every
 * other process inherits the definitions.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "compat.h"
#include "settings.h"

/* The fewest bytes that gpusort.device_memory may name. */
#define DEVICE_MEMORY_MIN_MB	32

/*
 * Default of gpusort.min_rows: the number of rows from which on the device took
 * less time than the session itself.  On an H200, 10,000 rows took 0.4 times as
 * long as in the session.  On the host device, with 2 to 16 threads, 10,000
 * rows took 0.8 to 1.5 times as long, and 20,000 rows 0.8 to 1.0 times
 * (bench/NOTES.md).
 */
#define MIN_ROWS_AUTO		(-1)
#define MIN_ROWS_OF_GPU		10000
#define MIN_ROWS_OF_HOST	20000

int			gpusort_algorithm = GSORT_ENGINE_AUTO;
bool		gpusort_enabled = true;
int			gpusort_host_nice = 0;
int			gpusort_host_threads = 0;
int			gpusort_buffer_memory_mb = 0;
int			gpusort_debug_call_delay_ms = 0;
int			gpusort_debug_collation_fault = 0;
int			gpusort_debug_fail_at = 0;
int			gpusort_debug_refuse_from = 0;
int			gpusort_debug_fail_opens = 0;
bool		gpusort_debug_force = false;
bool		gpusort_debug_grouping = false;
bool		gpusort_debug_providers_off[GPUSORT_PROVIDERS] = {false};
GpuSortMemorySetting gpusort_device_memory = {0, 0};
bool		gpusort_index_builds = false;
bool		gpusort_log_index_builds = false;
int			gpusort_libc_collations = GPUSORT_LIBC_COLLATIONS_VERIFY;
int			gpusort_max_wait_timeout_ms = 0;
int			gpusort_wait_timeout_ms = 0;
int			gpusort_device_timeout_ms = 0;
int			gpusort_service_timeout_s = 0;

static int	min_rows = MIN_ROWS_AUTO;
static char *debug_providers_off_setting = NULL;
static char *device_memory_setting = NULL;
static char *device_setting = NULL;

static const struct config_enum_entry algorithm_options[] = {
	{"auto", GSORT_ENGINE_AUTO, false},
	{"cub_radix", GSORT_ENGINE_CUB_RADIX, false},
	{"merge", GSORT_ENGINE_MERGE, false},
	{"partition", GSORT_ENGINE_PARTITION, false},
	{"radix", GSORT_ENGINE_RADIX, false},
	{NULL, 0, false}
};

/* Indexed by GpuSortProvider. */
static const char *const provider_names[GPUSORT_PROVIDERS] = {"order", "group", "window"};

static const struct config_enum_entry libc_collations_options[] = {
	{"verify", GPUSORT_LIBC_COLLATIONS_VERIFY, false},
	{"trust", GPUSORT_LIBC_COLLATIONS_TRUST, false},
	{"off", GPUSORT_LIBC_COLLATIONS_OFF, false},
	{NULL, 0, false}
};

/* --- gpusort.min_rows ----------------------------------------------------- */

bool
gpusort_min_rows_depend_on_device(void)
{
	return min_rows == MIN_ROWS_AUTO;
}

int
gpusort_min_rows_of(gsort_kind kind)
{
	if (min_rows != MIN_ROWS_AUTO)
		return min_rows;
	return kind == GSORT_KIND_HOST ? MIN_ROWS_OF_HOST : MIN_ROWS_OF_GPU;
}

int
gpusort_min_rows_of_plans(void)
{
	return gpusort_min_rows_of(GSORT_KIND_CUDA);
}

/* --- gpusort.device_memory ------------------------------------------------ */

/* Parses "80%". */
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

/* An amount must have a unit. */
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

/* --- gpusort.debug_providers_off ------------------------------------------ */

/* Adds a name to the list.  False: no provider has that name, in lower case. */
static bool
add_provider(const char *name, bool *off)
{
	for (int i = 0; i < lengthof(provider_names); i++)
	{
		if (strcmp(name, provider_names[i]) == 0)
		{
			off[i] = true;
			return true;
		}
	}
	GUC_check_errdetail("There is no provider \"%s\".", name);
	return false;
}

/* Sets off for each provider in the list. */
static bool
parse_providers(const char *value, bool *off)
{
	char	   *names = pstrdup(value);
	List	   *list = NIL;
	ListCell   *lc;
	bool		right = SplitIdentifierString(names, ',', &list);

	if (!right)
		GUC_check_errdetail("List syntax is invalid.");
	foreach(lc, list)
	{
		right = right && add_provider(lfirst(lc), off);
	}
	list_free(list);
	pfree(names);
	return right;
}

/* Passes the parsed value to the assign hook. */
static bool
check_debug_providers_off(char **newval, void **extra, GucSource source)
{
	bool		off[GPUSORT_PROVIDERS] = {false};

	if (!parse_providers(*newval, off))
	{
		GUC_check_errhint("Available values: \"order\", \"group\", \"window\".");
		return false;
	}
	*extra = compat_guc_malloc(sizeof(off));
	if (*extra == NULL)
		return false;
	memcpy(*extra, off, sizeof(off));
	return true;
}

static void
assign_debug_providers_off(const char *newval, void *extra)
{
	memcpy(gpusort_debug_providers_off, extra, sizeof(gpusort_debug_providers_off));
}

/* --- all of them, each table in alphabetical order ------------------------ */

static const struct
{
	const char *name;
	const char *short_desc;
	const char *long_desc;
	bool	   *value;
	bool		boot;
	GucContext	context;
	int			flags;
}			bool_settings[] = {
	{
		"gpusort.debug_force",
		"For tests: sorts use the device wherever they can, whatever that costs.",
		"gpusort.enabled and gpusort.min_rows still count; enable_sort, what a LIMIT lets be "
		"kept and estimates of cost and memory do not.",
		&gpusort_debug_force, false, PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_grouping",
		"For tests: ORDER BY by the device brings equal rows together, and no more.",
		"Rows come by a hash of all sort keys, unless a key's type has none: not in the order "
		"that was asked for. Sorts whose order the plan itself needs are left alone.",
		&gpusort_debug_grouping, false, PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.enabled",
		"Lets sorts use the device.",
		NULL,
		&gpusort_enabled, true, PGC_USERSET, 0
	},
	{
		"gpusort.index_builds",
		"Sorts the rows of new btree indexes on the device.",
		"For indexes of users' tables, whatever builds them, unless "
		"max_parallel_maintenance_workers is 0. The index is the same as without.",
		&gpusort_index_builds, false, PGC_USERSET, 0
	},
	{
		"gpusort.log_index_builds",
		"Logs each index build that gpusort.index_builds is on for.",
		"With its rows and times, and how they were sorted; or why PostgreSQL builds the index.",
		&gpusort_log_index_builds, false, PGC_SUSET, 0
	},
};

static const struct
{
	const char *name;
	const char *short_desc;
	const char *long_desc;
	int		   *value;
	int			boot;
	int			min;
	int			max;
	GucContext	context;
	int			flags;
}			int_settings[] = {
	{
		"gpusort.buffer_memory",
		"Shared memory for rows on their way to the device and back.",
		"A sort takes 4 MB of it and 1 MB for each parallel process that feeds it; up to 8 MB, "
		"or 5 MB and 3 MB for each such process, while three quarters of it are free. A server "
		"that starts with gpusort.device = off has none.",
		&gpusort_buffer_memory_mb, 256, 16, 64 * 1024, PGC_POSTMASTER, GUC_UNIT_MB
	},
	{
		"gpusort.debug_call_delay",
		"For tests: the time that opening and shutting the device, and pinning, take longer.",
		NULL,
		&gpusort_debug_call_delay_ms, 0, 0, INT_MAX,
		PGC_SIGHUP, GUC_UNIT_MS | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_collation_fault",
		"For tests: strings of so many bytes get wrong sort keys from the C library.",
		"They get those of the strings without their first byte. 0: none do.",
		&gpusort_debug_collation_fault, 0, 0, INT_MAX,
		PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_fail_at",
		"For tests: the device call or allocation that fails, the first being 1.",
		"An allocation fails as if there were no memory, a call as if the device were lost. "
		"Counting begins when this is set, and when the device is opened. 0: none fails.",
		&gpusort_debug_fail_at, 0, 0, INT_MAX, PGC_SIGHUP, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_fail_opens",
		"For tests: how many times a device that was lost cannot be opened.",
		NULL,
		&gpusort_debug_fail_opens, 0, 0, INT_MAX, PGC_SIGHUP, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_refuse_from",
		"For tests: the first allocation of the service's device that fails, as do all that "
		"come after it.",
		"Goes before gpusort.debug_fail_at, and counts as it does. 0: none fails.",
		&gpusort_debug_refuse_from, 0, 0, INT_MAX, PGC_SIGHUP, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.device_timeout",
		"The time after which a device that ends none of its operations counts as lost.",
		"The service that owns it starts again, and sorts on it fail. It is longer than any "
		"single operation takes. 0: a device is waited for without end.",
		&gpusort_device_timeout_ms, 120 * 1000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS
	},
	{
		"gpusort.host_nice",
		"How far the host device's threads stand back behind other processes.",
		"Added to the nice value that the server runs with: at 0 a thread gets as much of a "
		"processor as a session, at 10 a tenth of that, if both want one.",
		&gpusort_host_nice, 0, 0, 19, PGC_SIGHUP, 0
	},
	{
		"gpusort.host_threads",
		"The number of the host device's threads.",
		"0: one for each processor that the server may use, by its affinity and its control "
		"group. Two at least are started.",
		&gpusort_host_threads, 0, 0, 1024, PGC_SIGHUP, 0
	},
	{
		"gpusort.max_wait_timeout",
		"The longest time that gpusort.wait_timeout can have a sort wait.",
		"A sort that waits holds shared buffers and makes larger sorts spill for it. Only "
		"superusers can let sorts wait longer.",
		&gpusort_max_wait_timeout_ms, 10 * 1000, 0, 60 * 60 * 1000, PGC_SUSET, GUC_UNIT_MS
	},
	{
		"gpusort.min_rows",
		"Sorts of fewer rows stay off the device.",
		"The rows that come count, and stay in the backend if they fit work_mem. Where fewer "
		"are expected, PostgreSQL alone chooses between plans. -1: 10000, or 20000 on the host "
		"device.",
		&min_rows, MIN_ROWS_AUTO, MIN_ROWS_AUTO, INT_MAX, PGC_USERSET, 0
	},
	{
		"gpusort.service_timeout",
		"The time after which a service whose process does not run gets no sorts.",
		"Its sorts fail. When its process runs again, it serves again. 0: a service is waited "
		"for without end.",
		&gpusort_service_timeout_s, 10, 0, INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_S
	},
	{
		"gpusort.wait_timeout",
		"The longest time that a sort waits for device memory.",
		"While other sorts have it, a sort waits for its turn, but no longer than twice what "
		"PostgreSQL's own sort would take, nor than gpusort.max_wait_timeout; then PostgreSQL's "
		"own sort does it. 0: sorts do not wait.",
		&gpusort_wait_timeout_ms, 2000, 0, 60 * 60 * 1000, PGC_USERSET, GUC_UNIT_MS
	},
};

static const struct
{
	const char *name;
	const char *short_desc;
	const char *long_desc;
	int		   *value;
	int			boot;
	const struct config_enum_entry *options;
	GucContext	context;
	int			flags;
}			enum_settings[] = {
	{
		"gpusort.algorithm",
		"The algorithm by which the GPU sorts keys.",
		"auto: the fastest, by the number of rows and of significant key bits; radix, "
		"partition, merge, cub_radix: this one. The host device always sorts by radix.",
		&gpusort_algorithm, GSORT_ENGINE_AUTO, algorithm_options, PGC_SUSET, 0
	},
	{
		"gpusort.libc_collations",
		"How text is sorted under collations of the C library.",
		"verify: by strxfrm, and strcoll checks the order before the first row goes out; trust: "
		"by strxfrm alone, which is faster, and wrong where the C library contradicts itself; "
		"off: not on the device.",
		&gpusort_libc_collations, GPUSORT_LIBC_COLLATIONS_VERIFY, libc_collations_options,
		PGC_SUSET, 0
	},
};

static const struct
{
	const char *name;
	const char *short_desc;
	const char *long_desc;
	char	  **value;
	const char *boot;
	GucContext	context;
	int			flags;
	GucStringCheckHook check;
	GucStringAssignHook assign;
}			string_settings[] = {
	{
		"gpusort.debug_providers_off",
		"For tests: what the planner is offered no paths for.",
		"A list of order, group and window. Sort nodes of finished plans become GpuSort nodes "
		"all the same.",
		&debug_providers_off_setting, "",
		PGC_SUSET, GUC_LIST_INPUT | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL,
		check_debug_providers_off, assign_debug_providers_off
	},
	{
		"gpusort.device",
		"The devices that sort.",
		"auto: all GPUs, if there are any; cuda: all GPUs; cuda:0,2: those with these numbers; "
		"host: threads of the CPU; auto,host: all GPUs, or threads of the CPU if there are "
		"none; off: none.",
		&device_setting, "auto", PGC_SIGHUP, GUC_LIST_INPUT,
		gpusort_check_device, gpusort_assign_device
	},
	{
		"gpusort.device_memory",
		"The most device memory that all sorts together may use.",
		"\"auto\" (80% of what a GPU has free when a sort asks, an eighth of the machine's "
		"memory for the host device), a share of the device's memory (\"50%\"), or an amount "
		"(\"8GB\").",
		&device_memory_setting, "auto", PGC_SIGHUP, 0, check_device_memory, assign_device_memory
	},
};

void
gpusort_settings_define(void)
{
	for (int i = 0; i < lengthof(bool_settings); i++)
		DefineCustomBoolVariable(bool_settings[i].name, bool_settings[i].short_desc,
								 bool_settings[i].long_desc, bool_settings[i].value,
								 bool_settings[i].boot, bool_settings[i].context,
								 bool_settings[i].flags, NULL, NULL, NULL);
	for (int i = 0; i < lengthof(int_settings); i++)
		DefineCustomIntVariable(int_settings[i].name, int_settings[i].short_desc,
								int_settings[i].long_desc, int_settings[i].value,
								int_settings[i].boot, int_settings[i].min, int_settings[i].max,
								int_settings[i].context, int_settings[i].flags, NULL, NULL, NULL);
	for (int i = 0; i < lengthof(enum_settings); i++)
		DefineCustomEnumVariable(enum_settings[i].name, enum_settings[i].short_desc,
								 enum_settings[i].long_desc, enum_settings[i].value,
								 enum_settings[i].boot, enum_settings[i].options,
								 enum_settings[i].context, enum_settings[i].flags, NULL, NULL,
								 NULL);
	for (int i = 0; i < lengthof(string_settings); i++)
		DefineCustomStringVariable(string_settings[i].name, string_settings[i].short_desc,
								   string_settings[i].long_desc, string_settings[i].value,
								   string_settings[i].boot, string_settings[i].context,
								   string_settings[i].flags, string_settings[i].check,
								   string_settings[i].assign, NULL);
	MarkGUCPrefixReserved("gpusort");
}
