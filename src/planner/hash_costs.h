/*
 * hash_costs.h
 *	  What hashing costs, to judge a sort beside it.
 */
#ifndef GPUSORT_HASH_COSTS_H
#define GPUSORT_HASH_COSTS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* The cheapest of PostgreSQL's own paths, of those with the fewest disabled nodes: by what they say,
 * and by what they really cost. */
typedef struct GpuSortRivals
{
	int			disabled_nodes;
	Cost		said;
	Cost		real;
} GpuSortRivals;

/* Begin with these. */
#define GPUSORT_NO_RIVALS \
	((GpuSortRivals) {.disabled_nodes = INT_MAX,.said = HUGE_VAL,.real = HUGE_VAL})

extern void gpusort_add_rival(GpuSortRivals *rivals, const Path *path);

/* Is such a cost less than what they really cost, by more than add_path takes for the same? */
extern bool gpusort_beats_rivals(Cost cost, const GpuSortRivals *rivals);

/* Makes a path that is so cheaper than what they say too, and the GpuSorts
 * below it as much: those of sorts that are some. */
extern void gpusort_cost_beside_rivals(Path *path, List *sorts, const GpuSortRivals *rivals);

#endif							/* GPUSORT_HASH_COSTS_H */
