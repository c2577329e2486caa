/*
 * sql_version.h
 *	  The version of the SQL objects against that of the module.
 */
#ifndef GPUSORT_SQL_VERSION_H
#define GPUSORT_SQL_VERSION_H

/* Raises an error if the module was not loaded at the server's start, or if this database has the extension in
 * another version than the module's: its functions may have columns that the other does not know. */
extern void gpusort_check_module(void);

#endif							/* GPUSORT_SQL_VERSION_H */
