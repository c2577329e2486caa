/*
 * costs.c
 *	  What a sort through the device costs.
 *
 * In:  the number and width of the rows, the number of keys, the device that serves.
 * Out: costs that add_path can compare with those of PostgreSQL's own sorts.
 *
 * Runs in the backend that plans.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "optimizer/optimizer.h"

#include "planner/costs.h"
#include "shared/shmem.h"

/*
 * Costs, in units of cpu_operator_cost, which is what cost_sort charges twice for
 * a comparison: a native sort of n rows costs 2 n log2 n of them.  One unit is 5.7 ns
 * where 100 M rows took 34.2 s natively; see bench/NOTES.md for what each of these is
 * made of.
 */
#define COST_PACK_ROW			3.0 /* copy the row, take its key: 24 ns a row, its bytes included */
#define COST_KEY_COLUMN			1.0 /* each key column after the first */
#define COST_ROW_BYTE			0.03	/* a byte's way into the buffers, to the device and back */
#define COST_SORT_ROW_CUDA		0.1 /* less than 0.2 ns */
#define COST_SORT_ROW_HOST		12.0	/* 35 to 70 ns a row and key word */
#define COST_OUTPUT_ROW			2.0 /* 12.4 ns */
#define COST_JOB				100000.0	/* the round trips of a job: 0.2 to 0.6 ms */

static double
cost_of_sorting_a_row(void)
{
	gsort_kind	kind;

	LWLockAcquire(gpusort_shared_lock(), LW_SHARED);
	kind = gpusort_shared->service.info.kind;
	LWLockRelease(gpusort_shared_lock());
	return kind == GSORT_KIND_HOST ? COST_SORT_ROW_HOST : COST_SORT_ROW_CUDA;
}

Cost
gpusort_cost_of_packing(const Path *child, double rows, int n_keys)
{
	double		width = MAXALIGN(child->pathtarget->width + SizeofMinimalTupleHeader);

	return cpu_operator_cost * rows *
		(COST_PACK_ROW + COST_KEY_COLUMN * (n_keys - 1) + COST_ROW_BYTE * width);
}

void
gpusort_cost_path(Path *path, Cost before, double rows, int n_keys)
{
	path->rows = rows;
	path->startup_cost = before + cpu_operator_cost *
		(COST_JOB + rows * cost_of_sorting_a_row() * n_keys);
	path->total_cost = path->startup_cost + cpu_operator_cost * COST_OUTPUT_ROW * rows;
}
