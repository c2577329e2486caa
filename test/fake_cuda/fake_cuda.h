/*
 * fake_cuda.h
 *	  A CUDA runtime without a GPU, for tests of what the host does around the device's work.
 *
 * In:  the calls of CUDA's runtime that the library makes; what a test wants to go wrong.
 * Out: copies, fills, events and host functions as CUDA orders them; what was done wrongly.
 *
 * Device memory is the host's, and kernels do nothing.  Each stream is a queue, which goes on by random
 * steps whenever somebody asks for an event, and to its end when somebody waits: so work is still
 * under way at nearly any time.  Of several threads one calls at a time; each has its own current device, and
 * streams, events and memory belong to one device, as CUDA's do.
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

	/* wanted by the test */
	uint64_t	refuse_at;		/* this call that enqueues or makes something, counted from 1, is refused; 0: none */
	uint64_t	refuse_for;		/* and those behind it, so many in all */
	int			pin_fails;
	int			lost;			/* the device: calls that wait or free fail, and of what is under way only host functions
								 * still run */
	void		(*meanwhile) (void);	/* runs once, in the midst of the next call that fills memory */
	const void *answer;			/* copies to the host of answer_bytes deliver this; answer_bytes 0: none does */
	size_t		answer_bytes;
	uint64_t	reserved_bytes; /* that the pool has of the GPU's memory */
	uint64_t	taken_bytes;	/* that other programs have of it */

	/* seen */
	uint64_t	calls;			/* that enqueue or make something */
	uint64_t	launches;
	uint64_t	blocking_calls;
	uint64_t	allocated;		/* arrays in device memory */
	uint64_t	freed_in_use;	/* arrays that were freed while work was under way */
	uint64_t	most_trimmed;	/* bytes, by one call */
	uint64_t	trims_of_busy;	/* while the stream that frees had not passed */
	uint64_t	silent_waits;	/* for the descriptor, with nothing under way that would make it readable */
	uint64_t	mixed_devices;	/* calls that were given streams, events or memory of different devices */
	int			loads_eagerly;	/* it was told so before its first call */
} fake_cuda;

extern fake_cuda fake;

/* Takes the error that a call has left behind, 0 for none. */
int			fake_left_error(void);

/* Does work under way read or write this memory of the host? */
int			fake_is_in_use(const void *memory, size_t bytes);

/* All that is under way ends. */
void		fake_finish_all(void);

#ifdef __cplusplus
}
#endif

#endif							/* FAKE_CUDA_H */
