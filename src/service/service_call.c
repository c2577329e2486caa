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
#include <sys/eventfd.h>
#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procsignal.h"

#include "service/service_internal.h"

#define CALL_PATIENCE_MS		10000

typedef struct BlockingCall
{
	GpuSortBlockingCall call;
	void	   *arg;
	int			delay_ms;		/* for tests */
	int			ended_fd;		/* readable when the call has ended */
} BlockingCall;

static BlockingCall running;

static void *
run_call(void *arg)
{
	uint64		one = 1;

	for (int i = 0; i < running.delay_ms; i++)
		usleep(1000);
	running.call(running.arg);
	while (write(running.ended_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		 /* again */ ;
	return NULL;
}

/* False: no thread can be started. */
static bool
start_thread(pthread_t *thread)
{
	sigset_t	all;
	sigset_t	before;
	bool		started;

	running.ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (running.ended_fd < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(thread, NULL, run_call, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started)
		close(running.ended_fd);
	return started;
}

/* Returns the milliseconds that the call may still take; -1: any. */
static long
patience_left(uint64 *give_up_ms)
{
	uint64		now;

	if (!ShutdownRequestPending)
		return -1;
	now = gpusort_clock_ms();
	if (*give_up_ms == 0)
		*give_up_ms = now + CALL_PATIENCE_MS;
	return now < *give_up_ms ? (long) (*give_up_ms - now) : 0;
}

/* Absorbs barriers until the call ends.  False: the call goes on, and the
 * process is to end.  Does not return if the postmaster has ended. */
static bool
absorb_barriers_until_end(uint32 wait_event)
{
	uint64		give_up_ms = 0;
	int			events = 0;

	while ((events & WL_SOCKET_READABLE) == 0)
	{
		long		left = patience_left(&give_up_ms);

		if (left == 0)
			return false;
		if ((events & WL_POSTMASTER_DEATH) != 0)
			_exit(1);			/* nobody waits for an answer */
		events = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_SOCKET_READABLE |
								   WL_POSTMASTER_DEATH | (left > 0 ? WL_TIMEOUT : 0),
								   running.ended_fd, left, wait_event);
		ResetLatch(MyLatch);
		gpusort_heartbeat_answer(gpusort_service_number);
		if (ProcSignalBarrierPending)
			ProcessProcSignalBarrier();
	}
	return true;
}

/* If no thread can be started, the process makes the call itself. */
void
gpusort_service_call(GpuSortBlockingCall call, void *arg)
{
	pthread_t	thread;

	running.call = call;
	running.arg = arg;
	running.delay_ms = gpusort_debug_call_delay_ms;
	if (!start_thread(&thread))
	{
		call(arg);
		return;
	}
	if (!absorb_barriers_until_end(compat_wait_event("GpusortServiceCall")))
	{
		ereport(LOG,
				(errmsg("gpusort: a call of the device does not end, the service leaves without it"),
				 errdetail("The service was asked to end %d s ago.", CALL_PATIENCE_MS / 1000),
				 errhint("The driver may hang: look for \"NVRM: Xid\" in the kernel's log.")));
		proc_exit(1);
	}
	pthread_join(thread, NULL);
	close(running.ended_fd);
	/* the latch may have been set for other work too */
	SetLatch(MyLatch);
}
