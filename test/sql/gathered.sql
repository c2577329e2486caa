-- Finished plans: a sort below a Gather Merge, or above a Gather, is fed by the workers.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on
set gpusort.debug_force = off;
set gpusort.debug_providers_off = 'order, group, window';
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;

create table gathered(id int4, k int8, few text collate "C", many text collate "C");
insert into gathered
	select i, (i::int8 * 7919) % 60013, 'kind ' || i % 4, md5(i::text) from generate_series(1, 60000) i;
analyze gathered;

-- below windows, groups, set operations, merge joins
select pg_temp.do_explain('select id, lag(id) over (partition by k order by id) from gathered');
select pg_temp.compare('select id, lag(id) over (partition by k order by id) from gathered');
select pg_temp.compare('select id, lag(id) over (partition by many order by id) from gathered');
set enable_hashagg = off;
select pg_temp.do_explain('select k, min(many) from gathered group by k');
select pg_temp.compare('select k, min(many) from gathered group by k order by k');
set enable_hashjoin = off;
set enable_nestloop = off;
select pg_temp.do_explain('select count(*) from (select id, k from gathered order by k, id offset 0) a join (select id, k from gathered order by k, id offset 0) b on a.k = b.k and a.id = b.id');
select pg_temp.compare('select a.id, b.k from (select id, k from gathered order by k, id offset 0) a join (select id, k from gathered order by k, id offset 0) b on a.k = b.k and a.id = b.id order by a.id, b.k');
reset enable_hashjoin;
reset enable_nestloop;
reset enable_hashagg;

-- with what an InitPlan gives, and with a column that only the leader can make
select bool_or(line ~ 'GpuSortFeed') as fed, count(*) filter (where line ~ 'Filter') as filters from pg_temp.do_explain('select id, rank() over (order by k, id) from gathered where id > (select min(id) + 5 from gathered)') line;
select pg_temp.compare('select id, rank() over (order by k, id) from gathered where id > (select min(id) + 5 from gathered)');
create function pg_temp.by_leader(int4) returns int4 language sql volatile parallel restricted as 'select $1 + (random() * 0)::int4';
select pg_temp.compare('select id, pg_temp.by_leader(id) from (select id, k from gathered order by k, id offset 0) s');

-- scanned again, without and with other rows
set enable_material = off;
select pg_temp.compare('select v.n, r from (values (1), (2), (3)) v(n), (select id, rank() over (order by k, id) as r from gathered offset 0) s where id % 1000 = v.n order by v.n, r');
select pg_temp.compare('select v.n, (select string_agg(id::text, '' '') from (select id, rank() over (order by k, id) as r from gathered where id % 3000 = v.n) s where r < 9) from (values (1), (2)) v(n) order by v.n');
reset enable_material;

-- without workers
set max_parallel_workers = 0;
select pg_temp.compare('select id, lag(id) over (partition by k order by id) from gathered');
reset max_parallel_workers;

-- above a Gather
set enable_gathermerge = off;
set enable_indexscan = off;
select pg_temp.do_explain('select id from gathered order by k, id');
select pg_temp.compare('select id from gathered order by k, id');
reset enable_gathermerge;

-- partitions
create table gathered_parts(id int4, k int8, many text collate "C") partition by range (id);
create table gathered_part1 partition of gathered_parts for values from (0) to (30000);
create table gathered_part2 partition of gathered_parts for values from (30000) to (90000);
insert into gathered_parts select id, k, many from gathered;
analyze gathered_parts;
select pg_temp.compare('select id, lag(id) over (partition by many order by id) from gathered_parts');
select bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select id, lag(id) over (partition by many order by id) from gathered_parts') line;

-- a column whose type has another modifier below the Gather than above it
create table gathered_numbers(id int4, n numeric(10, 2));
insert into gathered_numbers select id, ((id * 7919) % 60013) / 100.0 from gathered;
analyze gathered_numbers;
select bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select id, rank() over (order by n, id) from (select id, n from gathered_numbers union all select id, n::numeric from gathered_numbers where false) s') line;
select pg_temp.compare('select id, rank() over (order by n, id) from (select id, n from gathered_numbers union all select id, n::numeric from gathered_numbers where false) s');
drop table gathered_numbers;

-- fewer than half of the rows are left to the workers, more are not; texts that no statistics tell of are fed
select bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select * from gathered order by k, id limit 10') line;
select bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select * from gathered order by k, id limit 40000') line;
select pg_temp.compare('select * from gathered order by k, id limit 40000');
select bool_or(line ~ 'GpuSortFeed') as fed from pg_temp.do_explain('select rank() over (order by many || few) from gathered') line;
select pg_temp.compare('select id, rank() over (order by few, id) from gathered');

-- a Gather Merge without a sort below it stays
create index gathered_by_k on gathered(k, id);
set enable_indexscan = on;
set enable_seqscan = off;
set enable_bitmapscan = off;
set cpu_tuple_cost = 1;
set random_page_cost = 0;
select pg_temp.do_explain('select id, many from gathered where length(many) > id % 40 order by k, id');
reset enable_indexscan;
reset enable_seqscan;
reset enable_bitmapscan;
reset cpu_tuple_cost;
reset random_page_cost;

drop table gathered, gathered_parts;
