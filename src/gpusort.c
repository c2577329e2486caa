/*
 * gpusort.c
 *	  The module's start: settings, hooks, shared memory, the worker.
 *
 * Runs in the postmaster while it loads shared_preload_libraries.  Every other
 * process inherits the result.  This file never calls the device, because a
 * driver does not survive a fork.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/extensible.h"

#include "compat.h"
#include "gpusort.h"
#include "index/index_build.h"
#include "job/shmem.h"
#include "plan/plan_info.h"
#include "planner/planner.h"
#include "service/service.h"
#include "settings.h"
#include "views/why.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/* Registers everything once.  A session that loads the module later gets an
 * error. */
void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
	{
		/* pg_upgrade loads each library, to see whether that works */
		if (IsBinaryUpgrade)
			return;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("gpusort must be loaded via shared_preload_libraries"),
				 errhint("Append gpusort to shared_preload_libraries in postgresql.conf and restart the server.")));
	}
	if (IsBinaryUpgrade)
		return;
	gpusort_settings_define();
	gpusort_shmem_install_hooks(gpusort_service_register());
	RegisterCustomScanMethods(&gpusort_scan_methods);
	RegisterCustomScanMethods(&gpusort_feed_scan_methods);
	gpusort_planner_install_hooks();
	gpusort_index_install_hooks();
	gpusort_why_install();
}
