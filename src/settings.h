/*
 * settings.h
 *	  The settings' values, in the process that looks at them.
 */
#ifndef GPUSORT_SETTINGS_H
#define GPUSORT_SETTINGS_H

#include "postgres.h"

#include "gpusort.h"
#include "gsort.h"				/* gsort_engine */

typedef enum GpuSortDeviceChoice
{
	GPUSORT_DEVICE_AUTO,		/* the GPU, if there is one */
	GPUSORT_DEVICE_CUDA,
	GPUSORT_DEVICE_HOST,
	GPUSORT_DEVICE_OFF
} GpuSortDeviceChoice;

/* A device that gpusort.device names. */
typedef struct GpuSortDeviceName
{
	GpuSortDeviceChoice choice;
	int			ordinal;		/* CUDA's number; -1: all of them */
} GpuSortDeviceName;

/* gpusort.device, parsed: each device has a service.  AUTO and OFF stand alone. */
typedef struct GpuSortDeviceSetting
{
	int			n;				/* 1 or more */
	GpuSortDeviceName names[GPUSORT_SERVICES_MAX];
	bool		or_host;		/* the host device in the place of a GPU that is not there */
} GpuSortDeviceSetting;

#define GPUSORT_DEVICE_CHOICES_MAX	2

/* What one service is to open: the first of these that can be. */
typedef struct GpuSortServiceDevice
{
	int			n;
	GpuSortDeviceChoice choices[GPUSORT_DEVICE_CHOICES_MAX];
	int			ordinal;		/* of a GPU */
} GpuSortServiceDevice;

typedef enum GpuSortLibcCollationsSetting
{
	GPUSORT_LIBC_COLLATIONS_VERIFY, /* by strxfrm, and each row compared with the one before */
	GPUSORT_LIBC_COLLATIONS_TRUST,	/* by strxfrm */
	GPUSORT_LIBC_COLLATIONS_OFF
} GpuSortLibcCollationsSetting;

/* Paths at the planner's choices; Sort nodes of finished plans become GpuSort nodes in any case. */
typedef enum GpuSortProvider
{
	GPUSORT_PROVIDER_ORDER,		/* of ORDER BY */
	GPUSORT_PROVIDER_GROUP,		/* of GROUP BY and DISTINCT */
	GPUSORT_PROVIDER_WINDOW,
	GPUSORT_PROVIDERS
} GpuSortProvider;

/* gpusort.device_memory, parsed: at most one of the two is not 0; neither is 'auto' */
typedef struct GpuSortMemorySetting
{
	int			percent;		/* of the device's memory */
	uint64		bytes;
} GpuSortMemorySetting;

extern int	gpusort_algorithm;	/* gsort_engine */
extern bool gpusort_enabled;
extern GpuSortDeviceSetting gpusort_device;
extern int	gpusort_host_nice;	/* only the service's copy counts */
extern int	gpusort_host_threads;	/* the same; 0: as many as processors */
extern int	gpusort_buffer_memory_mb;
extern int	gpusort_debug_call_delay_ms;	/* only the service's copy counts */
extern int	gpusort_debug_collation_fault;
extern int	gpusort_debug_fail_at;	/* only the service's copy counts */
extern int	gpusort_debug_refuse_from;	/* and of this one too */
extern int	gpusort_debug_fail_opens;	/* only the service's copy counts */
extern bool gpusort_debug_force;
extern bool gpusort_debug_grouping;
extern bool gpusort_debug_providers_off[GPUSORT_PROVIDERS];
extern GpuSortMemorySetting gpusort_device_memory;
extern int	gpusort_libc_collations;	/* GpuSortLibcCollationsSetting */
extern int	gpusort_device_timeout_ms;	/* only the service's copy counts */
extern int	gpusort_service_timeout_s;	/* only sessions' copies count */
extern int	gpusort_max_wait_timeout_ms;
extern int	gpusort_wait_timeout_ms;

static inline bool
gpusort_device_is_off(void)
{
	return gpusort_device.names[0].choice == GPUSORT_DEVICE_OFF;
}

/* What gpusort.device has service number i open. */
extern GpuSortServiceDevice gpusort_device_of_service(int i);

/* How many services gpusort.device asks for, where this machine has so many GPUs. */
extern int	gpusort_services_wanted(int gpus);

/* The fewest rows of a sort that go to a device of the kind, and whether the kind matters. */
extern int	gpusort_min_rows_of(gsort_kind kind);
extern bool gpusort_min_rows_depend_on_device(void);

/* To any device: what plans are made by. */
extern int	gpusort_min_rows_of_plans(void);

/* Makes them known to PostgreSQL; in the postmaster, once. */
extern void gpusort_settings_define(void);

#endif							/* GPUSORT_SETTINGS_H */
