-- Where the planner chooses between ways to windows, distinct rows and groups: what it takes by cost, and
-- that the rows are the same; and set operations and merge joins, whose Sorts become GpuSorts.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

create table facts as
	select i as id, hashint4(i) as k, i % 50 as few, hashint4(i + 1000000) % 20000 as many,
		md5((i / 3)::text) as t, (i % 1000)::numeric(8, 2) as n, hashint8(i) as big
	from generate_series(1, 60000) i;
create table others as select k, id as other from facts where id % 2 = 0;
-- of all rows, not of some by chance: two ways to join them cost nearly the same
set default_statistics_target = 300;
vacuum analyze facts, others;
set work_mem = '64MB';

-- windows: forced, each sort of a stack
select pg_temp.do_explain('select row_number() over (partition by few order by k) from facts');
select pg_temp.do_explain('select row_number() over (partition by few order by k), sum(k) over (partition by many) from facts');
select pg_temp.do_explain('select row_number() over w, lag(id) over w from facts window w as (partition by few order by k) order by few, k');
select pg_temp.do_explain('select count(*) over () from facts');
-- a window of whole partitions needs no order, but another one above it may
select pg_temp.do_explain('select sum(k) over (partition by t, few) from facts');
select pg_temp.do_explain('select sum(k) over (partition by t, few), sum(k) over (partition by t) from facts');
select pg_temp.compare('select id, row_number() over (partition by few order by k, id), sum(big) over (partition by many), rank() over (order by t) from facts order by id');
select pg_temp.compare('select id, sum(big) over (partition by t, few), sum(big) over (partition by t) from facts order by id');
select pg_temp.compare('select * from (select id, row_number() over (partition by few order by k, id) as place from facts) s where place < 4 order by id');
-- in parallel
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set min_parallel_table_scan_size = 0;
select pg_temp.do_explain('select row_number() over (partition by few order by k) from facts');
select pg_temp.compare('select id, row_number() over (partition by few order by k, id), sum(big) over (partition by many) from facts order by id');
select pg_temp.do_explain('select distinct t from facts');
select pg_temp.do_explain('select t, sum(big) from facts group by t');
reset min_parallel_table_scan_size;
reset parallel_setup_cost;
set max_parallel_workers_per_gather = 0;

-- distinct rows
select pg_temp.do_explain('select distinct t from facts order by t');
select pg_temp.do_explain('select distinct on (few) few, k from facts order by few, k');
select pg_temp.do_explain('select distinct array[few] from facts');
select pg_temp.compare('select distinct t from facts order by t');
select pg_temp.compare('select distinct t, n, few from facts order by 1, 2, 3');
select pg_temp.compare('select distinct on (few) few, k, id from facts order by few, k, id');
select pg_temp.compare('select * from (select distinct array[few, many] as a from facts) s order by a');
select pg_temp.compare('select * from (select distinct jsonb_build_object(''few'', few) as j from facts) s order by j');

-- set operations that PostgreSQL sorts for
set enable_hashagg = off;
-- from 18 on each part by itself
select bool_or(line ~ 'GpuSort') as sorted from pg_temp.do_explain('select t, n from facts union select t, n + 1 from facts order by t') line;
select pg_temp.do_explain('select array[few, many] from facts union select array[many, few] from facts');
select regexp_replace(pg_temp.compare('select * from (select t, n from facts union select t, n + 1 from facts) s order by t, n'), ', [1-9] on the device', '');
select pg_temp.compare('select * from (select array[few, many] as a from facts union select array[many, few] from facts) s order by a');
-- a column that has no order, and none at all
select pg_temp.do_explain('select few::text::xid from facts union select few::text::xid from facts');
select count(*) from pg_temp.do_explain('select from facts union select from facts') line where line ~ 'Sort';
reset enable_hashagg;

-- groups, and groups of groups
select pg_temp.do_explain('select t, count(*) from facts group by t');
select pg_temp.do_explain('select t from facts group by t having t > ''f''');
select pg_temp.do_explain('select few, count(*), max(k) from facts group by few');
select pg_temp.do_explain('select array[few], count(*) from facts group by 1');
select pg_temp.do_explain('select few, count(*) from facts group by grouping sets (few, ())');
select pg_temp.compare('select t, count(*), sum(big), min(k) from facts group by t having count(*) > 1 order by t');
select pg_temp.compare('select a, n from (select array[few] as a, count(*) as n, max(id) from facts group by 1) s order by a');
select pg_temp.compare('select n, few, avg(k), array_agg(id order by id) from facts group by n, few order by n, few');
select pg_temp.compare('select c, count(*) from (select t, count(*) as c from facts group by t) s group by c order by c');
-- equal values of other looks are one group: scales, zeros, NaNs
create table looks as
	select i, (array['1.0', '1.00', '1', 'NaN', null])[1 + i % 5]::numeric as n,
		(array['0', '-0', 'NaN', '-NaN', null])[1 + i % 5]::float8 as f
	from generate_series(1, 3000) i;
analyze looks;
select n::int::text, c from (select n, count(*) as c from looks where n <> 'NaN' group by n) s;
select pg_temp.compare('select c from (select n, array[1] as a, count(*) as c from looks group by n, a) s order by c');
select pg_temp.compare('select c from (select f, array[1] as a, count(*) as c from looks group by f, a) s order by c');

-- merge joins of all types, by one clause and more
set enable_hashjoin = off;
select regexp_replace(pg_temp.do_explain('select * from facts join others using (k)'), 'facts|others', 'side', 'g');
select pg_temp.do_explain('select * from facts left join others on facts.k = others.k and facts.id > 10');
select pg_temp.compare('select id, other from facts left join others on facts.k = others.k and facts.id > 10 order by id, other');
select pg_temp.compare('select id, other from facts right join others on facts.k = others.k order by id, other');
select pg_temp.compare('select id, other from facts full join others on facts.k = others.k and facts.id = others.other order by id, other');
select pg_temp.compare('select id from facts where exists (select from others where others.k = facts.k) order by id');
select pg_temp.compare('select id from facts where not exists (select from others where others.k = facts.k) order by id');
select pg_temp.compare('select a.id, b.id as b from facts a join facts b on a.many = b.many and a.few = b.few where a.id < 3000 order by a.id, b.id');
select pg_temp.compare('select a.id, b.other from facts a join others b on a.big = b.k order by a.id, b.other');
-- no condition that holds for all rows or none stands between a feed and its Gather
set max_parallel_workers_per_gather = 2;
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
select pg_temp.compare('select id, other from others full join (select * from facts where current_user is not null) f using (k) order by id, other');
reset min_parallel_table_scan_size;
reset parallel_setup_cost;
set max_parallel_workers_per_gather = 0;
-- mark and restore: many rows with the same key on both sides
select count(*), sum(a.id::int8 * b.id) from facts a join facts b using (few) where a.id < 5000 and b.id < 5000;
set gpusort.enabled = off;
select count(*), sum(a.id::int8 * b.id) from facts a join facts b using (few) where a.id < 5000 and b.id < 5000;
set gpusort.enabled = on;
reset enable_hashjoin;

-- by cost: few groups are hashed; many groups that hashing would have to spill are sorted
set gpusort.debug_force = off;
set gpusort.min_rows = 10000;
select pg_temp.do_explain('select few, count(*) from facts group by few');
select pg_temp.do_explain('select distinct few from facts');
select pg_temp.do_explain('select row_number() over (partition by few order by k) from facts where id < 10');
-- rows that an index gives in order, or nearly so: a sort is cheaper than pages all over the table, but not for the first rows
create table indexed as select i as id, hashint4(i) as k, hashint4(i) / 10000000 as near, repeat('w', 50) as filler from generate_series(1, 100000) i;
create index on indexed(k);
create index on indexed(near);
set default_statistics_target = 400;
vacuum analyze indexed;
set default_statistics_target = 300;
set enable_incremental_sort = on;
set work_mem = '4MB';
select pg_temp.do_explain('select * from indexed order by near, k');
select pg_temp.do_explain('select id, rank() over (order by k) from indexed');
select pg_temp.do_explain('select id, rank() over (partition by near order by k) from indexed');
select pg_temp.do_explain('select id, sum(id) over (partition by near), rank() over (partition by near order by k, id) from indexed');
select pg_temp.do_explain('select * from indexed order by near, k limit 10');
select pg_temp.do_explain('select id, rank() over (partition by near order by k) from indexed limit 10');
select pg_temp.compare('select id, rank() over (partition by near order by k), sum(id) over (partition by near) from indexed order by near, k, id');
-- the second window's Incremental Sort is over ours as it was over the index
select pg_temp.do_explain('select id, rank() over (partition by near order by k, id), sum(id) over (partition by near, filler order by id) from indexed');
select pg_temp.compare('select id, rank() over (partition by near order by k, id), sum(id) over (partition by near, filler order by id) from indexed order by id');
set enable_incremental_sort = off;
-- row numbers up to a limit end the scan of an index, if it is all that is below their window
select pg_temp.do_explain('select * from (select *, row_number() over (order by k) as place from indexed) s where place <= 10');
select pg_temp.do_explain('select * from (select id, k, dense_rank() over (order by k) as place, count(*) over (order by k) from indexed) s where place < 10');
select pg_temp.do_explain('select * from (select id, near, k, row_number() over (partition by near order by k) as place from indexed) s where place <= 10');
select pg_temp.do_explain('select * from (select id, k, row_number() over (order by k) as place, sum(id) over (order by filler) from indexed) s where place <= 10');
select pg_temp.do_explain('select * from (select *, row_number() over (order by k) as place from (select id, k from indexed order by k) q) s where place <= 10');
select pg_temp.compare('select * from (select id, k, row_number() over (order by k) as place from indexed) s where place <= 10');
-- a LIMIT of a query around it may do so too
select bool_or(line ~ 'Index Scan using indexed_k') from pg_temp.do_explain('select * from (select id, k, rank() over (order by k) from indexed) s join others using (k) limit 3') line;
-- a window without a condition reads them all
select pg_temp.do_explain('select *, row_number() over () from (select id, k from indexed order by k offset 0) s');
drop table indexed;
-- so many rows that hashing would have to spill; nobody calls it
create function endless() returns setof facts rows 10000000 language plpgsql as 'begin return; end';
set work_mem = '4MB';
select pg_temp.do_explain('select id, k, t, big, count(*) from endless() group by id, k, t, big');
select pg_temp.do_explain('select distinct id, t, big from endless()');
-- by expressions: how many groups there are is known by statistics alone
create table hashes as select i, md5(i::text) as m from generate_series(1, 300000) i;
analyze hashes;
set work_mem = '64MB';
select bool_or(line ~ 'GpuSort') as sorted from pg_temp.do_explain('select left(m, 30), count(*) from hashes group by 1') line;
select bool_or(line ~ 'GpuSort') as sorted from pg_temp.do_explain('select distinct left(m, 30) from hashes') line;
select bool_or(line ~ 'GpuSort') as sorted from pg_temp.do_explain('select i, left(m, 30), count(*) from hashes group by 1, 2') line;
-- by fixed-width values sorting does no harm
select bool_or(line ~ 'GpuSort') as sorted from pg_temp.do_explain('select i % 1000, count(*) from hashes group by 1') line;
create statistics hashes_left on (left(m, 30)) from hashes;
analyze hashes;
select bool_or(line ~ 'GpuSort') as sorted from pg_temp.do_explain('select left(m, 30), count(*) from hashes group by 1') line;
select bool_or(line ~ 'GpuSort') as sorted from pg_temp.do_explain('select distinct left(m, 30) from hashes') line;
drop table hashes;
-- groups in no order that ORDER BY sorts again cost that sort, which takes longer under ICU than PostgreSQL thinks
do $$
declare
	line text;
	plan text := '';
begin
	if exists (select from pg_collation where collname = 'en-x-icu') then
		execute 'create temp table apart as select md5(i::text) collate "en-x-icu" as a, md5((i + 1)::text) collate "en-x-icu" as b, md5((i + 2)::text) collate "en-x-icu" as c from generate_series(1, 300000) i';
		analyze apart;
		for line in execute 'explain (costs off) select distinct a, b, c from apart order by a, b, c' loop
			plan := plan || line;
		end loop;
		if plan !~ '^Unique.*GpuSort' or plan ~ 'GpuSort.*GpuSort' then
			raise '%', plan;
		end if;
		drop table apart;
	end if;
end $$;
-- a LIMIT: few rows are kept natively, where that is cheaper than all
set work_mem = '1GB';
select pg_temp.do_explain('select * from endless() order by k limit 100');
select pg_temp.do_explain('select * from endless() order by k limit 2000000');
prepare few_rows(int) as select * from endless() order by k limit $1;
set plan_cache_mode = force_generic_plan;
select pg_temp.do_explain('execute few_rows(10)');
reset plan_cache_mode;
deallocate few_rows;
drop function endless();
drop table facts, others, looks;
