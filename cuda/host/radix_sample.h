/*
 * radix_sample.h
 *	  The way to sort keys of which many share their highest bits, by a sample.
 *
 * Texts, numbers in floating point and numbers of any length divide unevenly
 * by few bits.  A table then assigns a part to each value of more bits.  Short
 * keys are sorted least significant digit first, where crowded digits do no
 * harm.  Runs on one thread.
 */
#ifndef GSORT_RADIX_SAMPLE_H
#define GSORT_RADIX_SAMPLE_H

#include "host/radix_pairs.h"

/*
 * Returns the number of passes if the keys, which vary in these bits, are
 * sorted least significant digit first.  0: the digit divides them; it has a
 * table if that serves better.  The caller frees *table, which must be NULL at
 * first and stays so if there is none.
 */
uint32_t	radix_sample_choose(key_window window, const uint64_t *keys, uint64_t n,
								uint64_t varying, key_digit *digit, uint16_t **table);

#endif							/* GSORT_RADIX_SAMPLE_H */
