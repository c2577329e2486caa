/*
 * explain_figures.h
 *	  Amounts and times in EXPLAIN, with their units.
 *
 * Text has kB, rounded up, or ms behind the figure.  Other formats have bare
 * numbers, and the unit in the property's name: bytes, or ms.
 */
#ifndef GPUSORT_EXPLAIN_FIGURES_H
#define GPUSORT_EXPLAIN_FIGURES_H

#include "postgres.h"

#include "compat.h"

static inline void
gpusort_explain_bytes(const char *label, uint64 bytes, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger(label, "kB", (bytes + 1023) / 1024, es);
	else
		ExplainPropertyUInteger(psprintf("%s Bytes", label), NULL, bytes, es);
}

static inline void
gpusort_explain_ms(const char *label, double ms, ExplainState *es)
{
	if (es->format != EXPLAIN_FORMAT_TEXT)
		label = psprintf("%s ms", label);
	ExplainPropertyFloat(label, "ms", ms, 3, es);
}

#endif							/* GPUSORT_EXPLAIN_FIGURES_H */
