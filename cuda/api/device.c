/*
 * device.c
 *	  The device of gsort.h: opening and shutting, events, information, and
 *	  recorded failures.
 *
 * In:  the calls of gsort.h, from the one thread that owns the device.
 * Out: calls of the implementation that the device was opened with.
 */
#include "api/api_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- failures ------------------------------------------------------------- */

gsort_status
gsort_fail(gsort_device *device, gsort_status status, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(device->error_text, sizeof(device->error_text), format, args);
	va_end(args);
	if (status == GSORT_DEVICE_LOST)
		device->lost = 1;
	return status;
}

gsort_status
gsort_bad_argument(gsort_device *device, const char *what)
{
	return gsort_fail(device, GSORT_BAD_ARG, "bad argument: %s", what);
}

int
gsort_is_lost(gsort_device *device)
{
	if (!device->lost && gsort_fails_now(&device->faults, GSORT_FAIL_CALLS))
		gsort_fail(device, GSORT_DEVICE_LOST, "a test wants the device to be lost here");
	return device->lost;
}

void
gsort_set_fail_at(gsort_device *device, uint64_t n, uint32_t kinds)
{
	__atomic_store_n(&device->faults.fail_at, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&device->faults.count, 0, __ATOMIC_RELAXED);
	device->faults.kinds = kinds;
	__atomic_store_n(&device->faults.fail_at, n, __ATOMIC_RELEASE);
}

const char *
gsort_error_text(gsort_device *device)
{
	return device->error_text;
}

/* --- opening and shutting ------------------------------------------------- */

static const gsort_device_ops *
ops_of(gsort_kind kind)
{
#ifdef GSORT_WITH_CUDA
	if (kind == GSORT_KIND_CUDA)
		return &gsort_cuda_ops;
#endif
	return kind == GSORT_KIND_HOST ? &gsort_host_ops : NULL;
}

void
gsort_prepare(uint32_t salt)
{
#ifdef GSORT_WITH_CUDA
	gsort_cuda_prepare(salt);
#else
	(void) salt;
#endif
}

gsort_status
gsort_open(const gsort_device_options *options, gsort_device **device,
		   char *reason, size_t reason_bytes)
{
	const gsort_device_ops *ops = ops_of(options->kind);
	gsort_status status;

	*device = NULL;
	reason[0] = '\0';
	if (ops == NULL)
	{
		snprintf(reason, reason_bytes, "built without CUDA");
		return GSORT_UNSUPPORTED;
	}
	status = ops->open(options, device, reason, reason_bytes);
	if (status != GSORT_OK)
		return status;
	(*device)->ops = ops;
	gsort_set_budget(*device, options->budget_bytes);
	return GSORT_OK;
}

gsort_status
gsort_pin(gsort_device *device, void *base, size_t bytes)
{
	return device->ops->pin(device, base, bytes);
}

void
gsort_shut(gsort_device *device)
{
	device->ops->shut(device);
}

/* --- events and information ----------------------------------------------- */

int
gsort_fd(gsort_device *device)
{
	return device->ops->fd(device);
}

int
gsort_poll(gsort_device *device, gsort_event *out, int max)
{
	return device->ops->poll(device, out, max);
}

void
gsort_device_get_info(gsort_device *device, gsort_device_info *info)
{
	memset(info, 0, sizeof(*info));
	device->ops->get_info(device, info);
	info->budget_bytes = device->budget_bytes;
	info->reserved_bytes = device->reserved_bytes;
	info->lost = device->lost;
	info->fail_at = device->faults.fail_at;
	info->fail_count = __atomic_load_n(&device->faults.count, __ATOMIC_RELAXED);
}

void
gsort_set_budget(gsort_device *device, uint64_t budget_bytes)
{
	device->budget_bytes = budget_bytes != 0 ? budget_bytes : device->ops->default_budget(device);
}
