/*
 * cuda_cut.cuh
 *	  What the files of the cut share: one cut while it is enqueued.
 *
 * cuda_sort.cu	   the cut: its memory, its phases, windows, what comes back
 * cuda_order.cu   from keys to the order of the rows, and tie bits
 *
 * A call of cuda_sort.cu makes the struct, on its stack; the arrays are the
 * job's.
 */
#ifndef GSORT_CUDA_CUT_CUH
#define GSORT_CUDA_CUT_CUH

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
	uint32_t   *order;			/* as it stands; NULL: as fed */
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

/* Scratch of the selection and the scan below. */
size_t		cuda_order_scratch_bytes(uint64_t rows);

/* Can such a job's words need sorting by segments?  It has SORT_TIED_ROWS and
 * SORT_SEGMENTS then. */
int			cuda_order_may_have_segments(const gsort_job *job);

/* Sorts by all words; or by the first alone, if the job has segments for what
 * that leaves tied, and counts these in the header: 1. */
gsort_status cuda_order_begin(sort_run *run, int *by_first_word);

/* After a sort by the first word alone, by the header's counts: sorts what it
 * left tied by the other words. */
gsort_status cuda_order_tied_rows(sort_run *run, uint64_t tied, uint64_t segments);

/* The tie bits, where the job has them, when the order stands in run->order. */
gsort_status cuda_order_mark_ties(sort_run *run);

#endif							/* GSORT_CUDA_CUT_CUH */
