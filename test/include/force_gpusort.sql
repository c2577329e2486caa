-- Read at the start of each test in SQL: makes the planner take GpuSort for inputs
-- of any size, and defines what the tests compare sorts with.  All of it is gone
-- with the session.
--
-- gpusort.debug_force makes GpuSort cheaper than PostgreSQL's own sorts; gpusort.min_rows
-- = 0 sends the first row to the device already.  A sort that GpuSort refuses is
-- still planned as a Sort.
set client_min_messages = warning;
create extension if not exists gpusort;
reset client_min_messages;
set gpusort.min_rows = 0;
set gpusort.debug_force = on;
set enable_incremental_sort = off;
set max_parallel_workers_per_gather = 0;
set jit = off;
set timezone = 'UTC';
set datestyle = 'ISO, MDY';

-- Does PostgreSQL sort rows for an aggregate's own ORDER BY or DISTINCT below it?  From 16 on.
create function pg_temp.presorts() returns boolean language sql as
	'select exists (select from pg_settings where name = ''enable_presorted_aggregate'')';

-- A query's plan, less what differs between versions of PostgreSQL.  With analyze,
-- every number below the labels is masked.
create function pg_temp.do_explain(query text, options text default 'costs off')
returns setof text language plpgsql as $$
declare
	line text;
begin
	for line in execute format('explain (%s) %s', options, query) loop
		continue when line ~ '(Disabled|Storage|Window:|Buffers|Planning|Execution Time|JIT)';
		if options ~* 'analyze' then
			line := regexp_replace(line, '\y[0-9]+(\.[0-9]+)?', 'N', 'g');
		end if;
		line := regexp_replace(line, '(InitPlan|SubPlan) expr_', '\1 ');
		line := replace(line, '"*SELECT*"', 'unnamed_subquery');
		line := regexp_replace(line, 'OVER w\d+', 'OVER (?)');
		return next regexp_replace(line, ' \(returns .*\)$', '');
	end loop;
end $$;

-- Sorts that a device did since the last call.
create table pg_temp.jobs_seen(jobs bigint);
insert into pg_temp.jobs_seen select jobs from gpusort_stats;
create function pg_temp.new_jobs() returns bigint language plpgsql as $$
declare
	before bigint;
	now_done bigint;
begin
	select jobs into now_done from gpusort_stats;
	select jobs into before from pg_temp.jobs_seen;
	update pg_temp.jobs_seen set jobs = now_done;
	return now_done - before;
end $$;

-- Rows of an ordered query: their number and a hash of them in their order.
create function pg_temp.fingerprint(query text, out rows bigint, out hash text) language plpgsql as $$
begin
	execute format('select count(*), md5(string_agg(hash_record_extended(q, 0)::text, '' '')) from (%s) q', query)
	into rows, hash;
end $$;

-- Runs a query whose order leaves no ties with and without gpusort and says whether
-- the rows and their order agree, and how many sorts the device did.
create function pg_temp.compare(query text) returns text language plpgsql as $$
declare
	ours record;
	native record;
	device_sorts bigint;
begin
	perform pg_temp.new_jobs();
	ours := pg_temp.fingerprint(query);
	device_sorts := pg_temp.new_jobs();
	perform set_config('gpusort.enabled', 'off', true);
	native := pg_temp.fingerprint(query);
	perform set_config('gpusort.enabled', 'on', true);
	return format('%s rows %s, %s on the device', ours.rows,
				  case when ours = native then 'agree' else 'DIFFER from native: ' || native end,
				  device_sorts);
end $$;

-- What jobs still hold.  The service closes a job behind the query that had it, so
-- this gives it three minutes.
create function pg_temp.left_over() returns text language plpgsql as $$
declare
	d record;
begin
	for i in 1 .. 18000 loop
		select open_jobs, buffer_bytes - free_buffer_bytes as buffers, reserved_bytes from gpusort_devices into d;
		exit when d.open_jobs = 0 and d.buffers = 0 and d.reserved_bytes = 0;
		perform pg_sleep(0.01);
	end loop;
	return format('%s jobs, %s bytes of buffers, %s bytes reserved', d.open_jobs, d.buffers, d.reserved_bytes);
end $$;
