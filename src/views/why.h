/*
 * why.h
 *	  Why sorts run where they do.
 */
#ifndef GPUSORT_WHY_H
#define GPUSORT_WHY_H

#include "postgres.h"

/* Lets gpusort_why see plans, and adds the option GPUSORT to EXPLAIN on
 * versions that let extensions add options. */
extern void gpusort_why_install(void);

#endif							/* GPUSORT_WHY_H */
