-- GpuSort's costs, beside PostgreSQL's own ways to order rows: nothing is forced here.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on
set gpusort.debug_force = off;

-- enable_sort = off speaks against GpuSort as it does against Sort: another way is taken,
-- however expensive
create table priced(k int4, v int4, filler text);
insert into priced select hashint4(i), i, repeat('f', 40) from generate_series(1, 50000) i;
create index priced_k on priced(k);
vacuum analyze priced;
set random_page_cost = 1000;
set enable_bitmapscan = off;
select pg_temp.do_explain('select * from priced order by k');
select pg_temp.do_explain('select k, count(v) from priced group by k order by k');
set enable_sort = off;
select pg_temp.do_explain('select * from priced order by k');
select pg_temp.do_explain('select k, count(v) from priced group by k order by k');
-- where there is no other way they are as they were: one of the two is taken
select pg_temp.do_explain('select * from priced order by v') ~ 'Sort' limit 1;
-- where there is no other way a Sort is still converted, though few rows are expected
set gpusort.min_rows = 60000;
select pg_temp.do_explain('select * from priced order by v');
set gpusort.min_rows = 0;
-- forced, it does not count
set gpusort.debug_force = on;
select pg_temp.do_explain('select k, count(v) from priced group by k order by k');
set gpusort.debug_force = off;
reset enable_sort;
reset enable_bitmapscan;
reset random_page_cost;
drop table priced;

-- device memory: what is spilled costs its pages twice
create function pg_temp.budget(setting text) returns void language plpgsql as $$
begin
	for i in 1 .. 18000 loop
		exit when (select budget_bytes = pg_size_bytes(setting) from gpusort_devices);
		perform pg_sleep(0.01);
	end loop;
end $$;
create function pg_temp.total_cost(query text) returns numeric language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (format json) ' || query into plan;
	if plan#>>'{0,Plan,Custom Plan Provider}' is distinct from 'GpuSort' then
		raise exception 'another plan: %', plan;
	end if;
	return plan#>>'{0,Plan,Total Cost}';
end $$;
-- so many rows of 344 bytes; nobody calls it
create type wide_row as (k int8, a text, b text, c text, d text, e text, f text, g text, h text, i text, j text);
create function wide_rows() returns setof wide_row rows 300000 language plpgsql as 'begin return; end';
create function more_wide_rows() returns setof wide_row rows 1000000000 language plpgsql as 'begin return; end';
create temp table plans(device_memory text, cost numeric);
set work_mem = '1GB';
alter system set gpusort.device_memory = '4GB';
select pg_reload_conf() \g /dev/null
select pg_temp.budget('4GB');
select pg_temp.do_explain('select * from wide_rows() order by k');
insert into plans values ('4GB', pg_temp.total_cost('select * from wide_rows() order by k'));
-- 97 runs can be merged
set work_mem = '64kB';
select pg_temp.do_explain('select * from more_wide_rows() order by k');
set work_mem = '1GB';
alter system set gpusort.device_memory = '32MB';
select pg_reload_conf() \g /dev/null
select pg_temp.budget('32MB');
select pg_temp.do_explain('select * from wide_rows() order by k');
-- where the native sort does not fit either, it costs more still
set work_mem = '64kB';
select pg_temp.do_explain('select * from wide_rows() order by k');
insert into plans values ('32MB', pg_temp.total_cost('select * from wide_rows() order by k'));
select b.cost - a.cost between 44000 and 60000 as pages_and_merge from plans a, plans b
	where a.device_memory = '4GB' and b.device_memory = '32MB';
-- 12000 are merged in rounds, each of which writes all rows once more
select pg_temp.do_explain('select * from more_wide_rows() order by k');
alter system reset gpusort.device_memory;
select pg_reload_conf() \g /dev/null
do $$ begin for i in 1 .. 18000 loop exit when (select budget_bytes <> pg_size_bytes('32MB') from gpusort_devices); perform pg_sleep(0.01); end loop; end $$;
drop function wide_rows(), more_wide_rows();
drop type wide_row;

-- which of the two is thought cheaper, by what each really takes: the plan's costs tell; a Sort that wins becomes a
-- GpuSort all the same
create function pg_temp.cheaper(query text) returns text language plpgsql as $$
declare
	plan json;
	without json;
begin
	execute 'explain (format json) ' || query into plan;
	set local gpusort.debug_providers_off = 'order';
	execute 'explain (format json) ' || query into without;
	set local gpusort.debug_providers_off = '';
	return case when plan#>>'{0,Plan,Total Cost}' <> without#>>'{0,Plan,Total Cost}' then 'GpuSort' else 'Sort' end;
end $$;
-- few rows are not for the device, many are
create table sized as select hashint4(i) as k from generate_series(1, 100000) i;
create table few as select * from sized limit 5000;
analyze sized, few;
set work_mem = '64MB';
select pg_temp.cheaper('select * from few order by k');
select pg_temp.cheaper('select * from sized order by k');
-- where fewer rows stay in the session, its paths are PostgreSQL's
create table fewer as select * from sized limit 15000;
analyze fewer;
set gpusort.min_rows = -1;
select (pg_temp.cheaper('select * from fewer order by k') = 'GpuSort') = (kind <> 'host') as as_executed from gpusort_devices limit 1;
set gpusort.min_rows = 0;
drop table sized, few, fewer;

-- a hash table beyond a processor's caches costs more than PostgreSQL says; sorts that are cheaper than
-- that cost no less than what they read
create function pg_temp.cheaper_than_below(query text) returns setof text language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (format json) ' || query into plan;
	return query
		with recursive nodes(above, node) as (
			select null::json, plan #> '{0,Plan}'
			union all
			select node, child from nodes, json_array_elements(node -> 'Plans') child)
		select concat_ws(' ', node ->> 'Node Type', case when (above ->> 'Total Cost')::float8 < (node ->> 'Total Cost')::float8 then 'costs more than what is above' end)
		from nodes
		where node ->> 'Node Type' !~ 'Aggregate' or node ->> 'Strategy' = 'Sorted';
end $$;
create table longs as select hashint8(i) as k, i from generate_series(1, 300000) i;
vacuum analyze longs;
set work_mem = '4GB';
set gpusort.min_rows = 10000;
select pg_temp.cheaper_than_below('select k, i from longs group by k, i');
select pg_temp.cheaper_than_below('select distinct k, i from longs');
set max_parallel_workers_per_gather = 2;
set min_parallel_table_scan_size = 0;
select pg_temp.cheaper_than_below('select k, count(*) from longs group by k');
select pg_temp.cheaper_than_below('select distinct k, i from longs');
drop table longs;

-- does the device sort all rows of facts?
create function pg_temp.sorts_all(query text) returns bool language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (format json) ' || query into plan;
	return jsonb_path_exists(plan, '$.** ? (@."Custom Plan Provider" == "GpuSort" && @."Plan Rows" > 550000)');
end $$;
-- keys that depend on each other have fewer groups than the product of their values: small hash tables
-- stay, in serial plans too, but not those of a key with as many values
create table facts as select i % 4000 as week, i as id, i::float8 as price from generate_series(1, 600000) i;
create table weeks as select week, week % 60 as store, week % 7 as day from generate_series(0, 3999) week;
vacuum analyze facts, weeks;
set max_parallel_workers_per_gather = 0;
select pg_temp.sorts_all('select week, store, sum(price) from facts join weeks using (week) group by week, store');
select pg_temp.sorts_all('select id, store, sum(price) from facts join weeks using (week) group by id, store');
set max_parallel_workers_per_gather = 1;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select pg_temp.sorts_all('select week, store, sum(case day when 0 then price end), sum(case day when 1 then price end), sum(case day when 2 then price end), sum(case day when 3 then price end), sum(case day when 4 then price end), sum(case day when 5 then price end) from facts join weeks using (week) group by week, store');
select pg_temp.sorts_all('select id, store, sum(case day when 0 then price end), sum(case day when 1 then price end), sum(case day when 2 then price end), sum(case day when 3 then price end), sum(case day when 4 then price end), sum(case day when 5 then price end) from facts join weeks using (week) group by id, store');
drop table facts, weeks;

-- the first rows of a window over rows that an index nearly orders are not charged for the comparisons of all rows
set work_mem = '1MB';
create table nearly as select (i / 1000)::numeric as a, hashint4(i)::numeric as n, repeat('n', 20) as filler from generate_series(1, 100000) i;
create index on nearly(a);
vacuum analyze nearly;
set max_parallel_workers_per_gather = 0;
set enable_incremental_sort = on;
select pg_temp.do_explain('select *, rank() over (partition by a order by n) from nearly limit 10');
select pg_temp.do_explain('select * from (select *, row_number() over (order by a, n) as place from nearly) s where place <= 10');
set cursor_tuple_fraction = 0.01;
select pg_temp.do_explain('declare c cursor for select * from nearly order by a, n');
drop table nearly;
