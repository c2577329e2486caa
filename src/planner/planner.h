/*
 * planner.h
 *	  The hooks of the planner and of the reports on where sorts run.
 */
#ifndef GPUSORT_PLANNER_H
#define GPUSORT_PLANNER_H

extern void gpusort_planner_install_hooks(void);

/* Lets gpusort_why see plans, and adds the option GPUSORT to EXPLAIN on
 * versions that let extensions add options. */
extern void gpusort_why_install(void);

#endif							/* GPUSORT_PLANNER_H */
