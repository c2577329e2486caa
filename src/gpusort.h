/*
 * gpusort.h
 *	  Types shared by the files of src/; no bodies.
 *
 * The words that all files use.  They are the field's own, and nothing else is
 * called by them.
 *
 *	  device	a GPU, or the host device
 *	  host device
 *				threads of the CPU that do a GPU's work where there is none
 *	  native	sorted by PostgreSQL's own code
 *	  row		a tuple as it is packed for the device
 *	  hidden column
 *				a column that only the sort reads; it does not leave the node
 *	  key word	64 bits that a key, or a part of it, is sorted by; also word
 *	  key encoding
 *				the form of a key's words: their number, and the prefix that
 *				they leave out, or a dictionary
 *	  prefix	the bytes that nearly all values of a key begin with
 *	  prefix marker
 *				the byte that stands for the prefix in a key word
 *	  dictionary
 *				the values of a key that has few; their ranks make its words
 *	  inexact value
 *				a value whose words may stand for others too
 *	  chunk		rows with their keys, as they lie in a buffer
 *	  buffer	1 MiB of the shared pool
 *	  output block
 *				sorted rows that the device has written into a buffer
 *	  run		a sorted part of the input, as much as the device's memory
 *				holds; it is fed, finished and read
 *	  tie run	neighbours in a run that words leave undecided
 *	  spill		to write a run to a temporary file, since the device is full
 *	  job		one sort on the device
 *	  leader	the process that opened a job; it finishes its runs and reads
 *				them
 *	  feeder	a process that packs rows for a job: its leader, or a parallel
 *				worker
 *	  grouping	a sort that only brings equal rows together, by a hash of keys
 *	  reservation
 *				device memory that a job has
 *	  service	a background worker that owns a device; the first one starts the
 *				others
 *	  in-memory array
 *				a sort's first rows, until a job is worth it
 *	  reason	why a sort is native: a planned reason if its finished plan has
 *				PostgreSQL's Sort, a native reason if a GpuSort or an index
 *				build sorts so when it is executed (job/counters.h)
 */
#ifndef GPUSORT_H
#define GPUSORT_H

#include "gsort.h"				/* constants and types; only service*.c call its functions */

/* Words of a row's keys: the key columns of a job. */
#define GPUSORT_WORDS_MAX GSORT_MAX_KEY_COLUMNS

/* The most services, each with a device of its own. */
#define GPUSORT_SERVICES_MAX	16

#endif							/* GPUSORT_H */
