/*
 * progress_entry.h
 *	  The entries of sorts under way, in shared memory.
 *
 * A sort has one from when it asks for a job until it has returned its last row, ended in any way, or
 * become native.  Its leader alone writes it (progress.h), and anybody may read it, as PostgreSQL's own
 * backend_progress.c has it: what belongs together is written between two counts of changes, and numbers
 * that grow are atomics.  No lock is taken.
 */
#ifndef GPUSORT_PROGRESS_ENTRY_H
#define GPUSORT_PROGRESS_ENTRY_H

#include "postgres.h"

#include "port/atomics.h"
#include "utils/timestamp.h"

/* Sorts that can be listed: those that have a job, and those that need none any more since they merge
 * their runs themselves. */
#define GPUSORT_PROGRESS_ENTRIES	512

typedef enum GpuSortPhase
{
	GPUSORT_PHASE_WAITING,		/* for buffers, or for device memory */
	GPUSORT_PHASE_FEEDING,		/* rows come from the plan below and go to the device */
	GPUSORT_PHASE_SORTING,		/* the device sorts a run */
	GPUSORT_PHASE_SPILLING,		/* a sorted run is written to a file */
	GPUSORT_PHASE_MERGING,		/* sorted runs are merged and returned */
	GPUSORT_PHASE_OUTPUT		/* sorted rows are returned */
} GpuSortPhase;

/* What belongs together. */
typedef struct GpuSortProgressState
{
	int			pid;			/* of the process that leads the sort; 0: there is none */
	int			leader_pid;		/* if that is a parallel worker, of its leader; else 0 */
	Oid			database;
	Oid			role;			/* that the session logged in as */
	uint64		rows_expected;	/* by the planner; 0: not known */
	TimestampTz sort_start;
	GpuSortPhase phase;
	TimestampTz phase_start;
	int			job;			/* its slot; -1: none yet */
	uint64		generation;		/* of the slot.  Another one's: the sort needs no job any more */
} GpuSortProgressState;

typedef struct GpuSortProgressEntry
{
	pg_atomic_uint32 claimed;	/* 0: free */
	int			st_changecount; /* odd while state is written; PostgreSQL's macros want this name */
	GpuSortProgressState state;
	pg_atomic_uint64 rows_fed;	/* until the phase began; the slot has those since */
	pg_atomic_uint64 bytes_fed;
	pg_atomic_uint64 rows_returned;
	pg_atomic_uint64 runs_spilled;
	pg_atomic_uint64 bytes_spilled;
} GpuSortProgressEntry;

/* The numbers of an entry. */
typedef struct GpuSortProgressFigures
{
	uint64		rows_fed;
	uint64		bytes_fed;
	uint64		rows_returned;
	uint64		runs_spilled;
	uint64		bytes_spilled;
} GpuSortProgressFigures;

/* Reads an entry: all of it is one sort's.  False: no sort has it. */
extern bool gpusort_progress_read(GpuSortProgressEntry *entry, GpuSortProgressState *state,
								  GpuSortProgressFigures *figures);

/* Makes them, free. */
extern void gpusort_progress_init(GpuSortProgressEntry entries[GPUSORT_PROGRESS_ENTRIES]);

#endif							/* GPUSORT_PROGRESS_ENTRY_H */
