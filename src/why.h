/*
 * why.h
 *	  Why sorts run where they do.
 */
#ifndef GPUSORT_WHY_H
#define GPUSORT_WHY_H

#include "compat.h"

#ifdef COMPAT_EXPLAIN_OPTIONS
/* Gives EXPLAIN the option GPUSORT. */
extern void gpusort_why_install(void);
#endif

#endif							/* GPUSORT_WHY_H */
