-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

CREATE FUNCTION gpusort_stats_reset()
RETURNS void
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpusort_stats_reset';

