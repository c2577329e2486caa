/*
 * gpusort.h
 *	  Types shared by the files of src/; no bodies.
 *
 * The words that all files use:
 *	  row		a tuple as it is packed for the device
 *	  word		64 bits that a key, or a part of it, is sorted by
 *	  encoding	the number of words of a key, and the prefix that they leave out
 *	  chunk		rows with their keys, as they lie in a buffer
 *	  buffer	1 MiB of the shared pool
 *	  block	sorted rows that the device has written into a buffer
 *	  run		a sorted part of the input, as much as the device's memory holds
 *	  job		one sort on the device
 *	  leader	the process that opened a job: it finishes its runs and reads them
 *	  feeder	a process that packs rows for a job: its leader, or a parallel
 *				worker
 *	  reservation		device memory promised to a job
 *	  service	a background worker that owns a device; the first one starts the
 *				others
 *	  provisional sort
 *				an array of a sort's first rows, until a job is worth it
 */
#ifndef GPUSORT_H
#define GPUSORT_H

#include "gsort.h"				/* constants and types; only service*.c call its functions */

/* Words of a row's keys: the key columns of a job. */
#define GPUSORT_WORDS_MAX GSORT_MAX_KEY_COLUMNS

/* The most services, each with a device of its own. */
#define GPUSORT_SERVICES_MAX	16

#endif							/* GPUSORT_H */
