/*
 * plan_finish.h
 *	  What is done to GpuSort's nodes when their plan is finished.
 */
#ifndef GPUSORT_PLAN_FINISH_H
#define GPUSORT_PLAN_FINISH_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Finishes the nodes of ours that the statement has, wherever they are; those that are
 * finished already stay as they are.  nested: it was planned while another statement was; all_read:
 * all its rows are expected to be read. */
extern void gpusort_plan_finish(PlannedStmt *statement, bool nested, bool all_read);

#endif							/* GPUSORT_PLAN_FINISH_H */
