/*
 * host_job.h
 *	  The functions of the host device's table of operations (see
 *	  gsort_device.h), and the end of a job.
 */
#ifndef GSORT_HOST_JOB_H
#define GSORT_HOST_JOB_H

#include "host/host_ops.h"

/* --- jobs (host_job.c) ---------------------------------------------------- */

uint64_t	host_job_bytes(const gsort_job *job, uint64_t rows, uint64_t units);
uint64_t	host_job_retained_bytes(const gsort_job *job, uint64_t rows, gsort_retain retain);
uint64_t	host_job_merge_bytes(const gsort_job *job, uint64_t rows, uint32_t runs);
uint64_t	host_job_order_bytes(const gsort_job *job, uint64_t rows);
gsort_status host_job_open(gsort_device *device, const gsort_job *blank, gsort_job **job);
gsort_status host_job_reserve(gsort_job *job, uint64_t rows, uint64_t units);
gsort_status host_job_append(gsort_job *job, const gsort_chunk *chunk, uint64_t first_unit);
gsort_status host_job_finish_run(gsort_job *job);
gsort_status host_job_fetch(gsort_job *job, uint64_t block, void *dst, uint64_t tag);
gsort_status host_job_next_run(gsort_job *job);
gsort_status host_job_merge(gsort_job *job, const key_plan *plan);
gsort_status host_job_fetch_order(gsort_job *job, uint64_t first_row, uint32_t bytes, void *dst,
								  uint64_t tag);
void		host_job_close(gsort_job *job);

/* Frees a job that no thread touches any more. */
void		host_job_free(host_job *job);

/* --- events (host_events.c) ----------------------------------------------- */

int			host_poll(gsort_device *device, gsort_event *out, int max);

#endif							/* GSORT_HOST_JOB_H */
