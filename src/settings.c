/*
 * settings.c
 *	  What a user can set: every setting, its checks and its bounds.
 *
 * In:  postgresql.conf, ALTER SYSTEM, SET.
 * Out: the variables of settings.h, in each process its own copy.
 *
 * Defined in the postmaster while it loads the module; every other process
 * inherits the definitions.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "compat.h"
#include "settings.h"

/* Fewest bytes that gpusort.device_memory may name. */
#define DEVICE_MEMORY_MIN_MB	32

int			gpusort_algorithm = GSORT_ENGINE_AUTO;
bool		gpusort_enabled = true;
int			gpusort_device = GPUSORT_DEVICE_AUTO;
int			gpusort_min_rows = 0;
int			gpusort_buffer_memory_mb = 0;
int			gpusort_debug_call_delay_ms = 0;
int			gpusort_debug_collation_fault = 0;
int			gpusort_debug_fail_at = 0;
bool		gpusort_debug_force = false;
bool		gpusort_debug_grouping = false;
GpuSortMemorySetting gpusort_device_memory = {0, 0};
int			gpusort_libc_collations = GPUSORT_LIBC_COLLATIONS_VERIFY;
int			gpusort_max_wait_timeout_ms = 0;
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

static const struct config_enum_entry libc_collations_options[] = {
	{"verify", GPUSORT_LIBC_COLLATIONS_VERIFY, false},
	{"trust", GPUSORT_LIBC_COLLATIONS_TRUST, false},
	{"off", GPUSORT_LIBC_COLLATIONS_OFF, false},
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

void
gpusort_settings_define(void)
{
	DefineCustomEnumVariable("gpusort.algorithm",
							 "The algorithm by which the GPU sorts keys.",
							 "auto: the fastest, by the number of rows and of significant key bits; radix, partition, merge: this one. The host device always sorts by radix.",
							 &gpusort_algorithm, GSORT_ENGINE_AUTO, algorithm_options,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.buffer_memory",
							"Shared memory for rows on their way to the device and back.",
							"A sort takes 4 MB of it and 1 MB for each parallel process that feeds it; up to 8 MB, or 5 MB and 3 MB for each such process, while three quarters of it are free. A server that starts with gpusort.device = off has none.",
							&gpusort_buffer_memory_mb, 256, 16, 64 * 1024,
							PGC_POSTMASTER, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.debug_call_delay",
							"For tests: the time that opening and shutting the device, and pinning, take longer.",
							NULL,
							&gpusort_debug_call_delay_ms, 0, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.debug_collation_fault",
							"For tests: strings of so many bytes get wrong sort keys from the C library.",
							"They get those of the strings without their first byte. 0: none do.",
							&gpusort_debug_collation_fault, 0, 0, INT_MAX,
							PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.debug_fail_at",
							"For tests: the device call or allocation that fails, the first being 1.",
							"An allocation fails as if there were no memory, a call as if the device were lost. Counting begins when this is set, and when the device is opened. 0: none fails.",
							&gpusort_debug_fail_at, 0, 0, INT_MAX,
							PGC_SIGHUP, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.debug_force",
							 "For tests: sorts use the device wherever they can, whatever that costs.",
							 "gpusort.enabled and gpusort.min_rows still count; enable_sort, what a LIMIT lets be kept and estimates of cost and memory do not.",
							 &gpusort_debug_force, false,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.debug_grouping",
							 "For tests: ORDER BY by the device brings equal rows together, and no more.",
							 "Rows come by a hash of all sort keys, unless a key's type has none: not in the order that was asked for. Sorts whose order the plan itself needs are left alone.",
							 &gpusort_debug_grouping, false,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.device",
							 "The device that sorts.",
							 "auto: the GPU if there is one, else none; cuda: the GPU; host: threads of the CPU; off: none.",
							 &gpusort_device, GPUSORT_DEVICE_AUTO, device_options,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.device_memory",
							   "The most device memory that all sorts together may use.",
							   "\"auto\" (80% of what a GPU has free when a sort asks, an eighth of the machine's memory for the host device), a share of the device's memory (\"50%\"), or an amount (\"8GB\").",
							   &device_memory_setting, "auto",
							   PGC_SIGHUP, 0,
							   check_device_memory, assign_device_memory, NULL);
	DefineCustomBoolVariable("gpusort.enabled",
							 "Lets sorts use the device.",
							 NULL,
							 &gpusort_enabled, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.libc_collations",
							 "How text is sorted under collations of the C library.",
							 "verify: by strxfrm, and each returned row is compared with the one before, by strcoll; trust: by strxfrm alone, which is faster, and wrong where the C library contradicts itself; off: not on the device.",
							 &gpusort_libc_collations, GPUSORT_LIBC_COLLATIONS_VERIFY,
							 libc_collations_options,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.max_wait_timeout",
							"The longest time that gpusort.wait_timeout can have a sort wait.",
							"A sort that waits holds shared buffers and makes larger sorts spill for it. Only superusers can let sorts wait longer.",
							&gpusort_max_wait_timeout_ms, 10 * 1000, 0, 60 * 60 * 1000,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.min_rows",
							"Sorts of fewer rows stay off the device.",
							"The rows that come count, and stay in the backend if they fit work_mem. Where fewer are expected, PostgreSQL alone chooses between plans.",
							&gpusort_min_rows, 10000, 0, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.wait_timeout",
							"The longest time that a sort waits for device memory.",
							"While other sorts have it, a sort waits for its turn, but no longer than PostgreSQL's own sort would take, nor than gpusort.max_wait_timeout; then PostgreSQL's own sort does it. 0: sorts do not wait.",
							&gpusort_wait_timeout_ms, 2000, 0, 60 * 60 * 1000,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	MarkGUCPrefixReserved("gpusort");
}
