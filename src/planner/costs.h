/*
 * costs.h
 *	  What a sort through the device costs.
 */
#ifndef GPUSORT_COSTS_H
#define GPUSORT_COSTS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* What packing the child's rows costs one feeder that packs all of them. */
extern Cost gpusort_cost_of_packing(const Path *child, double rows, int n_keys);

/* Sets a GpuSort path's rows and costs.  before: what it cost until all rows were packed. */
extern void gpusort_cost_path(Path *path, Cost before, double rows, int n_keys);

#endif							/* GPUSORT_COSTS_H */
