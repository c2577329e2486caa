-- gpusort_calibrate() measures this machine and its device with EXPLAIN ANALYZE.
--
-- In:  rows that it makes itself; the caller's work_mem and
--      parallel_leader_participation, which rule the caller's own sorts too.
-- Out: the rows of its result, and a NOTICE for each size measured.
--
-- Its tables and the functions that it is made of are in the schema
-- gpusort_calibration, which it makes and drops.  The tables are no temporary ones,
-- since parallel workers cannot read those.  All happens in one transaction: an error,
-- or a cancel, leaves nothing behind, and of two calls the later one waits.  The price is
-- that the rows are not yet committed while they are read, which makes a scan some
-- nanoseconds a row dearer, on all sides alike.
--
-- The scripts that create an extension of this version and that upgrade to it both have
-- this part.

CREATE OR REPLACE FUNCTION gpusort_calibrate(max_rows integer DEFAULT 200000, runs integer DEFAULT 7,
	workers integer DEFAULT least(current_setting('max_parallel_workers_per_gather')::integer,
								  current_setting('max_parallel_workers')::integer),
	OUT name text, OUT value numeric, OUT unit text, OUT comment text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET default_table_access_method = 'heap'
AS $$
DECLARE
	extension_schema text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'gpusort');
	force_before text := current_setting('gpusort.debug_force');
	device record;
	device_method text;
	scan text := 'SELECT * FROM gpusort_calibration.rows';
	sort text := 'SELECT * FROM gpusort_calibration.rows ORDER BY k8';
	size integer := 1000;
	loaded integer := 0;
	fits_in_backend boolean := true;
	side record;
	ms double precision;
	serial double precision;
	in_backend double precision;
	largest_in_backend integer;
	parallel double precision;
	ns jsonb;
	min_rows numeric;
	not_faster text;
BEGIN
	IF max_rows IS NULL OR max_rows NOT BETWEEN 10000 AND 100000000 THEN
		RAISE invalid_parameter_value USING MESSAGE = 'max_rows must be from 10000 to 100000000';
	ELSIF runs IS NULL OR runs NOT BETWEEN 3 AND 1000 THEN
		RAISE invalid_parameter_value USING MESSAGE = 'runs must be from 3 to 1000';
	ELSIF workers IS NULL OR workers NOT BETWEEN 0 AND 63 THEN
		RAISE invalid_parameter_value USING MESSAGE = 'workers must be from 0 to 63';
	ELSIF workers > current_setting('max_parallel_workers')::integer THEN
		RAISE invalid_parameter_value USING MESSAGE = 'workers must not exceed max_parallel_workers';
	ELSIF NOT has_database_privilege(current_database(), 'CREATE') THEN
		RAISE insufficient_privilege USING
			MESSAGE = 'gpusort_calibrate needs the privilege CREATE on this database',
			HINT = 'It makes the schema gpusort_calibration and drops it.';
	ELSIF NOT has_parameter_privilege('gpusort.debug_force', 'SET') THEN
		RAISE insufficient_privilege USING
			MESSAGE = 'gpusort_calibrate needs the privilege to set gpusort.debug_force',
			HINT = format('A superuser can grant it: GRANT SET ON PARAMETER gpusort.debug_force TO %I;', current_user);
	END IF;
	-- the device that sorts go to: a GPU before the host device
	EXECUTE format('SELECT * FROM %s.gpusort_devices ORDER BY state <> ''serving'', kind, service LIMIT 1',
		extension_schema) INTO device;
	IF device.state <> 'serving' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'gpusort_calibrate needs a device that serves',
			DETAIL = concat('The state of the device is "', device.state, '"', ': ' || nullif(device.detail, ''), '.'),
			HINT = 'See the view gpusort_devices and the setting gpusort.device.';
	END IF;
	device_method := CASE device.kind WHEN 'host' THEN 'host' ELSE 'gpu' END;

	CREATE SCHEMA gpusort_calibration;

	-- From how many rows on the device is the faster one: of all places before, between and
	-- behind the sizes the one that agrees best with the measurements, so that a single
	-- disturbed one does not decide; there the ratio of the times is interpolated to 1.
	-- NULL: not up to the last size.  Sizes must ascend.
	CREATE FUNCTION gpusort_calibration.crossover(sizes integer[], other_ms double precision[],
		device_ms double precision[])
	RETURNS double precision
	LANGUAGE sql IMMUTABLE STRICT
	SET search_path = pg_catalog, pg_temp
	AS $crossover$
		WITH measured AS (
			SELECT place, ln(size::double precision) AS size, ln(other / device) AS gain
			FROM unnest(sizes, other_ms, device_ms) WITH ORDINALITY AS u(size, other, device, place)),
		-- contradiction: the gains before a place and the losses behind it
		places AS (
			SELECT place, size, gain,
				lag(size) OVER ascending AS size_before, lag(gain) OVER ascending AS gain_before,
				coalesce(sum(greatest(gain, 0)) OVER (ascending ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) +
				sum(greatest(-gain, 0)) OVER (ascending ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS contradiction
			FROM measured WINDOW ascending AS (ORDER BY place)
			UNION ALL
			SELECT count(*) + 1, NULL, NULL, NULL, NULL, sum(greatest(gain, 0)) FROM measured)
		SELECT exp(coalesce(size_before + (size - size_before) * gain_before / nullif(gain_before - gain, 0), size))
		-- elsewhere the interpolation may overflow
		FROM (SELECT * FROM places ORDER BY contradiction, place LIMIT 1) best;
	$crossover$;

	-- Runs a query and returns its milliseconds, but only if it ran as wanted: so many rows
	-- from these nodes, with all their workers.  Else it tries again a few times, because
	-- workers can be short for a moment.  NULL: the rows were to stay in the backend and did
	-- not fit its memory.  The settings leave the planner one way to each plan.
	CREATE FUNCTION gpusort_calibration.run(query text, workers integer, natively boolean,
		stay_in_backend boolean, wanted text)
	RETURNS double precision
	LANGUAGE plpgsql VOLATILE STRICT
	SET search_path = pg_catalog, pg_temp
	SET gpusort.enabled = on
	SET gpusort.min_rows = 1000
	SET enable_sort = on
	SET enable_seqscan = on
	SET enable_gathermerge = on
	SET max_parallel_workers_per_gather = 0
	SET min_parallel_table_scan_size = 0
	SET parallel_setup_cost = 0
	SET parallel_tuple_cost = 0
	SET seq_page_cost = 1
	SET cpu_tuple_cost = 0.01
	SET cpu_operator_cost = 0.0025
	SET jit = off
	AS $run$
	DECLARE
		plan json;
		ran text;
	BEGIN
		PERFORM set_config('gpusort.enabled', (NOT natively)::text, true),
			set_config('max_parallel_workers_per_gather', workers::text, true);
		IF NOT natively THEN
			PERFORM set_config('gpusort.debug_force', 'on', true);
		END IF;
		FOR attempt IN 1 .. 10 LOOP
			IF stay_in_backend THEN
				-- a kept plan lets gpusort.min_rows differ between planning and execution
				BEGIN
					EXECUTE 'PREPARE gpusort_calibration AS ' || query;
					PERFORM set_config('gpusort.min_rows', '1000', true);
					EXECUTE 'EXPLAIN EXECUTE gpusort_calibration';
					PERFORM set_config('gpusort.min_rows', '2147483647', true);
					EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE gpusort_calibration' INTO plan;
					DEALLOCATE gpusort_calibration;
				EXCEPTION WHEN query_canceled OR OTHERS THEN
					-- a prepared statement outlives its transaction
					IF EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE name = 'gpusort_calibration') THEN
						DEALLOCATE gpusort_calibration;
					END IF;
					RAISE;
				END;
			ELSE
				EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
			END IF;
			WITH RECURSIVE nodes AS (
				SELECT 1 AS depth, plan->0->'Plan' AS node
				UNION ALL
				SELECT depth + 1, node->'Plans'->0 FROM nodes WHERE node->'Plans'->0 IS NOT NULL)
			SELECT (plan->0->'Plan'->>'Actual Rows')::numeric::bigint || ' rows from ' ||
				string_agg(concat(coalesce(node->>'Custom Plan Provider', node->>'Node Type'),
								  ', ' || (node->>'Workers Launched') || ' workers',
								  CASE node->>'Custom Plan Provider' WHEN 'GpuSort' THEN ', ' || (node->>'Sort Method') END),
						   '; ' ORDER BY depth)
			INTO ran FROM nodes;
			IF ran = wanted THEN
				RETURN plan->0->>'Execution Time';
			ELSIF stay_in_backend AND ran ~ 'GpuSort, (gpu|host);' THEN
				RETURN NULL;
			END IF;
		END LOOP;
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'gpusort_calibrate could not run what it has to measure',
			DETAIL = format('Wanted: %s.  Ran: %s.', wanted, ran),
			HINT = 'The device or the parallel workers may be in use by others, or a setting forbids this plan.  To measure without parallel workers: gpusort_calibrate(workers => 0).';
	END
	$run$;

	-- The median of each side's runs at sizes that double up to max_rows.  The sides take
	-- turns, so that a disturbance meets all of them.
	EXECUTE format('CREATE UNLOGGED TABLE gpusort_calibration.rows (k8 bigint, k4 integer, v integer, s text)
					WITH (parallel_workers = %s)', workers);
	CREATE UNLOGGED TABLE gpusort_calibration.runs (size integer, side text, ms double precision);
	CREATE VIEW gpusort_calibration.medians AS
		SELECT r.size, r.side, percentile_cont(0.5) WITHIN GROUP (ORDER BY r.ms) AS ms
		FROM gpusort_calibration.runs r GROUP BY 1, 2;
	LOOP
		INSERT INTO gpusort_calibration.rows
			SELECT hashint8extended(i, 1), hashint8(i), i, rpad(to_hex(hashint8extended(i, 2)), 20, 'x')
			FROM generate_series(loaded + 1::bigint, size) i;
		loaded := size;
		ANALYZE gpusort_calibration.rows;
		-- round 0 warms up
		FOR round IN 0 .. runs LOOP
			FOR side IN SELECT * FROM (VALUES
				('scan', scan, 0, true, false, 'Seq Scan'),
				('native', sort, 0, true, false, 'Sort; Seq Scan'),
				('device', sort, 0, false, false, format('GpuSort, %s; Seq Scan', device_method)),
				('in backend', sort, 0, false, true, 'GpuSort, in backend; Seq Scan'),
				('parallel scan', scan, workers, true, false,
				 format('Gather, %s workers; Seq Scan', workers)),
				('parallel native', sort, workers, true, false,
				 format('Gather Merge, %s workers; Sort; Seq Scan', workers)),
				('parallel device', sort, workers, false, false,
				 format('GpuSort, %s; Gather, %s workers; GpuSortFeed; Seq Scan', device_method, workers)))
				AS sides(name, query, workers, natively, stay_in_backend, nodes)
			LOOP
				CONTINUE WHEN side.name LIKE 'parallel%' AND workers = 0;
				CONTINUE WHEN side.name LIKE '%scan' AND size < max_rows;
				CONTINUE WHEN side.stay_in_backend AND NOT fits_in_backend;
				ms := gpusort_calibration.run(side.query, side.workers, side.natively,
					side.stay_in_backend, format('%s rows from %s', size, side.nodes));
				fits_in_backend := fits_in_backend AND ms IS NOT NULL;
				IF round > 0 AND ms IS NOT NULL THEN
					INSERT INTO gpusort_calibration.runs VALUES (size, side.name, ms);
				END IF;
			END LOOP;
		END LOOP;
		RAISE NOTICE '% rows: %', size, (
			SELECT string_agg(format('%s %s ms', m.side, round(m.ms::numeric, 3)), ', ' ORDER BY m.side)
			FROM gpusort_calibration.medians m WHERE m.size = loaded);
		EXIT WHEN size >= max_rows;
		size := CASE WHEN size * 3::bigint > max_rows THEN max_rows ELSE size * 2 END;
	END LOOP;

	CREATE VIEW gpusort_calibration.crossovers AS
		SELECT o.side, gpusort_calibration.crossover(array_agg(o.size ORDER BY o.size),
			array_agg(o.ms ORDER BY o.size), array_agg(d.ms ORDER BY o.size)) AS rows
		FROM gpusort_calibration.medians o JOIN gpusort_calibration.medians d USING (size)
		WHERE d.side = CASE WHEN o.side LIKE 'parallel%' THEN 'parallel device' ELSE 'device' END
		GROUP BY 1;
	SELECT c.rows INTO serial FROM gpusort_calibration.crossovers c WHERE c.side = 'native';
	SELECT c.rows INTO in_backend FROM gpusort_calibration.crossovers c WHERE c.side = 'in backend';
	SELECT c.rows INTO parallel FROM gpusort_calibration.crossovers c WHERE c.side = 'parallel native';
	SELECT max(m.size) INTO largest_in_backend FROM gpusort_calibration.medians m WHERE m.side = 'in backend';
	SELECT jsonb_object_agg(m.side, m.ms * 1e6 / max_rows) INTO ns
		FROM gpusort_calibration.medians m WHERE m.size = max_rows;
	PERFORM set_config('gpusort.debug_force', force_before, true);
	DROP VIEW gpusort_calibration.crossovers, gpusort_calibration.medians;
	DROP TABLE gpusort_calibration.runs, gpusort_calibration.rows;
	DROP FUNCTION gpusort_calibration.run, gpusort_calibration.crossover;
	DROP SCHEMA gpusort_calibration;

	-- below both crossovers the device gains nothing; rows that do not fit the backend's
	-- memory go to the device whatever gpusort.min_rows says
	IF serial IS NOT NULL THEN
		min_rows := greatest(serial, coalesce(in_backend, largest_in_backend));
		min_rows := round(min_rows, 1 - floor(log(min_rows))::integer);
	END IF;
	not_faster := format('not reached: the device is not faster up to %s rows', max_rows);
	RETURN QUERY SELECT r.name, round(r.value::numeric, r.digits), r.unit, r.comment FROM (VALUES
		('crossover', serial, 0, 'rows',
		 CASE WHEN serial IS NULL THEN not_faster
			  ELSE 'from here on the device beats PostgreSQL''s sort, without parallel workers' END),
		('crossover_in_backend', in_backend, 0, 'rows',
		 CASE WHEN in_backend IS NULL
			  THEN format('not reached: the device is not faster up to %s rows, the most measured in the backend', largest_in_backend)
			  ELSE 'from here on the device beats GpuSort''s own sort in the backend' END),
		('crossover_parallel', parallel, 0, 'rows',
		 CASE WHEN workers = 0 THEN 'not measured: no parallel workers'
			  WHEN parallel IS NULL THEN not_faster
			  ELSE format('from here on the device beats PostgreSQL''s sort, both with %s workers', workers) END),
		('scan', (ns->>'scan')::double precision, 1, 'ns/row', format('reading %s rows', max_rows)),
		('native_sort', (ns->>'native')::double precision - (ns->>'scan')::double precision, 1, 'ns/row',
		 format('what PostgreSQL''s sort adds, with work_mem = %s', current_setting('work_mem'))),
		('device_sort', (ns->>'device')::double precision - (ns->>'scan')::double precision, 1, 'ns/row',
		 format('what packing, sorting and output add, on %s', device.name)),
		('parallel_scan', (ns->>'parallel scan')::double precision, 1, 'ns/row',
		 format('reading %s rows through Gather, %s workers', max_rows, workers)),
		('parallel_native', (ns->>'parallel native')::double precision, 1, 'ns/row',
		 'reading and sorting: Gather Merge over PostgreSQL''s sorts'),
		('parallel_device', (ns->>'parallel device')::double precision, 1, 'ns/row',
		 'reading and sorting: workers feed the device'),
		('min_rows_now', current_setting('gpusort.min_rows')::double precision, 0, 'rows', 'SHOW gpusort.min_rows;'),
		('min_rows', min_rows, 0, 'rows',
		 CASE WHEN min_rows IS NULL
			  THEN 'no advice: try a larger max_rows; up to this one the device does not pay'
			  ELSE format('ALTER SYSTEM SET gpusort.min_rows = %s; SELECT pg_reload_conf();', min_rows) END))
		AS r(name, value, digits, unit, comment)
		WHERE workers > 0 OR r.name NOT LIKE 'parallel%';
END
$$;

