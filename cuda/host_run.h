/*
 * host_run.h
 *	  The rows of one job on the host device, and the work on them that threads
 *	  do: taking chunks in, sorting, writing windows.
 *
 * In:  chunks, placed by gsort.c; a key plan.
 * Out: where the sorted run's windows begin; the bytes of any of them.
 *
 * Rows lie in extents, row words and keys in key extents, until the sort leaves
 * the row words in sorted order and the keys are no longer needed.
 *
 * The caller of gsort.h makes the extents and gives the keys back, the threads
 * do everything else; gsort_host.c sees to it that one run is taken in, sorted
 * and read in turns, and that only reading happens on several threads at once.
 */
#ifndef GSORT_HOST_RUN_H
#define GSORT_HOST_RUN_H

#include <stdatomic.h>

#include "gsort_device.h"
#include "host_memory.h"
#include "host_pool.h"

#define HOST_EXTENTS_MAX		(GSORT_RUN_BYTES_MAX / GSORT_EXTENT_BYTES)
#define HOST_KEY_EXTENTS_MAX	((GSORT_RUN_ROWS_MAX + 1ull) / GSORT_KEY_EXTENT_ROWS)

typedef struct host_run
{
	host_memory *memory;
	host_account account;
	uint32_t	columns;
	uint32_t	null_mask;
	uint32_t	window_bytes;
	int			with_ties;

	uint64_t  **extents;		/* room for HOST_EXTENTS_MAX, so that it never moves */
	char	  **key_extents;	/* room for HOST_KEY_EXTENTS_MAX */
	uint64_t	n_extents;
	uint64_t	n_key_extents;
	int			bad_data;		/* a chunk's row offsets were wrong */

	uint64_t	rows;			/* of the sorted run */
	uint64_t   *row_words;		/* [rows] in sorted order; NULL unless sorted */
	uint64_t   *tie_bits;		/* with_ties only */
} host_run;

/* What the append of a chunk needs, copied from it. */
typedef struct host_chunk
{
	uint32_t	rows;
	uint64_t	data_units;
	uint64_t	more_units;
	uint64_t	first_unit;		/* in the arena */
	uint64_t	first_row;
	const uint64_t *data;
	const uint32_t *row_start;
	const uint64_t *keys;
	const uint32_t *nulls;
} host_chunk;

/* Where a sorted run's windows begin; the arrays are malloc'd, the receiver's. */
typedef struct host_begins
{
	uint32_t   *rows;
	uint64_t   *units;
	uint64_t	n;
	uint64_t	total_units;
} host_begins;

/* Bytes of one window, and where they come from. */
typedef struct host_window
{
	uint64_t	first_row;
	uint32_t	rows;			/* the rows that begin in it */
	uint64_t	units;
	uint64_t	first_unit;		/* is_stretch: in the arena, or in the row */
	int			is_stretch;		/* AS_FED, or a piece of a row: one stretch of bytes */
	int			of_row;			/* is_stretch: first_unit counts from first_row's begin */
} host_window;

/* 0: out of memory. */
int			host_run_init(host_run *run, host_memory *memory, const gsort_job_options *options);

/* Makes extents for so many rows and units in all; 0: out of memory, what was made stays. */
int			host_run_reserve(host_run *run, uint64_t rows, uint64_t units, uint64_t limit_bytes);

/* Memory for such a run at its peak. */
uint64_t	host_run_bytes(const gsort_job_options *options, uint64_t rows, uint64_t units);

/* Gives the key extents back. */
void		host_run_drop_keys(host_run *run);

/* Gives what a sort made back: the run is as it was fed. */
void		host_run_drop_order(host_run *run);

/* A second call does nothing. */
void		host_run_free(host_run *run);

void		host_run_append(host_run *run, const host_chunk *chunk);

/* NOMEM leaves the run as it was.  *cancel not 0: ends soon, any answer. */
gsort_status host_run_sort(host_run *run, host_pool *pool, const key_plan *plan, uint64_t rows,
						   uint64_t limit_bytes, const atomic_int *cancel, host_begins *begins);

void		host_run_fetch(const host_run *run, const host_window *window, uint64_t *to);

#endif							/* GSORT_HOST_RUN_H */
