/*
 * why.h
 *	  Why sorts run where they do.
 */
#ifndef GPUSORT_WHY_H
#define GPUSORT_WHY_H

/* Lets gpusort_why see plans, and gives EXPLAIN the option GPUSORT, where it has options of extensions. */
extern void gpusort_why_install(void);

#endif							/* GPUSORT_WHY_H */
