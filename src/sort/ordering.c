/*
 * ordering.c
 *	  The order of a sort's rows.
 *
 * In:  the sort's keys and their words.
 * Out: the comparers that the sort in the backend, the reading of tied rows and
 *	    the merge of runs share; their lines in EXPLAIN ANALYZE.
 *
 * Runs in the backend that leads the sort.
 */
#include "postgres.h"

#include "explain_figures.h"
#include "sort/ordering.h"

void
gpusort_slots_make(GpuSortSlots *slots, TupleDesc desc)
{
	const TupleTableSlotOps *ops = slots->result->tts_ops;

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

/* Comparers are made only if words leave ties, or are not to be trusted. */
void
gpusort_ordering_make(GpuSortOrdering *ordering, const GpuSortSpec *spec, const GpuSortKeys *keys,
					  const GpuSortSlots *slots)
{
	memset(ordering, 0, sizeof(*ordering));
	ordering->spec = spec;
	ordering->keys = keys;
	ordering->native_slot = slots->tied_native;
	if (gpusort_keys_leave_ties(keys))
		ordering->ties = gpusort_comparer_make(spec->order, keys->first_inexact_key, spec->format,
											   slots->compared[0], slots->compared[1]);
	if (keys->must_verify)
		ordering->check = gpusort_comparer_make(spec->order, 0, spec->format, slots->compared[0],
												slots->compared[1]);
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
