/*
 * api_internal.h
 *	  What the files of cuda/api share.  Implementations include gsort_device.h
 *	  instead.
 *
 * device.c   the device: opening, events, failures, sorts of pairs
 * job.c      a job's beginning and end, and its grants
 * feed.c     chunks: checks, and places in the arena
 * windows.c  cuts, directories, fetches
 * runs.c     several runs and their merge
 *
 * Of these, runs.c calls job.c and windows.c, job.c calls windows.c, and all
 * call device.c.
 */
#ifndef GSORT_API_INTERNAL_H
#define GSORT_API_INTERNAL_H

#include "api/gsort_device.h"

/* --- device.c ------------------------------------------------------------- */

/* Records that a call broke gsort.h's contract; returns BAD_ARG. */
gsort_status gsort_bad_argument(gsort_device *device, const char *what);

/* Is the device lost?  Each call that may lose it asks once: a test may want it
 * lost now. */
int			gsort_is_lost(gsort_device *device);

/* --- job.c ---------------------------------------------------------------- */

/* Counts what the job now stands for: by its run's grants, and by what it keeps
 * beside. */
void		gsort_set_granted(gsort_job *job, uint64_t run_bytes, uint64_t kept_bytes);

/* The run's rows are gone: of what it was granted, with what is kept beside,
 * run_bytes stay. */
void		gsort_end_grants(gsort_job *job, uint64_t run_bytes, uint64_t kept_bytes);

/* What a job needs to go on: room for any one chunk. */
uint64_t	gsort_least_bytes(const gsort_job *job);

/* The budget less what other jobs have been granted. */
uint64_t	gsort_room_for_job(const gsort_job *job);

/* --- windows.c ------------------------------------------------------------ */

/* The merge order's directory, of a byte for each row of all ended runs;
 * NOMEM. */
gsort_status gsort_make_order_directory(gsort_job *job);

void		gsort_free_directory(gsort_job *job);

#endif							/* GSORT_API_INTERNAL_H */
