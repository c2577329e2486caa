/*
 * host_device.h
 *	  Inline functions shared by the kernels, the host device and the unit
 *	  tests, and the arithmetic that all of them use.
 */
#ifndef GSORT_HOST_DEVICE_H
#define GSORT_HOST_DEVICE_H

#include <stdint.h>

#ifdef POSTGRES_H
#error "cuda/ must not see PostgreSQL headers"
#endif

#ifdef __CUDACC__
#define GSORT_HD __host__ __device__
#else
#define GSORT_HD
#endif

static inline GSORT_HD uint64_t
gsort_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Width of x in bits: its highest set bit, counted from 1; 0 for 0. */
static inline GSORT_HD uint32_t
significant_bits(uint64_t x)
{
#if defined(__CUDA_ARCH__)
	return 64 - __clzll((long long) x);
#else
	return x ? 64 - __builtin_clzll(x) : 0;
#endif
}

#endif							/* GSORT_HOST_DEVICE_H */
