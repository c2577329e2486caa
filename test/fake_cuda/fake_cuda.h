/*
 * fake_cuda.h
 *	  A CUDA runtime without a GPU, for tests of the host's actions around the
 *	  device's work.
 *
 * In:  the CUDA runtime calls of the library; failures that a test injects.
 * Out: copies, fills, events and host functions in CUDA's order; a record of
 *	    violations.
 *
 * Device memory is host memory, and kernels have no effect.  Each stream is a
 * queue, which advances by random steps at every event query, and to its end at
 * every wait.  Work is thus in progress at nearly any time.  Threads call one
 * at a time.  Each has its own current device, and streams, events and memory
 * belong to one device, as in CUDA.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define FAKE_DEVICES	2

typedef struct fake_cuda
{
	uint64_t	random_state;

	/* Set by the test. */
	/* number, from 1, of the call to refuse among those that enqueue or make
	 * something; 0: none */
	uint64_t	refuse_at;
	uint64_t	refuse_for;		/* number of consecutive calls to refuse, from that one on */
	int			pin_fails;
	/* The device is lost: calls that wait or free fail.  Host functions are the
	 * only pending operations that still run. */
	int			lost;
	/* runs once, in the middle of the next call that fills memory */
	void		(*meanwhile) (void);
	/* Copies of answer_bytes to the host deliver this. answer_bytes 0: no copy
	 * does. */
	const void *answer;
	size_t		answer_bytes;
	uint64_t	reserved_bytes; /* GPU memory reserved by the pool */
	uint64_t	taken_bytes;	/* GPU memory taken by other programs */

	/* Observed. */
	uint64_t	calls;			/* calls that enqueue or make something */
	uint64_t	launches;
	uint64_t	blocking_calls;
	uint64_t	allocated;		/* arrays in device memory */
	uint64_t	freed_in_use;	/* arrays freed while work was in progress */
	uint64_t	most_trimmed;	/* maximum bytes trimmed by one call */
	uint64_t	trims_of_busy;	/* trims before the freeing stream had passed */
	/* waits for the descriptor without pending work that would make it
	 * readable */
	uint64_t	silent_waits;
	uint64_t	mixed_devices;	/* calls with streams, events or memory of different devices */
	int			loads_eagerly;	/* eager loading was set before its first call */
} fake_cuda;

extern fake_cuda fake;

/* Takes the error that a call has left behind; 0 for none. */
int			fake_left_error(void);

/* True if pending work accesses this host memory. */
int			fake_is_in_use(const void *memory, size_t bytes);

/* Completes all pending work. */
void		fake_finish_all(void);

#ifdef __cplusplus
}
#endif

#endif							/* FAKE_CUDA_H */
