/*
 * service_call.c
 *	  A device call that blocks: opening the device.
 *
 * In:  a function that blocks.
 * Out: the function has run.  Meanwhile the service has absorbed barriers, and
 *	    has answered sessions that ask whether it runs.
 *
 * DROP DATABASE, DROP TABLESPACE and, from PostgreSQL 19 on, a promotion wait
 * until each process that ProcSignal knows has absorbed a barrier, whatever
 * that process is doing.  So the call runs in a thread, in which all signals
 * are blocked, while the process waits for its latch.  The thread touches
 * nothing of PostgreSQL's.
 *
 * A driver that hangs must not hold up a shutdown.  When the process is to end,
 * a call that goes on is abandoned after some seconds.  So the thread writes
 * only to static memory.  The process always ends without the exit handlers of
 * libraries, which may wait for the driver (service.c).
 *
 * Runs in the service alone.
 */
#include "postgres.h"

#include <pthread.h>
#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procsignal.h"

#include "service/service_internal.h"

#define CALL_PATIENCE_MS		10000

/* The call takes much longer than this. */
#define CALL_POLL_MS			10

typedef struct BlockingCall
{
	GpuSortBlockingCall call;
	void	   *arg;
	int			delay_ms;		/* for tests */
} BlockingCall;

static BlockingCall running;

static void *
run_call(void *arg)
{
	for (int i = 0; i < running.delay_ms; i++)
		usleep(1000);
	running.call(running.arg);
	return NULL;
}

/* Returns 0 or an error. */
static int
start_thread(pthread_t *thread)
{
	sigset_t	all;
	sigset_t	before;
	int			status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(thread, NULL, run_call, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

/* Has the process waited for longer than a call may take when it is to end? */
static bool
patience_is_over(void)
{
	static uint64 asked_us = 0; /* to end */

	if (!ShutdownRequestPending)
		return false;
	if (asked_us == 0)
		asked_us = gpusort_clock_us();
	return gpusort_clock_exceeds(asked_us, gpusort_clock_us(), CALL_PATIENCE_MS);
}

/* Absorbs barriers until the call ends.  False: the call goes on, and the
 * process is to end.  Does not return if the postmaster has ended. */
static bool
absorb_barriers_until_end(pthread_t thread, uint32 wait_event)
{
	while (pthread_tryjoin_np(thread, NULL) != 0)
	{
		int			events;

		if (patience_is_over())
			return false;
		events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_POSTMASTER_DEATH,
						   CALL_POLL_MS, wait_event);
		if ((events & WL_POSTMASTER_DEATH) != 0)
			_exit(1);			/* nobody waits for an answer */
		ResetLatch(MyLatch);
		gpusort_heartbeat_answer(gpusort_service_number);
		if (ProcSignalBarrierPending)
			ProcessProcSignalBarrier();
	}
	return true;
}

void
gpusort_service_call(GpuSortBlockingCall call, void *arg)
{
	pthread_t	thread;

	running.call = call;
	running.arg = arg;
	running.delay_ms = gpusort_debug_call_delay_ms;
	errno = start_thread(&thread);
	if (errno != 0)
		ereport(FATAL,
				(errmsg("gpusort: could not start the thread that opens the device: %m")));
	if (!absorb_barriers_until_end(thread, compat_wait_event("GpusortServiceCall")))
	{
		ereport(LOG,
				(errmsg("gpusort: a call of the device does not end, the service leaves without it"),
				 errdetail("The service was asked to end %d s ago.", CALL_PATIENCE_MS / 1000),
				 errhint("The driver may hang: look for \"NVRM: Xid\" in the kernel's log.")));
		proc_exit(1);
	}
	/* the latch may have been set for other work too */
	SetLatch(MyLatch);
}
