/*
 * rig.h
 *	  The common base of the tests of gsort.h: the device under test with its
 *	  pinned buffers, synthetic inputs with a reference order, and runs.  A run
 *	  drives one job from opening to closing and checks all of its output.
 *
 * Everything runs on the one thread of the test program.
 */
#ifndef RIG_H
#define RIG_H

#include <stdint.h>
#include <stdio.h>

#include "api/gsort_device.h"

#define RIG_BUFFERS		16
#define RIG_CHUNK_ROWS	65536	/* maximum rows of one chunk */

/* --- counting ------------------------------------------------------------- */

extern int	checks_passed;
extern int	checks_failed;
extern const char *current_test;

/* Counts one check, and reports a failure. */
int			check_at(int ok, const char *file, int line, const char *what);

#define CHECK(condition)	check_at((condition) != 0, __FILE__, __LINE__, #condition)

/* --- random numbers ------------------------------------------------------- */

extern uint64_t random_state;

uint64_t	mix64(uint64_t x);
uint64_t	random64(void);
uint64_t	random_below(uint64_t limit);

/* --- device --------------------------------------------------------------- */

typedef struct rig_buffer
{
	struct rig_buffer *next_free;
	uint64_t   *data;			/* GSORT_BLOCK_BYTES_MAX long */
	uint64_t   *keys;			/* RIG_CHUNK_ROWS rows of all columns */
	uint32_t   *row_start;
	uint32_t   *nulls;
} rig_buffer;

typedef struct rig
{
	gsort_device *device;
	gsort_kind	kind;
	uint64_t	budget_bytes;
	void	   *arena;			/* the memory of all buffers */
	size_t		arena_bytes;
	rig_buffer	buffers[RIG_BUFFERS];
	rig_buffer *free_buffers;
} rig;

/* The GPU under test. */
extern int	rig_ordinal;

/* Opens the device and pins memory, in separate threads.  0: no such device;
 * reports the reason. */
int			rig_open(rig *rig, gsort_kind kind, uint64_t budget_bytes);
void		rig_close(rig *rig);

/* A monotonic clock. */
uint64_t	rig_now_ms(void);

/* --- points at which something fails -------------------------------------- */

/* Not 0: a sweep begins no new point after this time.  On a GPU each point
 * takes a job, or a device. */
extern uint32_t sweep_limit_ms;

typedef struct sweep
{
	uint64_t	points;			/* the points are 1 to points */
	uint64_t	tried;
	uint64_t	last;			/* the last point tried */
	uint64_t	step;			/* distance to the next point, modulo points; coprime to points */
	uint64_t	began_ms;
} sweep;

void		sweep_begin(sweep *s, uint64_t points);

/* The next point; 0 if all were tried or the time is up.  The points tried so
 * far are evenly distributed at any time. */
uint64_t	sweep_next(sweep *s);

/* Reports the points tried, and the time they took. */
void		sweep_end(const sweep *s);

/* --- inputs --------------------------------------------------------------- */

typedef enum key_shape
{
	KEYS_UNIFORM,
	KEYS_FEW,
	KEYS_ASCENDING,
	KEYS_DESCENDING,
	KEYS_EQUAL,
	KEYS_OUTLIER,
	KEYS_SPARSE_BITS,
	KEYS_EXTREMES,
	KEYS_NARROW,
	KEY_SHAPES
} key_shape;

typedef struct input
{
	uint64_t	seed;			/* seed of the rows' bytes */
	uint32_t	n;
	uint32_t	columns;
	uint32_t	null_mask;
	uint32_t	null_first_mask;
	uint64_t   *keys;			/* [n][columns] */
	uint32_t   *nulls;			/* [n] */
	uint32_t   *units;			/* [n] row lengths */
	uint32_t   *order;			/* [n] rows in the reference order */
	uint64_t	total_units;
} input;

/* Not 0: upper limit of the rows in large inputs, for tools that slow every
 * access down. */
extern uint32_t rows_limit;

/* The lesser of n and the limit. */
uint32_t	limited_rows(uint32_t n);

/* Lengths: min_units to max_units; every long_every-th row (0: none) has up to
 * long_units. */
input	   *input_make(uint32_t n, uint32_t columns, uint32_t null_mask, key_shape shape,
					   uint32_t min_units, uint32_t max_units,
					   uint32_t long_every, uint32_t long_units);
void		input_free(input *in);

/* Copies a range of rows of another input into a new one. */
input	   *input_slice(const input *in, uint32_t first, uint32_t n);

/* Makes the order again after a change of the keys, in a new input; frees the
 * old one. */
input	   *input_reordered(input *in);

/* Unit number unit of a row's bytes. */
uint64_t	input_unit(const input *in, uint32_t row, uint64_t unit);

/* Compares two rows by their columns alone. */
int			input_compare(const input *in, uint32_t a, uint32_t b);

/* --- runs ----------------------------------------------------------------- */

typedef enum corruption
{
	CORRUPT_NOTHING,
	CORRUPT_FIRST_START,
	CORRUPT_FALLING,
	CORRUPT_EQUAL,
	CORRUPT_RANGE,
	CORRUPT_RANGE_FAR,
	CORRUPTIONS
} corruption;

/* A deviation of a chunk's statistics for one column.  Lies above
 * LIES_THAT_CAN_BE are consistent in themselves, and the device detects them by
 * the keys.  All other lies are inconsistent. */
typedef enum lie
{
	NO_LIE,
	LIE_WIDE,					/* harmless: admits any value and a NULL */
	LIE_MIN,					/* the least value is above that of the keys */
	LIE_MAX,
	LIE_ANY,					/* claims bits that keys never have */
	LIE_ALL,					/* claims that keys always have bits that they lack */
	LIE_EQUAL,					/* claims that all keys equal the first one */
	LIE_NO_VALUE,				/* claims that there are no values */
	LIE_NO_NULL,
	LIE_NULLS,					/* harmless: claims one NULL */
	LIES_THAT_CAN_BE,
	LIE_MIN_ABOVE_MAX,
	LIE_FEWER_BITS,				/* the greatest value has bits outside any */
	LIE_MORE_BITS,				/* the least value lacks bits of all */
	LIE_TOO_MANY_NULLS,
	LIES
} lie;

typedef enum fetch_order
{
	FETCH_FORWARD,
	FETCH_BACKWARD,
	FETCH_RANDOM
} fetch_order;

typedef struct run_options
{
	uint32_t	block_bytes;
	int			ties;			/* GSORT_TIES */
	/* together with inexact_bits and inexact_code, as in gsort_job_options */
	uint32_t	inexact_mask;
	uint64_t	inexact_bits[GSORT_MAX_KEY_COLUMNS];
	uint64_t	inexact_code[GSORT_MAX_KEY_COLUMNS];
	int			feeders;		/* 0: one */
	uint32_t	chunk_rows;		/* maximum; 0: as many as fit */
	fetch_order order;
	int			in_flight;		/* concurrent fetches; 0: one */
	corruption	corrupt;		/* corrupts one chunk of at least two rows */
	lie			lie;			/* affects one column, in all or some chunks of one run */
	uint32_t	lie_column;
	int			lie_run;		/* number of the affected run */
	int			lie_at_times;	/* affects some chunks only */
	int		   *lies_found;		/* counts jobs that ended as BAD_DATA */
	int			close_after;	/* number of steps before the job is closed early; 0: at the end */
	int			reserve_all;	/* requests all room at once, not step by step */
	int			nomem_is_fine;	/* a refused reservation or finish ends the run without a failure */
	int			again_after_nomem;	/* expects one NOMEM of the finish, then finishes again */
	/* Several runs of the device: */
	const uint32_t *run_rows;	/* [run_count] rows of each; NULL: one run, finished SORTED */
	int			run_count;
	int			last_alone;		/* finishes the last run SORTED, and merges nothing */
	int			keys_may_drop;	/* for lack of memory */
} run_options;

typedef enum run_phase
{
	RUN_FEEDING,
	RUN_FINISHING,
	RUN_FETCHING,
	RUN_ENDING,
	RUN_MERGING,
	RUN_FETCHING_ORDER,
	RUN_CLOSING,
	RUN_CLOSED
} run_phase;

typedef struct run run;

run		   *run_start(rig *rig, const input *in, const run_options *options);

/* Drives runs to their ends, interleaved at random, and frees them.  Returns
 * the number of runs that met a NOMEM or lost their keys, where the options
 * allow this. */
int			run_all(rig *rig, run **runs, int n);

/* Drives one run from start to end. */
int			run_one(rig *rig, const input *in, const run_options *options);

/* --- groups of tests ------------------------------------------------------ */

void		test_key_plan(void);
void		test_block_cut(void);
void		test_row_word(void);
void		test_cuda_rules(void);
void		test_jobs(rig *rig);
void		test_inexact_values(rig *rig);
void		test_segments(rig *rig);
void		test_host(void);
void		test_runs(rig *rig);
void		test_lies(rig *rig);
void		test_failures(gsort_kind kind);
void		test_pairs(rig *rig);
int			test_lost(gsort_kind kind);
void		test_lost_at(gsort_kind kind);
int			time_merge(gsort_kind kind, uint64_t rows);
int			time_calls(gsort_kind kind, uint64_t rows);

#endif							/* RIG_H */
