/*
 * rig_run.h
 *	  What rig_run.c, which drives runs, and rig_expect.c, which knows what must come
 *	  back, share.
 */
#ifndef RIG_RUN_H
#define RIG_RUN_H

#include "rig.h"

#define FEEDERS		8
#define PATTERN		0xa5		/* fills a buffer before each fetch */

/* The window or chunk that a device should make. */
typedef struct expected_window
{
	gsort_window window;
	uint32_t	row;			/* where its first byte comes from */
	uint64_t	from_unit;
} expected_window;

typedef struct run_feeder
{
	uint32_t	row;
	uint64_t	next_unit;
	uint64_t	missing_units;
} run_feeder;

struct run
{
	rig		   *rig;
	const input *in;			/* what is fed now: the whole input, or the slice */
	const input *whole;
	input	   *slice;			/* with options.run_rows */
	int			run_number;		/* of the slice */
	uint32_t	rows_before;	/* of the slices before it */
	gsort_column_stats stats[GSORT_MAX_KEY_COLUMNS];	/* of all slices so far */
	run_options options;
	gsort_job  *job;
	run_phase	phase;
	int			steps;

	uint32_t	next_row;
	run_feeder	feeders[FEEDERS];
	int			open_rows;
	uint64_t	granted_rows;
	uint64_t	granted_units;
	uint64_t	fed_units;
	uint64_t	most_granted_bytes;
	int			corrupted;		/* the next cut must end as BAD_DATA */
	int			impossible;		/* an append must end so */
	gsort_column_stats claims[GSORT_MAX_KEY_COLUMNS];	/* the chunks' of this run */
	int			nomem;
	gsort_cut_how how;

	expected_window *windows;	/* as expected of the run, however cut */
	uint64_t	n_windows;
	uint64_t   *fetch_sequence;
	uint64_t	next_fetch;
	uint64_t	fetched;

	int			held[RIG_BUFFERS];
	uint64_t	fetching[RIG_BUFFERS];
	int			n_held;
};

/* What the windows of a sorted run, or of the merge order, must be: makes r->windows. */
void		run_expect_sorted(run *r);
void		run_expect_order(run *r);

/* The directory as r->windows say. */
void		run_check_directory(run *r);

/* The bytes of a window, by the phase that the run is in. */
void		run_check_window(run *r, uint64_t number, const uint64_t *data);

#endif							/* RIG_RUN_H */
