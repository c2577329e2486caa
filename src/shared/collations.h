/*
 * collations.h
 *	  Collations whose sort keys have contradicted them, known to the whole server.
 */
#ifndef GPUSORT_COLLATIONS_H
#define GPUSORT_COLLATIONS_H

#include "postgres.h"

/* From now on, until the server is started again, no sort trusts strxfrm for this collation of
 * the current database.  Says so in the log, once. */
extern void gpusort_collation_distrust(Oid collation);

extern bool gpusort_collation_is_distrusted(Oid collation);

#endif							/* GPUSORT_COLLATIONS_H */
