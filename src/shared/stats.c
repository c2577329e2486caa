/*
 * stats.c
 *	  The counters, and the functions behind the views gpusort_stats and
 *	  gpusort_devices.
 *
 * In:  events counted by backends and by the service.
 * Out: one row for each view.
 *
 * Counters are atomics in shared memory: whoever counts adds, nobody locks.  They
 * start at zero with the server.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "shared/shmem.h"
#include "shared/stats.h"

PG_FUNCTION_INFO_V1(gpusort_stats);
PG_FUNCTION_INFO_V1(gpusort_stats_reset);
PG_FUNCTION_INFO_V1(gpusort_devices);

#define STATS_COLUMNS	(13 + GPUSORT_NATIVE_REASONS)
#define DEVICE_COLUMNS	16

void
gpusort_stats_count_native(GpuSortNativeReason reason)
{
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.native[reason], 1);
}

void
gpusort_stats_count_in_backend(void)
{
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.in_backend, 1);
}

void
gpusort_stats_count_run(uint64 bytes)
{
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.runs_spilled, 1);
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.bytes_spilled, bytes);
}

void
gpusort_stats_add_times(double feed_ms, double output_ms)
{
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.feed_us, (int64) (feed_ms * 1000));
	pg_atomic_fetch_add_u64(&gpusort_shared->counters.output_us, (int64) (output_ms * 1000));
}

const char *
gpusort_stats_native_reason(GpuSortNativeReason reason)
{
	switch (reason)
	{
		case GPUSORT_NATIVE_DISABLED:
			return "gpusort.enabled is off";
		case GPUSORT_NATIVE_NO_DEVICE:
			return "no device serves";
		case GPUSORT_NATIVE_NO_SLOT:
			return "all job slots are in use";
		case GPUSORT_NATIVE_NO_BUFFERS:
			return "gpusort.buffer_memory is in use";
		case GPUSORT_NATIVE_DEVICE_MEMORY:
			return "gpusort.device_memory is in use";
		case GPUSORT_NATIVE_RUN_LIMIT:
			return "more rows than its runs may hold";
		case GPUSORT_NATIVE_DEVICE_LOST:
			return "the device was lost";
		case GPUSORT_NATIVE_NONE:
		case GPUSORT_NATIVE_REASONS:
			break;
	}
	return "unknown";
}

static void
check_loaded(void)
{
	if (gpusort_shared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("gpusort is not loaded"),
				 errhint("Add shared_preload_libraries = 'gpusort' to postgresql.conf and restart the server.")));
}

static Datum
row_of(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static Datum
count_of(pg_atomic_uint64 *counter)
{
	return Int64GetDatum((int64) pg_atomic_read_u64(counter));
}

static Datum
milliseconds_of(pg_atomic_uint64 *counter)
{
	return Float8GetDatum(pg_atomic_read_u64(counter) / 1000.0);
}

Datum
gpusort_stats(PG_FUNCTION_ARGS)
{
	GpuSortCounters *counters;
	Datum		values[STATS_COLUMNS];
	bool		nulls[STATS_COLUMNS] = {false};
	int			n = 0;

	check_loaded();
	counters = &gpusort_shared->counters;
	values[n++] = count_of(&counters->jobs);
	values[n++] = count_of(&counters->rows);
	values[n++] = count_of(&counters->bytes_to_device);
	values[n++] = count_of(&counters->bytes_from_device);
	values[n++] = milliseconds_of(&counters->feed_us);
	values[n++] = milliseconds_of(&counters->sort_us);
	values[n++] = milliseconds_of(&counters->output_us);
	values[n++] = count_of(&counters->in_backend);
	values[n++] = count_of(&counters->runs_spilled);
	values[n++] = count_of(&counters->bytes_spilled);
	values[n++] = count_of(&counters->waited);
	for (int i = 0; i < GPUSORT_NATIVE_REASONS; i++)
		values[n++] = count_of(&counters->native[i]);
	values[n++] = count_of(&counters->failed);
	values[n++] = TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&counters->reset_at));
	return row_of(fcinfo, values, nulls);
}

Datum
gpusort_stats_reset(PG_FUNCTION_ARGS)
{
	GpuSortCounters *counters;

	check_loaded();
	counters = &gpusort_shared->counters;
	for (pg_atomic_uint64 *each = &counters->jobs; each <= &counters->failed; each++)
		pg_atomic_write_u64(each, 0);
	pg_atomic_write_u64(&counters->reset_at, (uint64) GetCurrentTimestamp());
	PG_RETURN_VOID();
}

static const char *
state_name(GpuSortServiceState state)
{
	switch (state)
	{
		case GPUSORT_SERVICE_STARTING:
			return "starting";
		case GPUSORT_SERVICE_SERVING:
			return "serving";
		case GPUSORT_SERVICE_UNAVAILABLE:
			return "unavailable";
		case GPUSORT_SERVICE_OFF:
			return "off";
	}
	return "unknown";
}

/* Why it does not serve; or what gpusort.debug_fail_at has it do, for tests to wait for. */
static void
set_detail(const GpuSortService *service, Datum *value, bool *is_null)
{
	const char *detail = service->detail;

	if (service->state == GPUSORT_SERVICE_SERVING && service->info.fail_at != 0)
		detail = psprintf("device call or allocation " UINT64_FORMAT " fails, " UINT64_FORMAT " made so far (gpusort.debug_fail_at)",
						  service->info.fail_at, service->info.fail_count);
	*is_null = detail[0] == '\0';
	*value = CStringGetTextDatum(detail);
}

/* CUDA's number as people write it: 13000 is 13.0.  NULL for the CPU. */
static void
set_version(int version, Datum *value, bool *is_null)
{
	*is_null = version == 0;
	if (version != 0)
		*value = CStringGetTextDatum(psprintf("%d.%d", version / 1000, version % 1000 / 10));
}

Datum
gpusort_devices(PG_FUNCTION_ARGS)
{
	GpuSortService service;
	Datum		values[DEVICE_COLUMNS];
	bool		nulls[DEVICE_COLUMNS] = {false};
	bool		serves;
	int			open_jobs = 0;
	int			free_buffers;
	int			n = 0;

	check_loaded();
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	service = gpusort_shared->service;
	free_buffers = gpusort_shared->n_free_buffers;
	for (int i = 0; i < GPUSORT_JOB_SLOTS; i++)
		if (gpusort_shared->jobs[i].state != GPUSORT_JOB_FREE)
			open_jobs++;
	LWLockRelease(gpusort_shared_lock());

	serves = service.info.struct_bytes != 0;
	for (int i = 0; i < DEVICE_COLUMNS; i++)
		nulls[i] = !serves;
	values[n++] = CStringGetTextDatum(service.info.kind == GSORT_KIND_CUDA ? "cuda" : "host");
	values[n++] = Int32GetDatum(service.info.ordinal);
	values[n++] = CStringGetTextDatum(service.info.name);
	nulls[n] = false;
	values[n++] = CStringGetTextDatum(state_name(service.state));
	set_detail(&service, &values[n], &nulls[n]);
	n++;
	values[n++] = Int64GetDatum(service.info.memory_bytes);
	values[n++] = Int64GetDatum(service.info.budget_bytes);
	values[n++] = Int64GetDatum(service.info.granted_bytes);
	values[n++] = Int64GetDatum(service.info.used_bytes);
	set_version(service.info.driver_version, &values[n], &nulls[n]);
	n++;
	set_version(service.info.runtime_version, &values[n], &nulls[n]);
	n++;
	values[n++] = BoolGetDatum(service.info.pinned != 0);
	nulls[n] = false;
	values[n++] = Int32GetDatum(open_jobs);
	nulls[n] = false;
	values[n++] = Int64GetDatum((int64) gpusort_shared->n_buffers * GPUSORT_BUFFER_BYTES);
	nulls[n] = false;
	values[n++] = Int64GetDatum((int64) free_buffers * GPUSORT_BUFFER_BYTES);
	nulls[n] = service.pid == 0;
	values[n++] = Int32GetDatum(service.pid);
	return row_of(fcinfo, values, nulls);
}
