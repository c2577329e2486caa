/*
 * device_setting.c
 *	  gpusort.device: the hooks of the setting (settings.c), its list of names,
 *	  and what each service makes of it.
 *
 * In:  the setting's text.
 * Out: gpusort_device, of which each process has its own copy.
 *
 * The hooks run in every process that reads the configuration.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/varlena.h"

#include "compat.h"
#include "device_setting.h"

GpuSortDeviceSetting gpusort_device =
{
	.n = 1,.names = {{GPUSORT_DEVICE_AUTO, -1}},.or_host = true
};

/* Indexed by GpuSortDeviceChoice. */
static const char *const device_names[] = {"auto", "cuda", "host", "off"};

/* Parses "cuda:2", or the "2" behind it in "cuda:0,2".  False: no device has
 * that name, in lower case. */
static bool
parse_device_name(const char *text, const GpuSortDeviceName *before, GpuSortDeviceName *name)
{
	const char *number = strncmp(text, "cuda:", 5) == 0 ? text + 5 :
		before != NULL && before->ordinal >= 0 ? text : NULL;

	name->ordinal = -1;
	if (number != NULL && number[0] != '\0' && strlen(number) <= 3 &&
		strspn(number, "0123456789") == strlen(number))
	{
		name->choice = GPUSORT_DEVICE_CUDA;
		name->ordinal = atoi(number);
		return true;
	}
	for (int i = 0; i < lengthof(device_names); i++)
		if (strcmp(text, device_names[i]) == 0)
		{
			name->choice = i;
			return true;
		}
	return false;
}

static bool
is_named_before(const GpuSortDeviceSetting *setting, const GpuSortDeviceName *name)
{
	for (int i = 0; i < setting->n; i++)
		if (setting->names[i].choice == name->choice && setting->names[i].ordinal == name->ordinal)
			return true;
	return false;
}

/* Several GPUs may be listed by their numbers, each once; or, for tests,
 * several host devices. */
static bool
may_follow(const GpuSortDeviceSetting *setting, const GpuSortDeviceName *name)
{
	const GpuSortDeviceName *first = &setting->names[0];

	if (setting->n == 0)
		return true;
	if (first->choice != name->choice)
		return false;
	return name->choice == GPUSORT_DEVICE_HOST ||
		(first->ordinal >= 0 && name->ordinal >= 0 && !is_named_before(setting, name));
}

/* Adds a name to the list.  False: the detail tells what is wrong. */
static bool
add_device_name(const char *text, GpuSortDeviceSetting *setting)
{
	GpuSortDeviceName name;

	if (!parse_device_name(text, setting->n > 0 ? &setting->names[setting->n - 1] : NULL, &name))
		GUC_check_errdetail("There is no device \"%s\".", text);
	else if (setting->n == 1 && setting->names[0].choice == GPUSORT_DEVICE_AUTO &&
			 name.choice == GPUSORT_DEVICE_HOST && !setting->or_host)
	{
		setting->or_host = true;
		return true;
	}
	else if (setting->or_host || !may_follow(setting, &name))
		GUC_check_errdetail("\"%s\" cannot follow the devices named before it.", text);
	else if (setting->n == GPUSORT_SERVICES_MAX)
		GUC_check_errdetail("The list names more than %d devices.", GPUSORT_SERVICES_MAX);
	else
	{
		setting->names[setting->n++] = name;
		return true;
	}
	return false;
}

static bool
parse_device_names(const List *names, GpuSortDeviceSetting *setting)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		if (!add_device_name(lfirst(lc), setting))
			return false;
	}
	if (setting->n == 0)
		GUC_check_errdetail("The list names no device.");
	return setting->n > 0;
}

/* Passes the parsed value to the assign hook. */
bool
gpusort_check_device(char **newval, void **extra, GucSource source)
{
	GpuSortDeviceSetting setting = {0};
	char	   *names = pstrdup(*newval);
	List	   *list = NIL;
	bool		right = SplitIdentifierString(names, ',', &list);

	if (!right)
		GUC_check_errdetail("List syntax is invalid.");
	right = right && parse_device_names(list, &setting);
	list_free(list);
	pfree(names);
	if (!right)
	{
		GUC_check_errhint("Available values: \"auto\", \"cuda\", \"cuda:0,1\" (GPUs by their numbers), \"host\", \"auto,host\", \"off\".");
		return false;
	}
	*extra = compat_guc_malloc(sizeof(setting));
	if (*extra == NULL)
		return false;
	memcpy(*extra, &setting, sizeof(setting));
	return true;
}

void
gpusort_assign_device(const char *newval, void *extra)
{
	gpusort_device = *(GpuSortDeviceSetting *) extra;
}

GpuSortServiceDevice
gpusort_device_of_service(int i)
{
	const GpuSortDeviceName *name = &gpusort_device.names[gpusort_device.n > 1 ? i : 0];
	GpuSortServiceDevice device =
		{.n = 1,.choices = {name->choice},.ordinal = name->ordinal >= 0 ? name->ordinal : i};

	/* stands in for all GPUs, not for each of them */
	if (gpusort_device.or_host && i == 0)
		device.choices[device.n++] = GPUSORT_DEVICE_HOST;
	return device;
}

int
gpusort_services_wanted(int gpus)
{
	const GpuSortDeviceName *name = &gpusort_device.names[0];
	bool		all = (name->choice == GPUSORT_DEVICE_AUTO ||
					   name->choice == GPUSORT_DEVICE_CUDA) && name->ordinal < 0;

	return all ? Min(Max(1, gpus), GPUSORT_SERVICES_MAX) : gpusort_device.n;
}
