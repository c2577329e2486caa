/*
 * service_device.h
 *	  The device that the service owns, for the service's own files.
 */
#ifndef GPUSORT_SERVICE_DEVICE_H
#define GPUSORT_SERVICE_DEVICE_H

#include "postgres.h"

#include "compat.h"
#include "gpusort.h"

extern gsort_device *gpusort_service_device;	/* NULL: there is none */

/* What its last failure was. */
extern const char *gpusort_service_device_error(void);

/*
 * Opens the device that the settings now ask for.  If another one is open, or the host device with other
 * threads, that one serves no new sorts, and is closed when the sorts it has have ended.  True
 * if the device is another one now.
 */
extern bool gpusort_service_follow_settings(void);

/* Of a service that is not wanted any more: takes no new sorts.  True if it has none left. */
extern bool gpusort_service_has_retired(void);

/* After a reload: settings that need no reopening, and a device that may be there by now. */
extern void gpusort_service_reload_settings(void);

extern void gpusort_service_close_device(void);

/* Does not return when it is time to look once more for a device that was lost.  sleep_ms: what the turn may be followed
 * by, -1 for any time; returns it, or less if there is such a device. */
extern long gpusort_service_look_for_device(long sleep_ms);

/* Shows sessions the device's figures.  Does not return from a lost device. */
extern void gpusort_service_publish_info(void);

/* From here on plans and sorts are native; the jobs of now fail. */
extern void gpusort_service_stop_serving(const char *message);

/* Fails all jobs and leaves; the postmaster starts a new service. */
pg_noreturn extern void gpusort_service_restart(const char *why, const char *detail);

/* The same after a call has answered DEVICE_LOST. */
pg_noreturn extern void gpusort_service_lose_device(void);

/* Does to a job what the status of a device call means for it: nothing, or it is refused, or
 * failed.  Does not return from DEVICE_LOST. */
extern void gpusort_service_note_status(int job, gsort_status status);

#endif							/* GPUSORT_SERVICE_DEVICE_H */
