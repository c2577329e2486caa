/*
 * extents.h
 *	  How the arena of a job's rows and the tables of its keys are cut into extents.
 *
 * A unit of the arena is 8 bytes.  Unit number unit lies in extent unit / GSORT_EXTENT_UNITS;
 * rows and chunks may run over an extent's end, so who copies them walks stretch by stretch.
 * What there is of row number row beside it, its word and its keys, lies in extent row / GSORT_KEY_EXTENT_ROWS of its kind.
 */
#ifndef GSORT_EXTENTS_H
#define GSORT_EXTENTS_H

#include "api/gsort_device.h"
#include "api/host_device.h"

/* How many of the units from this one on lie in its extent. */
static inline GSORT_HD uint64_t
arena_stretch(uint64_t unit, uint64_t units)
{
	uint64_t	left = GSORT_EXTENT_UNITS - unit % GSORT_EXTENT_UNITS;

	return units < left ? units : left;
}

/* Where a unit lies, by the table of a job's extents. */
static inline GSORT_HD uint64_t *
arena_unit(uint64_t *const *extents, uint64_t unit)
{
	return extents[unit / GSORT_EXTENT_UNITS] + unit % GSORT_EXTENT_UNITS;
}

/* Extents for so many units of the arena; more than a run can have are never needed. */
static inline GSORT_HD uint64_t
arena_extents_for(uint64_t units)
{
	uint64_t	extents = (units + GSORT_EXTENT_UNITS - 1) / GSORT_EXTENT_UNITS;

	return extents < GSORT_RUN_EXTENTS_MAX ? extents : GSORT_RUN_EXTENTS_MAX;
}

/* Key extents for so many rows. */
static inline GSORT_HD uint64_t
key_extents_of_rows(uint64_t rows)
{
	return (rows + GSORT_KEY_EXTENT_ROWS - 1) / GSORT_KEY_EXTENT_ROWS;
}

#endif							/* GSORT_EXTENTS_H */
