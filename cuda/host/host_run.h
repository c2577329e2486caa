/*
 * host_run.h
 *	  The rows of one job on the host device, and their memory.
 *
 * In:  chunks, placed by cuda/api.
 * Out: rows in extents of the arena; row words and keys in key extents.
 *
 * host_sort.c turns these into row words in sorted order, and then the keys are
 * no longer needed.  To retain sorted keys (host_merge.c), the sort also keeps
 * the order of the rows. Fetches write blocks.
 *
 * The caller of gsort.h makes the extents and releases the keys; the threads do
 * everything else. host_ops.c serializes feeding, sorting and reading of one
 * run.  Several threads may append chunks at once, because each chunk has its
 * own rows and its own stretch of the arena.  Several threads may also read at
 * once.
 */
#ifndef GSORT_HOST_RUN_H
#define GSORT_HOST_RUN_H

#include <stdatomic.h>

#include "api/gsort_device.h"
#include "host/host_memory.h"

/* Distance of prefetches when row words or keys are read in sorted order. */
#define ROWS_AHEAD		24

typedef struct host_run
{
	host_memory *memory;
	host_account account;
	uint32_t	columns;
	uint32_t	null_mask;
	uint32_t	block_bytes;
	int			with_ties;

	uint64_t  **extents;		/* sized for the largest run, so that it never moves */
	char	  **key_extents;	/* likewise */
	uint64_t	n_extents;
	uint64_t	n_key_extents;
	atomic_uint bad_data;		/* gsort_bad_data: a chunk contradicted itself */

	uint64_t	rows;			/* number of rows of the sorted run */
	uint64_t   *row_words;		/* [rows] in sorted order; NULL until sorted */
	uint32_t   *ties;			/* tie bits; only if with_ties */
	/* [rows] row numbers in sorted order, if requested; NULL: the order as
	 * fed */
	uint32_t   *order;
} host_run;

typedef struct host_chunk
{
	gsort_chunk chunk;
	uint64_t	first_unit;		/* place in the arena */
	uint64_t	first_row;
} host_chunk;

/* 0: out of memory. */
int			host_run_init(host_run *run, host_memory *memory, const gsort_job_options *options);

/* Makes extents for that many rows and units in total.  0: out of memory;
 * extents already made stay. */
int			host_run_reserve(host_run *run, uint64_t rows, uint64_t units, uint64_t limit_bytes);

void		host_run_drop_keys(host_run *run);

/* Releases all that no fetch of a sorted run needs: keys, and extents that its
 * units of rows do not reach. */
void		host_run_keep_output(host_run *run, uint64_t units);

/* Releases the output of a sort: the run is as it was fed. */
void		host_run_drop_order(host_run *run);

/* Releases everything that blocks are written from; keys and order stay. */
void		host_run_drop_rows(host_run *run);

/* Releases everything: the run is empty, as after its init. */
void		host_run_clear(host_run *run);

/* Frees the run.  A second call has no effect. */
void		host_run_free(host_run *run);

/* Appends a chunk, or sets bad_data.  Runs on threads of the pool. */
void		host_run_append(host_run *run, const host_chunk *placed);

/* --- a key extent: row words, each row's keys side by side, NULL bits ----- */

static inline char *
host_run_key_extent(const host_run *run, uint64_t row)
{
	return run->key_extents[row / GSORT_KEY_EXTENT_ROWS];
}

static inline uint64_t *
host_run_row_word(const host_run *run, uint64_t row)
{
	return (uint64_t *) host_run_key_extent(run, row) + row % GSORT_KEY_EXTENT_ROWS;
}

static inline uint64_t *
host_run_keys(const host_run *run, uint64_t row)
{
	return (uint64_t *) host_run_key_extent(run, row) + GSORT_KEY_EXTENT_ROWS +
		row % GSORT_KEY_EXTENT_ROWS * run->columns;
}

/* Requires a null_mask other than 0. */
static inline uint32_t *
host_run_null_bits(const host_run *run, uint64_t row)
{
	uint64_t   *keys = (uint64_t *) host_run_key_extent(run, row) + GSORT_KEY_EXTENT_ROWS;

	return (uint32_t *) (keys + GSORT_KEY_EXTENT_ROWS * (uint64_t) run->columns) +
		row % GSORT_KEY_EXTENT_ROWS;
}

static inline uint32_t
host_run_nulls(const host_run *run, uint64_t row)
{
	return run->null_mask == 0 ? 0 : *host_run_null_bits(run, row) & run->null_mask;
}

/* --- fetches -------------------------------------------------------------- */

/* Writes the block's bytes, as gsort.h describes them. units_before: those of
 * its split row in earlier blocks.  Any number of threads may fetch at once. */
void		host_run_fetch(const host_run *run, const gsort_block *block, uint64_t units_before,
						   uint64_t *to);

#endif							/* GSORT_HOST_RUN_H */
