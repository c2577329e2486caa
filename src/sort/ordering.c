/*
 * ordering.c
 *	  The order of a sort's rows.
 *
 * In:  the sort's keys and their words.
 * Out: the comparers for tied rows, the check of the order and the merge of
 *	    runs; their lines in EXPLAIN ANALYZE.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "explain_figures.h"
#include "sort/ordering.h"

void
gpusort_slots_make(GpuSortSlots *slots, const GpuSortSpec *spec)
{
	const TupleTableSlotOps *ops = spec->row->tts_ops;
	TupleDesc	desc = spec->desc;

	slots->array_row = MakeSingleTupleTableSlot(desc, ops);
	slots->merge_run = MakeSingleTupleTableSlot(desc, ops);
	slots->tied_native = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	for (int i = 0; i < lengthof(slots->compared); i++)
		slots->compared[i] = MakeSingleTupleTableSlot(desc, ops);
}

void
gpusort_slots_drop(GpuSortSlots *slots)
{
	TupleTableSlot *own[] = {slots->array_row, slots->merge_run, slots->tied_native,
	slots->compared[0], slots->compared[1]};

	for (int i = 0; i < lengthof(own); i++)
		if (own[i] != NULL)
			ExecDropSingleTupleTableSlot(own[i]);
}

/* Returns how many of n keys come up to the last one that words may leave
 * undecided. */
static int
keys_to_decide(const GpuSortKeys *keys, int n)
{
	if (keys->more_keys || keys->grouping)
		return n;
	while (!keys->keys[n - 1].may_be_inexact)
		n--;
	return n;
}

/* Returns how many keys come up to the last one whose words must be verified.
 * Values that are equal in a collation of the C library have the same bytes,
 * but for trailing blanks, and so the same words: behind them, words are
 * right. */
static int
keys_to_verify(const GpuSortKeys *keys)
{
	int			n = keys->n_keys;

	while (!keys->keys[n - 1].must_verify)
		n--;
	return n;
}

static GpuSortComparer *
make_comparer(const GpuSortSpec *spec, int first_key, int n_keys, const GpuSortSlots *slots)
{
	return gpusort_comparer_make(spec->order, first_key, n_keys, spec->format,
								 slots->compared[0], slots->compared[1]);
}

/* Keys whose words must be verified are inexact, so there are no other
 * comparers if words leave no ties. */
void
gpusort_ordering_make(GpuSortOrdering *ordering, const GpuSortSpec *spec, const GpuSortKeys *keys,
					  const GpuSortSlots *slots)
{
	memset(ordering, 0, sizeof(*ordering));
	ordering->spec = spec;
	ordering->keys = keys;
	ordering->native_slot = slots->tied_native;
	if (!gpusort_keys_leave_ties(keys))
		return;
	ordering->ties = make_comparer(spec, keys->first_inexact_key,
								   keys_to_decide(keys, spec->order->n_keys), slots);
	if (keys->must_verify)
		ordering->check = make_comparer(spec, 0, keys_to_verify(keys), slots);
	ordering->merge = make_comparer(spec, keys->must_verify ? 0 : keys->first_inexact_key,
									spec->order->n_keys, slots);
}

Tuplesortstate *
gpusort_begin_native(const GpuSortSpec *spec, bool random_access)
{
	const GpuSortOrder *order = spec->order;

	return tuplesort_begin_heap(spec->desc, order->n_keys, order->columns, order->operators,
								order->collations, order->nulls_first, spec->work_mem, NULL,
								random_access ? TUPLESORT_RANDOMACCESS : TUPLESORT_NONE);
}

/* The device learns from the last words which values are inexact. */
void
gpusort_ordering_describe(const GpuSortOrdering *ordering, GpuSortJobOptions *options)
{
	const GpuSortKeys *keys = ordering->keys;
	gsort_job_options *device = &options->device;

	device->key_columns = keys->n_words;
	/* a plan does not tell whether a child's columns can be NULL */
	device->null_mask = (1u << keys->n_words) - 1;
	device->null_first_mask = keys->null_first_mask;
	device->flags = keys->more_keys ? GSORT_TIES : 0;
	device->inexact_mask = keys->inexact_mask;
	memcpy(device->inexact_bits, keys->inexact_bits, sizeof(device->inexact_bits));
	memcpy(device->inexact_code, keys->inexact_code, sizeof(device->inexact_code));
}

void
gpusort_ordering_explain(const GpuSortOrdering *ordering, ExplainState *es)
{
	ExplainPropertyInteger("Key Words", NULL, ordering->keys->n_words, es);
	if (ordering->keys->n_dictionaries > 0)
		ExplainPropertyInteger("Dictionary Keys", NULL, ordering->keys->n_dictionaries, es);
	if (ordering->n_violated > 0)
		ExplainPropertyInteger("Runs Sorted Natively", NULL, ordering->n_violated, es);
	if (ordering->ties == NULL)
		return;
	ExplainPropertyInteger("Tie Runs", NULL, ordering->figures.tie_runs, es);
	ExplainPropertyInteger("Rows in Tie Runs", NULL, ordering->figures.rows, es);
}

void
gpusort_ordering_explain_times(const GpuSortOrdering *ordering, ExplainState *es)
{
	if (ordering->figures.tie_runs > 0)
		gpusort_explain_ms("Tie Time", ordering->figures.ms, es);
	if (ordering->check_ms > 0)
		gpusort_explain_ms("Order Check Time", ordering->check_ms, es);
}
