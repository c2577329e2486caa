/*
 * extents.h
 *	  How the arena of a job's rows and the tables of its keys are cut into
 *	  extents.
 *
 * A unit of the arena is 8 bytes.  Unit number unit lies in extent unit /
 * GSORT_EXTENT_UNITS; rows and chunks may run over an extent's end, so who
 * copies them walks stretch by stretch.  What there is of row number row beside
 * it, its word and its keys, lies in extent row / GSORT_KEY_EXTENT_ROWS of its
 * kind.
 */
#ifndef GSORT_EXTENTS_H
#define GSORT_EXTENTS_H

#include <stdint.h>

#include "gsort.h"
#include "rows/host_device.h"

#define GSORT_EXTENT_BYTES		(8u << 20)
#define GSORT_EXTENT_UNITS		(GSORT_EXTENT_BYTES / 8)
#define GSORT_WINDOW_BYTES_MAX	(GSORT_EXTENT_BYTES / 2)
#define GSORT_KEY_EXTENT_ROWS	(1u << 17)
#define GSORT_RUN_EXTENTS_MAX	(GSORT_RUN_BYTES_MAX / GSORT_EXTENT_BYTES)
#define GSORT_RUN_KEY_EXTENTS_MAX	((GSORT_RUN_ROWS_MAX + 1ull) / GSORT_KEY_EXTENT_ROWS)

/* How many of the units from this one on lie in its extent. */
static inline GSORT_HD uint64_t
arena_stretch(uint64_t unit, uint64_t units)
{
	return gsort_min_u64(units, GSORT_EXTENT_UNITS - unit % GSORT_EXTENT_UNITS);
}

/* Where a unit lies, by the table of a job's extents. */
static inline GSORT_HD uint64_t *
arena_unit(uint64_t *const *extents, uint64_t unit)
{
	return extents[unit / GSORT_EXTENT_UNITS] + unit % GSORT_EXTENT_UNITS;
}

/*
 * Where units of rows go in an arena of which this much is used: not over an
 * extent's end if a window could hold them.  Longer rows do run over it, so
 * that no extent loses more than a window's size.
 */
static inline uint64_t
arena_place(uint64_t used, uint64_t units, uint32_t window_bytes)
{
	uint64_t	used_of_last = used % GSORT_EXTENT_UNITS;

	if (units <= window_bytes / 8 && used_of_last + units > GSORT_EXTENT_UNITS)
		return used + (GSORT_EXTENT_UNITS - used_of_last);
	return used;
}

/* Units of the arena that hold so many units of rows, placed so: the tails of
 * extents are lost. */
static inline uint64_t
arena_units_for(uint64_t units, uint32_t window_bytes)
{
	uint64_t	usable = GSORT_EXTENT_UNITS - window_bytes / 8;

	return (units + usable - 1) / usable * GSORT_EXTENT_UNITS;
}

/* Extents for so many units of the arena; more than a run can have are never
 * needed. */
static inline GSORT_HD uint64_t
arena_extents_for(uint64_t units)
{
	return gsort_min_u64((units + GSORT_EXTENT_UNITS - 1) / GSORT_EXTENT_UNITS,
						 GSORT_RUN_EXTENTS_MAX);
}

/* Key extents for so many rows. */
static inline GSORT_HD uint64_t
key_extents_of_rows(uint64_t rows)
{
	return (rows + GSORT_KEY_EXTENT_ROWS - 1) / GSORT_KEY_EXTENT_ROWS;
}

#endif							/* GSORT_EXTENTS_H */
