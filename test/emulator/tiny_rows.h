/*
 * tiny_rows.h
 *	  Tuning rows for tests: tiles so small that few items need every stage.
 *
 * cuda/sort/tuning.h includes them in place of its own.  The large row has so
 * few bins that buckets overflow them.  The tests thus cover long segments and
 * cooperative merging.
 */
typedef tuning_row<64, 6, 1, 512, 64, 64, 4, 512, 1, 99 << 10> TUNING_MEDIUM;
typedef tuning_row<96, 3, 1, 512, 3, 32, 16, 512, 1, 200 << 10> TUNING_LARGE;

typedef radix_tuning_row<96, 3, 1, 64 << 10> RADIX_ROW;

typedef merge_tuning_row<96, 5, 1, 64 << 10> MERGE_ROW;

#define MOSTLY_TIED			3	/* small, so that an input becomes mostly tied */
#define MOSTLY_TIED_PAIRS	0

#define UNCOUNTED_PAIRS_MIN	3000u

#define QUANTILES_MIN		16	/* few, so that a bucket has many bins */
/* small, so that a room estimated from a small sample fits the array */
#define ROOM_DEVIATIONS		2
#define ROOM_KEYS_MORE		2

/* In the emulator, the largest chip uses the large row for all but the smallest
 * inputs. */
#ifdef GSORT_EMULATE
#define MEDIUM_PAIRS_MAX	(emulator::the_chip.shared_bytes >= 200 << 10 ? 1000u : 200000u)
#else
#define MEDIUM_PAIRS_MAX	200000u
#endif
