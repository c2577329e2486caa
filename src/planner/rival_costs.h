/*
 * rival_costs.h
 *	  What PostgreSQL's own ways really cost, where its costs say too little beside a sort through the device.
 */
#ifndef GPUSORT_RIVAL_COSTS_H
#define GPUSORT_RIVAL_COSTS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Adds paths of ours to the rel's, beside PostgreSQL's at what they take.  native_factor: PostgreSQL's comparisons take so
 * many times what cost_sort says. */
extern void gpusort_offer_paths(RelOptInfo *rel, List *paths, double native_factor);

#endif							/* GPUSORT_RIVAL_COSTS_H */
