/*
 * api_internal.h
 *	  Declarations shared by the files of cuda/api.  Implementations include
 *	  gsort_device.h instead.
 *
 * device.c   the device: opening, events, failures
 * job.c      a job's beginning and end, its reservations, its chunks
 * runs.c     finishes, directories, fetches, several runs and their merge
 *
 * runs.c and job.c call each other, and both call device.c.  One thread runs
 * everything, the caller's, so there is no lock.  A job's struct belongs to the
 * implementation, until gsort_job_dispose.
 */
#ifndef GSORT_API_INTERNAL_H
#define GSORT_API_INTERNAL_H

#include "api/gsort_device.h"

/* --- device.c ------------------------------------------------------------- */

/* Records a violation of gsort.h's contract; returns BAD_ARG. */
gsort_status gsort_bad_argument(gsort_device *device, const char *what);

/* --- job.c ---------------------------------------------------------------- */

/* Accounts for the memory of the job: its run's reservations, and retained keys
 * or orders. */
void		gsort_set_reserved(gsort_job *job, uint64_t run_bytes, uint64_t retained_bytes);

/* Drops the run's rows from the account.  The job retains run_bytes of its
 * reservations beside its retained_bytes. */
void		gsort_end_reservations(gsort_job *job, uint64_t run_bytes, uint64_t retained_bytes);

/* Memory that lets a job continue: room for any one chunk. */
uint64_t	gsort_least_bytes(const gsort_job *job);

/* The budget minus the reservations of other jobs. */
uint64_t	gsort_budget_for_job(const gsort_job *job);

/* --- runs.c --------------------------------------------------------------- */

void		gsort_free_directory(gsort_job *job);

#endif							/* GSORT_API_INTERNAL_H */
