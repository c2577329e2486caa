-- What psql's \d commands show of the objects.  The scripts that create an extension of this version and that
-- upgrade to it both have this part.

COMMENT ON VIEW gpusort_devices IS 'devices that sort, their memory, and their service processes';
COMMENT ON VIEW gpusort_progress IS 'sorts that are under way on a device';
COMMENT ON VIEW gpusort_stats IS 'counters of sorts since the server started or gpusort_stats_reset()';
COMMENT ON FUNCTION gpusort_calibrate(integer, integer, integer) IS 'measure from how many rows on the device is faster';
COMMENT ON FUNCTION gpusort_devices() IS 'rows of the view gpusort_devices';
COMMENT ON FUNCTION gpusort_progress() IS 'rows of the view gpusort_progress without names of databases';
COMMENT ON FUNCTION gpusort_stats() IS 'row of the view gpusort_stats';
COMMENT ON FUNCTION gpusort_stats_reset() IS 'set the counters of gpusort_stats to zero';
COMMENT ON FUNCTION gpusort_why(text) IS 'plan a query, and tell where each of its sorts would run and why';
