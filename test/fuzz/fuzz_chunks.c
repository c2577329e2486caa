/*
 * fuzz_chunks.c
 *	  From a shared buffer to sorted blocks: chunk.c, cuda/api and the host
 *	  device.
 *
 * In:  the shape of a job, and chunks of it: right ones as feed.c lays them
 *	    out, then any words of their headers, row offsets and statistics
 *	    overwritten, some of them while the device reads.  Checked: whatever a
 *	    buffer holds, nothing is read outside of it (it has its own malloc'd
 *	    memory, which AddressSanitizer guards).  Rows that the job accepted
 *	    come back complete: as many rows, and the same 8-byte units, each once.  If
 *	    nothing was overwritten, in order too.
 */
#include "postgres.h"

#include "job/chunk.h"

#include "fuzz.h"

#include <errno.h>
#include <poll.h>

#define CHUNKS_MAX		24
#define CHUNK_ROWS_MAX	256
#define ROWS_MAX		(CHUNKS_MAX * CHUNK_ROWS_MAX)
#define BUDGET_BYTES	(UINT64CONST(128) << 20)
#define SILENCE_MS		30000

typedef struct fuzzed_job
{
	gsort_job  *job;
	uint32		columns;
	uint32		null_mask;
	uint32		null_first_mask;
	bool		honest;			/* no chunk was tampered with */
	bool		bad_rows;		/* row offsets that the device must refuse */
	gsort_column_stats claims[GSORT_MAX_KEY_COLUMNS];	/* of all accepted chunks */
	gsort_column_stats truth[GSORT_MAX_KEY_COLUMNS];	/* of their keys */
	bool		raced;			/* they were overwritten while it read them */
	bool		failed;			/* the service would fail it */
	int			chunks;
	uint64		rows;			/* accepted */
	uint64		units;
	uint64		sum;			/* of the accepted units */
} fuzzed_job;

static gsort_device *device;
static char *buffer;
static uint64 *block;

/* of the rows that honest chunks hold, by the number in their first unit */
static uint64 keys[ROWS_MAX][GSORT_MAX_KEY_COLUMNS];
static uint32 nulls[ROWS_MAX];
static uint32 lengths[ROWS_MAX];
static uint32 made_rows;

static void
open_device(void)
{
	char		reason[256];
	gsort_device_options options = {
		.kind = GSORT_KIND_HOST, .budget_bytes = BUDGET_BYTES,
		.threads = 2
	};

	REQUIRE(gsort_open(&options, &device, reason, sizeof(reason)) == GSORT_OK);
	buffer = malloc(GPUSORT_BUFFER_BYTES);
	REQUIRE(buffer != NULL);
}

static gsort_event
wait_for(gsort_event_kind kind)
{
	gsort_event event;

	for (;;)
	{
		struct pollfd ready = {.fd = gsort_fd(device), .events = POLLIN};

		if (gsort_poll(device, &event, 1) == 0)
		{
			int			answers = poll(&ready, 1, SILENCE_MS);

			/* libFuzzer has a timer */
			REQUIRE(answers == 1 || (answers < 0 && errno == EINTR));
		}
		else if (event.kind == kind)
			return event;
	}
}

/* --- chunks --------------------------------------------------------------- */

static uint64
sum_of(const uint64 *units, uint64 n)
{
	uint64		sum = 0;

	for (uint64 i = 0; i < n; i++)
		sum += units[i] * UINT64CONST(0x9e3779b97f4a7c15) ^ units[i] >> 29;
	return sum;
}

static void
count_key(gsort_column_stats *stats, uint64 key)
{
	stats->min = Min(stats->min, key);
	stats->max = Max(stats->max, key);
	stats->any |= key;
	stats->all &= key;
}

/* A row with its keys, from few input bytes; its first unit is its number. */
static void
make_row(fuzz_source *source, const fuzzed_job *j, GpuSortChunkHeader *chunk, uint32 row)
{
	uint64	   *unit = (uint64 *) (gpusort_chunk_data(chunk) + chunk->data_bytes);
	uint8		what = (uint8) take(source, 1);
	uint32		number = made_rows++;

	lengths[number] = 1 + what % 8;
	nulls[number] = (what & 128) ? take(source, 1) & j->null_mask : 0;
	unit[0] = number;
	for (uint32 i = 1; i < lengths[number]; i++)
		unit[i] = number * UINT64CONST(0xbf58476d1ce4e5b9) + i;
	for (uint32 c = 0; c < j->columns; c++)
	{
		uint64		key = take(source, (what & 64) ? 8 : 1);

		keys[number][c] = key;
		gpusort_chunk_keys(chunk)[row * j->columns + c] = key;
		if (nulls[number] >> c & 1)
			chunk->stats[c].nulls++;
		else
			count_key(&chunk->stats[c], key);
	}
	if (j->null_mask != 0)
		gpusort_chunk_nulls(chunk)[row] = nulls[number];
	gpusort_chunk_row_start(chunk)[row] = chunk->data_bytes / 8;
	chunk->data_bytes += lengths[number] * 8;
}

/* As feed.c lays a chunk out. */
static GpuSortChunkHeader *
make_chunk(fuzz_source *source, const fuzzed_job *j)
{
	GpuSortChunkHeader *chunk = (GpuSortChunkHeader *) buffer;
	uint32		rows = 1 + (uint32) take(source, 1) % CHUNK_ROWS_MAX;
	Size		offset = GPUSORT_CHUNK_HEADER_BYTES;

	memset(chunk, 0, sizeof(*chunk));
	if (rows > 200)
		rows = 1;
	chunk->feeder = (uint32) take(source, 1) % 4;
	chunk->row_start_offset = offset;
	offset += MAXALIGN(rows * sizeof(uint32));
	if (j->null_mask != 0)
	{
		chunk->nulls_offset = offset;
		offset += MAXALIGN(rows * sizeof(uint32));
	}
	chunk->keys_offset = offset;
	offset += rows * j->columns * sizeof(uint64);
	chunk->data_offset = offset;
	for (uint32 c = 0; c < j->columns; c++)
	{
		chunk->stats[c].min = PG_UINT64_MAX;
		chunk->stats[c].all = PG_UINT64_MAX;
	}
	for (; chunk->rows < rows; chunk->rows++)
		make_row(source, j, chunk, chunk->rows);
	return chunk;
}

/* Lets one of the arrays end with the buffer, a little before its end, or
 * behind it: that is refused. */
static void
move_to_end(fuzz_source *source, fuzzed_job *j)
{
	GpuSortChunkHeader *chunk = (GpuSortChunkHeader *) buffer;
	uint8		what = (uint8) take(source, 1);
	uint32	   *offsets[] = {
		&chunk->row_start_offset, &chunk->keys_offset, &chunk->data_offset, &chunk->nulls_offset
	};
	uint32		bytes[] = {
		chunk->rows * sizeof(uint32), chunk->rows * j->columns * sizeof(uint64),
		chunk->data_bytes, chunk->rows * sizeof(uint32)
	};
	int			array = what % (j->null_mask != 0 ? 4 : 3);
	uint32		to = (GPUSORT_BUFFER_BYTES - bytes[array]) / 8 * 8 + 8 * (what >> 2 & 3) - 16;

	if (to + bytes[array] > GPUSORT_BUFFER_BYTES)
		j->honest = false;
	else
		memcpy(buffer + to, buffer + *offsets[array], bytes[array]);
	*offsets[array] = to;
}

/* By any number, or by one near the offset of the row before. */
static void
overwrite_row_offset(uint64 place, uint8 how, uint64 number)
{
	char	   *offset = buffer + 4 + place % (GPUSORT_BUFFER_BYTES - 8);
	uint32		value;

	memcpy(&value, offset - 4, 4);
	value = how & 1 ? (uint32) number : value - 1 + how / 2 % 4;
	memcpy(offset, &value, 4);
}

/* Overwrites a word of the header, a row's offset, or anything else near
 * them. */
static void
tamper(fuzz_source *source, fuzzed_job *j)
{
	uint8		what = (uint8) take(source, 1);
	uint64		at = take(source, 2);
	uint64		number = take(source, what & 4 ? 8 : 2);
	GpuSortChunkHeader header;

	j->honest = false;
	memcpy(&header, buffer, sizeof(header));
	switch (what % 4)
	{
		case 0:
			memcpy(buffer + at % (offsetof(GpuSortChunkHeader, stats) / 4) * 4, &number, 4);
			break;
		case 1:
			memcpy(buffer + at % (sizeof(header) / 8) * 8, &number, 8);
			break;
		case 2:
			overwrite_row_offset(header.row_start_offset + at % CHUNK_ROWS_MAX * 4,
								 what >> 3, number);
			break;
		case 3:
			/* the rest of a row that another chunk began, or the beginning of
			 * one */
			header.rows = at % 2;
			header.data_bytes = (at >> 1) % 64 * 8;
			header.more_bytes = number % 1024 * 8;
			memcpy(buffer, &header, sizeof(header));
			break;
	}
}

static bool
in_buffer(const void *array, uint64 bytes)
{
	uint64		offset = (uint64) ((const char *) array - buffer);

	return offset <= GPUSORT_BUFFER_BYTES && bytes <= GPUSORT_BUFFER_BYTES - offset;
}

/* As gsort.h wants them. */
static bool
row_offsets_are_right(const gsort_chunk *chunk)
{
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		if (row == 0 ? chunk->row_start[0] != 0 :
			chunk->row_start[row] <= chunk->row_start[row - 1])
			return false;
		if (chunk->row_start[row] >= chunk->data_bytes / 8)
			return false;
	}
	return true;
}

static void
fold(gsort_column_stats *stats, const gsort_column_stats *more)
{
	stats->min = Min(stats->min, more->min);
	stats->max = Max(stats->max, more->max);
	stats->any |= more->any;
	stats->all &= more->all;
	stats->nulls += more->nulls;
}

/* The statistics of an accepted chunk, and those that its keys have. */
static void
record_keys(fuzzed_job *j, const gsort_chunk *chunk)
{
	for (uint32 c = 0; chunk->rows > 0 && c < j->columns; c++)
	{
		fold(&j->claims[c], &chunk->stats[c]);
		for (uint32 row = 0; row < chunk->rows; row++)
		{
			if (chunk->nulls != NULL && ((chunk->nulls[row] & j->null_mask) >> c & 1))
				j->truth[c].nulls++;
			else
				count_key(&j->truth[c], chunk->keys[(uint64) row * j->columns + c]);
		}
	}
}

static bool
claims_hold(const fuzzed_job *j)
{
	for (uint32 c = 0; c < j->columns; c++)
	{
		const gsort_column_stats *claim = &j->claims[c];
		const gsort_column_stats *truth = &j->truth[c];

		if (truth->nulls > 0 && claim->nulls == 0)
			return false;
		if (truth->min <= truth->max &&
			(truth->min < claim->min || truth->max > claim->max ||
			 (truth->any & ~claim->any) != 0 || (claim->all & ~truth->all) != 0))
			return false;
	}
	return true;
}

static gsort_status
append(fuzzed_job *j, const gsort_chunk *chunk)
{
	uint64		bytes = chunk->rows > 0 ? chunk->data_bytes + chunk->more_bytes : 0;
	gsort_status status = gsort_job_reserve(j->job, chunk->rows, bytes);

	if (status == GSORT_OK)
		status = gsort_job_append(j->job, chunk);
	return status;
}

/* Handles a sent buffer as the service does. */
static void
feed_chunk(fuzz_source *source, fuzzed_job *j)
{
	uint8		tampered = (uint8) take(source, 1);
	GpuSortChunkHeader header;
	gsort_chunk chunk;
	gsort_status status;
	uint64		sum;

	make_chunk(source, j);
	if (tampered & 8)
		move_to_end(source, j);
	for (int i = 0; i < tampered % 8 - 4; i++)
		tamper(source, j);
	if (!gpusort_chunk_check(buffer, j->columns, j->null_mask, &header, &chunk))
	{
		REQUIRE(!j->honest);
		j->failed = true;
		return;
	}
	REQUIRE(in_buffer(chunk.data, chunk.data_bytes));
	REQUIRE(in_buffer(chunk.row_start, chunk.rows * sizeof(uint32)));
	REQUIRE(in_buffer(chunk.keys, (uint64) chunk.rows * j->columns * sizeof(uint64)));
	REQUIRE(chunk.nulls == NULL || in_buffer(chunk.nulls, chunk.rows * sizeof(uint32)));
	sum = sum_of(chunk.data, chunk.data_bytes / 8);
	if (!row_offsets_are_right(&chunk))
		j->bad_rows = true;
	status = append(j, &chunk);
	REQUIRE(status == GSORT_OK ||
			(!j->honest && (status == GSORT_BAD_DATA || status == GSORT_NOMEM)));
	if (status != GSORT_OK)
	{
		j->failed = true;
		return;
	}
	if (tampered >= 224)
	{
		/* row offsets only: the units are summed up already */
		uint32		at = (uint32) take(source, 1);

		j->honest = false;
		j->raced = true;
		if (at < chunk.rows)
			((volatile uint32 *) chunk.row_start)[at] = (uint32) take(source, 1);
	}
	record_keys(j, &chunk);
	REQUIRE(wait_for(GSORT_EVENT_APPENDED).status == GSORT_OK);
	j->rows += chunk.rows;
	j->units += chunk.data_bytes / 8;
	j->sum += sum;
}

/* --- blocks --------------------------------------------------------------- */

static int
compare_rows(const fuzzed_job *j, uint32 a, uint32 b)
{
	for (uint32 c = 0; c < j->columns; c++)
	{
		uint32		a_null = nulls[a] >> c & 1;

		if (a_null != (nulls[b] >> c & 1))
			return a_null == (j->null_first_mask >> c & 1) ? -1 : 1;
		if (!a_null && keys[a][c] != keys[b][c])
			return keys[a][c] < keys[b][c] ? -1 : 1;
	}
	return a < b ? -1 : a > b;
}

/* The rows of a block of an honest, sorted job; *last is the row before, and
 * then its last. */
static void
check_order(const fuzzed_job *j, uint32 rows, uint64 units, int64 *last)
{
	uint64		at = 0;

	for (uint32 i = 0; i < rows; i++)
	{
		REQUIRE(at < units && block[at] < made_rows);
		REQUIRE(*last < 0 || compare_rows(j, (uint32) *last, (uint32) block[at]) < 0);
		*last = (int64) block[at];
		at += lengths[block[at]];
	}
	REQUIRE(at == units);
}

static void
read_blocks(const fuzzed_job *j)
{
	const gsort_block *blocks;
	uint64		n;
	uint64		rows = 0;
	uint64		units = 0;
	uint64		sum = 0;
	int64		last = -1;

	REQUIRE(gsort_job_blocks(j->job, &blocks, &n) == GSORT_OK);
	for (uint64 i = 0; i < n; i++)
	{
		REQUIRE(blocks[i].bytes <= GPUSORT_BUFFER_BYTES && blocks[i].row_bytes <= blocks[i].bytes);
		/* as long as the block, so that one unit more is found */
		block = malloc(blocks[i].bytes);
		REQUIRE(gsort_job_fetch(j->job, i, block, 0) == GSORT_OK);
		REQUIRE(wait_for(GSORT_EVENT_FETCHED).status == GSORT_OK);
		if (j->honest)
			check_order(j, blocks[i].rows, blocks[i].row_bytes / 8, &last);
		rows += blocks[i].rows;
		units += blocks[i].row_bytes / 8;
		sum += sum_of(block, blocks[i].row_bytes / 8);
		free(block);
	}
	REQUIRE(rows == j->rows && units == j->units && sum == j->sum);
}

static void
finish_and_read(const fuzzed_job *j)
{
	gsort_status status = gsort_job_finish_run(j->job, GSORT_SORTED);

	/* a tampered chunk may have begun a row that no other went on with */
	REQUIRE(status == GSORT_OK || (status == GSORT_BAD_ARG && !j->honest));
	if (status != GSORT_OK)
		return;
	status = wait_for(GSORT_EVENT_RUN_FINISHED).status;
	REQUIRE(status == GSORT_OK || status == GSORT_BAD_DATA);
	REQUIRE(j->raced ||
			(status == GSORT_BAD_DATA) == (j->bad_rows || !claims_hold(j)));
	if (status == GSORT_OK)
		read_blocks(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source source = {data, size};
	uint8		shape = (uint8) take(&source, 1);
	uint8		ways = (uint8) take(&source, 1);
	uint8		null_bits = (uint8) take(&source, 1);
	fuzzed_job	j = {.columns = 1 + shape % GSORT_MAX_KEY_COLUMNS, .honest = true};
	gsort_job_options options = {
		.block_bytes = GPUSORT_BUFFER_BYTES
	};

	if (device == NULL)
		open_device();
	made_rows = 0;
	/* an input does the same each time */
	memset(buffer, 0, GPUSORT_BUFFER_BYTES);
	j.null_mask = null_bits & ((1u << j.columns) - 1);
	j.null_first_mask = null_bits >> 4 & j.null_mask;
	for (int c = 0; c < GSORT_MAX_KEY_COLUMNS; c++)
	{
		j.claims[c].min = j.truth[c].min = PG_UINT64_MAX;
		j.claims[c].all = j.truth[c].all = PG_UINT64_MAX;
	}
	options.key_columns = j.columns;
	options.null_mask = j.null_mask;
	options.null_first_mask = j.null_first_mask;
	options.flags = ways & 4 ? GSORT_TIES : 0;
	options.inexact_mask = ways & 16 ? (uint32_t) take(&source, 1) & ((1u << j.columns) - 1) : 0;
	options.inexact_bits[0] = options.inexact_code[0] = ways & 32 ? 0xff : 0;
	REQUIRE(gsort_job_open(device, &options, &j.job) == GSORT_OK);
	while (source.left > 0 && !j.failed && j.chunks++ < CHUNKS_MAX)
		feed_chunk(&source, &j);
	if (!j.failed)
		finish_and_read(&j);
	gsort_job_close(j.job);
	wait_for(GSORT_EVENT_CLOSED);
	return 0;
}
