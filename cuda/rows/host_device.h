/*
 * host_device.h
 *	  Lets one inline function serve the kernels, the host device and the unit
 *	  tests.
 */
#ifndef GSORT_HOST_DEVICE_H
#define GSORT_HOST_DEVICE_H

#ifdef POSTGRES_H
#error "cuda/ must not see PostgreSQL headers"
#endif

#ifdef __CUDACC__
#define GSORT_HD __host__ __device__
#else
#define GSORT_HD
#endif

#endif							/* GSORT_HOST_DEVICE_H */
