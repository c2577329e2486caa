-- Sorts for an aggregate's own ORDER BY or DISTINCT: from PostgreSQL 16 on a Sort below the
-- Agg, which becomes a GpuSort; before, inside of Agg, where only PostgreSQL sorts.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

create table presorted with (autovacuum_enabled = off) as
	select i as id, i % 50 as few, hashint4(i) as k, 'row ' || hashint4(i) % 700 as t, (i % 97)::numeric / 4 as n,
		case when i % 11 > 0 then i % 300 end as maybe
	from generate_series(1, 6000) i;
analyze presorted;

-- What GpuSorts of the query's plan sort by.
create function pg_temp.sort_keys(query text) returns text language sql as $$
	select string_agg(key, '; ') from (
		select case when lag(line) over () like '%Custom Scan (GpuSort)%' then substring(line, 'Key: (.*)') end as key
		from pg_temp.do_explain(query) line) lines
$$;
-- Without presorted aggregates it is the groups' column, or nothing.
create function pg_temp.is_presorted_by(expected text, query text) returns boolean language sql as $$
	select case when pg_temp.presorts() then pg_temp.sort_keys(query) = expected
		else coalesce(pg_temp.sort_keys(query), expected) in (expected, split_part(expected, ', ', 1)) end
$$;

select pg_temp.is_presorted_by('k', 'select array_agg(id order by k) from presorted');
select pg_temp.is_presorted_by('k DESC', 'select array_agg(id order by k desc) from presorted');
select pg_temp.is_presorted_by('t COLLATE "C"', 'select string_agg(t, '','' order by t collate "C") from presorted');
select pg_temp.is_presorted_by('few', 'select count(distinct few) from presorted');
select pg_temp.is_presorted_by('few, k', 'select few, array_agg(id order by k) from presorted group by few');
select pg_temp.is_presorted_by('few, maybe', 'select few, count(distinct maybe) from presorted group by few');
select pg_temp.is_presorted_by('few, k', 'select few, array_agg(id order by k), count(*), max(t), array_agg(t order by k) from presorted group by few');
-- most of the aggregates go with one of two orders
select pg_temp.is_presorted_by('few, k', 'select few, array_agg(id order by k), array_agg(n order by k), array_agg(t order by n) from presorted group by few');
select pg_temp.is_presorted_by('few, k', 'select few, array_agg(id order by k) filter (where maybe > 3) from presorted group by few');
-- an order that is volatile is made inside
select pg_temp.sort_keys('select array_agg(id order by random()) from presorted') is null;

-- the rows, and how many sorts go through the device
create function pg_temp.compare_presorted(query text) returns text language sql as $$
	select case when pg_temp.presorts() then result
		else replace(result, ', 0 on the device', ', 1 on the device') end
	from pg_temp.compare(query) result
$$;
select pg_temp.compare_presorted('select array_agg(id order by k, id) from presorted');
select pg_temp.compare_presorted('select array_agg(id order by t desc, id), count(distinct few), max(n) from presorted');
select pg_temp.compare_presorted('select string_agg(t, '','' order by t collate "C") from presorted');
select pg_temp.compare_presorted('select count(distinct t) from presorted');
select regexp_replace(pg_temp.compare_presorted('select count(distinct n) from presorted where id < 0'), ', . on the device', '');
select pg_temp.compare_presorted('select array_agg(distinct maybe order by maybe nulls first) from presorted');
select pg_temp.compare_presorted('select count(distinct k) filter (where few > 7), array_agg(id order by k desc, id) filter (where few > 7) from presorted');
-- the group's order is the result's
select pg_temp.compare_presorted('select few, array_agg(id order by k, id) from presorted group by few order by few');
select pg_temp.compare_presorted('select few, count(distinct t), string_agg(t, '','' order by t collate "C", id) from presorted group by few order by few');
select pg_temp.compare_presorted('select n, array_agg(maybe order by maybe, id) from presorted group by n having count(distinct maybe) > 3 order by n');
-- beside a window over the groups
select pg_temp.compare('select few, md5(array_agg(id order by k, id)::text), sum(count(*)) over (order by few rows 2 preceding) from presorted group by few order by few') like '50 rows agree%';
-- in parallel: below the Gather
set max_parallel_workers_per_gather = 2;
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select pg_temp.compare_presorted('select array_agg(id order by k, id) from presorted');
select pg_temp.compare_presorted('select few, array_agg(id order by k, id) from presorted group by few order by few');

select pg_temp.left_over();
drop table presorted;
