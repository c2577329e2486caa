/*
 * drop_copies.h
 *	  Columns of a finished plan that only copy others, and that nothing reads.
 */
#ifndef GPUSORT_DROP_COPIES_H
#define GPUSORT_DROP_COPIES_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Drops the copies that a query's GpuSort does not sort by, if it is on top of the query's plan, so
 * that nothing reads what is not its result. */
extern void gpusort_drop_copies(Plan *plan, List *rtable);

#endif							/* GPUSORT_DROP_COPIES_H */
