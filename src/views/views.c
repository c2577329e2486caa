/*
 * views.c
 *	  The functions behind the views gpusort_stats and gpusort_devices.
 *
 * In:  the counters and the services' reports on their devices, in shared
 *	    memory.
 * Out: one row of counters; a row for each service's device.
 *
 * Runs in any backend.  The counters are read without a lock, so counters of
 * one moment may differ by an event.  The device's state is read under the
 * shared lock.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "job/clock.h"
#include "job/counters.h"
#include "job/service_client.h"
#include "job/shmem.h"
#include "job/stats.h"
#include "settings.h"
#include "sql_version.h"

PG_FUNCTION_INFO_V1(gpusort_stats);
PG_FUNCTION_INFO_V1(gpusort_stats_reset);
PG_FUNCTION_INFO_V1(gpusort_devices);

#define DEVICE_COLUMNS	21

static TupleDesc
row_type(FunctionCallInfo fcinfo)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(desc);
}

static void
check_column_type(Form_pg_attribute column, Oid type)
{
	if (column->atttypid != type)
		elog(ERROR, "column \"%s\" of gpusort_stats is of type %u, not %u",
			 NameStr(column->attname), column->atttypid, type);
}

/* The columns of gpusort_stats, and where their counters are. */
static const struct
{
	const char *name;
	bool		is_time;		/* in microseconds */
	size_t		offset;
}			stats_columns[] = {
#define COUNT(name, description) {#name, false, offsetof(GpuSortCounters, name)},
#define MS(name, description) {#name "_ms", true, offsetof(GpuSortCounters, name##_us)},
#define NATIVE(enumerator, name, text, description) \
	{"native_" #name, false, offsetof(GpuSortCounters, native[GPUSORT_NATIVE_##enumerator])},
#define PLANNED(enumerator, name) \
	{"planned_native_" #name, false, \
	 offsetof(GpuSortCounters, planned_native[GPUSORT_PLANNED_##enumerator])},
	GPUSORT_COUNTER_TABLE(COUNT, MS, NATIVE, PLANNED)
};

/* Sets one column of gpusort_stats, by its name.  False: no counter has that
 * name. */
static bool
stats_column(Form_pg_attribute column, Datum *value)
{
	if (strcmp(NameStr(column->attname), "stats_reset") == 0)
	{
		check_column_type(column, TIMESTAMPTZOID);
		*value = TimestampTzGetDatum(
			(TimestampTz) pg_atomic_read_u64(&gpusort_shared->counters_reset_at));
		return true;
	}
	for (int i = 0; i < lengthof(stats_columns); i++)
	{
		uint64		n;

		if (strcmp(NameStr(column->attname), stats_columns[i].name) != 0)
			continue;
		n = pg_atomic_read_u64((pg_atomic_uint64 *) ((char *) &gpusort_shared->counters +
													 stats_columns[i].offset));
		check_column_type(column, stats_columns[i].is_time ? FLOAT8OID : INT8OID);
		*value = stats_columns[i].is_time ? Float8GetDatum(n / 1000.0) : Int64GetDatum((int64) n);
		return true;
	}
	return false;
}

/* The SQL function: returns one row, with each column found by its name. */
Datum
gpusort_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;

	gpusort_check_module();
	gpusort_stats_flush();
	desc = row_type(fcinfo);
	values = palloc0(desc->natts * sizeof(Datum));
	nulls = palloc0(desc->natts * sizeof(bool));
	for (int i = 0; i < desc->natts; i++)
		nulls[i] = !stats_column(TupleDescAttr(desc, i), &values[i]);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/* Counts what this process has held back first, so that it does not appear
 * after the reset. */
Datum
gpusort_stats_reset(PG_FUNCTION_ARGS)
{
	pg_atomic_uint64 *counters = (pg_atomic_uint64 *) &gpusort_shared->counters;

	gpusort_check_module();
	gpusort_stats_flush();
	for (int i = 0; i < sizeof(GpuSortCounters) / sizeof(pg_atomic_uint64); i++)
		pg_atomic_write_u64(&counters[i], 0);
	pg_atomic_write_u64(&gpusort_shared->counters_reset_at, (uint64) GetCurrentTimestamp());
	LWLockAcquire(gpusort_shared_lock(), LW_EXCLUSIVE);
	for (int i = 0; i < GPUSORT_SERVICES_MAX; i++)
	{
		gpusort_shared->services[i].longest_turn_us = 0;
		pg_atomic_write_u64(&gpusort_shared->services[i].jobs, 0);
		pg_atomic_write_u64(&gpusort_shared->services[i].rows, 0);
	}
	LWLockRelease(gpusort_shared_lock());
	PG_RETURN_VOID();
}

/* An unresponsive service has the state that it had, and is shown as
 * unresponsive. */
static const char *
state_name(const GpuSortService *service)
{
	if (service->unresponsive)
		return "unresponsive";
	switch (service->state)
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

/* Sets the reason why the service does not serve; or, for tests to wait for,
 * the effect of gpusort.debug_fail_at. */
static void
set_detail(const GpuSortService *service, Datum *value, bool *is_null)
{
	const char *detail = service->detail;

	if (service->unresponsive)
		detail = psprintf("the process was woken %llu s ago and has not run since",
						  (unsigned long long) (gpusort_clock_ms() - service->asked_ms) / 1000);
	else if (service->state == GPUSORT_SERVICE_SERVING && service->info.fail_at != 0)
		detail = psprintf("device call or allocation " UINT64_FORMAT " fails, "
						  UINT64_FORMAT " made so far (gpusort.debug_fail_at)",
						  service->info.fail_at, service->info.fail_count);
	*is_null = detail[0] == '\0';
	*value = CStringGetTextDatum(detail);
}

/* Sets CUDA's version as people write it: 13000 is 13.0.  NULL for the CPU. */
static void
set_version(int version, Datum *value, bool *is_null)
{
	*is_null = version == 0;
	if (version != 0)
		*value = CStringGetTextDatum(psprintf("%d.%d", version / 1000, version % 1000 / 10));
}

/* Sets the row of service i, of which this is a copy. */
static void
devices_row(int i, const GpuSortService *service, int jobs, int free_buffers, Datum *values,
			bool *nulls)
{
	bool		serves = service->info.kind != 0;
	int			n = 0;

	for (int column = 0; column < DEVICE_COLUMNS; column++)
		nulls[column] = !serves;
	values[n++] = CStringGetTextDatum(service->info.kind == GSORT_KIND_CUDA ? "cuda" : "host");
	values[n++] = Int32GetDatum(service->info.ordinal);
	values[n++] = CStringGetTextDatum(service->info.name);
	nulls[n] = false;
	values[n++] = CStringGetTextDatum(state_name(service));
	set_detail(service, &values[n], &nulls[n]);
	n++;
	values[n++] = Int64GetDatum(service->info.memory_bytes);
	values[n++] = Int64GetDatum(service->info.budget_bytes);
	values[n++] = Int64GetDatum(service->info.reserved_bytes);
	values[n++] = Int64GetDatum(service->info.used_bytes);
	set_version(service->info.driver_version, &values[n], &nulls[n]);
	n++;
	set_version(service->info.runtime_version, &values[n], &nulls[n]);
	n++;
	values[n++] = BoolGetDatum(service->info.pinned != 0);
	nulls[n] = false;
	values[n++] = Int32GetDatum(jobs);
	nulls[n] = false;
	values[n++] = Int64GetDatum((int64) gpusort_shared->n_buffers * GPUSORT_BUFFER_BYTES);
	nulls[n] = false;
	values[n++] = Int64GetDatum((int64) free_buffers * GPUSORT_BUFFER_BYTES);
	nulls[n] = service->pid == 0;
	values[n++] = Int32GetDatum(service->pid);
	nulls[n] = false;
	values[n++] = Float8GetDatum(service->longest_turn_us / 1000.0);
	nulls[n] = false;
	values[n++] = Int32GetDatum(i);
	nulls[n] = false;
	values[n++] = Int64GetDatum((int64) pg_atomic_read_u64(&gpusort_shared->services[i].jobs));
	nulls[n] = false;
	values[n++] = Int64GetDatum((int64) pg_atomic_read_u64(&gpusort_shared->services[i].rows));
	values[n++] = Int32GetDatum(gpusort_min_rows_of(service->info.kind));
}

/* The SQL function: returns a row for each service's device. */
Datum
gpusort_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	GpuSortService services[GPUSORT_SERVICES_MAX];
	int			jobs[GPUSORT_SERVICES_MAX];
	int			n_services;
	int			free_buffers;

	gpusort_check_module();
	InitMaterializedSRF(fcinfo, 0);
	/* a user of the view learns of a halted service while nobody sorts */
	for (int i = 0; i < GPUSORT_SERVICES_MAX; i++)
		(void) gpusort_heartbeat_check(i);
	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	n_services = gpusort_shared->n_services;
	memcpy(services, gpusort_shared->services, sizeof(services));
	for (int i = 0; i < GPUSORT_SERVICES_MAX; i++)
		jobs[i] = gpusort_service_count_jobs(i, false);
	free_buffers = gpusort_shared->n_free_buffers;
	LWLockRelease(gpusort_shared_lock());
	for (int i = 0; i < GPUSORT_SERVICES_MAX; i++)
	{
		Datum		values[DEVICE_COLUMNS];
		bool		nulls[DEVICE_COLUMNS];

		/* a service that is not wanted is shown until its sorts have ended */
		if (i >= n_services && jobs[i] == 0)
			continue;
		devices_row(i, &services[i], jobs[i], free_buffers, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
