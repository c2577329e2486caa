/*
 * run_file.h
 *	  A sorted run in a temporary file.
 */
#ifndef GPUSORT_RUN_FILE_H
#define GPUSORT_RUN_FILE_H

#include "postgres.h"

#include "sort/run.h"

/* Memory: the current context.  The file belongs to the current resource owner.  Errors of its calls: those
 * of temporary files. */
extern GpuSortRun *gpusort_run_file_create(const GpuSortRowFormat *format);

#endif							/* GPUSORT_RUN_FILE_H */
