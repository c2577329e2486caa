/*
 * key_samples.c
 *	  Some of a key's values, as byte strings.
 *
 * In:  values: of statistics, or of a sort's first rows.
 * Out: the byte strings that words would be cut from, sorted.
 *
 * Runs in the backend that leads a sort.  The strings are copies, in the
 * context that is current when they are added.
 */
#include "postgres.h"

#include "keys/key_samples.h"

static int
compare_samples(const void *left, const void *right)
{
	const GpuSortKeySample *a = left;
	const GpuSortKeySample *b = right;
	int			order = memcmp(a->bytes, b->bytes, Min(a->length, b->length));

	if (order != 0)
		return order;
	return (a->length > b->length) - (a->length < b->length);
}

/* The copy has no more bytes than samples may have. */
void
gpusort_key_samples_add(GpuSortKeySamples *samples, const GpuSortTextBytes *source, Datum value)
{
	GpuSortKeySample *sample;
	GpuSortVarlenaBytes bytes;

	if (samples->n == samples->room)
	{
		samples->room = Max(64, 2 * samples->room);
		samples->samples = samples->samples == NULL ?
			palloc(samples->room * sizeof(GpuSortKeySample)) :
			repalloc(samples->samples, samples->room * sizeof(GpuSortKeySample));
	}
	sample = &samples->samples[samples->n++];
	gpusort_text_bytes_open(source, value, &bytes);
	sample->length = Min(bytes.length, GPUSORT_SAMPLE_BYTES_MAX);
	sample->bytes = memcpy(palloc(Max(sample->length, 1)), bytes.bytes, sample->length);
	gpusort_varlena_bytes_close(&bytes);
}

void
gpusort_key_samples_sort(GpuSortKeySamples *samples)
{
	int			distinct = 0;

	if (samples->n == 0)
		return;
	qsort(samples->samples, samples->n, sizeof(GpuSortKeySample), compare_samples);
	for (int i = 0; i < samples->n; i++)
		if (i == 0 || compare_samples(&samples->samples[i], &samples->samples[distinct - 1]) != 0)
			samples->samples[distinct++] = samples->samples[i];
	samples->n = distinct;
}

static Size
common_bytes(const GpuSortKeySample *a, const GpuSortKeySample *b)
{
	return gpusort_common_bytes(a->bytes, b->bytes, Min(a->length, b->length));
}

Size
gpusort_key_samples_common(const GpuSortKeySamples *samples)
{
	return common_bytes(&samples->samples[0], &samples->samples[samples->n - 1]);
}

/* Among sorted strings, neighbours have most in common. */
Size
gpusort_key_samples_most_common(const GpuSortKeySamples *samples)
{
	Size		most = 0;

	for (int i = 1; i < samples->n; i++)
		most = Max(most, common_bytes(&samples->samples[i - 1], &samples->samples[i]));
	return most;
}

double
gpusort_key_samples_alike(const GpuSortKeySamples *samples)
{
	double		sum = 0;

	for (int i = 1; i < samples->n; i++)
		sum += common_bytes(&samples->samples[i - 1], &samples->samples[i]);
	return samples->n > 1 ? sum / (samples->n - 1) : 0;
}
