/*
 * service.c
 *	  A background worker that owns a device: an event loop.
 *
 * In:  requests of sessions in job slots (shmem.h), events from the device
 *	    (gsort.h).
 * Out: calls of the device API; answers in job slots and buffers; latches set.
 *
 * This is the only process that calls gsort_*, and its files
 * (service_internal.h) are the only ones that do.  The objects of the device
 * API (gsort_device, gsort_job) are private to this process.  Backends see its
 * state in shared memory, under the shared lock, which is never held over a
 * gsort_* call or an ereport.
 *
 * Every turn handles the requests and events that are there, and then waits on
 * its latch and the device's descriptor.  No step waits for the device, so no
 * job holds up another one.  A buffer that the device may touch is the
 * service's until the device has reported that it is done with it.
 *
 * Each device has its own service, with its own jobs and budget
 * (service_others.c).
 *
 * The worker exits with code 1, and the postmaster starts it again.  With
 * another code it would restart all sessions.  The device is not shut: the
 * kernel ends its transfers and frees its memory with the process.
 */
#include "postgres.h"

#include <unistd.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"

#include "service/service.h"
#include "service/service_internal.h"

/* A lost device may not report so through its descriptor, so the service asks
 * while work is in progress. */
#define BUSY_POLL_MS			100

static WaitEventSet *wait_set = NULL;

/* Buffers that the device still writes to stay the service's.  Its successor
 * frees them. */
static void
leave(int code, Datum arg)
{
	gpusort_service_stop_serving("The sort service has stopped.");
}

/* The exit handlers of libraries may wait for a driver that hangs. */
static void
end_at_once(int code, Datum arg)
{
	_exit(code);
}

static void
make_wait_set(void)
{
	wait_set = compat_create_wait_event_set(3);
	AddWaitEventToSet(wait_set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(wait_set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	if (gpusort_service_device != NULL)
		AddWaitEventToSet(wait_set, WL_SOCKET_READABLE, gsort_fd(gpusort_service_device),
						  NULL, NULL);
}

static void
set_signal_handlers(void)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	/* a cancel is meant for a query; it must not end everybody's sorts */
	pqsignal(SIGINT, PG_SIG_IGN);
	BackgroundWorkerUnblockSignals();
	/* PostgreSQL has a new worker ignore reloads up to here */
	ProcessConfigFile(PGC_SIGHUP);
}

/*
 * Takes over from the previous worker, and makes this process known.  Does not
 * return if another process is this service already.  After a crash of the
 * server's processes, a first service may have registered the others a second
 * time.
 */
static void
begin_service(int number)
{
	gpusort_service_number = number;
	gpusort_service_forget_all_jobs();
	on_proc_exit(end_at_once, 0);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	if (number > 0 && gpusort_service_shared()->pid != 0)
	{
		LWLockRelease(gpusort_shared_lock());
		proc_exit(0);
	}
	gpusort_service_shared()->registered = true;
	gpusort_heartbeat_begin(number);
	gpusort_service_take_over();
	gpusort_service_shared()->proc = compat_proc_number(MyProc);
	gpusort_service_shared()->pid = MyProcPid;
	gpusort_service_shared()->state = GPUSORT_SERVICE_STARTING;
	gpusort_service_shared()->detail[0] = '\0';
	LWLockRelease(gpusort_shared_lock());
	before_shmem_exit(leave, 0);
}

/* --- the loop ------------------------------------------------------------- */

/* Handles requests, events and the passing of time.  Returns the milliseconds
 * until there is more to do: 0, at once; -1, when the latch or the device
 * tells.  Remembers the longest turn, because everybody's sorts stand still
 * during a turn. */
static long
do_turn(void)
{
	GpuSortService *service = gpusort_service_shared();
	uint64		begin_us = gpusort_clock_us();
	bool		more;
	long		next_try;

	more = gpusort_service_handle_events();
	gpusort_service_watch_device();
	more |= gpusort_service_handle_requests();
	gpusort_service_ask_again();
	next_try = gpusort_service_serve_waiting_jobs();
	gpusort_service_publish_info();
	/* the device may fail while nobody waits for an answer */
	if (gpusort_service_device != NULL && service->info.lost)
		gpusort_service_lose_device();
	gpusort_service_publish_reservations();
	service->longest_turn_us = Max(service->longest_turn_us, gpusort_clock_us() - begin_us);
	if (more)
		return 0;
	return gpusort_service_open_jobs > 0 ?
		gpusort_service_sooner(next_try, BUSY_POLL_MS) : next_try;
}

/* The worker's main function, for each service. */
void
gpusort_service_main(Datum arg)
{
	uint32		wait_event;
	bool		reloaded = true;

	set_signal_handlers();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	wait_event = compat_wait_event("GpusortServiceMain");
	begin_service(DatumGetInt32(arg));
	/* before the first device call, which begins a thread */
	gsort_prepare(pg_prng_uint32(&pg_global_prng_state));
	gpusort_service_open_device();
	make_wait_set();
	while (!ShutdownRequestPending)
	{
		WaitEvent	occurred[3];
		long		sleep_ms;

		gpusort_heartbeat_answer(gpusort_service_number);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			gpusort_service_reload_settings();
			reloaded = true;
		}
		sleep_ms = do_turn();
		/* last, since it may wait for the end of the last open job */
		sleep_ms = gpusort_service_sooner(sleep_ms, gpusort_service_follow_settings());
		if (gpusort_service_number == 0)
			gpusort_service_start_others(reloaded);
		reloaded = false;
		if (sleep_ms == 0)
			continue;
		WaitEventSetWait(wait_set, sleep_ms, occurred, 3, wait_event);
		ResetLatch(MyLatch);
	}
	proc_exit(1);
}

/* Without a worker the server starts all the same, and all sorts are native. */
bool
gpusort_service_register(void)
{
	BackgroundWorker worker = gpusort_service_worker(0);

	RegisterBackgroundWorker(&worker);
	/* single-user mode has no workers at all, and nobody to read about it */
	if (!IsPostmasterEnvironment || compat_worker_was_registered(worker.bgw_library_name))
		return true;
	ereport(LOG,
			(errmsg("gpusort: no background worker is free for service 0, all sorts are left to PostgreSQL"),
			 errhint("Raise max_worker_processes, which is %d, and restart the server.",
					 max_worker_processes)));
	return false;
}
