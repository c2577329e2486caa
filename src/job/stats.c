/*
 * stats.c
 *	  The backends' part of the counters in shared memory.
 *
 * In:  events of a sort, after they have happened.
 * Out: the counters that the view gpusort_stats shows.
 *
 * Runs in backends only.  The leader of a parallel sort counts for all its
 * feeders.  The service adds to the same counters itself.  Counters are
 * atomics, so there is no lock.
 */
#include "postgres.h"

#include "access/xact.h"

#include "job/shmem.h"
#include "job/stats.h"

static void
add(pg_atomic_uint64 *counter, uint64 n)
{
	pg_atomic_fetch_add_u64(counter, (int64) n);
}

void
gpusort_stats_count_native(GpuSortNativeReason reason)
{
	Assert(reason >= 0 && reason < GPUSORT_NATIVE_REASONS);
	add(&gpusort_shared->counters.native[reason], 1);
}

const char *
gpusort_native_reason_text(GpuSortNativeReason reason)
{
	static const char *const texts[] = {
#define NATIVE(enumerator, name, text, description) text,
		GPUSORT_NATIVE_REASON_TABLE(NATIVE)
#undef NATIVE
	};

	return reason >= 0 && reason < GPUSORT_NATIVE_REASONS ? texts[reason] : "unknown";
}

/*
 * Each planned Sort may count here, and many sessions plan.  They share the
 * counters' cache line, so each adds to it only once a transaction.
 */
static uint32 planned_native[GPUSORT_PLANNED_COUNTED];
static bool counts_planned_native = false;

void
gpusort_stats_flush(void)
{
	if (!counts_planned_native)
		return;
	counts_planned_native = false;
	for (int i = 0; i < GPUSORT_PLANNED_COUNTED; i++)
	{
		if (planned_native[i] != 0)
			add(&gpusort_shared->counters.planned_native[i], planned_native[i]);
		planned_native[i] = 0;
	}
}

static void
flush_at_end(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PARALLEL_PRE_COMMIT &&
		event != XACT_EVENT_PRE_PREPARE)
		gpusort_stats_flush();
}

void
gpusort_stats_count_planned(GpuSortPlannedReason reason)
{
	static bool registered = false;

	Assert(reason < GPUSORT_PLANNED_COUNTED);
	if (!registered)
		RegisterXactCallback(flush_at_end, NULL);
	registered = true;
	counts_planned_native = true;
	planned_native[reason]++;
}

void
gpusort_stats_count_in_backend(uint64 sorts)
{
	add(&gpusort_shared->counters.in_backend, sorts);
}

void
gpusort_stats_count_index_build(void)
{
	add(&gpusort_shared->counters.index_builds, 1);
}

void
gpusort_stats_count_run(uint64 bytes)
{
	add(&gpusort_shared->counters.runs_spilled, 1);
	add(&gpusort_shared->counters.bytes_spilled, bytes);
}

void
gpusort_stats_add_times(double feed_ms, double output_ms)
{
	add(&gpusort_shared->counters.feed_us, (uint64) (feed_ms * 1000));
	add(&gpusort_shared->counters.output_us, (uint64) (output_ms * 1000));
}
