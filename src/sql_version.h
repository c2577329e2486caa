/*
 * sql_version.h
 *	  Compares the version of the SQL objects with that of the module.
 */
#ifndef GPUSORT_SQL_VERSION_H
#define GPUSORT_SQL_VERSION_H

/* Raises an error if the module was not loaded at the server's start.  Also
 * raises one if this database has the extension in another version than the
 * module's, whose functions may have other columns. */
extern void gpusort_check_module(void);

#endif							/* GPUSORT_SQL_VERSION_H */
