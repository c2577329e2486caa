/*
 * settings.h
 *	  The settings' values, in the process that looks at them.
 */
#ifndef GPUSORT_SETTINGS_H
#define GPUSORT_SETTINGS_H

#include "postgres.h"

#include "device_setting.h"
#include "gsort.h"				/* gsort_engine */

typedef enum GpuSortLibcCollationsSetting
{
	/* by strxfrm, with a comparison of each row with the one before */
	GPUSORT_LIBC_COLLATIONS_VERIFY,
	GPUSORT_LIBC_COLLATIONS_TRUST,	/* by strxfrm alone */
	GPUSORT_LIBC_COLLATIONS_OFF
} GpuSortLibcCollationsSetting;

/* The planner's choices at which paths are offered.  Sort nodes of finished
 * plans become GpuSort nodes in any case. */
typedef enum GpuSortProvider
{
	GPUSORT_PROVIDER_ORDER,		/* of ORDER BY */
	GPUSORT_PROVIDER_GROUP,		/* of GROUP BY and DISTINCT */
	GPUSORT_PROVIDER_WINDOW,
	GPUSORT_PROVIDERS
} GpuSortProvider;

/* gpusort.device_memory, parsed.  At most one of the two is not 0; none is for
 * 'auto'. */
typedef struct GpuSortMemorySetting
{
	int			percent;		/* of the device's memory */
	uint64		bytes;
} GpuSortMemorySetting;

extern int	gpusort_algorithm;	/* gsort_engine */
extern bool gpusort_enabled;
extern int	gpusort_host_nice;	/* only the service's copy counts */
extern int	gpusort_host_threads;	/* the same; 0: one for each processor */
extern int	gpusort_buffer_memory_mb;
extern int	gpusort_debug_call_delay_ms;	/* only the service's copy counts */
extern PGDLLEXPORT int	gpusort_debug_collation_fault;
extern int	gpusort_debug_fail_at;	/* only the service's copy counts */
extern bool gpusort_debug_force;
extern bool gpusort_debug_grouping;
extern bool gpusort_debug_providers_off[GPUSORT_PROVIDERS];
extern GpuSortMemorySetting gpusort_device_memory;
extern bool gpusort_index_builds;
extern bool gpusort_log_index_builds;
extern int	gpusort_libc_collations;	/* GpuSortLibcCollationsSetting */
extern int	gpusort_device_timeout_ms;	/* only the service's copy counts */
extern int	gpusort_service_timeout_s;	/* only sessions' copies count */
extern int	gpusort_max_wait_timeout_ms;
extern int	gpusort_wait_timeout_ms;

/* Returns the fewest rows of a sort that go to a device of the kind. */
extern int	gpusort_min_rows_of(gsort_kind kind);

/* Returns the fewest rows for any kind. */
extern int	gpusort_min_rows_of_any(void);

/* Defines the settings, once, in the postmaster. */
extern void gpusort_settings_define(void);

#endif							/* GPUSORT_SETTINGS_H */
