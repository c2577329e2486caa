/*
 * index_build.h
 *	  Builds btree indexes through the device, in place of nbtree's own build.
 */
#ifndef GPUSORT_INDEX_BUILD_H
#define GPUSORT_INDEX_BUILD_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "job/counters.h"

/* An access method's ambuild for btree indexes of user tables. */
extern IndexBuildResult *gpusort_index_build(Relation heap, Relation index, IndexInfo *info);

/* Returns the expected number of a table's rows. */
extern double gpusort_index_expected_rows(Relation heap);

/* Returns why PostgreSQL builds the indexes of a table with so many rows,
 * whatever their keys. */
extern GpuSortNativeReason gpusort_index_reason_of_rows(double rows);

/* Returns the expected bytes of an index tuple's columns. */
extern int	gpusort_index_expected_width(TupleDesc desc);

/* Lets builds of btree indexes come here, if gpusort.index_builds is on. */
extern void gpusort_index_install_hooks(void);

#endif							/* GPUSORT_INDEX_BUILD_H */
