/*
 * planner.h
 *	  The planner's hooks.
 */
#ifndef GPUSORT_PLANNER_H
#define GPUSORT_PLANNER_H

extern void gpusort_planner_install_hooks(void);

#endif							/* GPUSORT_PLANNER_H */
