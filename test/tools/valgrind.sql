-- The statements that test/tools/server has valgrind watch: little of everything, since each row takes
-- long.  Every result is a line of the Test Anything Protocol.
\set ECHO none
\i :force_gpusort
\pset format unaligned
\pset tuples_only on

-- Our node's rows are native's, in the same order, and so many sorts were the device's.
create function pg_temp.ok(query text, device_sorts text default '1') returns text language sql as $$
	select case when said ~ format('rows agree, %s on the device$', device_sorts) then '' else 'not ' end ||
		format('ok - %s: %s', query, said)
	from pg_temp.compare(query) said
$$;

create table t as
	select i as id, nullif(i % 97, 5) as n, i * 48271 % 1000003 as k, (i % 301)::int2 as s, (i * 2654435761 % 4294967296)::oid as o,
		repeat(chr(97 + (i % 26)::int), i::int % 60) as filler
	from generate_series(1, 3000::int8) i;
alter table t set (parallel_workers = 2);
analyze t;

select pg_temp.ok('select * from t order by k desc, id');
select pg_temp.ok('select id, n from t order by n nulls first, id desc');
select pg_temp.ok('select id, s, o from t order by s, n desc nulls last, o, id');
select pg_temp.ok('select * from t where false order by id');
-- 4, but a sort within another one does not wait for memory that the service, which valgrind slows down, has not taken back yet
select pg_temp.ok('select l.id, (select count(*) from (select id from t where t.s < l.id order by k, id) c) from t l where l.id < 4 order by l.id', '[1-4]');
select pg_temp.ok('select i, repeat(chr(97 + i % 26), 1500000 + i) as long from generate_series(1, 5) i order by -i');

-- the same plan while its input counts as small: sorted in the backend
prepare p as select * from t order by k, id;
set plan_cache_mode = force_generic_plan;
execute p \g /dev/null
set gpusort.min_rows = 100000;
create temp table in_backend as execute p;
set gpusort.min_rows = 0;
select case when array(select id from in_backend order by ctid) = array(select id from t order by k, id)
	and (select in_backend from gpusort_stats) = 1 then '' else 'not ' end || 'ok - sorted in the backend';

-- runs that exceed the device's memory
select pg_temp.ok('select i, repeat(chr(97 + i % 26), 2000000) as long from generate_series(1, 24) i order by i % 7, i');
select case when runs_spilled >= 2 then '' else 'not ' end || 'ok - spilled' from gpusort_stats;

-- several feeders
set max_parallel_workers_per_gather = 2;
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select case when exists (select from pg_temp.do_explain('select * from t order by k, id') line where line like '%GpuSortFeed%')
	then '' else 'not ' end || 'ok - a parallel plan';
select pg_temp.ok('select * from t order by k, id');
set max_parallel_workers_per_gather = 0;

-- rows that are read in any order, and a sort that ends before they are
begin;
declare c scroll cursor for select id from t order by id;
move 2900 in c;
fetch backward 2 from c;
fetch absolute 3000 from c;
fetch first from c;
rollback;
begin;
declare c cursor for select * from t order by id desc;
fetch 1 from c;
rollback;
\set ON_ERROR_STOP off
select 1 / (id - 2000) from (select id, k from t order by id offset 0) q;
\set ON_ERROR_STOP on
select case when left_over like '0 jobs, 0 bytes of buffers,%' then '' else 'not ' end || 'ok - ' || left_over from pg_temp.left_over();
