/*
 * cuda_finish.cuh
 *	  The interface between the files that finish a run: one run while it is
 *	  enqueued.
 *
 * cuda_finish.cu  the finish: its memory, phases, output blocks, the read-back
 * cuda_order.cu   from keys to the order of the rows, and tie bits
 *
 * A function of cuda_finish.cu makes the struct on its stack; the job owns the
 * arrays.
 */
#ifndef GSORT_CUDA_FINISH_CUH
#define GSORT_CUDA_FINISH_CUH

#include "device/cuda_device.cuh"

#include "rows/key_plan.h"

typedef struct sort_run
{
	cuda_device *device;
	cuda_job   *job;
	cudaStream_t stream;
	uint64_t	n;
	key_plan	plan;
	key_table	table;
	uint32_t   *order;			/* the current order; NULL: the order as fed */
} sort_run;

template<typename T>
static inline T *
array_of(const sort_run *run, sort_array array)
{
	return (T *) run->job->sort[array].pointer;
}

static inline run_header *
run_header_of(const sort_run *run)
{
	return (run_header *) run->job->header.pointer;
}

/* Scratch bytes of the selection and the scan of tied rows. */
size_t		cuda_order_scratch_bytes(uint64_t rows);

/* Sorts by all words.  If the job has segments, sorts by the first word alone
 * and counts its ties in the header; *by_first_word is then 1. */
gsort_status cuda_order_begin(sort_run *run, int *by_first_word);

/* Follows a sort by the first word alone, with the header's counts: sorts the
 * tied rows by the other words. */
gsort_status cuda_order_tied_rows(sort_run *run, uint64_t tied, uint64_t segments);

/* Sets the job's tie bits, if it has any, from the order in run->order. */
gsort_status cuda_order_mark_ties(sort_run *run);

#endif							/* GSORT_CUDA_FINISH_CUH */
