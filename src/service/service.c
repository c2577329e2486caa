/*
 * service.c
 *	  The background worker that owns the device: an event loop.
 *
 * In:  requests from the ring (shmem.c), events from the device (gsort.h).
 * Out: calls of the device API; answers in job slots and buffers; latches set.
 *
 * The only process that calls gsort_*, and its files are the only ones that do: this one,
 * service_requests.c, which does what requests and events ask for, service_feed.c, on the
 * way of rows to the device, service_jobs.c, on jobs and their ends, and service_device.c.
 * Everything the device API gives (gsort_device, gsort_job) is private to this process;
 * what backends see is in shared memory, guarded by the shared lock, which is never
 * held over a gsort_* call or an ereport.
 *
 * Every turn handles what requests and events there are and then waits on its
 * latch and the device's descriptor; no step waits for the device, so no job
 * holds up another.  A buffer that the device may touch is the service's until the
 * device has said that it is done with it.
 *
 * The worker always leaves with code 1: with 0 it would not be started again,
 * and with any other code the postmaster would restart all sessions.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"

#include "compat.h"
#include "service/service.h"
#include "service/service_device.h"
#include "service/service_feed.h"
#include "service/service_jobs.h"
#include "service/service_requests.h"
#include "shared/shmem.h"

#define RESTART_SECONDS			1

/* A lost device may not say so through its descriptor: ask while work is under way. */
#define BUSY_POLL_MS			100

static WaitEventSet *wait_set = NULL;
static volatile sig_atomic_t terminate_requested = false;

static void
request_termination(SIGNAL_ARGS)
{
	int			save_errno = errno;

	terminate_requested = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* Buffers that the device still writes to stay the service's: its successor frees them. */
static void
leave(int code, Datum arg)
{
	gpusort_service_stop_serving("the sort service has ended");
	gpusort_service_close_device();
}

static void
make_wait_set(void)
{
	if (wait_set != NULL)
		FreeWaitEventSet(wait_set);
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
	pqsignal(SIGTERM, request_termination);
	/* a cancel is for a query: it must not end everybody's sorts */
	pqsignal(SIGINT, SIG_IGN);
	BackgroundWorkerUnblockSignals();
}

/* Takes over from the worker before, and makes this process known. */
static void
begin_service(void)
{
	gpusort_service_jobs_begin();
	before_shmem_exit(leave, 0);
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	gpusort_service_take_over();
	gpusort_shared->service.proc = compat_proc_number(MyProc);
	gpusort_shared->service.pid = MyProcPid;
	gpusort_shared->service.state = GPUSORT_SERVICE_STARTING;
	LWLockRelease(gpusort_shared_lock());
}

void
gpusort_service_main(Datum arg)
{
	uint32		wait_event;

	set_signal_handlers();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	wait_event = compat_wait_event("GpusortServiceMain");
	begin_service();
	while (!terminate_requested)
	{
		WaitEvent	occurred[3];
		bool		more;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			gpusort_service_reload_settings();
		}
		more = gpusort_service_handle_requests();
		more |= gpusort_service_handle_events();
		gpusort_service_serve_waiting_jobs();
		/* last, since the end of the last open job is what it may wait for */
		if (gpusort_service_follow_settings())
			make_wait_set();
		gpusort_service_publish_info();
		if (more)
			continue;
		WaitEventSetWait(wait_set, gpusort_service_open_jobs > 0 ? BUSY_POLL_MS : -1L,
						 occurred, 3, wait_event);
		ResetLatch(MyLatch);
	}
	proc_exit(1);
}

void
gpusort_service_register(void)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = RESTART_SECONDS;
	strlcpy(worker.bgw_library_name, "gpusort", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "gpusort_service_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "gpusort service", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "gpusort service", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
