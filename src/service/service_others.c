/*
 * service_others.c
 *	  Starts the services beside the first one.
 *
 * In:  gpusort.device; the number of GPUs that a service found when it opened
 *	    one.
 * Out: a background worker for each further device; in shared memory, the
 *	    number of wanted services, and the services for which no worker was
 *	    free.
 *
 * The postmaster starts the first service with the server, and restarts any
 * service that has ended.  The first service registers the others, since the
 * number of GPUs is known only after one has been opened.  Services that are
 * wanted no more stay, without a device.  Shared memory tells which services
 * are registered, since the first service may be a new process.
 *
 * Runs in the first service.  Changes are made under the shared lock.  Single
 * numbers are also read without it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "job/server_state.h"
#include "service/service_internal.h"

#define RESTART_SECONDS			1

/* All services have the same main function, and their number as its
 * argument. */
BackgroundWorker
gpusort_service_worker(int i)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = RESTART_SECONDS;
	worker.bgw_main_arg = Int32GetDatum(i);
	strlcpy(worker.bgw_library_name, "gpusort", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "gpusort_service_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, i == 0 ? "gpusort service" : psprintf("gpusort service %d", i),
			BGW_MAXLEN);
	strlcpy(worker.bgw_type, "gpusort service", BGW_MAXLEN);
	return worker;
}

/* Sets the number of services, and wakes those that are wanted now, or were. */
static void
set_number(int wanted)
{
	int			before = gpusort_shared->n_services;

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	gpusort_shared->n_services = wanted;
	gpusort_server_state_changed();
	LWLockRelease(gpusort_shared_lock());
	for (int i = Min(wanted, before); i < Max(wanted, before); i++)
		gpusort_wake_service(i);
}

/* After a crash of the server's processes the postmaster may be starting it
 * too.  The second one ends at once. */
static void
start_service(int i)
{
	BackgroundWorker worker = gpusort_service_worker(i);
	GpuSortService *service = &gpusort_shared->services[i];
	bool		started = RegisterDynamicBackgroundWorker(&worker, NULL);

	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	service->registered |= started;
	started = service->registered;
	if (!started)
		gpusort_service_set_no_worker(service);
	LWLockRelease(gpusort_shared_lock());
	if (!started)
		ereport(LOG,
				(errmsg("gpusort: no background worker is free for service %d", i),
				 errdetail("A reload makes a new attempt."),
				 errhint("Raise max_worker_processes, which is %d, and restart the server.",
						 max_worker_processes)));
}

void
gpusort_service_start_others(bool look)
{
	int			wanted = gpusort_services_wanted(gpusort_shared->n_gpus);

	if (wanted != gpusort_shared->n_services)
		set_number(wanted);
	else if (!look)
		return;
	for (int i = 1; i < wanted; i++)
		if (!gpusort_shared->services[i].registered)
			start_service(i);
}
