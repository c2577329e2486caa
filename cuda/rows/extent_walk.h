/*
 * extent_walk.h
 *	  A stretch of the arena, extent by extent.
 *
 * In:  the first unit of a stretch, and its length.
 * Out: parts of it, each within one extent.
 */
#ifndef GSORT_EXTENT_WALK_H
#define GSORT_EXTENT_WALK_H

#include "rows/extents.h"

typedef struct extent_part
{
	uint64_t	extent;			/* its number */
	uint64_t	place;			/* units from the extent's begin */
	uint64_t	units;
} extent_part;

/* The part that the stretch begins with.  units is not 0; the rest begins part.units further on. */
static inline extent_part
extent_walk_first(uint64_t first_unit, uint64_t units)
{
	uint64_t	place = first_unit % GSORT_EXTENT_UNITS;
	uint64_t	room = GSORT_EXTENT_UNITS - place;
	extent_part part = {first_unit / GSORT_EXTENT_UNITS, place, units < room ? units : room};

	return part;
}

#endif							/* GSORT_EXTENT_WALK_H */
