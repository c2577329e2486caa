/*
 * emulator.h
 *	  Runs the sort's unchanged kernels on the CPU, without a GPU.
 *
 * In:  a kernel, its grid and its arguments, through launch()
 *	    (cuda/sort/launch.cuh).
 * Out: the kernel's output.
 *
 * Each CUDA thread is a fiber with its own stack.  The threads of a block meet
 * at barriers, those of a warp at votes and shuffles.  Blocks run one after
 * another, in random order.  Inside a block the schedule is random: either all
 * threads take turns, or each warp in turn runs as far ahead as it can.  A
 * missing barrier thus shows as a wrong result.  Shared memory is poisoned
 * before each block.  A launch that requests more of it than the emulated chip
 * has is refused.  A write behind its end, a barrier that some threads never
 * reach, or a lack of progress ends the program with a message.
 *
 * The emulator does not detect weak memory order, or races between concurrent
 * blocks. x86-64 and g++ only; one host thread; whole-warp masks only.
 */
#ifndef GSORT_EMULATOR_H
#define GSORT_EMULATOR_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

typedef int cudaError_t;
typedef void *cudaStream_t;
enum
{
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaDevAttrMultiProcessorCount,
	cudaDevAttrMaxSharedMemoryPerBlockOptin,
	cudaDevAttrComputeCapabilityMajor,
	cudaDevAttrComputeCapabilityMinor
};

struct uint4
{
	unsigned	x, y, z, w;
};

static inline uint4
make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
	return {x, y, z, w};
}

struct dim3
{
	unsigned	x, y, z;
};

namespace emulator
{
static constexpr size_t STACK_BYTES = 128 << 10;
static constexpr size_t GUARD_BYTES = 256;	/* size of the guard behind the shared memory */
static constexpr unsigned char POISON = 0xcd;
static constexpr int WARP = 32;

/* The emulated chip, set by a test. */
struct chip
{
	int			processors = 4;
	int			shared_bytes = 227 << 10;
};
static chip the_chip;

struct fiber
{
	void	   *stack_pointer;
	bool		done;
};

struct warp
{
	uint64_t	given[WARP];
	uint64_t	taken[WARP];	/* values that the warp's threads gave at the last meeting */
	int			arrived;
	unsigned	meetings;
};

static std::vector<fiber> fibers;
static std::vector<warp> warps;
static std::vector<char *> stacks;
static std::vector<unsigned char> shared_memory;
static void *scheduler_stack;
static std::function<void()> *body;
static int	current;
static int	threads;
static int	live;
static bool progress;
static int	at_barrier;
static unsigned barriers;
static int	vote;
static int	vote_result;
static struct dim3 block_index;
static struct dim3 block_size;
static struct dim3 grid_size;
static uint64_t random_state = 88172645463325252ull;
static uint64_t launches;
static bool together;		/* all blocks of the next launch run at once */
static bool early;			/* on a device the kernel may start before its predecessor ends */
static uint64_t waits;		/* number of threads that wait for the preceding kernel */
/* Lets a test inspect memory before a launch changes it. */
static std::function<void(const void *kernel)> before_launch;

extern "C" void emulator_switch(void **from, void *to);
asm(R"(
.text
.globl emulator_switch
emulator_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
)");

static inline uint64_t
random_number()
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

[[noreturn]] static inline void
fail(const char *what)
{
	fprintf(stderr, "emulator: %s (block %u, thread %d, launch %llu)\n", what, block_index.x, current,
			(unsigned long long) launches);
	exit(3);
}

static inline void
yield()
{
	emulator_switch(&fibers[current].stack_pointer, scheduler_stack);
}

static void
run_thread()
{
	void	   *unused;

	(*body)();
	fibers[current].done = true;
	progress = true;
	live--;
	emulator_switch(&unused, scheduler_stack);
	abort();
}

static inline int
meet_block(int predicate)
{
	unsigned	before = barriers;

	vote |= predicate;
	progress = true;
	if (++at_barrier == threads)
	{
		at_barrier = 0;
		vote_result = vote;
		vote = 0;
		barriers++;
	}
	else
	{
		while (barriers == before)
			yield();
	}
	return vote_result;
}

/* Gives a value to the warp and returns the values of all its threads. */
static inline const uint64_t *
meet_warp(uint64_t value)
{
	warp	   &mine = warps[current / WARP];
	unsigned	before = mine.meetings;

	mine.given[current % WARP] = value;
	progress = true;
	if (++mine.arrived == WARP)
	{
		memcpy(mine.taken, mine.given, sizeof(mine.taken));
		mine.arrived = 0;
		mine.meetings++;
	}
	else
	{
		while (mine.meetings == before)
			yield();
	}
	return mine.taken;
}

static inline void
resume(int thread)
{
	current = thread;
	if (!fibers[thread].done)
		emulator_switch(&scheduler_stack, fibers[thread].stack_pointer);
}

/* stack: that of the first thread. */
static void
start_block(unsigned block_threads, unsigned stack = 0)
{
	for (unsigned t = 0; t < block_threads; t++)
	{
		void	  **top = (void **) (stacks[stack + t] + STACK_BYTES - 64);

		*--top = NULL;
		*--top = (void *) run_thread;
		for (int saved = 0; saved < 6; saved++)
			*--top = NULL;
		fibers[t].stack_pointer = top;
		fibers[t].done = false;
	}
	for (auto &each : warps)
	{
		each.arrived = 0;
		each.meetings = 0;
	}
	at_barrier = 0;
	barriers = 0;
	vote = 0;
	live = (int) block_threads;
}

/* Runs every thread once, from a random one on in random steps. */
static void
run_round(int first, int count)
{
	int			at = (int) (random_number() % count);
	int			step = 1 + 2 * (int) (random_number() % count);

	while (std::__gcd(step, count) != 1)
		step += 2;
	for (int i = 0; i < count; i++)
		resume(first + (int) (((int64_t) at + (int64_t) i * step) % count));
}

/* Lets all threads of the block continue; false: none could. */
static bool
run_on(unsigned block_threads, bool in_turn)
{
	bool		any = false;

	progress = false;
	if (in_turn)
	{
		run_round(0, (int) block_threads);
		return progress;
	}
	int			n_warps = (int) block_threads / WARP;
	int			first = (int) (random_number() % n_warps);

	for (int w = 0; w < n_warps; w++)
	{
		do
		{
			progress = false;
			run_round((first + w) % n_warps * WARP, WARP);
			any |= progress;
		} while (progress);
	}
	return any;
}

static void
run_block(unsigned block_threads)
{
	bool		in_turn = random_number() & 1;

	start_block(block_threads);
	while (live > 0)
	{
		if (!run_on(block_threads, in_turn))
			fail("threads wait at different barriers");
	}
}

static void
poison_shared_memory(size_t shared_bytes)
{
	shared_memory.assign(shared_bytes + GUARD_BYTES + 64, POISON);
}

static void
check_shared_memory(size_t shared_bytes)
{
	size_t		skipped = (64 - (uintptr_t) shared_memory.data() % 64) % 64;

	for (size_t i = 0; i < GUARD_BYTES; i++)
	{
		if (shared_memory[skipped + shared_bytes + i] != POISON)
			fail("a write behind the shared memory");
	}
}

/* The state of a block while another one runs. */
struct waiting_block
{
	std::vector<fiber> fibers;
	std::vector<warp> warps;
	std::vector<unsigned char> shared_memory;
	int			live;
	int			at_barrier;
	unsigned	barriers;
	int			vote;
	int			vote_result;
	struct dim3 block_index;

	void swap()
	{
		std::swap(fibers, emulator::fibers);
		std::swap(warps, emulator::warps);
		std::swap(shared_memory, emulator::shared_memory);
		std::swap(live, emulator::live);
		std::swap(at_barrier, emulator::at_barrier);
		std::swap(barriers, emulator::barriers);
		std::swap(vote, emulator::vote);
		std::swap(vote_result, emulator::vote_result);
		std::swap(block_index, emulator::block_index);
	}
};

/* Runs all blocks at once: each in turn, in random order, continues until its
 * threads wait. */
static void
run_together(const std::vector<unsigned> &order, unsigned block_threads, size_t shared_bytes)
{
	std::vector<waiting_block> blocks(order.size());
	bool		any = true;

	for (size_t b = 0; b < blocks.size(); b++)
	{
		fibers.resize(block_threads);
		warps.resize(block_threads / WARP);
		block_index = {order[b], 0, 0};
		poison_shared_memory(shared_bytes);
		start_block(block_threads, (unsigned) b * block_threads);
		blocks[b].swap();
	}
	for (size_t left = blocks.size(); left > 0;)
	{
		if (!any)
			fail("blocks wait for each other in vain");
		any = false;
		for (auto &block : blocks)
		{
			bool		in_turn = random_number() & 1;

			if (block.live == 0)
				continue;
			block.swap();
			while (live > 0 && run_on(block_threads, in_turn))
				any = true;
			if (live == 0)
			{
				check_shared_memory(shared_bytes);
				left--;
			}
			block.swap();
		}
	}
}

[[maybe_unused]] static void
run_grid(unsigned blocks, unsigned block_threads, size_t shared_bytes, bool together, std::function<void()> kernel)
{
	std::vector<unsigned> order(blocks);

	body = &kernel;
	threads = (int) block_threads;
	block_size = {block_threads, 1, 1};
	grid_size = {blocks, 1, 1};
	launches++;
	while (stacks.size() < block_threads * (together ? blocks : 1))
		stacks.push_back((char *) aligned_alloc(64, STACK_BYTES));
	fibers.resize(block_threads);
	warps.resize(block_threads / WARP);
	for (unsigned b = 0; b < blocks; b++)
		order[b] = b;
	for (unsigned b = blocks; b > 1; b--)
		std::swap(order[b - 1], order[random_number() % b]);
	if (together)
	{
		run_together(order, block_threads, shared_bytes);
		return;
	}
	for (unsigned b : order)
	{
		block_index = {b, 0, 0};
		poison_shared_memory(shared_bytes);
		run_block(block_threads);
		check_shared_memory(shared_bytes);
	}
}

struct thread_index
{
	struct coordinate
	{
		operator unsigned() const
		{
			return (unsigned) current;
		}
	}			x;
};

template<typename T>
static inline uint64_t
to_word(T value)
{
	uint64_t	word = 0;

	memcpy(&word, &value, sizeof(value));
	return word;
}

template<typename T>
static inline T
from_word(uint64_t word)
{
	T			value;

	memcpy(&value, &word, sizeof(value));
	return value;
}
}								/* namespace emulator */

static emulator::thread_index threadIdx;
#define blockIdx emulator::block_index
#define blockDim emulator::block_size
#define gridDim emulator::grid_size

#define SHARED_MEMORY(name) \
	unsigned char *name = emulator::shared_memory.data() + (64 - (uintptr_t) emulator::shared_memory.data() % 64) % 64

static inline void
__syncthreads()
{
	emulator::meet_block(0);
}

static inline int
__syncthreads_or(int predicate)
{
	return emulator::meet_block(predicate != 0);
}

static inline void
__syncwarp(unsigned = ~0u)
{
	emulator::meet_warp(0);
}

static inline int
__all_sync(unsigned, int predicate)
{
	const uint64_t *given = emulator::meet_warp(predicate != 0);
	int			all = 1;

	for (int lane = 0; lane < emulator::WARP; lane++)
		all &= (int) given[lane];
	return all;
}

static inline unsigned
__ballot_sync(unsigned, int predicate)
{
	const uint64_t *given = emulator::meet_warp(predicate != 0);
	unsigned	bits = 0;

	for (int lane = 0; lane < emulator::WARP; lane++)
		bits |= (unsigned) given[lane] << lane;
	return bits;
}

static inline unsigned
__match_any_sync(unsigned, unsigned value)
{
	const uint64_t *given = emulator::meet_warp(value);
	unsigned	peers = 0;

	for (int lane = 0; lane < emulator::WARP; lane++)
		peers |= (unsigned) (given[lane] == value) << lane;
	return peers;
}

static inline int
__popc(unsigned word)
{
	return __builtin_popcount(word);
}

static inline int
__ffs(int word)
{
	return __builtin_ffs(word);
}

template<typename T>
static inline T
__shfl_sync(unsigned, T value, int lane)
{
	return emulator::from_word<T>(emulator::meet_warp(emulator::to_word(value))[lane % emulator::WARP]);
}

template<typename T>
static inline T
__shfl_up_sync(unsigned, T value, unsigned distance)
{
	int			lane = emulator::current % emulator::WARP;
	const uint64_t *given = emulator::meet_warp(emulator::to_word(value));

	return lane < (int) distance ? value : emulator::from_word<T>(given[lane - distance]);
}

template<typename T>
static inline T
__shfl_xor_sync(unsigned, T value, unsigned distance)
{
	const uint64_t *given = emulator::meet_warp(emulator::to_word(value));

	return emulator::from_word<T>(given[(emulator::current % emulator::WARP) ^ distance]);
}

template<typename T>
static inline T
atomicAdd(T *at, T value)
{
	T			before = *at;

	*at = before + value;
	return before;
}

template<typename T>
static inline T
atomicMax(T *at, T value)
{
	T			before = *at;

	*at = value > before ? value : before;
	return before;
}

template<typename T>
static inline T
atomicOr(T *at, T value)
{
	T			before = *at;

	*at = before | value;
	return before;
}

template<typename T>
static inline T
__ldcs(const T *from)
{
	return *from;
}

template<typename T>
static inline void
__stcs(T *to, T x)
{
	*to = x;
}

static inline cudaError_t
cudaGetDevice(int *ordinal)
{
	*ordinal = 0;
	return cudaSuccess;
}

static inline cudaError_t
cudaDeviceGetAttribute(int *value, int attribute, int)
{
	*value = attribute == cudaDevAttrMultiProcessorCount ? emulator::the_chip.processors : emulator::the_chip.shared_bytes;
	return cudaSuccess;
}

enum cudaMemcpyKind
{
	cudaMemcpyHostToDevice
};

static inline cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t)
{
	memcpy(to, from, bytes);
	return cudaSuccess;
}

static inline cudaError_t
cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t)
{
	memset(memory, value, bytes);
	return cudaSuccess;
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes, cudaStream_t,
	   Arguments... arguments)
{
	if (threads % emulator::WARP != 0 || threads > 1024 || blocks == 0 ||
		shared_bytes > (size_t) emulator::the_chip.shared_bytes)
		return cudaErrorInvalidValue;
	if (emulator::before_launch)
		emulator::before_launch((const void *) kernel);
	emulator::waits = 0;
	emulator::run_grid(blocks, threads, shared_bytes, emulator::together, [=] { kernel(arguments...); });
	if (emulator::early && emulator::waits != (uint64_t) blocks * threads)
		emulator::fail("a kernel that may start early does not wait, once in each thread");
	return cudaSuccess;
}

struct early_stream
{
	cudaStream_t stream;
	bool		early;
};

static inline void
await_end_of_kernel_ahead(void)
{
	emulator::waits++;
}

static inline void
await_kernel_ahead(void)
{
	await_end_of_kernel_ahead();
}

static inline cudaError_t
find_early_launches(const void *, bool *early)
{
	*early = false;
	return cudaSuccess;
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
	   const early_stream &stream, Arguments... arguments)
{
	cudaError_t error;

	emulator::early = true;
	error = launch(kernel, blocks, threads, shared_bytes, stream.stream, arguments...);
	emulator::early = false;
	return error;
}

static inline void
await_all_blocks(uint32_t *arrived, uint32_t turn)
{
	__syncthreads();
	if (threadIdx.x == 0)
	{
		atomicAdd(arrived, 1u);
		emulator::progress = true;
		while (*(volatile uint32_t *) arrived < turn * gridDim.x)
			emulator::yield();
	}
	__syncthreads();
}

template<typename... Parameters, typename... Arguments>
static cudaError_t
launch_together(void (*kernel) (Parameters...), unsigned blocks, unsigned threads,
				size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
{
	cudaError_t error;

	emulator::together = true;
	error = launch(kernel, blocks, threads, shared_bytes, stream, arguments...);
	emulator::together = false;
	return error;
}

#endif							/* GSORT_EMULATOR_H */
