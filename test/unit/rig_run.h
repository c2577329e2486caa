/*
 * rig_run.h
 *	  The interface between rig_run.c, which drives runs, and rig_expect.c,
 *	  which computes the expected output.
 */
#ifndef RIG_RUN_H
#define RIG_RUN_H

#include "rig.h"

#define FEEDERS		8
#define PATTERN		0xa5		/* fills a buffer before each fetch */

/* The block or chunk that a device should make. */
typedef struct expected_block
{
	gsort_block	block;
	uint32_t	row;			/* source of its first byte */
	uint64_t	from_unit;
} expected_block;

typedef struct run_feeder
{
	uint32_t	row;
	uint64_t	next_unit;
	uint64_t	missing_units;
} run_feeder;

struct run
{
	rig		   *rig;
	const input *in;			/* the rows being fed: the whole input, or the slice */
	const input *whole;
	input	   *slice;			/* used with options.run_rows */
	int			run_number;		/* number of the slice */
	uint32_t	rows_before;	/* rows of earlier slices */
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];	/* statistics of all slices so far */
	run_options options;
	gsort_job  *job;
	run_phase	phase;
	int			steps;

	uint32_t	next_row;
	run_feeder	feeders[FEEDERS];
	int			open_rows;
	uint64_t	reserved_rows;
	uint64_t	reserved_units;
	uint64_t	fed_units;
	uint64_t	most_reserved_bytes;
	int			corrupted;		/* the next finish must end as BAD_DATA */
	int			impossible;		/* an append must end as BAD_DATA */
	/* statistics claimed by the chunks of this run */
	gsort_column_stats claims[GSORT_MAX_KEY_COLUMNS];
	int			nomem;
	gsort_finish_how how;

	expected_block *blocks;		/* expected blocks of the run, however it is finished */
	uint64_t	n_blocks;
	uint64_t   *fetch_sequence;
	uint64_t	next_fetch;
	uint64_t	fetched;

	int			held[RIG_BUFFERS];
	uint64_t	fetching[RIG_BUFFERS];
	int			n_held;
};

/* Computes the blocks of a sorted run, or of the merge order, in r->blocks. */
void		run_expect_sorted(run *r);
void		run_expect_order(run *r);

/* Compares the directory with r->blocks. */
void		run_check_directory(run *r);

/* Checks the bytes of a block, by the phase of the run. */
void		run_check_block(run *r, uint64_t number, const uint64_t *data);

#endif							/* RIG_RUN_H */
