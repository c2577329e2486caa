-- Parallel plans: workers feed the leader's sort.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;

create table fed(id int4, k int8, note text);
insert into fed select i, (i::int8 * 7919) % 60013, repeat('n', i % 90) from generate_series(1, 120000) i;
analyze fed;

select pg_temp.do_explain('select * from fed order by k, id');
select pg_temp.compare('select * from fed order by k, id');
select pg_temp.compare('select id, note from fed order by k desc, id desc');
select pg_temp.compare('select id, k + 1 as later from fed where id % 3 = 0 order by k % 100, nullif(k, 5) nulls first, id');
select pg_temp.compare('select * from fed where id < 0 order by k, id');
select pg_temp.compare('select * from fed where id = 77 order by k, id');

-- texts made by an expression, with and without statistics of their values
set gpusort.debug_force = off;
set parallel_tuple_cost = 0.1;
select bool_or(line ~ 'GpuSort') as sorted, bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select id from fed order by md5(id::text)') line;
select bool_or(line ~ 'GpuSort') as sorted, bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select id from fed order by id, md5(id::text)') line;
create statistics fed_md5 on (md5(id::text)) from fed;
analyze fed;
select bool_or(line ~ 'GpuSort') as sorted, bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select id from fed order by md5(id::text)') line;
select pg_temp.compare('select id from fed order by md5(id::text)');
drop statistics fed_md5;
set parallel_tuple_cost = 0;
set gpusort.debug_force = on;

-- none of the workers can be had; the leader does not take part
set max_parallel_workers = 0;
select pg_temp.compare('select * from fed order by k, id');
reset max_parallel_workers;
set parallel_leader_participation = off;
select pg_temp.compare('select * from fed order by k, id');
reset parallel_leader_participation;

-- cursors and row limits run without workers
begin;
declare c scroll cursor for select id from fed order by id;
fetch 2 from c;
fetch absolute 100000 from c;
fetch prior from c;
fetch last from c;
commit;
do $$
declare
	r record;
	n int4 := 0;
begin
	for r in select id from fed order by id loop
		n := n + 1;
		if r.id <> n then
			raise exception 'got % at %', r.id, n;
		end if;
	end loop;
	raise info '% rows', n;
end $$;
select id from fed order by id offset 119998;

-- run again with the same and with changed parameters
set enable_material = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
select n, s.id, s.k from generate_series(1, 3) n left join (select id, k from fed order by k offset 0) s on s.id = n * 1000;
select n, (select count(*) from (select k from fed where id % 7 > n order by k offset 0) s) from generate_series(1, 3) n;
reset enable_material;
reset enable_hashjoin;
reset enable_mergejoin;

-- not served at execution
prepare p as select * from fed order by k, id;
set plan_cache_mode = force_generic_plan;
execute p \g /dev/null
select pg_temp.compare('select * from fed order by k, id');
set gpusort.enabled = off;
create temp table native as execute p;
set gpusort.enabled = on;
create temp table device as execute p;
select count(*) as differ from (select row_number() over (order by ctid) as place, native from native) a
	join (select row_number() over (order by ctid) as place, device from device) b using (place)
	where native::text <> device::text;
select count(*), (select count(*) from device) from native;

-- a LIMIT above that reads a few rows, and shuts the plan down early
select pg_temp.do_explain('select id, row_number() over () from (select id, k from fed order by k, id offset 0) s limit 3');
select pg_temp.new_jobs() > 0;
select id, row_number() over () from (select id, k from fed order by k, id offset 0) s limit 3;
select pg_temp.new_jobs();

-- run again for each row of the outer query: PostgreSQL scans in parallel only where no
-- parameter changes below the Gather; a limit above may
set enable_material = off;
set enable_memoize = off;
select pg_temp.do_explain('select n, s.* from generate_series(1, 3) n,
	lateral (select count(*), min(id), max(k) from (select id, k from fed where id % 5 = n order by k, id offset 0) f) s');
select n, s.* from generate_series(1, 3) n,
	lateral (select count(*), min(id), max(k) from (select id, k from fed where id % 5 = n order by k, id offset 0) f) s;
select pg_temp.do_explain('select n, s.* from generate_series(1, 3) n,
	lateral (select id, k, row_number() over () from (select id, k from fed order by k desc, id offset 0) f limit 2 offset n * 3) s');
select n, s.* from generate_series(1, 3) n,
	lateral (select id, k, row_number() over () from (select id, k from fed order by k desc, id offset 0) f limit 2 offset n * 3) s;
reset enable_material;
reset enable_memoize;

-- a function that is asked for its rows one by one runs its parallel plan without workers,
-- and shuts it down after each of them
create function each_row() returns setof int4 language sql stable as 'select id from fed order by id';
select count(*), count(*) filter (where got <> place) as misplaced
	from (select got, row_number() over () as place from (select each_row() as got) f) s;
select pg_temp.do_explain('select id from fed order by id');
select pg_temp.new_jobs() > 0;
select each_row() limit 3;
select pg_temp.new_jobs();
drop function each_row();

-- PostgreSQL forces parallel mode where it can (force_parallel_mode before 16)
select count(set_config(name, 'regress', false)) from pg_settings where name in ('force_parallel_mode', 'debug_parallel_query');
select pg_temp.compare('select * from fed order by k, id');
select pg_temp.compare('select k, count(*) from fed group by k order by k desc');
select count(set_config(name, 'off', false)) from pg_settings where name in ('force_parallel_mode', 'debug_parallel_query');

-- an error in a worker, and the session goes on
\set VERBOSITY terse
select count(*) from (select 1 / (id - 60000) as broken, k from fed order by k, broken) s;
select pg_temp.compare('select * from fed order by k, id');
select pg_temp.left_over();
drop table fed;
