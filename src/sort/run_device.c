/*
 * run_device.c
 *	  Sorted runs in the memory of another device.
 *
 * In:  bytes of a run (run.c), which one device has sorted.
 * Out: the same bytes, from another one.
 *
 * The other device is asked to sort nothing.  The run is a job of its own there: its bytes go as chunks of one row
 * each, as long as a chunk can hold, with a key that says nothing; the job is cut AS_FED, and its windows are
 * these chunks again.  So the bytes pass through the shared buffers both ways, and the service knows nothing of runs
 * but how much memory they may have (service_grants.c).  Devices need no way to each other: rows come from them through
 * these buffers wherever they go, and the keys, from which the merge's order is computed, stay where they were sorted.
 *
 * Runs in the backend that leads the sort.  The job is closed with the run, or with its memory context.
 */
#include "postgres.h"

#include "shared/chunk.h"
#include "sort/reader.h"
#include "sort/run_device.h"

/* Behind the header a chunk has its row's start, its key, and the row. */
#define ROW_START_OFFSET	GPUSORT_CHUNK_HEADER_BYTES
#define KEY_OFFSET			(ROW_START_OFFSET + sizeof(uint64))
#define DATA_OFFSET			(KEY_OFFSET + sizeof(uint64))
#define DATA_BYTES_MAX		GPUSORT_CHUNK_DATA_MAX(1)

typedef struct DeviceRun
{
	GpuSortRun	run;			/* must be first */

	/* writing */
	int			buffer;			/* with the chunk being filled; -1: none */
	uint64		chunks;			/* sent */

	/* reading */
	GpuSortReader *reader;		/* NULL: not begun */
	const char *next;			/* in the window being read */
	Size		left;			/* behind it */
} DeviceRun;

static GpuSortChunkHeader *
chunk_of(const DeviceRun *mine)
{
	return (GpuSortChunkHeader *) gpusort_buffer_memory(mine->buffer);
}

/* False: the job takes no more. */
static bool
begin_chunk(DeviceRun *mine)
{
	GpuSortChunkHeader *chunk;

	mine->buffer = gpusort_job_buffer_to_fill(mine->run.kept_by, false);
	if (mine->buffer < 0)
		return false;
	chunk = chunk_of(mine);
	memset(chunk, 0, DATA_OFFSET);
	chunk->rows = 1;
	chunk->row_start_offset = ROW_START_OFFSET;
	chunk->keys_offset = KEY_OFFSET;
	chunk->data_offset = DATA_OFFSET;
	return true;
}

/* The answer to the first chunk is waited for: with it room is made for all.  False: there is none. */
static bool
send_chunk(DeviceRun *mine)
{
	int			buffer = mine->buffer;

	mine->buffer = -1;
	if (mine->chunks++ == 0)
		return gpusort_job_send_and_wait(mine->run.kept_by, buffer);
	gpusort_job_send(mine->run.kept_by, buffer);
	return true;
}

static void
write_device(GpuSortRun *run, const char *bytes, Size length)
{
	DeviceRun  *mine = (DeviceRun *) run;

	while (length > 0)
	{
		GpuSortChunkHeader *chunk;
		Size		part;

		if (mine->buffer < 0 && !begin_chunk(mine))
		{
			run->lost = true;
			return;
		}
		chunk = chunk_of(mine);
		part = Min(length, DATA_BYTES_MAX - chunk->data_bytes);
		memcpy(gpusort_chunk_data(chunk) + chunk->data_bytes, bytes, part);
		chunk->data_bytes += part;
		bytes += part;
		length -= part;
		if (chunk->data_bytes == DATA_BYTES_MAX && !send_chunk(mine))
		{
			run->lost = true;
			return;
		}
	}
}

static void
finish_device(GpuSortRun *run)
{
	DeviceRun  *mine = (DeviceRun *) run;

	if (mine->buffer >= 0 && !send_chunk(mine))
		run->lost = true;
	else
		run->lost = gpusort_job_cut(run->kept_by, GSORT_AS_FED) != GPUSORT_CUT_DONE ||
			gpusort_job_windows(run->kept_by) != mine->chunks;
}

/* Goes to the next window.  False: the run is lost. */
static bool
enter_next_window(DeviceRun *mine)
{
	if (mine->reader == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(mine->run.context);

		mine->reader = gpusort_reader_begin(mine->run.kept_by, mine->run.format);
		MemoryContextSwitchTo(old_context);
	}
	if (!gpusort_reader_next_window(mine->reader))
	{
		if (!gpusort_job_failed(mine->run.kept_by))
			elog(ERROR, "gpusort run of " UINT64_FORMAT " bytes has no window at byte " UINT64_FORMAT,
				 mine->run.bytes, mine->run.bytes_read);
		mine->run.lost = true;
		return false;
	}
	mine->next = gpusort_buffer_memory(mine->reader->buffer);
	mine->left = mine->reader->window.row_bytes;
	return true;
}

static void
read_device(GpuSortRun *run, char *bytes, Size length)
{
	DeviceRun  *mine = (DeviceRun *) run;

	while (length > 0)
	{
		Size		part;

		if (mine->left == 0 && !enter_next_window(mine))
			return;
		part = Min(length, mine->left);
		memcpy(bytes, mine->next, part);
		mine->next += part;
		mine->left -= part;
		bytes += part;
		length -= part;
	}
}

static void
rewind_device(GpuSortRun *run)
{
	DeviceRun  *mine = (DeviceRun *) run;

	if (mine->reader != NULL)
		gpusort_reader_rewind(mine->reader);
	mine->left = 0;
}

static void
close_device(GpuSortRun *run)
{
	gpusort_job_close(run->kept_by);
}

static const GpuSortRunStore device_store = {
	.write = write_device,
	.finish = finish_device,
	.read = read_device,
	.rewind = rewind_device,
	.close = close_device,
};

GpuSortRun *
gpusort_run_device_create(const GpuSortRowFormat *format, const GpuSortJob *job)
{
	uint64		bytes = gpusort_job_row_bytes(job);
	uint64		chunks = (bytes + DATA_BYTES_MAX - 1) / DATA_BYTES_MAX;
	GpuSortJob *kept_by = bytes > 0 ? gpusort_job_open_for_run(job, chunks, bytes) : NULL;
	DeviceRun  *mine;

	if (kept_by == NULL)
		return NULL;
	mine = palloc0(sizeof(DeviceRun));
	gpusort_run_init(&mine->run, &device_store, format);
	mine->run.kept_by = kept_by;
	mine->buffer = -1;
	return &mine->run;
}
