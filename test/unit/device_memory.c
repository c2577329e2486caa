/*
 * device_memory.c
 *	  Memory for pairs without CUDA: plain memory only.
 */
#include "device_memory.h"

#include <stdlib.h>
#include <string.h>

void *
device_alloc(int on_gpu, size_t bytes)
{
	void	   *memory = on_gpu ? NULL : aligned_alloc(256, (bytes + 256) / 256 * 256);

	if (memory == NULL)
		abort();
	return memory;
}

void
device_free(int on_gpu, void *memory)
{
	(void) on_gpu;
	free(memory);
}

void
device_write(int on_gpu, void *device, const void *host, size_t bytes)
{
	(void) on_gpu;
	memcpy(device, host, bytes);
}

void
device_read(int on_gpu, void *host, const void *device, size_t bytes)
{
	(void) on_gpu;
	memcpy(host, device, bytes);
}

int
device_answers(int on_gpu)
{
	(void) on_gpu;
	return 1;
}

void
device_break(void)
{
	/* plain memory has no device to lose */
	abort();
}
