/*
 * window_cut.h
 *	  Where a sorted run is cut into windows: one rule for all devices, made of
 *	  the rows' lengths alone, and free of any dependence from one window to
 *	  the next, so that every row can decide for itself.
 *
 * A greedy cut would fill windows better but chains them: the next can only be
 * placed once the one before is.  Here a row begins a window when its offset in
 * the sorted stream passes a multiple of a fixed stride, and the stride leaves
 * room for the longest short row to hang over.  Long rows (above a quarter of
 * the window) stand alone, so that the stride stays at least three quarters.
 */
#ifndef GSORT_WINDOW_CUT_H
#define GSORT_WINDOW_CUT_H

#include <stdint.h>

#include "rows/host_device.h"

typedef struct window_cut
{
	uint64_t	long_units;		/* rows above this stand alone */
	uint64_t	stride_units;	/* between the cuts of short rows */
	uint64_t	piece_units;	/* of a long row, in each of its windows */
} window_cut;

/* The longest row, in units, that shares windows with others. */
static inline GSORT_HD uint64_t
window_cut_long_units(uint32_t window_bytes)
{
	return window_bytes / 8 / 4;
}

/* longest_short_units: of the run's rows up to window_cut_long_units, 0 if
 * none. */
static inline GSORT_HD window_cut
window_cut_make(uint32_t window_bytes, int with_ties, uint64_t longest_short_units)
{
	uint64_t	units = window_bytes / 8;
	window_cut	cut;

	cut.long_units = window_cut_long_units(window_bytes);
	/* rows have a unit or more, so a window's tie bits are at most units / 64
	 * words */
	cut.stride_units = units - longest_short_units - (with_ties ? units / 64 + 1 : 0);
	cut.piece_units = units - (with_ties ? 1 : 0);
	return cut;
}

/*
 * Does row i, of units, at offset_units in the sorted stream, begin a window?
 * previous_units is the length of row i - 1, 0 for the first row.
 */
static inline GSORT_HD int
window_cut_begins(const window_cut *cut, uint64_t offset_units, uint64_t units,
				  uint64_t previous_units)
{
	if (previous_units == 0 || units > cut->long_units || previous_units > cut->long_units)
		return 1;
	return offset_units / cut->stride_units !=
		(offset_units - previous_units) / cut->stride_units;
}

#endif							/* GSORT_WINDOW_CUT_H */
