-- Where a planned GpuSort is done, as EXPLAIN ANALYZE and the counters tell it: on the
-- device, in the backend, or natively.  Same rows in the same order each time.
\set ECHO none
\ir ../include/pgtap.sql

create temp table numbers as
	select nullif(i % 2000, 7) as k, (i % 3)::int2 as small, date '2020-01-01' + i % 100 as d, i as id, repeat('n', i % 50) as filler
	from generate_series(1, 60000) i;
analyze numbers;

-- EXPLAIN's lines of a prepared query's GpuSort.
create function pg_temp.property(statement text, name text) returns text language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, format json) execute ' || statement into plan;
	return plan->0->'Plan'->>name;
end $$;

create function pg_temp.counter(name text) returns int8 language plpgsql as $$
declare
	n int8;
begin
	execute format('select %I from gpusort_stats', name) into n;
	return n;
end $$;

-- One hash over all of a prepared query's rows in their order.
create function pg_temp.digest(statement text) returns text language plpgsql as $$
begin
	execute format('create temp table result as execute %s', statement);
	return (select concat(md5(string_agg(hash_record_extended(r, 0)::text, ' ' order by ctid)), ' ', count(*)) from result r);
end $$;

-- The method, its counter and the rows under the settings now in force.
create function pg_temp.check_method(statement text, wanted_method text, counted text, wanted_digest text)
returns setof text language plpgsql as $$
declare
	before int8 := pg_temp.counter(counted);
	digest text;
begin
	return next is(pg_temp.property(statement, 'Sort Method'), wanted_method, statement || ': ' || wanted_method);
	digest := pg_temp.digest(statement);
	drop table result;
	return next is(digest, wanted_digest, statement || ': rows and order');
	return next is(pg_temp.counter(counted) - before, 2::int8, statement || ': counted twice as ' || counted);
end $$;

select no_plan();

set plan_cache_mode = force_generic_plan;
prepare many as select * from numbers order by k desc nulls first, small, d, id;
prepare part(int4) as select * from numbers where id <= $1 order by d, k nulls first, small desc, id;
-- planned once, now, and kept
execute many \g /dev/null
execute part(5) \g /dev/null
set work_mem = '64MB';
set gpusort.enabled = off;
select pg_temp.digest('many') as many \gset
drop table result;
select pg_temp.digest('part(10000)') as part \gset
drop table result;
select pg_temp.digest('part(0)') as none \gset
drop table result;

select case kind when 'cuda' then 'gpu' else 'host' end as device from gpusort_devices limit 1 \gset
select pg_temp.check_method('many', 'native (gpusort.enabled is off)', 'native_disabled', :'many');
select is(pg_temp.property('many', 'Native Sort Method'), 'quicksort', 'native: its own method in memory');
set work_mem = '256kB';
select is(pg_temp.property('many', 'Native Sort Method'), 'external merge', 'native: its own method on disk');
select pg_temp.check_method('many', 'native (gpusort.enabled is off)', 'native_disabled', :'many');
reset work_mem;
set gpusort.enabled = on;

select pg_temp.check_method('many', :'device', 'jobs', :'many');
select is(pg_temp.property('many', 'Device Rows'), '60000', 'all rows went to the device');
select cmp_ok(pg_temp.property('many', 'Sent Bytes')::int8, '>', pg_temp.property('many', 'Received Bytes')::int8, 'keys travel one way only');
select cmp_ok(pg_temp.property('many', 'Peak Device Memory Bytes')::int8, '>=', pg_temp.property('many', 'Received Bytes')::int8, 'the rows stood in device memory');
select pg_temp.check_method('part(0)', :'device', 'jobs', :'none');
select pg_temp.check_method('part(10000)', :'device', 'jobs', :'part');

-- fewer rows come than gpusort.min_rows
set gpusort.min_rows = 10001;
select pg_temp.check_method('part(10000)', 'in backend', 'in_backend', :'part');
select pg_temp.check_method('part(0)', 'in backend', 'in_backend', :'none');
select pg_temp.check_method('many', :'device', 'jobs', :'many');
set gpusort.min_rows = 10000;
select pg_temp.check_method('part(10000)', :'device', 'jobs', :'part');

-- or more than fit the memory that may hold them: the device takes over in the middle
set gpusort.min_rows = 2147483647;
select pg_temp.check_method('part(10000)', 'in backend', 'in_backend', :'part');
set work_mem = '64kB';
select pg_temp.check_method('many', :'device', 'jobs', :'many');
reset work_mem;

-- a sort that is not read has no method, and opens no job
select pg_temp.new_jobs() \g /dev/null
set gpusort.min_rows = 0;
begin;
declare unread cursor for select * from numbers order by k;
close unread;
commit;
select is(pg_temp.new_jobs(), 0::int8, 'no job for a sort that nobody reads');
select is(pg_temp.left_over(), '0 jobs, 0 bytes of buffers, 0 bytes reserved', 'nothing is left over');
select * from finish();
