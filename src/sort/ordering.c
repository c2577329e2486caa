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
gpusort_ordering_make(GpuSortOrdering *ordering, const GpuSortOrder *order,
					  const GpuSortKeys *keys, const GpuSortRowFormat *format, TupleDesc desc,
					  const GpuSortSlots *slots, int work_mem_kb, MemoryContext context)
{
	MemoryContext old_context = MemoryContextSwitchTo(context);

	memset(ordering, 0, sizeof(*ordering));
	ordering->order = order;
	ordering->keys = keys;
	ordering->format = format;
	ordering->desc = desc;
	ordering->native_slot = slots->tied_native;
	ordering->work_mem = work_mem_kb;
	if (gpusort_keys_leave_ties(keys))
		ordering->ties = gpusort_comparer_make(order, keys->first_inexact_key, format,
											   slots->compared[0], slots->compared[1]);
	if (keys->must_verify)
		ordering->check = gpusort_order_check_make(order, keys, format, slots->compared[0],
												   slots->compared[1]);
	MemoryContextSwitchTo(old_context);
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
gpusort_ordering_trust_words(GpuSortOrdering *ordering)
{
	ordering->check = NULL;
}

bool
gpusort_ordering_was_violated(const GpuSortOrdering *ordering)
{
	return ordering->check != NULL && ordering->check->n_violated > 0;
}

void
gpusort_ordering_explain(const GpuSortOrdering *ordering, ExplainState *es)
{
	ExplainPropertyInteger("Key Words", NULL, ordering->keys->n_words, es);
	if (ordering->keys->n_dictionaries > 0)
		ExplainPropertyInteger("Dictionary Keys", NULL, ordering->keys->n_dictionaries, es);
	if (gpusort_ordering_was_violated(ordering))
		ExplainPropertyInteger("Runs Sorted Natively", NULL, ordering->check->n_violated, es);
	if (ordering->ties == NULL)
		return;
	ExplainPropertyInteger("Tie Runs", NULL, ordering->figures.tie_runs, es);
	ExplainPropertyInteger("Rows in Tie Runs", NULL, ordering->figures.rows, es);
}

void
gpusort_ordering_explain_times(const GpuSortOrdering *ordering, ExplainState *es)
{
	if (ordering->figures.tie_runs > 0)
		ExplainPropertyFloat("Tie Time", "ms", ordering->figures.ms, 3, es);
	if (ordering->check != NULL && ordering->check->ms > 0)
		ExplainPropertyFloat("Order Check Time", "ms", ordering->check->ms, 3, es);
}
