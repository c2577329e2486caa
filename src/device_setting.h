/*
 * device_setting.h
 *	  gpusort.device, parsed.
 */
#ifndef GPUSORT_DEVICE_SETTING_H
#define GPUSORT_DEVICE_SETTING_H

#include "postgres.h"

#include "utils/guc.h"

#include "gpusort.h"

typedef enum GpuSortDeviceChoice
{
	GPUSORT_DEVICE_AUTO,		/* the GPU, if there is one */
	GPUSORT_DEVICE_CUDA,
	GPUSORT_DEVICE_HOST,
	GPUSORT_DEVICE_OFF
} GpuSortDeviceChoice;

/* A device in the list of gpusort.device. */
typedef struct GpuSortDeviceName
{
	GpuSortDeviceChoice choice;
	int			ordinal;		/* CUDA's number; -1: all GPUs */
} GpuSortDeviceName;

/* gpusort.device, parsed.  Each device has a service.  AUTO and OFF stand
 * alone. */
typedef struct GpuSortDeviceSetting
{
	int			n;				/* 1 or more */
	GpuSortDeviceName names[GPUSORT_SERVICES_MAX];
	bool		or_host;		/* the host device replaces a GPU that is not there */
} GpuSortDeviceSetting;

#define GPUSORT_DEVICE_CHOICES_MAX	2

/* The devices that one service may open.  It opens the first one that can be
 * opened. */
typedef struct GpuSortServiceDevice
{
	int			n;
	GpuSortDeviceChoice choices[GPUSORT_DEVICE_CHOICES_MAX];
	int			ordinal;		/* for a GPU */
} GpuSortServiceDevice;

extern GpuSortDeviceSetting gpusort_device;

static inline bool
gpusort_device_is_off(void)
{
	return gpusort_device.names[0].choice == GPUSORT_DEVICE_OFF;
}

/* Returns the devices of service number i, by gpusort.device. */
extern GpuSortServiceDevice gpusort_device_of_service(int i);

/* Returns the number of services that gpusort.device asks for, on a machine
 * with this many GPUs. */
extern int	gpusort_services_wanted(int gpus);

/* The setting's hooks, for settings.c. */
extern bool gpusort_check_device(char **newval, void **extra, GucSource source);
extern void gpusort_assign_device(const char *newval, void *extra);

#endif							/* GPUSORT_DEVICE_SETTING_H */
