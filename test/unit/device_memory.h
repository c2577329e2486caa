/*
 * device_memory.h
 *	  Memory in which a device sorts pairs: plain memory for the host device,
 *	  CUDA's for CUDA.  Programs link device_memory.c or device_memory.cu.
 */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* 256-byte aligned; a failure ends the program.  on_gpu: CUDA memory. */
void	   *device_alloc(int on_gpu, size_t bytes);
void		device_free(int on_gpu, void *memory);
void		device_write(int on_gpu, void *device, const void *host, size_t bytes);

/* Waits for all work enqueued before. */
void		device_read(int on_gpu, void *host, const void *device, size_t bytes);

/* True if the device answers within some seconds, whatever a gsort_device waits
 * for.  Other programs may keep it busy. */
int			device_answers(int on_gpu);

/* Loses the CUDA device for this process: a kernel traps. */
void		device_break(void);

#ifdef __cplusplus
}
#endif

#endif							/* DEVICE_MEMORY_H */
