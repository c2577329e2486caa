/*
 * service_device.c
 *	  The device that the service owns: opened, shown to sessions, closed, lost.
 *
 * In:  gpusort.device, .device_memory, .host_threads, .host_nice and the
 *	    settings that make calls of the device fail, as of the last reload.
 * Out: the open device; the service's state and the device's figures in shared
 *	    memory.
 *
 * If this service may have several devices, the first one that can be opened
 * serves.  The service tries them when it starts, also after a lost device,
 * when these settings change, and at a reload while a later device, or none,
 * serves.  It looks by itself for a lost device that cannot be opened, because
 * a GPU that is being reset comes back some time later.
 *
 * The host device behind GPUs (auto,host) is the first service's.  It stands in
 * for all GPUs, not for a single lost one.  The choice between it and the GPUs
 * is made when the server starts, when the last GPU is lost, and at a reload.
 * While the host device serves, lost GPUs are not looked for.
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

/* After this many restarts for corrupt shared memory the service does not
 * serve, since each has failed everybody's sorts. */
#define CORRUPTIONS_MAX		3

/* The settings that a device is opened with.  A change requires a new
 * opening. */
typedef struct OpenSettings
{
	GpuSortServiceDevice device;	/* n is 0: a device must be opened, whatever the settings are */
	int			host_threads;
	int			host_nice;
} OpenSettings;

static OpenSettings opened_for; /* when the device was opened */
static int	opened_choice;		/* number of the device that serves, among these */
static bool host_is_spare = false;	/* and is not opened, since other GPUs serve */
/* A reload asks for a look for a lost device, once no sort is open. */
static bool to_look_anew = false;
static uint64 next_look_us = 0; /* when to look for a lost device; 0: there is none, or it serves */
/* why the devices before it do not serve */
static char failures[sizeof(((GpuSortService *) NULL)->detail)];

/* --- its end -------------------------------------------------------------- */

/* Returns the last failure of the device, as a sentence. */
static const char *
device_error(void)
{
	static char text[640];

	if (gpusort_service_device == NULL)
		return "The service has no device.";
	snprintf(text, sizeof(text), "The device reported: %s.",
			 gsort_error_text(gpusort_service_device));
	return text;
}

/* A process that is not this service changes nothing. */
void
gpusort_service_stop_serving(const char *message)
{
	GpuSortService *service = gpusort_service_shared();

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (service->pid == MyProcPid)
	{
		/* The device may have been open without serving, until the last sort
		 * ended.  The host device is not missed if it stands in for a missing
		 * device, or for no GPU. */
		if (gpusort_service_device != NULL && opened_choice == 0 && service->missing_since_us == 0)
			service->missing_since_us = gpusort_clock_us();
		service->state = GPUSORT_SERVICE_STARTING;
		service->proc = -1;
		service->pid = 0;
		memset(&service->info, 0, sizeof(service->info));
		gpusort_server_state_changed();
		gpusort_service_fail_all_jobs(message);
	}
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
	char		message[512];

	strlcpy(message, device_error(), sizeof(message));
	gpusort_service_restart("the device is lost", message);
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
	/* a failure that comes while nobody waits for an answer must not wait for
	 * the next sort */
	if (info.lost)
		gpusort_service_lose_device();
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

/* Sessions plan anew when the service begins to serve. */
static void
publish_state(GpuSortServiceState state, const char *detail)
{
	GpuSortService *service = gpusort_service_shared();
	bool		changed;

	gpusort_service_publish_info();
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	changed = service->state != state;
	if (changed)
		gpusort_server_state_changed();
	if (changed && state == GPUSORT_SERVICE_SERVING)
		gpusort_discard_cached_plans();
	service->state = state;
	strlcpy(service->detail, detail, sizeof(service->detail));
	/* while the host device serves in its place, the GPU is still missing */
	if ((state == GPUSORT_SERVICE_SERVING && opened_choice == 0) || state == GPUSORT_SERVICE_OFF)
	{
		service->missing_since_us = 0;
		service->failed_opens = 0;
	}
	if (gpusort_service_device == NULL)
		memset(&service->info, 0, sizeof(service->info));
	LWLockRelease(gpusort_shared_lock());
	/* the first service may have to choose anew between the host device and the
	 * GPUs */
	if (changed && gpusort_service_number > 0)
		gpusort_wake_service(0);
}

/* --- other services ------------------------------------------------------- */

/* Does a service have a GPU, or is it starting again after it lost one, which
 * it may have back at once? */
static bool
has_gpu(const GpuSortService *service)
{
	if (service->state == GPUSORT_SERVICE_STARTING)
		return service->missing_since_us != 0 &&
			!gpusort_clock_exceeds(service->missing_since_us, gpusort_clock_us(), LOOK_AGAIN_MS);
	return service->state == GPUSORT_SERVICE_SERVING && service->info.kind == GSORT_KIND_CUDA;
}

static bool
another_has_gpu(void)
{
	bool		found = false;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	for (int i = 0; i < gpusort_shared->n_services; i++)
		if (i != gpusort_service_number && has_gpu(&gpusort_shared->services[i]))
			found = true;
	LWLockRelease(gpusort_shared_lock());
	return found;
}

/* Does the first service have the host device in place of all GPUs? */
static bool
host_serves_for_gpus(void)
{
	const GpuSortService *first = &gpusort_shared->services[0];
	bool		serves;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	serves = first->state == GPUSORT_SERVICE_SERVING && first->info.kind == GSORT_KIND_HOST;
	LWLockRelease(gpusort_shared_lock());
	return serves && gpusort_device_of_service(0).n > 1;
}

/* --- opening -------------------------------------------------------------- */

static OpenSettings
settings_now(void)
{
	return (OpenSettings) {gpusort_device_of_service(gpusort_service_number), gpusort_host_threads,
						   gpusort_host_nice};
}

static void
arm_test_failure(void)
{
	if (gpusort_service_device == NULL)
		return;
	if (gpusort_debug_refuse_from > 0)
		gsort_set_fail_at(gpusort_service_device, gpusort_debug_refuse_from,
						  GSORT_FAIL_ALLOCATIONS | GSORT_FAIL_LAUNCHES | GSORT_FAIL_TRANSFERS |
						  GSORT_FAIL_LATER_TOO);
	else
		gsort_set_fail_at(gpusort_service_device, gpusort_debug_fail_at, GSORT_FAIL_ALLOCATIONS |
						  GSORT_FAIL_CALLS | GSORT_FAIL_LAUNCHES | GSORT_FAIL_TRANSFERS);
}

static void
report_off(void)
{
	ereport(LOG, (errmsg("gpusort: gpusort.device is off, all sorts are left to PostgreSQL")));
	publish_state(GPUSORT_SERVICE_OFF, "gpusort.device is off");
}

static void
report_no_buffers(void)
{
	ereport(LOG,
			(errmsg("gpusort: no buffers, all sorts are left to PostgreSQL"),
			 errdetail("The server started with gpusort.device = off."),
			 errhint("Restart the server.")));
	publish_state(GPUSORT_SERVICE_UNAVAILABLE,
				  "the server started with gpusort.device = off and has no buffers; restart the server");
}

/* A reload makes it try again. */
static void
report_corruption(int times)
{
	char		detail[128];

	snprintf(detail, sizeof(detail),
			 "shared memory was corrupt %d times; restart the server", times);
	ereport(LOG,
			(errmsg("gpusort: shared memory was corrupt %d times, all sorts are left to PostgreSQL",
					times),
			 errdetail("The service restarted each time, and all sorts on its device failed."),
			 errhint("Restart the server.  Another loaded library may write to this memory.")));
	publish_state(GPUSORT_SERVICE_UNAVAILABLE, detail);
}

/* A lost device will be looked for. */
static void
report_no_device(void)
{
	uint64		since_us = gpusort_service_shared()->missing_since_us;
	uint64		now_us = gpusort_clock_us();

	if (gpusort_shared->n_services > 1)
		ereport(LOG,
				(errmsg("gpusort: service %d has no device: %s", gpusort_service_number, failures),
				 gpusort_server_state()->serves ?
				 errdetail("Sorts use the other devices.") :
				 errdetail("No other device serves, so all sorts are left to PostgreSQL.")));
	else
		ereport(LOG,
				(errmsg("gpusort: no device serves, all sorts are left to PostgreSQL: %s",
						failures),
				 errhint("Set gpusort.device to \"host\" to sort with CPU threads, or to \"auto,host\" to do so only while no GPU serves.")));
	publish_state(GPUSORT_SERVICE_UNAVAILABLE, failures);
	if (since_us != 0)
		next_look_us = now_us + Max(LOOK_AGAIN_MS * 1000, (now_us - since_us) / LOOK_AGAIN_PART);
}

/* Serves with the device that is open now. */
static void
begin_serving(void)
{
	gpusort_service_pin(gpusort_service_device);
	gpusort_service_set_budget(gpusort_service_device);
	arm_test_failure();
	gpusort_service_log_device(gpusort_service_device, failures);
	publish_state(GPUSORT_SERVICE_SERVING, failures);
}

static void
record_failure(const char *reason)
{
	size_t		used = strlen(failures);

	snprintf(failures + used, sizeof(failures) - used, "%s%s", used > 0 ? "; " : "", reason);
}

/* The first of several devices is a GPU: tells why another one serves. */
static void
record_that_no_gpu_serves(void)
{
	char		reasons[sizeof(failures)];

	if (failures[0] == '\0')
		return;
	strlcpy(reasons, failures, sizeof(reasons));
	snprintf(failures, sizeof(failures), "no GPU: %s", reasons);
}

/* For tests: must the lost device stay closed for now? */
static bool
stays_lost(void)
{
	GpuSortService *service = gpusort_service_shared();

	if (service->missing_since_us == 0 || service->failed_opens >= gpusort_debug_fail_opens)
		return false;
	service->failed_opens++;
	return true;
}

/* Calls gpusort_service_open.  A device counts as lost, or missing, if the
 * first choice is. */
static gsort_device *
open_choice(int choice, const char **reason)
{
	if (choice > 0 || !stays_lost())
		return gpusort_service_open(&opened_for.device, choice, reason);
	*reason = "gpusort.debug_fail_opens";
	return NULL;
}

/* Opens the first device that can be opened.  False: there is none. */
static bool
open_a_choice(void)
{
	for (opened_choice = 0; opened_choice < opened_for.device.n; opened_choice++)
	{
		const char *reason;

		host_is_spare = opened_choice > 0 && another_has_gpu();
		if (host_is_spare)
			break;
		gpusort_service_device = open_choice(opened_choice, &reason);
		if (gpusort_service_device != NULL)
		{
			record_that_no_gpu_serves();
			return true;
		}
		record_failure(reason);
	}
	return false;
}

/* Each failure has a report of its own.  The log has it before the views do:
 * whoever sees the state finds its reason there. */
static void
open_device(void)
{
	next_look_us = 0;
	host_is_spare = false;
	opened_for = settings_now();
	failures[0] = '\0';
	if (gpusort_device_is_off())
		report_off();
	else if (gpusort_shared->n_buffers == 0)
		report_no_buffers();
	else if (gpusort_service_shared()->corruptions >= CORRUPTIONS_MAX)
		report_corruption(gpusort_service_shared()->corruptions);
	else if (open_a_choice())
		begin_serving();
	else
		report_no_device();
}

void
gpusort_service_close_device(void)
{
	opened_for.device.n = 0;
	if (gpusort_service_device == NULL)
		return;
	gpusort_service_shut(gpusort_service_device);
	gpusort_service_device = NULL;
	gpusort_service_forget_all_jobs();
}

/* --- what to do about it -------------------------------------------------- */

typedef enum Decision
{
	NO_CHANGE,						/* the device that serves, or none */
	OPEN,						/* a device that can be opened now */
	LOOK,						/* for a lost device */
	LEAVE						/* for good */
} Decision;

/* Returns the milliseconds until the look for a lost device; -1: there will be
 * none. */
static long
time_to_look(void)
{
	/* the service may not be wanted any more */
	if (next_look_us == 0 || gpusort_service_shared()->missing_since_us == 0 ||
		host_serves_for_gpus())
		return -1;
	return gpusort_clock_ms_left(gpusort_clock_us(), next_look_us);
}

/* Must the host device be opened because the last GPU is lost?  Or does it
 * serve although a reload has found a GPU? */
static bool
host_has_to_change(void)
{
	bool		serves = gpusort_service_device != NULL && opened_choice > 0;

	return (serves || host_is_spare) && gpusort_shared->n_services > 1 &&
		another_has_gpu() == serves;
}

/* Decides by the settings, the open device, and the devices of the other
 * services.  Changes nothing. */
static Decision
decide(void)
{
	OpenSettings now = settings_now();

	if (gpusort_service_is_superfluous())
		return LEAVE;
	if ((to_look_anew && gpusort_service_open_jobs == 0) || time_to_look() == 0)
		return LOOK;
	if (memcmp(&now.device, &opened_for.device, sizeof(now.device)) != 0 || host_has_to_change())
		return OPEN;
	if (gpusort_service_device != NULL &&
		opened_for.device.choices[opened_choice] == GPUSORT_DEVICE_HOST &&
		(now.host_threads != opened_for.host_threads || now.host_nice != opened_for.host_nice))
		return OPEN;
	return NO_CHANGE;
}

/* One forgotten cursor keeps all new sorts native.  gpusort_progress tells
 * whose it is. */
static void
report_waiting(const char *what, const char *meanwhile)
{
	ereport(LOG,
			(errmsg("gpusort: %s for %d open sorts to end, %s", what, gpusort_service_open_jobs,
					meanwhile),
			 errhint("The view gpusort_progress lists the open sorts of service %d and their processes.  A cursor keeps its sort open until the cursor is closed.",
					 gpusort_service_number)));
}

/* Called after the last open sort has ended.  Does not return from LOOK, nor
 * from LEAVE unless the service is wanted again. */
static void
carry_out(Decision decision)
{
	/* a job that opened now would wait until the device is open */
	if (decision != LEAVE)
		publish_state(GPUSORT_SERVICE_STARTING, "opening a device");
	/* CUDA reports for good that there is no GPU, in a process that has found
	 * none */
	if (decision == LOOK)
		gpusort_service_restart("retrying to open the lost device", failures);
	gpusort_service_close_device();
	if (decision == LEAVE)
		gpusort_service_end_for_good();
	else
		open_device();
}

/* The decision is made anew in each turn, and carried out when no sort is
 * open. */
bool
gpusort_service_follow_settings(void)
{
	Decision	decision = decide();
	bool		serves = gpusort_service_shared()->state == GPUSORT_SERVICE_SERVING;

	if (decision == NO_CHANGE)
	{
		/* the settings are again those that the device was opened with */
		if (gpusort_service_device != NULL && !serves)
			publish_state(GPUSORT_SERVICE_SERVING, failures);
		return false;
	}
	if (decision == LEAVE)
		publish_state(GPUSORT_SERVICE_OFF, "gpusort.device no longer names it");
	else if (gpusort_service_open_jobs > 0)
	{
		if (serves)
			report_waiting("new settings wait", "new sorts are left to PostgreSQL");
		publish_state(GPUSORT_SERVICE_STARTING, "waiting for open sorts to end");
	}
	/* a service that leaves also waits for jobs whose requests have not arrived
	 * yet */
	if (gpusort_service_open_jobs > 0 ||
		(decision == LEAVE && gpusort_service_shared()->open_jobs > 0))
		return false;
	carry_out(decision);
	return true;
}

long
gpusort_service_next_look(void)
{
	/* nobody reports that another service has given up its GPU (has_gpu) */
	return gpusort_service_sooner(host_is_spare ? LOOK_AGAIN_MS : -1, time_to_look());
}

/* --- a reload ------------------------------------------------------------- */

/* Can a device be opened now that gpusort.device names before the one that
 * serves?  The latter stays open meanwhile. */
static bool
better_choice_is_present(void)
{
	for (int i = 0; i < opened_choice; i++)
	{
		const char *reason;
		gsort_device *device = open_choice(i, &reason);

		if (device != NULL)
		{
			gpusort_service_shut(device);
			return true;
		}
	}
	return false;
}

/* A device is opened anew if there is none, or a better one. */
void
gpusort_service_reload_settings(void)
{
	int			fail_at = gpusort_debug_fail_at;
	int			refuse_from = gpusort_debug_refuse_from;

	ProcessConfigFile(PGC_SIGHUP);
	gpusort_service_shared()->corruptions = 0;
	gpusort_service_set_budget(gpusort_service_device);
	if (gpusort_debug_fail_at != fail_at || gpusort_debug_refuse_from != refuse_from)
		arm_test_failure();
	if (gpusort_service_device != NULL && decide() == NO_CHANGE && better_choice_is_present())
		opened_for.device.n = 0;
	else if (gpusort_service_shared()->missing_since_us != 0)
	{
		to_look_anew = true;
		if (gpusort_service_open_jobs > 0)
			report_waiting("the search for the lost device waits",
						   "the host device serves until then");
	}
	else if (gpusort_service_device == NULL)
		opened_for.device.n = 0;
}
