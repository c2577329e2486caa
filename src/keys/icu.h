/*
 * icu.h
 *	  Locales, with ICU's collators if PostgreSQL has ICU and its headers are
 *	  there.
 *
 * The server brings ICU along, and its functions' names contain ICU's version.
 * If it differs from that of the headers, functions that are declared weak are
 * NULL, and the module loads all the same.
 */
#ifndef GPUSORT_ICU_H
#define GPUSORT_ICU_H

#include "postgres.h"

/* PostgreSQL's header includes ICU's, which may be missing where an extension
 * is built. */
#if defined(USE_ICU) && !__has_include(<unicode/ucol.h>)
#undef USE_ICU
#endif
#ifdef USE_ICU
#include <unicode/ucol.h>
#include <unicode/uset.h>
#endif
#include "utils/pg_locale.h"

#endif							/* GPUSORT_ICU_H */
