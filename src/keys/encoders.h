/*
 * encoders.h
 *	  The encoders of types whose words take more than a look at a fixed width.
 */
#ifndef GPUSORT_ENCODERS_H
#define GPUSORT_ENCODERS_H

#include "postgres.h"

#include "keys/sortkey.h"

typedef struct GpuSortEncoder
{
	/* Sets how many words a key of this type may have.  False: none. */
	bool		(*can_encode) (const GpuSortKeyType *type, int *least, int *most);

	/*
	 * Sets the encoder's part of a key: encode, state, the marks of inexact
	 * values, must_verify.  The rest is set.  Memory: the current context,
	 * which must outlive the key.
	 */
	void		(*make) (GpuSortKey *key, const GpuSortKeyType *type,
						 const GpuSortKeyEncoding *encoding);
} GpuSortEncoder;

/* by families, each in its file */
extern const GpuSortEncoder gpusort_encode_abbreviated;
extern const GpuSortEncoder gpusort_encode_bit;
extern const GpuSortEncoder gpusort_encode_bytea;
extern const GpuSortEncoder gpusort_encode_enum;
extern const GpuSortEncoder gpusort_encode_interval;
extern const GpuSortEncoder gpusort_encode_macaddr;
extern const GpuSortEncoder gpusort_encode_macaddr8;
extern const GpuSortEncoder gpusort_encode_network;
extern const GpuSortEncoder gpusort_encode_numeric;
extern const GpuSortEncoder gpusort_encode_text;
extern const GpuSortEncoder gpusort_encode_timetz;
extern const GpuSortEncoder gpusort_encode_uuid;

/* As gpusort_encode_text's make, for an encoding that has a dictionary. */
extern void gpusort_encode_by_dictionary(GpuSortKey *key, const GpuSortKeyType *type,
										 const GpuSortKeyEncoding *encoding);

#endif							/* GPUSORT_ENCODERS_H */
