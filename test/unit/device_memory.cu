/*
 * device_memory.cu
 *	  Memory for pairs with CUDA linked in.
 */
#include "device_memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern "C" int rig_ordinal;

static void
must(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	printf("not ok: device memory: %s\n", cudaGetErrorString(error));
	exit(1);
}

void *
device_alloc(int on_gpu, size_t bytes)
{
	void	   *memory = NULL;

	if (on_gpu)
	{
		must(cudaSetDevice(rig_ordinal));
		must(cudaMalloc(&memory, bytes + 1));
	}
	else if ((memory = aligned_alloc(256, (bytes + 256) / 256 * 256)) == NULL)
		abort();
	return memory;
}

void
device_free(int on_gpu, void *memory)
{
	if (on_gpu)
		must(cudaFree(memory));
	else
		free(memory);
}

void
device_write(int on_gpu, void *device, const void *host, size_t bytes)
{
	if (on_gpu)
		must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
	else
		memcpy(device, host, bytes);
}

void
device_read(int on_gpu, void *host, const void *device, size_t bytes)
{
	if (on_gpu)
		must(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
	else
		memcpy(host, device, bytes);
}

int
device_answers(int on_gpu)
{
	struct timespec tenth = {0, 100000000};
	cudaStream_t stream;
	cudaEvent_t event;
	cudaError_t error = cudaErrorNotReady;

	if (!on_gpu)
		return 1;
	must(cudaSetDevice(rig_ordinal));
	must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	must(cudaEventCreate(&event));
	must(cudaEventRecord(event, stream));
	for (int i = 0; i < 50 && error == cudaErrorNotReady; i++)
	{
		nanosleep(&tenth, NULL);
		error = cudaEventQuery(event);
	}
	return error == cudaSuccess;
}

static __global__ void
trap_kernel(void)
{
	__trap();
}

void
device_break(void)
{
	trap_kernel<<<1, 1>>>();
	if (cudaDeviceSynchronize() == cudaSuccess)
	{
		printf("not ok: device memory: the trap did not break the device\n");
		exit(1);
	}
}
