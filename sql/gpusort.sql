-- The functions and views.  The scripts that create an extension of this version and that upgrade to it both have
-- this part.

CREATE FUNCTION gpusort_stats(
	OUT jobs bigint,
	OUT rows bigint,
	OUT bytes_to_device bigint,
	OUT bytes_from_device bigint,
	OUT feed_ms double precision,
	OUT sort_ms double precision,
	OUT output_ms double precision,
	OUT in_backend bigint,
	OUT runs_spilled bigint,
	OUT bytes_spilled bigint,
	OUT waited bigint,
	OUT index_builds bigint,
	OUT native_disabled bigint,
	OUT native_no_device bigint,
	OUT native_no_slot bigint,
	OUT native_no_buffers bigint,
	OUT native_device_memory bigint,
	OUT native_collation bigint,
	OUT native_cost bigint,
	OUT native_few_rows bigint,
	OUT native_index_key bigint,
	OUT failed bigint,
	OUT planned_native_disabled bigint,
	OUT planned_native_no_device bigint,
	OUT planned_native_few_rows bigint,
	OUT planned_native_key_words bigint,
	OUT planned_native_collation bigint,
	OUT planned_native_limit bigint,
	OUT planned_native_cost bigint,
	OUT planned_native_custom_scan bigint,
	OUT planned_native_incremental bigint,
	OUT stats_reset timestamptz)
RETURNS record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpusort_stats';

CREATE FUNCTION gpusort_devices(
	OUT kind text,
	OUT ordinal integer,
	OUT name text,
	OUT state text,
	OUT detail text,
	OUT memory_bytes bigint,
	OUT budget_bytes bigint,
	OUT reserved_bytes bigint,
	OUT used_bytes bigint,
	OUT driver text,
	OUT runtime text,
	OUT pinned boolean,
	OUT open_jobs integer,
	OUT buffer_bytes bigint,
	OUT free_buffer_bytes bigint,
	OUT service_pid integer,
	OUT longest_turn_ms double precision,
	OUT service integer,
	OUT jobs bigint,
	OUT rows bigint,
	OUT min_rows integer)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpusort_devices';

-- Why each sort of a query's plan runs where it does.  The query is planned, not run.
CREATE FUNCTION gpusort_why(
	query text,
	OUT node text,
	OUT sort_key text,
	OUT expected_rows bigint,
	OUT expected_bytes bigint,
	OUT runs_on text,
	OUT code text,
	OUT reason text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'gpusort_why';

CREATE VIEW gpusort_stats AS SELECT * FROM gpusort_stats();
-- An upgrade keeps this view, with its privileges.
CREATE OR REPLACE VIEW gpusort_devices AS SELECT * FROM gpusort_devices();

CREATE FUNCTION gpusort_progress(
	OUT pid integer,
	OUT datid oid,
	OUT leader_pid integer,
	OUT phase text,
	OUT rows_expected bigint,
	OUT rows_fed bigint,
	OUT rows_returned bigint,
	OUT bytes_fed bigint,
	OUT runs_spilled bigint,
	OUT bytes_spilled bigint,
	OUT reserved_bytes bigint,
	OUT service integer,
	OUT device text,
	OUT sort_start timestamptz,
	OUT phase_start timestamptz)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE ROWS 10
AS 'MODULE_PATHNAME', 'gpusort_progress';

CREATE VIEW gpusort_progress AS
	SELECT p.pid, p.datid, d.datname, p.leader_pid, p.phase, p.rows_expected, p.rows_fed, p.rows_returned,
		p.bytes_fed, p.runs_spilled, p.bytes_spilled, p.reserved_bytes, p.service, p.device,
		p.sort_start, p.phase_start
	FROM gpusort_progress() p LEFT JOIN pg_catalog.pg_database d ON d.oid = p.datid;

GRANT SELECT ON gpusort_stats, gpusort_progress TO PUBLIC;
