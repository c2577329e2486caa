/*
 * service_device.c
 *	  The device that the service owns: opened, shown to sessions, lost.
 *
 * In:  gpusort.device, .device_memory, .host_threads, .host_nice and the
 *	    settings that make calls of the device fail, as of the last reload.
 * Out: the open device; the service's state and the device's figures in shared
 *	    memory.
 *
 * A process of the service opens a device once, when it starts.  Whatever
 * requires another opening ends the process, and the postmaster starts the
 * service again: the loss of the device, other settings, a look for a lost
 * device.  CUDA requires that too, since it reports for good that there is no
 * GPU in a process that has found none.  New settings and looks wait until no
 * sort is open.
 *
 * If this service may have several devices, the first one that can be opened
 * serves.  The service looks by itself for a lost device that cannot be opened,
 * because a GPU that is being reset comes back some time later.  It does not do
 * so while its host device is the only device that serves, until a reload.
 *
 * Runs in the service alone.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/guc.h"

#include "job/server_state.h"
#include "service/service_internal.h"

gsort_device *gpusort_service_device = NULL;

/* The first look for a lost device comes after this time.  Each later one comes
 * after a part of the time for which the device has been missing. */
#define LOOK_AGAIN_MS		10000
#define LOOK_AGAIN_PART		4

#define NOT_NAMED			"gpusort.device does not name it any more"

/* The settings that a device is opened with.  A change requires a new
 * opening. */
typedef struct OpenSettings
{
	GpuSortServiceDevice device;	/* n is 0: gpusort.device does not name the service's */
	int			host_threads;
	int			host_nice;
} OpenSettings;

static OpenSettings opened_for; /* when the device was opened */
static int	opened_choice;		/* number of the device that serves, among these */
/* when to look for a lost device; 0: at once, for any missing device, as a
 * reload asks */
static uint64 next_look_us = 0;
/* why the first device does not serve */
static char failures[sizeof(((GpuSortService *) NULL)->detail)];

/* --- its end -------------------------------------------------------------- */

/* Returns the last failure of the device, as a sentence. */
static const char *
device_error(void)
{
	static char text[640];

	snprintf(text, sizeof(text), "The device reported: %s.",
			 gsort_error_text(gpusort_service_device));
	return text;
}

/* A restart calls this, and then the process's end once more, which changes
 * nothing. */
void
gpusort_service_stop_serving(const char *message)
{
	GpuSortService *service = gpusort_service_shared();

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	/* The device may have been open without serving, until the last sort ended.
	 * The host device is not missed if it stands in for a missing device, or
	 * for no GPU. */
	if (gpusort_service_device != NULL && opened_choice == 0 && service->missing_since_us == 0)
		service->missing_since_us = gpusort_clock_us();
	service->state = GPUSORT_SERVICE_STARTING;
	service->proc = -1;
	service->pid = 0;
	memset(&service->info, 0, sizeof(service->info));
	gpusort_server_state_changed();
	gpusort_service_fail_all_jobs(message);
	LWLockRelease(gpusort_shared_lock());
}

void
gpusort_service_restart(const char *why, const char *detail)
{
	gpusort_service_stop_serving(detail);
	ereport(LOG,
			(errmsg("gpusort: %s, the service restarts", why),
			 errdetail("%s", detail)));
	proc_exit(1);
}

void
gpusort_service_lose_device(void)
{
	gpusort_service_restart("the device is lost", device_error());
}

void
gpusort_service_apply_status(int job, gsort_status status)
{
	if (status == GSORT_DEVICE_LOST)
		gpusort_service_lose_device();
	if (status != GSORT_OK)
		gpusort_service_fail_job(job, device_error(), status == GSORT_NOMEM);
}

/* --- what sessions see ---------------------------------------------------- */

void
gpusort_service_publish_info(void)
{
	gsort_device_info info;

	if (gpusort_service_device == NULL)
		return;
	gsort_device_get_info(gpusort_service_device, &info);
	/* nobody else writes it, so most turns change nothing and leave the lock to
	 * the sessions */
	if (memcmp(&gpusort_service_shared()->info, &info, sizeof(info)) == 0)
		return;
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (gpusort_service_shared()->info.budget_bytes != info.budget_bytes)
		gpusort_server_state_changed();
	gpusort_service_shared()->info = info;
	if (info.kind == GSORT_KIND_CUDA)
		gpusort_shared->n_gpus = info.devices;
	LWLockRelease(gpusort_shared_lock());
}

/* Does another service serve with a device of the same kind?  If so, plans have
 * been made for such devices. */
static bool
is_served_by_others(void)
{
	const GpuSortServerState *others = gpusort_server_state();

	return others->serves && others->kind == gpusort_service_shared()->info.kind;
}

/* Sessions replan when the service begins to serve, all plans of all databases,
 * unless others serve already.  The postmaster delays each start of a service
 * by a second, so a device that comes and goes causes that no more often. */
static void
publish_state(GpuSortServiceState state, const char *detail)
{
	GpuSortService *service = gpusort_service_shared();
	bool		replan;
	bool		changed;

	gpusort_service_publish_info();
	replan = state == GPUSORT_SERVICE_SERVING && !is_served_by_others();
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	changed = service->state != state;
	if (changed)
		gpusort_server_state_changed();
	if (changed && replan)
		gpusort_discard_cached_plans();
	service->state = state;
	strlcpy(service->detail, detail, sizeof(service->detail));
	/* while the host device serves in its place, the GPU is still missing */
	if ((state == GPUSORT_SERVICE_SERVING && opened_choice == 0) || state == GPUSORT_SERVICE_OFF)
		service->missing_since_us = 0;
	LWLockRelease(gpusort_shared_lock());
	/* the first service may have a host device that need not serve any more */
	if (changed && gpusort_service_number > 0)
		gpusort_wake_service(0);
}

/* --- opening -------------------------------------------------------------- */

static OpenSettings
settings_now(void)
{
	OpenSettings now = {.host_threads = gpusort_host_threads,.host_nice = gpusort_host_nice};

	if (gpusort_service_number < gpusort_shared->n_services &&
		gpusort_service_number < gpusort_services_wanted(GPUSORT_SERVICES_MAX))
		now.device = gpusort_device_of_service(gpusort_service_number);
	return now;
}

static void
arm_test_failure(void)
{
	if (gpusort_service_device == NULL)
		return;
	gsort_set_fail_at(gpusort_service_device, abs(gpusort_debug_fail_at),
					  GSORT_FAIL_ALLOCATIONS | GSORT_FAIL_LAUNCHES | GSORT_FAIL_TRANSFERS |
					  (gpusort_debug_fail_at < 0 ? GSORT_FAIL_LATER_TOO : GSORT_FAIL_CALLS));
}

/* Logs why there is no device, and shows it to sessions. */
static void
report_no_device(const char *why)
{
	if (gpusort_shared->n_services > 1)
		ereport(LOG,
				(errmsg("gpusort: service %d has no device: %s", gpusort_service_number, why),
				 gpusort_server_state()->serves ?
				 errdetail("Sorts use the other devices.") :
				 errdetail("No other device serves, so all sorts are left to PostgreSQL.")));
	else
		ereport(LOG,
				(errmsg("gpusort: no device serves, all sorts are left to PostgreSQL: %s", why),
				 gpusort_shared->n_buffers == 0 ? 0 :
				 opened_for.device.choices[opened_for.device.n - 1] == GPUSORT_DEVICE_HOST ?
				 errhint("The limit of processes may be reached: raise \"ulimit -u\" or systemd's TasksMax, or lower gpusort.host_threads.") :
				 errhint("Set gpusort.device to \"host\" to sort with CPU threads, or to \"auto,host\" to do so only while no GPU serves.")));
	publish_state(GPUSORT_SERVICE_UNAVAILABLE, why);
}

/* Serves with the device that is open now. */
static void
begin_serving(void)
{
	gpusort_service_set_budget();
	arm_test_failure();
	gpusort_service_log_device(failures);
	publish_state(GPUSORT_SERVICE_SERVING, failures);
}

/* Opens the first device that can be opened.  False: there is none. */
static bool
open_a_choice(void)
{
	for (opened_choice = 0; opened_choice < opened_for.device.n; opened_choice++)
	{
		const char *reason;
		bool		is_last = opened_choice + 1 == opened_for.device.n;

		gpusort_service_device = gpusort_service_open(&opened_for.device, opened_choice, &reason);
		if (gpusort_service_device != NULL)
			return true;
		snprintf(failures, sizeof(failures), is_last ? "%s" : "no GPU: %s", reason);
	}
	return false;
}

/* Each failure has a report of its own.  The log has it before the views do:
 * whoever sees the state finds its reason there. */
void
gpusort_service_open_device(void)
{
	uint64		now_us = gpusort_clock_us();
	uint64		since_us = gpusort_service_shared()->missing_since_us;

	next_look_us = now_us + Max(LOOK_AGAIN_MS * 1000, (now_us - since_us) / LOOK_AGAIN_PART);
	opened_for = settings_now();
	if (opened_for.device.n == 0)
		publish_state(GPUSORT_SERVICE_OFF, NOT_NAMED);
	else if (gpusort_device_is_off())
		publish_state(GPUSORT_SERVICE_OFF, "gpusort.device is off");
	else if (gpusort_shared->n_buffers == 0)
		report_no_device("the server started with gpusort.device = off and has no buffers; restart the server");
	else if (open_a_choice())
		begin_serving();
	else
		report_no_device(failures);
}

/* --- when to open it again ------------------------------------------------ */

static bool
settings_have_changed(const OpenSettings *now)
{
	if (memcmp(&now->device, &opened_for.device, sizeof(now->device)) != 0)
		return true;
	return gpusort_service_device != NULL &&
		opened_for.device.choices[opened_choice] == GPUSORT_DEVICE_HOST &&
		(now->host_threads != opened_for.host_threads || now->host_nice != opened_for.host_nice);
}

/* Returns the milliseconds until a look for a lost device; -1: it has none. */
static long
time_to_look(void)
{
	const GpuSortService *service = gpusort_service_shared();

	if (service->missing_since_us == 0 &&
		!(next_look_us == 0 && service->state == GPUSORT_SERVICE_UNAVAILABLE))
		return -1;
	/* sorts need the host device while no GPU serves */
	if (next_look_us != 0 && gpusort_service_device != NULL &&
		gpusort_server_state()->kind == GSORT_KIND_HOST)
		return -1;
	return gpusort_clock_ms_left(gpusort_clock_us(), next_look_us);
}

/* A session may hold a failed sort for as long as it likes.  A look that is due
 * waits for the end of a sort. */
long
gpusort_service_follow_settings(void)
{
	const GpuSortService *service = gpusort_service_shared();
	bool		serves = service->state == GPUSORT_SERVICE_SERVING;
	OpenSettings now = settings_now();
	bool		changed = settings_have_changed(&now);
	long		left = changed ? 0 : time_to_look();
	int			open;

	if (left != 0)
	{
		/* the settings are again those that the device was opened with */
		if (gpusort_service_device != NULL && !serves)
			publish_state(GPUSORT_SERVICE_SERVING, failures);
		return left;
	}
	if (!changed && gpusort_service_count_jobs(gpusort_service_number, true) > 0)
		return -1;
	if (now.device.n == 0)
		publish_state(GPUSORT_SERVICE_OFF, NOT_NAMED);
	else
		publish_state(GPUSORT_SERVICE_STARTING, "waiting for open sorts to end");
	/* no new ones come now */
	open = gpusort_service_count_jobs(gpusort_service_number, true);
	/* one forgotten cursor keeps all new sorts native */
	if (open > 0 && changed && serves)
		ereport(LOG,
				(errmsg("gpusort: the new settings wait for %d open sorts to end, new sorts are left to PostgreSQL",
						open),
				 errhint("The view gpusort_progress lists the open sorts of service %d and their processes.  A cursor keeps its sort open until the cursor is closed.",
						 gpusort_service_number)));
	if (open > 0)
		return -1;
	if (!changed)
		gpusort_service_restart("retrying to open the lost device", failures);
	/* it is not lost */
	gpusort_service_device = NULL;
	gpusort_service_restart("the settings of the device have changed", "No sort is open.");
}

/* --- a reload ------------------------------------------------------------- */

void
gpusort_service_reload_settings(void)
{
	int			fail_at = gpusort_debug_fail_at;

	ProcessConfigFile(PGC_SIGHUP);
	gpusort_service_set_budget();
	if (gpusort_debug_fail_at != fail_at)
		arm_test_failure();
	next_look_us = 0;
}
