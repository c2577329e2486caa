-- complain if the script is sourced in psql rather than by ALTER EXTENSION
\echo Use "ALTER EXTENSION gpusort UPDATE" to load this file. \quit

-- Columns of gpusort_stats are gone.  Views of users' that read it keep the old one, which is theirs from now on.
DO $$
BEGIN
	DROP VIEW gpusort_stats;
	DROP FUNCTION gpusort_stats();
EXCEPTION WHEN dependent_objects_still_exist THEN
	ALTER VIEW gpusort_stats RENAME TO gpusort_stats_0_1;
	ALTER FUNCTION gpusort_stats() RENAME TO gpusort_stats_0_1;
	ALTER EXTENSION gpusort DROP VIEW gpusort_stats_0_1;
	ALTER EXTENSION gpusort DROP FUNCTION gpusort_stats_0_1();
END
$$;

-- gpusort_devices gets columns at its end.  Its function cannot, so another takes that one's place.
ALTER FUNCTION gpusort_devices() RENAME TO gpusort_devices_0_1;
ALTER VIEW gpusort_devices RENAME COLUMN granted_bytes TO reserved_bytes;

-- gpusort_calibrate, which follows, has its parts in a schema of its own.
DROP FUNCTION gpusort_calibrate_crossover(integer[], double precision[], double precision[]);
DROP FUNCTION gpusort_calibrate_measure(integer, integer, integer, text);
DROP FUNCTION gpusort_calibrate_run(text, integer, boolean, boolean, text);

