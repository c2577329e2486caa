/*
 * service_fetch.c
 *	  Windows of sorted rows on their way to sessions.
 *
 * In:  FETCH requests; FETCHED events.
 * Out: windows in buffers; or the job failed.
 *
 * Runs in the service alone.
 *
 * A device may lack memory for a fetch, which needs staging if the buffers are
 * not pinned.  A sorted run has no other way out.  So the buffer stays
 * FETCHING, and the device is asked again in each turn (service_requests.c),
 * for the job's oldest window first, until other transfers have ended.
 */
#include "postgres.h"

#include "service/service_internal.h"

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

/* Stops at the first window that the device cannot fetch now. */
void
gpusort_service_fetch_windows(int job)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[job];

	while (mine->fetches.first != GPUSORT_NO_BUFFER)
	{
		int			buffer = mine->fetches.first;
		gsort_status status = gsort_job_fetch(mine->job, gpusort_buffers[buffer].window_number,
											  gpusort_buffer_memory(buffer), buffer);

		if (status == GSORT_NOMEM && gpusort_service_asks_again(mine))
			return;
		(void) gpusort_service_take(&mine->fetches);
		if (status != GSORT_OK)
		{
			gpusort_service_handle_fetched(job, buffer, status);
			return;
		}
		mine->refused_since_us = 0;
		gpusort_service_operation_began(job);
	}
}

/* Returns the first window that ends behind row. */
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

/* Windows are fetched in the order of their requests. */
void
gpusort_service_handle_fetch(const GpuSortRequest *request)
{
	GpuSortServiceJob *mine = &gpusort_service_jobs[request->job];
	gsort_status status;

	if (gpusort_service_job_state(request->job) != GPUSORT_JOB_READY || mine->job == NULL)
	{
		gpusort_service_return_buffer(request->buffer, GPUSORT_BUFFER_HELD);
		return;
	}
	status = find_window(request);
	if (status != GSORT_OK)
	{
		gpusort_service_handle_fetched(request->job, request->buffer, status);
		return;
	}
	gpusort_service_queue(&mine->fetches, request->buffer);
	/* otherwise the device has refused an earlier one */
	if (mine->fetches.first == request->buffer)
		gpusort_service_fetch_windows(request->job);
}
