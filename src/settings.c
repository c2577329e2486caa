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

#include <ctype.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/acl.h"
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
 * rows took 0.8 to 1.3 times as long, and 20,000 rows 0.8 to 1.0 times
 * (bench/NOTES.md).
 */
#define MIN_ROWS_AUTO		(-1)
#define MIN_ROWS_OF_GPU		10000
#define MIN_ROWS_OF_HOST	20000

/* Any role may set it to this or more. */
#define MIN_ROWS_OF_ANY_ROLE	1000

int			gpusort_algorithm = GSORT_ENGINE_AUTO;
bool		gpusort_enabled = true;
int			gpusort_host_nice = 0;
int			gpusort_host_threads = 0;
int			gpusort_buffer_memory_mb = 0;
int			gpusort_debug_call_delay_ms = 0;
int			gpusort_debug_collation_fault = 0;
int			gpusort_debug_fail_at = 0;
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

int
gpusort_min_rows_of(gsort_kind kind)
{
	if (min_rows != MIN_ROWS_AUTO)
		return min_rows;
	return kind == GSORT_KIND_HOST ? MIN_ROWS_OF_HOST : MIN_ROWS_OF_GPU;
}

int
gpusort_min_rows_of_any(void)
{
	return gpusort_min_rows_of(GSORT_KIND_CUDA);
}

/*
 * A sort of few rows on a device costs others more than it costs its session:
 * the shared lock, and a turn of the service.  A value in postgresql.conf, and
 * one that ALTER ROLE or ALTER DATABASE has stored, has been checked already.
 */
static bool
check_min_rows(int *newval, void **extra, GucSource source)
{
	if (*newval == MIN_ROWS_AUTO || *newval >= MIN_ROWS_OF_ANY_ROLE ||
		(source < PGC_S_INTERACTIVE && source != PGC_S_CLIENT) ||
		!IsTransactionState() || InitializingParallelWorker ||
		pg_parameter_aclcheck("gpusort.min_rows", GetUserId(), ACL_SET) == ACLCHECK_OK)
		return true;
	GUC_check_errcode(ERRCODE_INSUFFICIENT_PRIVILEGE);
	GUC_check_errmsg("permission denied to set \"gpusort.min_rows\" to %d", *newval);
	GUC_check_errdetail("Only superusers and roles with privilege SET on this parameter may set it below %d.",
						MIN_ROWS_OF_ANY_ROLE);
	GUC_check_errhint("Set it to %d or more, or to -1.", MIN_ROWS_OF_ANY_ROLE);
	return false;
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

/*
 * parse_int() takes an amount without a unit too, in several forms.  All units
 * end in B, and so do some hexadecimal numbers, which are refused.
 */
static bool
has_unit(const char *value)
{
	size_t		length = strlen(value);

	while (length > 0 && isspace((unsigned char) value[length - 1]))
		length--;
	return length > 0 && value[length - 1] == 'B' && strpbrk(value, "xX") == NULL;
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
		if (!has_unit(*newval) ||
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
		"Tests only: uses the device for each sort that it can do, at any cost.",
		"gpusort.enabled and gpusort.min_rows still apply. enable_sort, the bound of a LIMIT, "
		"and estimates of cost and memory do not.",
		&gpusort_debug_force, false, PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_grouping",
		"Tests only: lets the device bring equal rows together without ordering them.",
		"ORDER BY returns rows by a hash of all sort keys, unless a key's type has no hash. "
		"Sorts whose order the plan itself needs are not affected.",
		&gpusort_debug_grouping, false, PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.enabled",
		"Enables sorts on the device.",
		NULL,
		&gpusort_enabled, true, PGC_USERSET, 0
	},
	{
		"gpusort.index_builds",
		"Enables the device for builds of btree indexes.",
		"It applies to indexes of user tables, unless max_parallel_maintenance_workers is 0. "
		"The index is the same as PostgreSQL's.",
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
	GucIntCheckHook check;
}			int_settings[] = {
	{
		"gpusort.buffer_memory",
		"Sets the shared memory for rows on their way to and from the device.",
		"A sort takes 4 MB, and 1 MB for each parallel process that feeds it. While three "
		"quarters of the memory are free, it takes up to 8 MB, or 5 MB and 3 MB for each such "
		"process. A server that starts with gpusort.device = off allocates none.",
		&gpusort_buffer_memory_mb, 256, 16, 64 * 1024, PGC_POSTMASTER, GUC_UNIT_MB
	},
	{
		"gpusort.debug_call_delay",
		"Tests only: delays opening and closing the device, and pinning.",
		NULL,
		&gpusort_debug_call_delay_ms, 0, 0, INT_MAX,
		PGC_SIGHUP, GUC_UNIT_MS | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_collation_fault",
		"Tests only: gives strings of this many bytes wrong sort keys of the C library.",
		"They get the sort keys of the strings without their first byte. 0 disables this.",
		&gpusort_debug_collation_fault, 0, 0, INT_MAX,
		PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.debug_fail_at",
		"Tests only: sets the device call or allocation that fails, counted from 1.",
		"An allocation fails as if memory were exhausted, a call as if the device were lost. "
		"From a negative number on, all allocations fail, and no call. "
		"Counting begins when this is set, and when the device is opened. 0 disables this.",
		&gpusort_debug_fail_at, 0, -INT_MAX, INT_MAX, PGC_SIGHUP,
		GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL
	},
	{
		"gpusort.device_timeout",
		"Sets the time after which a device that completes no operation counts as lost.",
		"Its service restarts, and sorts on it fail. The time must be longer than any single "
		"operation takes. 0 disables the timeout.",
		&gpusort_device_timeout_ms, 120 * 1000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS
	},
	{
		"gpusort.host_nice",
		"Sets how far the host device's threads yield to other processes.",
		"The value is added to the server's nice value. At 0, a thread gets as much of a "
		"processor as a session does. At 10, it gets a tenth of that, if both want the "
		"processor.",
		&gpusort_host_nice, 0, 0, 19, PGC_SIGHUP, 0
	},
	{
		"gpusort.host_threads",
		"Sets the number of the host device's threads.",
		"0 means one thread for each processor that the server may use, by its affinity and "
		"its control group. At least two threads are started.",
		&gpusort_host_threads, 0, 0, 1024, PGC_SIGHUP, 0
	},
	{
		"gpusort.max_wait_timeout",
		"Sets the upper limit of gpusort.wait_timeout.",
		"A sort that waits holds shared buffers and makes larger sorts spill. Only superusers "
		"can let sorts wait longer.",
		&gpusort_max_wait_timeout_ms, 10 * 1000, 0, 60 * 60 * 1000, PGC_SUSET, GUC_UNIT_MS
	},
	{
		"gpusort.min_rows",
		"Sets the number of rows below which a sort does not use the device.",
		"Rows count as they arrive. Fewer rows stay in the backend if they fit into work_mem. "
		"If fewer rows are expected, PostgreSQL alone chooses between plans. -1 means 10000 "
		"rows, or 20000 on the host device.",
		&min_rows, MIN_ROWS_AUTO, MIN_ROWS_AUTO, INT_MAX, PGC_USERSET, 0, check_min_rows
	},
	{
		"gpusort.service_timeout",
		"Sets the time after which a service whose process does not run receives no sorts.",
		"Its sorts fail. It serves again when its process runs again. 0 disables the timeout.",
		&gpusort_service_timeout_s, 10, 0, INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_S
	},
	{
		"gpusort.wait_timeout",
		"Sets the maximum time that a sort waits for buffers and device memory.",
		"After this time, PostgreSQL does the sort. No sort waits longer than twice the time "
		"that PostgreSQL's own sort would take, or 50 ms if that is more, nor longer than "
		"gpusort.max_wait_timeout. 0 means that sorts do not wait.",
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
		"Selects the algorithm that sorts keys on the GPU.",
		"auto selects the fastest algorithm by the number of rows and of significant key bits. "
		"The host device always uses radix.",
		&gpusort_algorithm, GSORT_ENGINE_AUTO, algorithm_options, PGC_SUSET, 0
	},
	{
		"gpusort.libc_collations",
		"Selects how text under collations of the C library is sorted.",
		"verify sorts by strxfrm, and strcoll checks the order before the first row is "
		"returned. trust sorts by strxfrm alone, which is faster, but wrong if strxfrm and "
		"strcoll disagree. off does not use the device.",
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
		"Tests only: lists the paths that gpusort does not add.",
		"The list has order, group and window. GpuSort nodes still replace Sort nodes of "
		"finished plans.",
		&debug_providers_off_setting, "",
		PGC_SUSET, GUC_LIST_INPUT | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL,
		check_debug_providers_off, assign_debug_providers_off
	},
	{
		"gpusort.device",
		"Selects the devices that sort.",
		"auto selects all GPUs, if there are any. cuda selects all GPUs, and cuda:0,2 the GPUs "
		"with these numbers. host selects threads of the CPU. auto,host selects all GPUs, or "
		"threads of the CPU if there are none. off selects no device.",
		&device_setting, "auto,host", PGC_SIGHUP, GUC_LIST_INPUT,
		gpusort_check_device, gpusort_assign_device
	},
	{
		"gpusort.device_memory",
		"Sets the maximum device memory of all sorts together.",
		"auto means 80% of the memory that a GPU has free when a sort asks, or an eighth of "
		"the machine's memory for the host device. Other values are a share of the device's "
		"memory (50%), or an amount (8GB).",
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
								int_settings[i].context, int_settings[i].flags,
								int_settings[i].check, NULL, NULL);
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
