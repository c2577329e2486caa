/*
 * service_call.c
 *	  Calls of the device that block: to open it, to pin the buffers, to shut it.
 *
 * In:  a function that blocks.
 * Out: it has run.  Meanwhile the service has absorbed what was emitted to all processes.
 *
 * DROP DATABASE, DROP TABLESPACE and, from PostgreSQL 19 on, a promotion wait until each process that
 * is known to ProcSignal has absorbed a barrier, whatever that process is about.  So the call
 * runs in a thread, in which all signals are blocked, while the process waits for its latch.  The
 * thread touches nothing of PostgreSQL's.
 *
 * Runs in the service alone, also when it is about to exit, where interrupts are no longer
 * processed: a barrier is looked for by itself.
 */
#include "postgres.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/procsignal.h"

#include "compat.h"
#include "service/service_call.h"
#include "settings.h"

typedef struct BlockingCall
{
	GpuSortBlockingCall call;
	void	   *arg;
	int			delay_ms;		/* for tests */
	int			ended_fd;		/* readable when the call has ended */
} BlockingCall;

static void *
run_call(void *arg)
{
	const BlockingCall *running = arg;
	uint64		one = 1;

	for (int i = 0; i < running->delay_ms; i++)
		usleep(1000);
	running->call(running->arg);
	while (write(running->ended_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		 /* again */ ;
	return NULL;
}

/* False: there can be no thread. */
static bool
start_thread(BlockingCall *running, pthread_t *thread)
{
	sigset_t	all;
	sigset_t	before;
	bool		started;

	running->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (running->ended_fd < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(thread, NULL, run_call, running) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started)
		close(running->ended_fd);
	return started;
}

/* Until the call has ended, or the postmaster, after which nobody waits for an answer. */
static void
absorb_barriers_until_end(const BlockingCall *running, uint32 wait_event)
{
	int			events = 0;

	while ((events & (WL_SOCKET_READABLE | WL_POSTMASTER_DEATH)) == 0)
	{
		events = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_SOCKET_READABLE | WL_POSTMASTER_DEATH,
								   running->ended_fd, -1, wait_event);
		ResetLatch(MyLatch);
		if (ProcSignalBarrierPending)
			ProcessProcSignalBarrier();
	}
}

void
gpusort_service_call(GpuSortBlockingCall call, void *arg)
{
	BlockingCall running = {.call = call,.arg = arg,.delay_ms = gpusort_debug_call_delay_ms};
	uint32		wait_event = compat_wait_event("GpusortServiceCall");
	pthread_t	thread;

	if (!start_thread(&running, &thread))
	{
		call(arg);
		return;
	}
	/* the thread writes to this frame: nothing may leave it before */
	PG_TRY();
	{
		absorb_barriers_until_end(&running, wait_event);
	}
	PG_FINALLY();
	{
		pthread_join(thread, NULL);
		close(running.ended_fd);
	}
	PG_END_TRY();
	/* what else the latch was set for is still to be done */
	SetLatch(MyLatch);
}
