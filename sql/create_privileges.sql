-- Privileges of objects that an upgrade keeps.  Its script must leave them alone: an administrator may have changed
-- them, and pg_dump leaves out those that a script grants.

GRANT SELECT ON gpusort_devices TO PUBLIC;
REVOKE ALL ON FUNCTION gpusort_calibrate(integer, integer, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION gpusort_stats_reset() FROM PUBLIC;

