/*
 * service_fetch.c
 *	  Windows of sorted rows on their way to sessions.
 *
 * In:  FETCH requests; FETCHED events.
 * Out: windows in buffers; or the job failed.
 *
 * Runs in the service alone.
 *
 * A device may lack memory for a fetch, which needs staging where the buffers are not pinned.
 * A sorted run has no other way out.  So the buffer stays FETCHING, and the device is asked again
 * in each turn, for the oldest window first, until other transfers have ended.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "service/service_internal.h"

typedef struct RefusedFetch
{
	int			job;
	int			buffer;			/* its window_number is the one to fetch */
	uint64		since_us;
} RefusedFetch;

/* [n_buffers], in the order in which they came */
static RefusedFetch *refused = NULL;
static int	n_refused = 0;

void
gpusort_service_handle_fetched(int job, int buffer, gsort_status status)
{
	if (status == GSORT_OK)
		pg_atomic_fetch_add_u64(&gpusort_shared->counters.bytes_from_device,
								gpusort_buffers[buffer].window.bytes);
	gpusort_service_note_status(job, status);
	gpusort_service_return_buffer(buffer, status == GSORT_OK ?
								 GPUSORT_BUFFER_WINDOW : GPUSORT_BUFFER_HELD);
}

/* --- asking the device ------------------------------------------------------------ */

static gsort_status
ask_device(int job, int buffer)
{
	gsort_status status = gsort_job_fetch(gpusort_service_jobs[job].job,
										  gpusort_buffers[buffer].window_number,
										  gpusort_buffer_memory(buffer), buffer);

	if (status == GSORT_OK)
		gpusort_service_operation_began(job);
	return status;
}

static void
remember_refused(int job, int buffer)
{
	if (refused == NULL)
		refused = MemoryContextAlloc(TopMemoryContext,
									 gpusort_shared->n_buffers * sizeof(RefusedFetch));
	refused[n_refused++] = (RefusedFetch) {job, buffer, gpusort_clock_us()};
}

/* Is the fetch done with, one way or the other? */
static bool
retry(const RefusedFetch *fetch, uint64 now_us)
{
	gsort_status status;

	if (gpusort_service_job_state(fetch->job) != GPUSORT_JOB_READY)
	{
		gpusort_service_return_buffer(fetch->buffer, GPUSORT_BUFFER_HELD);
		return true;
	}
	status = ask_device(fetch->job, fetch->buffer);
	if (status == GSORT_NOMEM && !gpusort_clock_exceeds(fetch->since_us, now_us, GPUSORT_PATIENCE_MS))
		return false;
	if (status != GSORT_OK)
		gpusort_service_handle_fetched(fetch->job, fetch->buffer, status);
	return true;
}

void
gpusort_service_retry_fetches(void)
{
	uint64		now_us = n_refused > 0 ? gpusort_clock_us() : 0;
	int			left = 0;

	for (int i = 0; i < n_refused; i++)
		if (!retry(&refused[i], now_us))
			refused[left++] = refused[i];
	n_refused = left;
}

void
gpusort_service_forget_fetches(int job)
{
	int			left = 0;

	for (int i = 0; i < n_refused; i++)
		if (refused[i].job != job)
			refused[left++] = refused[i];
	n_refused = left;
}

/* --- requests -------------------------------------------------------------------- */

/* The first window that ends behind row. */
static uint64
window_of_row(const gsort_window *windows, uint64 n, uint64 row)
{
	uint64		low = 0;
	uint64		high = n;

	while (low < high)
	{
		uint64		middle = low + (high - low) / 2;

		if (windows[middle].first_row + windows[middle].rows > row)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Notes in the buffer which window it is for. */
static gsort_status
find_window(const GpuSortRequest *request)
{
	GpuSortBuffer *buffer = &gpusort_buffers[request->buffer];
	const gsort_window *windows;
	uint64		n;
	uint64		number = request->number;
	gsort_status status = gsort_job_windows(gpusort_service_jobs[request->job].job, &windows, &n);

	if (status != GSORT_OK)
		return status;
	if (request->kind == GPUSORT_REQUEST_FETCH_ROW)
		number = window_of_row(windows, n, number);
	if (number >= n)
		return GSORT_BAD_ARG;
	buffer->window = windows[number];
	buffer->window_number = number;
	return GSORT_OK;
}

void
gpusort_service_handle_fetch(const GpuSortRequest *request)
{
	gsort_status status;

	if (gpusort_service_job_state(request->job) != GPUSORT_JOB_READY ||
		gpusort_service_jobs[request->job].job == NULL)
	{
		gpusort_service_return_buffer(request->buffer, GPUSORT_BUFFER_HELD);
		return;
	}
	status = find_window(request);
	/* those that were refused before it come first */
	if (status == GSORT_OK)
		status = n_refused > 0 ? GSORT_NOMEM : ask_device(request->job, request->buffer);
	if (status == GSORT_NOMEM)
		remember_refused(request->job, request->buffer);
	else if (status != GSORT_OK)
		gpusort_service_handle_fetched(request->job, request->buffer, status);
}
