/*
 * gpusort_node.h
 *	  The GpuSort node's state, for gpusort_node.c and explain.c.
 */
#ifndef GPUSORT_NODE_H
#define GPUSORT_NODE_H

#include "postgres.h"

#include "compat.h"
#include "sort/feed.h"
#include "sort/page_drain.h"
#include "planner/planner.h"
#include "sort/reader.h"
#include "sort/run_merge.h"
#include "sort/spill.h"

typedef enum GpuSortMethod
{
	GPUSORT_METHOD_NONE,		/* not sorted yet */
	GPUSORT_METHOD_DEVICE,
	GPUSORT_METHOD_SPILLED,		/* runs in temporary files, merged while they are read */
	GPUSORT_METHOD_IN_BACKEND,
	GPUSORT_METHOD_NATIVE
} GpuSortMethod;

typedef struct GpuSortState
{
	CustomScanState css;		/* must be first */
	GpuSortPlanInfo info;
	GpuSortKey	keys[GPUSORT_MAX_KEYS];
	GpuSortRowFormat format;
	TupleTableSlot *slot;		/* the node's output: minimal tuples, or virtual for narrow rows */
	TupleTableSlot *native_slot;	/* minimal tuples, for the native sort; may be slot */
	bool		random_access;	/* rewind or backward scan was asked for */
	struct GpuSortFeedState *feed_node; /* below the Gather of a parallel plan, else NULL */

	GpuSortMethod method;
	GpuSortNativeReason native_reason;
	bool		device_lost;	/* in the middle of this sort: it must start over */
	MemoryContext sort_context; /* all of one sort; deleted when it is dropped */
	GpuSortFeed *feed;			/* this node's own: in a serial plan for all rows, in a parallel
								 * one for those that told of a full job */
	GpuSortPageDrain drain;		/* of the child, in a serial plan */
	GpuSortJob *job;
	GpuSortReader *reader;		/* DEVICE */
	GpuSortSpill *spill;		/* NULL: no run has been spilled */
	GpuSortRunMerge *merge;		/* SPILLED */
	TupleTableSlot *merge_slots[2]; /* for the merge: of the format's kind; minimal tuples */
	const char **local_rows;	/* IN_BACKEND */
	Tuplesortstate *native;		/* NATIVE; SPILLED when the rest was sorted natively */
	uint64		rows_drawn_back;	/* fed, then put into native */

	/* the place in the output, for DEVICE and IN_BACKEND */
	uint64		rows;
	uint64		current;		/* rows before the place */
	bool		eof_reached;

	/* for EXPLAIN and the counters; of the last sort */
	gsort_kind	device_kind;
	gsort_job_stats device_stats;	/* rows, bytes and time summed over the runs */
	uint64		bytes_received;
	double		feed_ms;
	double		sort_ms;
	double		output_ms;
} GpuSortState;

extern const CustomScanMethods gpusort_scan_methods;

/* EXPLAIN's callback (explain.c). */
extern void GpuSortExplain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* GPUSORT_NODE_H */
