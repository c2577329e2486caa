/*
 * hash_table.h
 *	  PostgreSQL's simplehash.h, without a warning that 15's causes.
 *
 * It defines a hash table by the same parameters.  It can be included several
 * times in a file, as simplehash.h can.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* in 15 one of its functions has a variable that hides another */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow=compatible-local"
#endif
#include "lib/simplehash.h"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
