/*
 * counters.c
 *	  The tables of counters.h as data, and what walks over them.
 *
 * In:  a GpuSortCounters in shared memory, from the caller.
 * Out: its counters, by column or by reason.
 *
 * Any process; no lock.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "shared/counters.h"

#define COUNT(name, description) \
	{#name, GPUSORT_COUNTER_NUMBER, offsetof(GpuSortCounters, name)},
#define MS(name, description) \
	{#name "_ms", GPUSORT_COUNTER_MICROSECONDS, offsetof(GpuSortCounters, name##_us)},
#define NATIVE(enumerator, name, text, description) \
	{"native_" #name, GPUSORT_COUNTER_NUMBER, offsetof(GpuSortCounters, native_##name)},

#define REFUSAL(enumerator, name, text, remedy) \
	{"refused_" #name, GPUSORT_COUNTER_NUMBER, offsetof(GpuSortCounters, refused_##name)},

static const GpuSortCounterInfo counter_infos[] = {
	GPUSORT_COUNTER_TABLE(COUNT, MS, NATIVE, REFUSAL)
};

static const GpuSortCounterInfo native_infos[] = {
	GPUSORT_NATIVE_REASON_TABLE(NATIVE)
};

static const GpuSortCounterInfo refusal_infos[] = {
	GPUSORT_SORT_REFUSAL_TABLE(REFUSAL)
};

#undef NATIVE
#define NATIVE(enumerator, name, text, description) text,

static const char *const native_texts[] = {
	GPUSORT_NATIVE_REASON_TABLE(NATIVE)
};

pg_atomic_uint64 *
gpusort_counter(GpuSortCounters *counters, const GpuSortCounterInfo *info)
{
	return (pg_atomic_uint64 *) ((char *) counters + info->offset);
}

void
gpusort_counters_init(GpuSortCounters *counters)
{
	for (int i = 0; i < lengthof(counter_infos); i++)
		pg_atomic_init_u64(gpusort_counter(counters, &counter_infos[i]), 0);
	pg_atomic_init_u64(&counters->reset_at, (uint64) GetCurrentTimestamp());
}

void
gpusort_counters_reset(GpuSortCounters *counters)
{
	for (int i = 0; i < lengthof(counter_infos); i++)
		pg_atomic_write_u64(gpusort_counter(counters, &counter_infos[i]), 0);
	pg_atomic_write_u64(&counters->reset_at, (uint64) GetCurrentTimestamp());
}

const GpuSortCounterInfo *
gpusort_counter_of_column(const char *column)
{
	for (int i = 0; i < lengthof(counter_infos); i++)
		if (strcmp(counter_infos[i].column, column) == 0)
			return &counter_infos[i];
	return NULL;
}

pg_atomic_uint64 *
gpusort_native_counter(GpuSortCounters *counters, GpuSortNativeReason reason)
{
	Assert(reason >= 0 && reason < GPUSORT_NATIVE_REASONS);
	return gpusort_counter(counters, &native_infos[reason]);
}

pg_atomic_uint64 *
gpusort_refusal_counter(GpuSortCounters *counters, GpuSortRefusalCode refusal)
{
	Assert(refusal >= 0 && refusal < GPUSORT_REFUSALS_COUNTED);
	return gpusort_counter(counters, &refusal_infos[refusal]);
}

const char *
gpusort_native_reason_text(GpuSortNativeReason reason)
{
	if (reason < 0 || reason >= GPUSORT_NATIVE_REASONS)
		return "unknown";
	return native_texts[reason];
}
