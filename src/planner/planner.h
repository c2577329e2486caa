/*
 * planner.h
 *	  The planner's hooks, and those of who asks why sorts run where they do.
 */
#ifndef GPUSORT_PLANNER_H
#define GPUSORT_PLANNER_H

extern void gpusort_planner_install_hooks(void);

/* Lets gpusort_why see plans, and gives EXPLAIN the option GPUSORT, where it has options of extensions. */
extern void gpusort_why_install(void);

#endif							/* GPUSORT_PLANNER_H */
