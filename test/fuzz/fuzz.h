/*
 * fuzz.h
 *	  The common base of the fuzzers: they take an input apart, and fail.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer keeps the input of a program that aborts, and shows where.  PostgreSQL's headers
 * put functions of its own in place of printf. */
#define REQUIRE(condition) \
	((condition) ? (void) 0 : (fputs("not so: " #condition "\n", stderr), abort()))

typedef struct fuzz_source
{
	const uint8_t *at;
	size_t		left;
} fuzz_source;

/* The next bytes as a number; zeros when the input has ended. */
static inline uint64_t
take(fuzz_source *source, size_t bytes)
{
	uint64_t	number = 0;

	if (bytes > source->left)
		bytes = source->left;
	if (bytes > 0)
		memcpy(&number, source->at, bytes);
	source->at += bytes;
	source->left -= bytes;
	return number;
}

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif							/* FUZZ_H */
