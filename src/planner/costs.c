/*
 * costs.c
 *	  Which sorts can use the device, and what these cost and need.
 *
 * In:  the number and width of the rows, the keys and their types, the device
 *	    that serves and its budget.
 * Out: the number of leading keys that have words, or a reason (reasons.c);
 *	    costs that add_path can compare with those of PostgreSQL's own sorts,
 *	    the factor by which these exceed cost_sort's estimate, and the estimates
 *	    that the plan carries.  The sort itself chooses the words when it has
 *	    its first rows (row_encodings.c).
 *
 * Runs in the backend that plans, in the planner's memory context.  The device
 * and its budget are those of its copy (server_state.c).  Both may change
 * before the plan is executed.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "job/job.h"
#include "job/server_state.h"
#include "keys/collation_keys.h"
#include "keys/key_types.h"
#include "keys/row_format.h"
#include "keys/text_bytes.h"
#include "planner/planner.h"
#include "settings.h"

/*
 * Costs, in units of cpu_operator_cost.  cost_sort charges two units for a
 * comparison, so a native sort of n rows costs 2 n log2 n.  One unit is 5.7 ns,
 * since 100 M rows took 34.2 s natively.  bench/NOTES.md tells how each cost
 * was measured.
 */
#define UNIT_NS					5.7
/* copying a row and taking its key: 24 ns, its bytes included */
#define COST_PACK_ROW			3.0
#define COST_KEY_COLUMN			1.0 /* each key after the first */
#define COST_KEY_WORD			0.3 /* each further word of a key */
#define COST_ROW_BYTE			0.03	/* moving a byte into the buffers, to the device and back */
#define COST_SORT_ROW_CUDA		0.1 /* less than 0.2 ns */
/* the part that more threads do not shorten: a row took 20 to 30 ns with 16
 * threads */
#define COST_SORT_ROW_HOST		3.3
/* the part that threads share: a row took 35 to 70 ns with two threads */
#define COST_SORT_ROW_THREADS	17.4
#define SHARE_OF_FURTHER_WORD	0.1	/* few: only rows that tie in earlier words are sorted by it */
#define COST_OUTPUT_ROW			2.0 /* 12.4 ns */
#define COST_JOB				100000.0	/* the round trips of a job: 0.2 to 0.6 ms */
#define COST_MERGE_ROW			2.0 /* taking a row from the run that the device names: 10 ns */
#define COST_COMPARISON			2.0 /* as in cost_sort */

/* Of a row that a Sort keeps among the top ones, beside that of each row with
 * the last one kept: it and those that it replaces move through a heap. */
#define COMPARISONS_OF_TOP_ROW	100

/*
 * Device memory of a row: its bytes, a word for its place, its keys, and the
 * sort's arrays at their peak.  A row of 56 bytes with one key took 120 bytes.
 */
#define DEVICE_ROW_WORD_BYTES	8
#define DEVICE_KEY_BYTES		8
#define DEVICE_SORT_BYTES		53

/* The expected number of words of a key with many values, if its type can have
 * that many. */
#define USUAL_WORDS	2

/* Returns the units that the device needs to sort one row. */
static double
cost_of_sorting_row(const GpuSortServerState *device)
{
	if (device->kind == GSORT_KIND_HOST)
		return COST_SORT_ROW_HOST + COST_SORT_ROW_THREADS / Max(1, device->processors);
	return COST_SORT_ROW_CUDA;
}

/* --- the keys' types ------------------------------------------------------ */

/*
 * The costs of a key's type, in the same units.
 *
 * cost_sort charges two cpu_operator_cost for any comparison.  A comparison
 * under the C library's collations takes several times as long, and words cost
 * time too.  A fair comparison of the two sorts counts both.  Neither depends
 * on the values, since only the rows tell how many of them are equal.
 */
typedef struct TypeCosts
{
	double		comparison;		/* times what cost_sort charges */
	double		words;			/* of a value; a text has some 32 bytes */
	double		check;			/* of a returned row against the row before it */
	double		inner;			/* a comparison inside an Agg, times what cost_sort charges */
} TypeCosts;

static const TypeCosts costs_of_plain = {.comparison = 1,.inner = COMPAT_INNER_COMPARISON};
static const TypeCosts costs_of_floats = {.comparison = 1,.inner = 0.55};
static const TypeCosts costs_of_bytes = {.comparison = 1.3,.words = 1,.inner = 0.5};
static const TypeCosts costs_of_numeric = {.comparison = 2,.words = 2,.inner = 0.5};
static const TypeCosts costs_of_icu = {.comparison = 2.5,.words = 30,.inner = 2.5};
static const TypeCosts costs_of_libc = {.comparison = 5,.words = 55,.check = 12,.inner = 5};

/* The share of the rows that need the next key too, among those that need a
 * key. */
#define SHARE_THAT_TIES	0.5

/* Costs of a grouping: of each key's share of the word, which is dearer for
 * numeric and cheaper for integers, but only texts are grouped for less than
 * they are sorted; and of comparing a row with another one of its group. */
#define COST_HASH			6.0
#define COST_GROUPED_ROW	8.0

/* Returns the costs of a type's words, comparisons and checks, by its
 * collation. */
static TypeCosts
costs_of_type(const GpuSortKeyType *type)
{
	TypeCosts	costs = costs_of_bytes;

	if (type->type == NUMERICOID)
		return costs_of_numeric;
	if (type->type == FLOAT8OID || type->type == FLOAT4OID)
		return costs_of_floats;
	if (!gpusort_type_has_text_bytes(type->type))
		return costs_of_plain;
	if (gpusort_collation_kind(type->collation) == GPUSORT_COLLATION_ICU)
		costs = costs_of_icu;
	if (gpusort_collation_kind(type->collation) == GPUSORT_COLLATION_LIBC)
		costs = costs_of_libc;
	if (gpusort_libc_collations == GPUSORT_LIBC_COLLATIONS_TRUST)
		costs.check = 0;
	return costs;
}

/* Each further key counts for the rows that tie in the keys before it.  The
 * word of a grouping only tells that rows differ, so all rows of a group are
 * compared. */
static void
cost_keys(const List *types, GpuSortPlanInfo *info)
{
	GpuSortKeyCosts *sum = &info->key_costs;
	double		share = 1;
	double		shares = 0;
	ListCell   *lc;

	memset(sum, 0, sizeof(*sum));
	foreach(lc, types)
	{
		TypeCosts	costs = costs_of_type(lfirst(lc));

		sum->native_factor += share * costs.comparison;
		shares += share;
		if (foreach_current_index(lc) < info->n_keys)
		{
			sum->words += share * costs.words;
			sum->returned = Max(sum->returned, costs.check);
		}
		share *= SHARE_THAT_TIES;
	}
	sum->native_factor /= shares;
	if (info->grouping)
	{
		sum->words = COST_HASH * list_length(types);
		sum->returned = COST_GROUPED_ROW * Max(0, 1 - info->groups / Max(1, info->rows));
	}
}

/* --- estimates ------------------------------------------------------------ */

/* Converts such a cost into milliseconds. */
static int
milliseconds_of_cost(Cost cost)
{
	double		unit = cpu_operator_cost > 0 ? cpu_operator_cost : DEFAULT_CPU_OPERATOR_COST;

	return (int) Max(1, Min(INT_MAX, rint(cost / unit * (UNIT_NS / 1e6))));
}

static Cost
cost_natively(const GpuSortPlanInfo *info, int width)
{
	return info->key_costs.native_factor *
		compat_cost_of_sort(NULL, NIL, info->rows, width, work_mem);
}

/* --- keys that the device can sort by ------------------------------------- */

GpuSortKeyType *
gpusort_type_of_key(const Node *expr, Oid sort_operator, Oid collation)
{
	GpuSortKeyType *type = palloc0(sizeof(GpuSortKeyType));

	type->typmod = exprTypmod(expr);
	type->type = gpusort_base_type(exprType(expr), &type->typmod);
	type->sort_operator = sort_operator;
	type->collation = collation;
	return type;
}

/* Can the key have words, and how many?  A key has none if its sort keys are
 * not to be trusted. */
static bool
has_words(const GpuSortKeyType *type, int *least, int *most)
{
	return !gpusort_collation_is_distrusted(type->collation) &&
		gpusort_sortkey_has_words(type->type, type->typmod, type->sort_operator, type->collation,
								  least, most);
}

static const char *
fault_of_collation(Oid collation)
{
	if (gpusort_collation_kind(collation) != GPUSORT_COLLATION_LIBC)
		return "ICU does not provide them";
	if (gpusort_libc_collations == GPUSORT_LIBC_COLLATIONS_OFF)
		return "gpusort.libc_collations is off";
	return "its strcoll and strxfrm have disagreed since the server started";
}

/* Sets the reason for a sort whose i-th key has no words.  It is the collation
 * if the key has words under another one. */
static bool
set_key_reason(const GpuSortKeyType *type, int i)
{
	GpuSortKeyType under_c = *type;
	int			least;
	int			most;

	under_c.collation = C_COLLATION_OID;
	if (OidIsValid(type->collation) && has_words(&under_c, &least, &most))
		return gpusort_reason_set(GPUSORT_PLANNED_COLLATION, "\"%s\": %s",
								  get_collation_name(type->collation),
								  fault_of_collation(type->collation));
	return gpusort_reason_set(GPUSORT_PLANNED_KEY_WORDS, "key %d: type %s, operator %s", i + 1,
							  format_type_be(type->type), get_opname(type->sort_operator));
}

/*
 * A later key that only lacks room is no reason to stay native, because the
 * keys before it leave few rows undecided.  A key without words may follow a
 * key of two values, however, and one process would sort all the rows that tie.
 * 500,000 rows sorted by a bool and a text under a distrusted collation took as
 * long as PostgreSQL's own serial sort, and 1.5 times as long as its sort by
 * two workers.
 */
bool
gpusort_set_keys(const PathTarget *target, const List *types, GpuSortPlanInfo *info)
{
	GpuSortRowFormat format;
	int			least = 0;
	ListCell   *lc;

	info->n_keys = 0;
	info->n_words = info->grouping ? 1 : 0;
	foreach(lc, types)
	{
		const GpuSortKeyType *type = lfirst(lc);
		int			least_of_key;
		int			most;

		if (info->grouping)
		{
			if (!gpusort_sortkey_has_hash(type->type, type->sort_operator))
				return gpusort_reason_set(GPUSORT_PLANNED_KEY_WORDS, NULL);
			continue;
		}
		if (!has_words(type, &least_of_key, &most))
		{
			if (info->n_keys == 0 || !gpusort_debug_force)
				return set_key_reason(type, info->n_keys);
			break;
		}
		least += least_of_key;
		if (least > GPUSORT_WORDS_MAX)
			break;
		info->n_keys++;
		info->n_words = Min(GPUSORT_WORDS_MAX, info->n_words + Min(most, USUAL_WORDS));
	}
	gpusort_row_format_choose(&format, ExecTypeFromExprList(target->exprs),
							  list_length(target->exprs));
	info->width = gpusort_row_expected_bytes(&format, target->width);
	cost_keys(types, info);
	info->native_ms = milliseconds_of_cost(cost_natively(info, target->width));
	return true;
}

bool
gpusort_takes_feeders(int feeders)
{
	return feeders <= GPUSORT_FEEDERS_MAX &&
		gpusort_buffers_to_open(feeders) <= gpusort_shared->n_buffers;
}

/* --- costs ---------------------------------------------------------------- */

/* Returns how often the rows are written to files and merged: 0 if they fit the
 * device's budget, and 1 for up to GPUSORT_RUNS_MAX times as many. */
static double
rounds_of_merging(double budget, const GpuSortPlanInfo *info)
{
	double		row_bytes = (double) info->width + DEVICE_ROW_WORD_BYTES +
		DEVICE_KEY_BYTES * info->n_words + DEVICE_SORT_BYTES;

	return ceil(log(Max(1, info->rows * row_bytes / budget)) / log(GPUSORT_RUNS_MAX));
}

Cost
gpusort_cost_of_packing(const GpuSortPlanInfo *info, double rows)
{
	return cpu_operator_cost * rows *
		(COST_PACK_ROW + COST_KEY_COLUMN * Max(0, info->n_keys - 1) +
		 COST_KEY_WORD * Max(0, info->n_words - info->n_keys) +
		 COST_ROW_BYTE * info->width + info->key_costs.words);
}

/* The sort counts before the first row, and the output of rows after it.  Each
 * round of merging writes and reads every page of the runs once.  As in
 * cost_sort, three of four pages are accessed sequentially. */
void
gpusort_cost_path(Path *path, const GpuSortPlanInfo *info, Cost before)
{
	const GpuSortServerState *device = gpusort_server_state();
	double		rounds = rounds_of_merging(device->budget_bytes, info);

	path->rows = info->rows;
	path->startup_cost = before +
		cpu_operator_cost * (COST_JOB + info->rows * cost_of_sorting_row(device) *
							 (1 + SHARE_OF_FURTHER_WORD * (info->n_words - 1))) +
		2 * rounds * ceil(info->rows * info->width / BLCKSZ) *
		(seq_page_cost * 0.75 + random_page_cost * 0.25);
	path->total_cost = path->startup_cost + cpu_operator_cost * info->rows *
		(COST_OUTPUT_ROW + COST_MERGE_ROW * rounds + info->key_costs.returned);
}

Cost
gpusort_cost_of_further_keys(double rows)
{
	return cpu_operator_cost * rows * cost_of_sorting_row(gpusort_server_state());
}

/* Rows in order take one comparison each, as much as the last halving.  The
 * first key decides most comparisons. */
Cost
gpusort_cost_of_inner_sort(const GpuSortKeyType *type, double rows, double halvings)
{
	return cpu_operator_cost * COST_COMPARISON * costs_of_type(type).inner * rows *
		Max(0, halvings - 1);
}

/* Returns the device's costs from the packing of the rows on. */
static Path
cost_of_device(const GpuSortPlanInfo *info)
{
	Path		path = {0};

	gpusort_cost_path(&path, info, gpusort_cost_of_packing(info, info->rows));
	return path;
}

/* --- does a finished plan's Sort suit the device? ------------------------- */

/* A sort may turn out to have this many rows, whatever is expected. */
#define MANY_ROWS	100000.0

bool
gpusort_keeps_top_rows(double rows, double bound, int width)
{
	return bound * (width + SizeofHeapTupleHeader) <= work_mem * 1024.0 && rows > 2 * bound;
}

bool
gpusort_suits_device(GpuSortPlanInfo info, double bound, int width)
{
	Path		device;

	info.rows = Max(info.rows, MANY_ROWS);
	device = cost_of_device(&info);
	if (gpusort_keeps_top_rows(info.rows, bound, width) &&
		cpu_operator_cost * COST_COMPARISON * info.key_costs.native_factor *
		(info.rows + COMPARISONS_OF_TOP_ROW * bound) <= device.startup_cost)
		return gpusort_reason_set(GPUSORT_PLANNED_LIMIT, NULL);
	return device.total_cost - cpu_operator_cost * COST_JOB <= cost_natively(&info, width) ||
		gpusort_reason_set(GPUSORT_PLANNED_COST, NULL);
}
