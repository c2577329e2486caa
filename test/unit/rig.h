/*
 * rig.h
 *	  What the tests of gsort.h share: the device under test with its pinned
 *	  buffers, made-up inputs with a reference order, and runs, which drive one
 *	  job each from opening to closing and check all that comes back.
 *
 * Everything runs on the one thread of the test program.
 */
#ifndef RIG_H
#define RIG_H

#include <stdint.h>
#include <stdio.h>

#include "api/gsort_device.h"

#define RIG_BUFFERS		16
#define RIG_CHUNK_ROWS	65536	/* at most, in one chunk */

/* --- counting ------------------------------------------------------------- */

extern int	checks_passed;
extern int	checks_failed;
extern const char *current_test;

/* Counts one check, and says what failed. */
int			check_at(int ok, const char *file, int line, const char *what);

#define CHECK(condition)	check_at((condition) != 0, __FILE__, __LINE__, #condition)

/* --- random numbers ------------------------------------------------------- */

extern uint64_t random_state;

uint64_t	mix64(uint64_t x);
uint64_t	random64(void);
uint64_t	random_below(uint64_t limit);

/* --- device ----------------------------------------------------------------- */

typedef struct rig_buffer
{
	struct rig_buffer *next_free;
	uint64_t   *data;			/* GSORT_WINDOW_BYTES_MAX */
	uint64_t   *keys;			/* RIG_CHUNK_ROWS rows of all columns */
	uint32_t   *row_start;
	uint32_t   *nulls;
} rig_buffer;

typedef struct rig
{
	gsort_device *device;
	gsort_kind	kind;
	uint64_t	budget_bytes;
	void	   *arena;			/* all buffers' memory */
	size_t		arena_bytes;
	rig_buffer	buffers[RIG_BUFFERS];
	rig_buffer *free_buffers;
} rig;

/* The GPU under test. */
extern int	rig_ordinal;

/* 0: no such device; says why.  It is opened, and memory pinned, by threads of their own. */
int			rig_open(rig *rig, gsort_kind kind, uint64_t budget_bytes);
void		rig_close(rig *rig);

/* --- points at which something fails --------------------------------------------- */

/* Not 0: a sweep tries no new point after so long; on a GPU each takes a job, or a device. */
extern uint32_t sweep_limit_ms;

typedef struct sweep
{
	uint64_t	points;			/* 1 to points are there to be tried */
	uint64_t	tried;
	uint64_t	last;			/* tried */
	uint64_t	step;			/* to the next, round and round: without a common divisor */
	uint64_t	began_ms;
} sweep;

void		sweep_begin(sweep *s, uint64_t points);

/* The next point, 0 when all were tried or the time is up.  However early that is, those tried lie evenly. */
uint64_t	sweep_next(sweep *s);

/* Says what was tried, and how long it took. */
void		sweep_end(const sweep *s);

/* --- inputs ------------------------------------------------------------------ */

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
	uint64_t	seed;			/* of the rows' bytes */
	uint32_t	n;
	uint32_t	columns;
	uint32_t	null_mask;
	uint32_t	null_first_mask;
	uint64_t   *keys;			/* [n][columns] */
	uint32_t   *nulls;			/* [n] */
	uint32_t   *units;			/* [n] lengths */
	uint32_t   *order;			/* [n] rows in the reference order */
	uint64_t	total_units;
} input;

/* Not 0: for tools that make every access slow, large inputs have no more rows than this. */
extern uint32_t rows_limit;

/* At most n and the limit. */
uint32_t	limited_rows(uint32_t n);

/* Lengths: min_units to max_units; every long_every-th row (0: none) has up to long_units. */
input	   *input_make(uint32_t n, uint32_t columns, uint32_t null_mask, key_shape shape,
					   uint32_t min_units, uint32_t max_units,
					   uint32_t long_every, uint32_t long_units);
void		input_free(input *in);

/* Some rows of another input, as one of their own. */
input	   *input_slice(const input *in, uint32_t first, uint32_t n);

/* The same with its order made again, after its keys were changed; the old one is freed. */
input	   *input_reordered(input *in);

/* Unit number unit of a row's bytes. */
uint64_t	input_unit(const input *in, uint32_t row, uint64_t unit);

/* Orders two rows by their columns alone. */
int			input_compare(const input *in, uint32_t a, uint32_t b);

/* --- runs -------------------------------------------------------------------- */

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

/* What a chunk's statistics say of one of its columns.  Those above LIES_THAT_CAN_BE may be true
 * of some column, which the device finds out by the keys; the others never are. */
typedef enum lie
{
	NO_LIE,
	LIE_WIDE,					/* harmless: any value and a NULL */
	LIE_MIN,					/* the least value is above that of the keys */
	LIE_MAX,
	LIE_ANY,					/* bits that keys have never occur */
	LIE_ALL,					/* bits that keys lack are always there */
	LIE_EQUAL,					/* all keys are the first one's */
	LIE_NO_VALUE,				/* there are NULLs at most */
	LIE_NO_NULL,
	LIE_NULLS,					/* harmless: there is one */
	LIES_THAT_CAN_BE,
	LIE_MIN_ABOVE_MAX,
	LIE_FEWER_BITS,				/* the greatest value has bits that no value has */
	LIE_MORE_BITS,				/* the least value lacks bits that all have */
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
	uint32_t	window_bytes;
	int			ties;			/* GSORT_TIES */
	uint32_t	open_mask;		/* with these, as gsort_job_options has them */
	uint64_t	open_bits[GSORT_MAX_KEY_COLUMNS];
	uint64_t	open_code[GSORT_MAX_KEY_COLUMNS];
	int			feeders;		/* 0: one */
	uint32_t	chunk_rows;		/* at most; 0: as many as fit */
	fetch_order order;
	int			in_flight;		/* fetches at once; 0: one */
	corruption	corrupt;		/* in some chunk with two rows or more */
	lie			lie;			/* of one column, in every chunk of one run or in some */
	uint32_t	lie_column;
	int			lie_run;		/* number of the run */
	int			lie_at_times;	/* in some chunks only */
	int		   *lies_found;		/* counts jobs that ended as BAD_DATA */
	int			close_after;	/* steps until the job is closed early; 0: at the end */
	int			grant_all;		/* ask for all room at once, not bit by bit */
	int			nomem_is_fine;	/* a refused grant or cut ends the run quietly */
	int			again_after_nomem;	/* a NOMEM of the cut is wanted, once; it is cut again */
	/* several runs of the device: */
	const uint32_t *run_rows;	/* [run_count] rows of each; NULL: one, cut SORTED */
	int			run_count;
	int			last_alone;		/* the last one is cut SORTED, and nothing is merged */
	int			keys_may_drop;	/* for want of memory */
} run_options;

typedef enum run_phase
{
	RUN_FEEDING,
	RUN_CUTTING,
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
 * how many of them met a NOMEM or lost their keys where the options allow that. */
int			run_all(rig *rig, run **runs, int n);

/* One run from start to end. */
int			run_one(rig *rig, const input *in, const run_options *options);

/* --- groups of tests ----------------------------------------------------------- */

void		test_key_plan(void);
void		test_window_cut(void);
void		test_row_word(void);
void		test_cuda_rules(void);
void		test_jobs(rig *rig);
void		test_open_values(rig *rig);
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
