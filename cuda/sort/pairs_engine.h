/*
 * pairs_engine.h
 *	  Which engine sorts pairs on the current CUDA device, and what scratch it takes.
 *
 * In:  a gsort_pairs whose shape gsort.c has checked.
 * Out: the choice of pairs_choice.h, made for this device.
 *
 * Host code; launches nothing.  Nothing in this folder knows of a gsort_device or of jobs: the sorts return
 * CUDA errors, of which cuda/device/ makes statuses.
 */
#ifndef GSORT_PAIRS_ENGINE_H
#define GSORT_PAIRS_ENGINE_H

#include "gsort.h"
#include "sort/pairs_choice.h"

/* All of the keys below bit bits; the keys may be used up; any engine. */
gsort_pairs cuda_describe_pairs(uint64_t n, uint32_t key_bits, uint32_t bits, void *d_keys, void *d_keys_out,
								const uint32_t *d_rows, uint32_t *d_rows_out);

/* The one that sorts these pairs. */
gsort_engine cuda_pairs_engine(const gsort_pairs *pairs);

/* Of the engine that sorts these pairs. */
size_t		cuda_pairs_engine_scratch_bytes(const gsort_pairs *pairs);

/* Scratch for any sort of up to n pairs with cuda_describe_pairs; rises with n. */
size_t		cuda_pairs_scratch_at_most(gsort_engine wanted, uint64_t n);

#endif							/* GSORT_PAIRS_ENGINE_H */
