/*
 * fake_cuda.cpp
 *	  The fake CUDA runtime: see fake_cuda.h.
 */
#include "fake_cuda.h"

#include <cuda_runtime_api.h>

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

fake_cuda	fake;

enum op_kind
{
	OP_WORK,					/* accesses memory */
	OP_MARK						/* an event, a wait, a host function */
};

struct op
{
	op_kind		kind;
	uint64_t	number;			/* among all operations */
	std::function<bool()> ready;
	std::function<void()> run;
	const char *host;			/* host memory that it accesses */
	size_t		host_bytes;
};

struct CUstream_st
{
	int			device = 0;
	std::deque<op> ops;
	uint64_t	enqueued = 0;
	uint64_t	done = 0;
};

struct CUevent_st
{
	int			device = 0;
	CUstream_st *stream = NULL;
	uint64_t	number = 0;		/* number of the operation that records it in its stream */

	bool passed() const
	{
		return stream == NULL || stream->done >= number;
	}
};

struct range
{
	const char *base;
	size_t		bytes;
};

static std::vector<CUstream_st *> streams;
static std::vector<range> pinned;
/* for each array, the first operation that may use it */
static std::map<const void *, uint64_t> made_before;
static uint64_t operations;
static cudaError_t last_error = cudaSuccess;
static bool started = false;
static thread_local int current_device = 0;
static int	pools[FAKE_DEVICES];	/* their addresses identify the pools */
static dim3 launch_grid;
static dim3 launch_block;
static size_t launch_shared;
static cudaStream_t launch_stream;

/* --- time ----------------------------------------------------------------- */

static uint64_t
random_number()
{
	fake.random_state ^= fake.random_state << 13;
	fake.random_state ^= fake.random_state >> 7;
	fake.random_state ^= fake.random_state << 17;
	return fake.random_state;
}

static bool
step(CUstream_st *stream)
{
	if (stream->ops.empty() || !stream->ops.front().ready())
		return false;
	if (!fake.lost || stream->ops.front().kind == OP_MARK)
		stream->ops.front().run();
	stream->ops.pop_front();
	stream->done++;
	return true;
}

static bool
step_all()
{
	bool		any = false;

	for (CUstream_st *stream : streams)
		any |= step(stream);
	return any;
}

void
fake_finish_all(void)
{
	while (step_all())
		;
}

static void
some_time_passes()
{
	for (uint64_t n = random_number() % 6; n > 0; n--)
		for (CUstream_st *stream : streams)
			if (random_number() % 2)
				step(stream);
}

static void
enqueue(cudaStream_t stream, op_kind kind, std::function<void()> run, std::function<bool()> ready = [] { return true; },
		const void *host = NULL, size_t host_bytes = 0)
{
	if (stream == NULL)
	{
		fake_finish_all();
		run();
		return;
	}
	stream->ops.push_back({kind, operations++, ready, run, (const char *) host, host_bytes});
	stream->enqueued++;
}

/* --- errors --------------------------------------------------------------- */

static cudaError_t
answer(cudaError_t error)
{
	if (error != cudaSuccess)
		last_error = error;
	return error;
}

/* Counts a call that enqueues or makes something; true if it must be
 * refused. */
static bool
is_refused()
{
	fake.calls++;
	return fake.refuse_at != 0 && fake.calls >= fake.refuse_at && fake.calls < fake.refuse_at + fake.refuse_for;
}

#define REFUSE_IF_WANTED() \
	do { \
		if (is_refused()) \
			return answer(cudaErrorMemoryAllocation); \
	} while (0)

/* Rejects combinations of objects of different devices. */
static cudaError_t
mixed_devices()
{
	fake.mixed_devices++;
	return answer(cudaErrorInvalidResourceHandle);
}

static cudaError_t
start()
{
	const char *loading = getenv("CUDA_MODULE_LOADING");

	if (!started)
		fake.loads_eagerly = loading != NULL && strcmp(loading, "EAGER") == 0;
	started = true;
	return cudaSuccess;
}

int
fake_left_error(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

int
fake_is_in_use(const void *memory, size_t bytes)
{
	const char *begin = (const char *) memory;

	for (const CUstream_st *stream : streams)
		for (const op &each : stream->ops)
			if (each.host != NULL && each.host < begin + bytes && begin < each.host + each.host_bytes)
				return 1;
	return 0;
}

/* A wait for the descriptor lets the device proceed. */
extern "C" int
poll(struct pollfd *descriptors, nfds_t n, int)
{
	struct timespec at_once = {0, 0};

	some_time_passes();
	while (syscall(SYS_ppoll, descriptors, n, &at_once, NULL, 0) == 0)
		if (!step_all())
		{
			/* nothing is left to wake the caller, who would wait for the
			 * time-out or for ever */
			fake.silent_waits++;
			return 0;
		}
	return 1;
}

/* --- the runtime ---------------------------------------------------------- */

extern "C"
{

cudaError_t cudaGetLastError(void) { return (cudaError_t) fake_left_error(); }
cudaError_t cudaPeekAtLastError(void) { return last_error; }
const char *cudaGetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "an error"; }
const char *cudaGetErrorName(cudaError_t) { return "cudaError"; }

cudaError_t cudaGetDeviceCount(int *n) { *n = FAKE_DEVICES; return start(); }
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return start(); }
cudaError_t cudaSetDevice(int ordinal) { current_device = ordinal; return start(); }
cudaError_t cudaGetDevice(int *ordinal) { *ordinal = current_device; return start(); }
cudaError_t cudaDriverGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
	memset(properties, 0, sizeof(*properties));
	strcpy(properties->name, "fake");
	properties->totalGlobalMem = (size_t) 8 << 30;
	properties->major = 9;
	return start();
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
	switch (attribute)
	{
		case cudaDevAttrMultiProcessorCount:
			*value = 16;
			break;
		case cudaDevAttrMaxSharedMemoryPerBlock:
			*value = 48 << 10;
			break;
		case cudaDevAttrMaxSharedMemoryPerBlockOptin:
			*value = 227 << 10;
			break;
		case cudaDevAttrComputeCapabilityMajor:
			*value = 9;
			break;
		case cudaDevAttrComputeCapabilityMinor:
			*value = 0;
			break;
		case cudaDevAttrMaxGridDimX:
			*value = 0x7fffffff;
			break;
		default:
			*value = 1;
	}
	return start();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high) { *low = 0; *high = -1; return cudaSuccess; }

cudaError_t
cudaDeviceSynchronize(void)
{
	fake.blocking_calls++;
	if (fake.lost)
		return answer(cudaErrorLaunchFailure);
	fake_finish_all();
	return cudaSuccess;
}

/* --- memory */


cudaError_t
cudaMemGetInfo(size_t *free_bytes, size_t *all)
{
	*all = (size_t) 8 << 30;
	*free_bytes = *all - fake.taken_bytes - fake.reserved_bytes;
	return cudaSuccess;
}

cudaError_t
cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties)
{
	*pool = (cudaMemPool_t) &pools[properties->location.id];
	return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) { return cudaSuccess; }

cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *value)
{
	*(uint64_t *) value = fake.reserved_bytes;
	return cudaSuccess;
}

cudaError_t
cudaMemPoolTrimTo(cudaMemPool_t, size_t keep)
{
	for (const CUstream_st *stream : streams)
		for (const op &each : stream->ops)
			fake.trims_of_busy += each.kind == OP_WORK;
	if (keep < fake.reserved_bytes)
	{
		uint64_t	trimmed = fake.reserved_bytes - keep;

		fake.most_trimmed = trimmed > fake.most_trimmed ? trimmed : fake.most_trimmed;
		fake.reserved_bytes = keep;
	}
	return cudaSuccess;
}

cudaError_t
cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	REFUSE_IF_WANTED();
	if ((int *) pool != &pools[stream->device])
		return mixed_devices();
	*memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
	memset(*memory, 0, bytes);
	made_before[*memory] = operations;
	fake.allocated++;
	return cudaSuccess;
}

/* The memory of a kernel is unknown, but excludes arrays that were made later.
 * A test has one job at a time, and the job frees an array only after all work
 * on it has ended. */
static bool
may_be_in_use(const void *memory, const CUstream_st *freeing)
{
	for (const CUstream_st *stream : streams)
		for (const op &each : stream->ops)
			if (stream != freeing && each.kind == OP_WORK && each.number >= made_before[memory])
				return true;
	return false;
}

cudaError_t
cudaFreeAsync(void *memory, cudaStream_t stream)
{
	if (fake.lost)
		return answer(cudaErrorLaunchFailure);
	fake.freed_in_use += may_be_in_use(memory, stream);
	fake.allocated--;
	enqueue(stream, OP_WORK, [=] { free(memory); });
	return cudaSuccess;
}

cudaError_t
cudaHostAlloc(void **memory, size_t bytes, unsigned)
{
	fake.blocking_calls++;
	REFUSE_IF_WANTED();
	*memory = malloc(bytes);
	pinned.push_back({(const char *) *memory, bytes});
	return cudaSuccess;
}

static void
unpin(const void *memory)
{
	for (size_t i = 0; i < pinned.size(); i++)
		if (pinned[i].base == memory)
		{
			pinned.erase(pinned.begin() + (ptrdiff_t) i);
			return;
		}
}

static bool
is_pinned(const void *memory, size_t bytes)
{
	for (const range &each : pinned)
		if ((const char *) memory >= each.base && (const char *) memory + bytes <= each.base + each.bytes)
			return true;
	return false;
}

cudaError_t
cudaFreeHost(void *memory)
{
	fake.blocking_calls++;
	unpin(memory);
	free(memory);
	return cudaSuccess;
}

cudaError_t
cudaHostRegister(void *memory, size_t bytes, unsigned)
{
	fake.blocking_calls++;
	if (fake.pin_fails)
		return answer(cudaErrorNotSupported);
	pinned.push_back({(const char *) memory, bytes});
	return cudaSuccess;
}

cudaError_t
cudaHostUnregister(void *memory)
{
	unpin(memory);
	return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
	const void *host = kind == cudaMemcpyHostToDevice ? from : to;

	REFUSE_IF_WANTED();
	if (!is_pinned(host, bytes))
	{
		/* CUDA copies small transfers to the device at once */
		std::vector<char> copy((const char *) from, (const char *) from + bytes);

		fake.blocking_calls += kind != cudaMemcpyHostToDevice || bytes > 64 << 10;
		enqueue(stream, OP_WORK, [=] { memcpy(to, copy.data(), bytes); });
		if (kind != cudaMemcpyHostToDevice)
			fake_finish_all();
		return cudaSuccess;
	}
	if (kind == cudaMemcpyDeviceToHost && bytes == fake.answer_bytes)
		from = fake.answer;
	enqueue(stream, OP_WORK, [=] { memcpy(to, from, bytes); }, [] { return true; }, host, bytes);
	return cudaSuccess;
}

cudaError_t
cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
	void		(*meanwhile) (void) = fake.meanwhile;

	REFUSE_IF_WANTED();
	fake.meanwhile = NULL;
	if (meanwhile != NULL)
		meanwhile();
	enqueue(stream, OP_WORK, [=] { memset(memory, value, bytes); });
	return cudaSuccess;
}

/* --- streams and events */

cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int)
{
	REFUSE_IF_WANTED();
	*stream = new CUstream_st;
	(*stream)->device = current_device;
	streams.push_back(*stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	if (fake.lost)
		return answer(cudaErrorLaunchFailure);
	fake_finish_all();
	for (size_t i = 0; i < streams.size(); i++)
		if (streams[i] == stream)
			streams.erase(streams.begin() + (ptrdiff_t) i);
	delete stream;
	return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	fake.blocking_calls++;
	if (fake.lost)
		return answer(cudaErrorLaunchFailure);
	while (stream->done < stream->enqueued && step_all())
		;
	return cudaSuccess;
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
	some_time_passes();
	return stream->done == stream->enqueued ? cudaSuccess : answer(cudaErrorNotReady);
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
	CUevent_st	at = *event;

	REFUSE_IF_WANTED();
	enqueue(stream, OP_MARK, [] {}, [=] { return at.passed(); });
	return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
	REFUSE_IF_WANTED();
	*event = new CUevent_st;
	(*event)->device = current_device;
	return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { delete event; return cudaSuccess; }

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	REFUSE_IF_WANTED();
	if (event->device != stream->device)
		return mixed_devices();
	enqueue(stream, OP_MARK, [] {});
	event->stream = stream;
	event->number = stream->enqueued;
	return cudaSuccess;
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	some_time_passes();
	return event->passed() ? cudaSuccess : answer(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { *ms = 1; return cudaSuccess; }

cudaError_t
cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	REFUSE_IF_WANTED();
	enqueue(stream, OP_MARK, [=] { function(data); });
	return cudaSuccess;
}

/* --- kernels */

static cudaError_t
launch_kernel(cudaStream_t stream)
{
	REFUSE_IF_WANTED();
	if (stream != NULL && stream->device != current_device)
		return mixed_devices();
	fake.launches++;
	enqueue(stream, OP_WORK, [] {});
	return cudaSuccess;
}

unsigned
__cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream)
{
	launch_grid = grid;
	launch_block = block;
	launch_shared = shared_bytes;
	launch_stream = stream;
	return 0;
}

cudaError_t
__cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
	*grid = launch_grid;
	*block = launch_block;
	*shared_bytes = launch_shared;
	*(cudaStream_t *) stream = launch_stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(void **kernel, const void *function) { *kernel = (void *) function; return cudaSuccess; }
cudaError_t __cudaLaunchKernel(void *, dim3, dim3, void **, size_t, cudaStream_t stream) { return launch_kernel(stream); }
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t stream) { return launch_kernel(stream); }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *, void **) { return launch_kernel(config->stream); }
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }

cudaError_t
cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *)
{
	memset(attributes, 0, sizeof(*attributes));
	attributes->ptxVersion = attributes->binaryVersion = 90;
	attributes->maxThreadsPerBlock = 1024;
	return cudaSuccess;
}

cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int, size_t, unsigned)
{
	*blocks = 2;
	return cudaSuccess;
}

void **
__cudaRegisterFatBinary(void *)
{
	static void *handle = NULL;

	return &handle;
}

char __cudaInitModule(void **) { return 1; }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {}

}								/* extern "C" */
