/*
 * sql_version.c
 *	  Compares the version of the SQL objects with that of the module.
 *
 * In:  pg_extension of this database; GPUSORT_VERSION, which the Makefile takes
 *	    from the control file.
 * Out: nothing, or an error with a hint.
 *
 * After an installation the two differ, until ALTER EXTENSION has run in each
 * database, and until the server has been restarted.  Sorts need none of the
 * SQL objects.
 *
 * Runs in any backend.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "job/shmem.h"
#include "sql_version.h"

/* Returns the extension's version.  NULL: this database has none, and the
 * caller has created the functions alone. */
static char *
version_of_sql(void)
{
	Relation	extensions = table_open(ExtensionRelationId, AccessShareLock);
	char	   *version = NULL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum		value;
	bool		is_null = true;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("gpusort"));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		value = heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(extensions),
							 &is_null);
		if (!is_null)
			version = TextDatumGetCString(value);
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return version;
}

/* Is one version of three numbers older than the other? */
static bool
is_older(const char *version, const char *other)
{
	int			a[3] = {0};
	int			b[3] = {0};

	sscanf(version, "%d.%d.%d", &a[0], &a[1], &a[2]);
	sscanf(other, "%d.%d.%d", &b[0], &b[1], &b[2]);
	for (int i = 0; i < 3; i++)
		if (a[i] != b[i])
			return a[i] < b[i];
	return false;
}

/* The hint depends on which of the two is older. */
void
gpusort_check_module(void)
{
	char	   *version;

	if (gpusort_shared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("gpusort is not loaded"),
				 errhint("Append gpusort to shared_preload_libraries in postgresql.conf and restart the server.")));
	version = version_of_sql();
	if (version == NULL || strcmp(version, GPUSORT_VERSION) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("extension gpusort has version %s in this database, but its library has version %s",
					version, GPUSORT_VERSION),
			 is_older(version, GPUSORT_VERSION) ?
			 errhint("Run ALTER EXTENSION gpusort UPDATE in this database.") :
			 errhint("Restart the server, which may have loaded an older library.  If the error persists, install version %s.",
					 version)));
}
