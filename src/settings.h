/*
 * settings.h
 *	  The settings' values, in the process that looks at them.
 */
#ifndef GPUSORT_SETTINGS_H
#define GPUSORT_SETTINGS_H

#include "postgres.h"

#include "gsort.h"				/* gsort_engine */

typedef enum GpuSortDeviceSetting
{
	GPUSORT_DEVICE_AUTO,		/* the GPU, if there is one */
	GPUSORT_DEVICE_CUDA,
	GPUSORT_DEVICE_HOST,
	GPUSORT_DEVICE_OFF
} GpuSortDeviceSetting;

typedef enum GpuSortLibcCollationsSetting
{
	GPUSORT_LIBC_COLLATIONS_VERIFY, /* by strxfrm, and each row compared with the one before */
	GPUSORT_LIBC_COLLATIONS_TRUST,	/* by strxfrm */
	GPUSORT_LIBC_COLLATIONS_OFF
} GpuSortLibcCollationsSetting;

/* gpusort.device_memory, parsed: at most one of the two is not 0; neither is 'auto' */
typedef struct GpuSortMemorySetting
{
	int			percent;		/* of the device's memory */
	uint64		bytes;
} GpuSortMemorySetting;

extern int	gpusort_algorithm;	/* gsort_engine */
extern bool gpusort_enabled;
extern int	gpusort_device;		/* GpuSortDeviceSetting */
extern int	gpusort_min_rows;
extern int	gpusort_buffer_memory_mb;
extern int	gpusort_debug_call_delay_ms;	/* only the service's copy counts */
extern int	gpusort_debug_collation_fault;
extern int	gpusort_debug_fail_at;	/* only the service's copy counts */
extern bool gpusort_debug_force;
extern bool gpusort_debug_grouping;
extern GpuSortMemorySetting gpusort_device_memory;
extern int	gpusort_libc_collations;	/* GpuSortLibcCollationsSetting */
extern int	gpusort_max_wait_timeout_ms;
extern int	gpusort_wait_timeout_ms;

/* Makes them known to PostgreSQL; in the postmaster, once. */
extern void gpusort_settings_define(void);

#endif							/* GPUSORT_SETTINGS_H */
