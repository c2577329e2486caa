/*
 * pairs_merge.h
 *	  Merges sorted runs of (key, row) pairs: for gsort_bench and the emulator's tests.
 *
 * In:  up to 255 runs, each ascending by key.
 * Out: all pairs, ascending, equal keys by run, within a run as they lie.
 *
 * Works on the current CUDA device; only enqueues.
 */
#ifndef GSORT_PAIRS_MERGE_H
#define GSORT_PAIRS_MERGE_H

#include "gsort.h"
#include "sort/launch.cuh"
#include "sort/merge_run.h"

size_t		pairs_merge_scratch_bytes(uint64_t pairs, uint32_t n_runs);

/*
 * Runs: keys of key_bits (32 or 64) and rows.  d_keys_out may be NULL; no output overlaps
 * an input.  BAD_ARG: the number of runs or key_bits, or scratch too small or not 256-byte
 * aligned; DEVICE_LOST: a launch failed.
 */
gsort_status pairs_merge(const merge_run *runs, uint32_t n_runs, uint32_t key_bits, void *d_keys_out,
						 uint32_t *d_rows_out, void *d_scratch, size_t scratch_bytes, cudaStream_t stream);

#endif							/* GSORT_PAIRS_MERGE_H */
