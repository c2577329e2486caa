-- Sorts for an aggregate's own ORDER BY or DISTINCT: from PostgreSQL 16 on a Sort below the
-- Agg, which becomes a GpuSort.  Before, and for ordered-set aggregates, a GpuSort gives the
-- Agg's own sort its rows in order.
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

-- The sort keys of the GpuSorts in the query's plan.
create function pg_temp.sort_keys(query text) returns text language sql as $$
	select string_agg(key, '; ') from (
		select case when lag(line) over () like '%Custom Scan (GpuSort)%' then substring(line, 'Key: (.*)') end as key
		from pg_temp.do_explain(query) line) lines
$$;
create function pg_temp.is_presorted_by(expected text, query text) returns boolean language sql as $$
	select pg_temp.sort_keys(query) = expected
$$;
create function pg_temp.is_left_alone(query text) returns boolean language sql as $$
	select not exists (select from pg_temp.do_explain(query) line where line like '%Presorted for%')
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

-- ordered sets
select pg_temp.is_presorted_by('n', 'select percentile_disc(0.5) within group (order by n) from presorted');
select pg_temp.is_presorted_by('few, k DESC', 'select few, mode() within group (order by k desc), sum(n), bool_or(few > 3), max(t) from presorted group by few');
select pg_temp.is_presorted_by('few, ((k)::double precision)', 'select few, percentile_cont(0.5) within group (order by k), sum(k::float8) from presorted group by few');
select pg_temp.is_presorted_by('maybe', 'select percentile_disc(0.5) within group (order by maybe) filter (where few > 3), count(*) from presorted');
select pg_temp.is_presorted_by('few, k', 'select few, percentile_disc(0.2) within group (order by k), percentile_disc(0.5) within group (order by n) filter (where few = 1) from presorted group by few');
select pg_temp.is_presorted_by('k', 'select max(id), min(t), mode() within group (order by k) from presorted');
select pg_temp.is_presorted_by('few, k', 'select few, max(n), mode() within group (order by k) from presorted group by few');
select pg_temp.do_explain('select few, percentile_disc(0.5) within group (order by k), mode() within group (order by k) from presorted group by few');
-- Not these: the order of rows that another aggregate sees, a hypothetical row, an expression that may fail, a volatile
-- one, a subquery, rows in order, grouping sets.
select pg_temp.is_left_alone('select array_agg(id), mode() within group (order by k) from presorted');
select pg_temp.is_left_alone('select sum(k::float8), mode() within group (order by k) from presorted');
-- which of several equal values that look different min and max return depends on the order
select pg_temp.is_left_alone('select max(n), mode() within group (order by k) from presorted');
select pg_temp.is_left_alone('select min(k::float8), mode() within group (order by k) from presorted');
select pg_temp.is_left_alone('select few, string_agg(t, '',''), mode() within group (order by k) from presorted group by few');
select pg_temp.is_left_alone('select few, rank(7) within group (order by k) from presorted group by few');
select pg_temp.is_left_alone('select few, mode() within group (order by 1 / few) filter (where few > 0) from presorted group by few');
select pg_temp.is_left_alone('select mode() within group (order by k + random()) from presorted');
select pg_temp.is_left_alone('select mode() within group (order by k + (select 1 where few > 3)) from presorted');
select pg_temp.is_left_alone('select mode() within group (order by k) from (select k from presorted order by k desc, id) q');
select pg_temp.is_left_alone('select few, n, mode() within group (order by k) from presorted group by rollup(few, n)');
-- without a device
set gpusort.enabled = off;
select pg_temp.is_left_alone('select mode() within group (order by k) from presorted');
reset gpusort.enabled;

-- an order of a subquery that an aggregate without its own may show: a native hash table keeps it
create function pg_temp.is_grouped_by_device(query text) returns boolean language sql as $$
	select exists (select from pg_temp.do_explain(query) line where line ~ 'GpuSort')
		and not exists (select from pg_temp.do_explain(query) line where line ~ 'HashAggregate')
$$;
select pg_temp.is_grouped_by_device('select few, array_agg(k) from (select few, k from presorted order by k desc) q group by few');
select pg_temp.is_grouped_by_device('select few, count(*), string_agg(t, '','') filter (where k > 0) from (select * from presorted order by k, id) q group by few having count(*) > 1');
select pg_temp.is_grouped_by_device('with q as materialized (select few, k from presorted order by k desc) select few, array_agg(k) from q group by few');
select pg_temp.is_grouped_by_device('select few, array_agg(k) from (select few, k from presorted order by k desc limit 5000) q group by few');
-- these do not show it
select pg_temp.is_grouped_by_device('select few, array_agg(k) from presorted group by few');
select pg_temp.is_grouped_by_device('select few, sum(k), count(*), max(n) from (select * from presorted order by k desc) q group by few');
select pg_temp.is_grouped_by_device('select few, array_agg(k order by id) from (select * from presorted order by k desc) q group by few');
select pg_temp.compare('select few, array_agg(k) from (select few, k from presorted order by k desc, id) q group by few order by few');

-- the rows, and how many sorts go through the device
select pg_temp.compare('select percentile_disc(0.3) within group (order by n), percentile_cont(0.6) within group (order by n), mode() within group (order by few) from presorted');
select pg_temp.compare('select few, percentile_cont(array[0, 0.5, 1]) within group (order by maybe) from presorted group by few order by few');
select pg_temp.compare('select array_agg(id order by k, id) from presorted');
select pg_temp.compare('select array_agg(id order by t desc, id), count(distinct few), max(k) from presorted');
select pg_temp.compare('select string_agg(t, '','' order by t collate "C") from presorted');
select pg_temp.compare('select count(distinct t) from presorted');
select regexp_replace(pg_temp.compare('select count(distinct n) from presorted where id < 0'), ', . on the device', '');
select pg_temp.compare('select array_agg(distinct maybe order by maybe nulls first) from presorted');
select pg_temp.compare('select count(distinct k) filter (where few > 7), array_agg(id order by k desc, id) filter (where few > 7) from presorted');
-- the group's order is the result's
select pg_temp.compare('select few, array_agg(id order by k, id) from presorted group by few order by few');
select pg_temp.compare('select few, count(distinct t), string_agg(t, '','' order by t collate "C", id) from presorted group by few order by few');
select pg_temp.compare('select n, array_agg(maybe order by maybe, id) from presorted group by n having count(distinct maybe) > 3 order by n');
-- beside a window over the groups
select pg_temp.compare('select few, md5(array_agg(id order by k, id)::text), sum(count(*)) over (order by few rows 2 preceding) from presorted group by few order by few') like '50 rows agree%';
-- in parallel: below the Gather
set max_parallel_workers_per_gather = 2;
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select pg_temp.compare('select array_agg(id order by k, id) from presorted');
select pg_temp.compare('select few, array_agg(id order by k, id) from presorted group by few order by few');

reset min_parallel_table_scan_size;
reset parallel_setup_cost;
reset parallel_tuple_cost;
set max_parallel_workers_per_gather = 0;

-- Nothing is forced from here on: a sort below the Agg must take less time than it spares.  PostgreSQL's own takes
-- little for NULLs, few values and rows in order.
set gpusort.debug_force = off;
create table valued(random text collate "en-x-icu", null_95 text collate "en-x-icu", null_50 text collate "en-x-icu",
	few text collate "en-x-icu", usual_95 text collate "en-x-icu", ordered text collate "en-x-icu",
	reversed text collate "en-x-icu", nearly text collate "en-x-icu", g int4) with (autovacuum_enabled = off);
insert into valued
	select md5(i::text), case when i % 20 = 0 then md5(i::text) end, case when i % 2 = 0 then md5(i::text) end,
		'status ' || i % 5, case when i % 20 = 0 then md5(i::text) else 'usual' end, lpad(i::text, 9, '0'),
		lpad((100000 - i)::text, 9, '0'), lpad((i / 100 * 100 + abs(hashint4(i) % 100))::text, 9, '0'), i % 4
	from generate_series(1, 50000) i;
analyze valued;
select pg_temp.is_presorted_by('random COLLATE "en-x-icu"', 'select percentile_disc(0.5) within group (order by random) from valued');
select pg_temp.is_presorted_by('g, random COLLATE "en-x-icu"', 'select g, mode() within group (order by random) from valued group by g');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by null_95) from valued');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by null_50) from valued');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by few) from valued');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by usual_95) from valued');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by ordered) from valued');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by reversed) from valued');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by nearly) from valued');
-- a column gives an expression its values and their order
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by upper(ordered)) from valued');
-- WHERE and FILTER drop rows
select pg_temp.is_presorted_by('null_50 COLLATE "en-x-icu"', 'select percentile_disc(0.5) within group (order by null_50) from valued where null_50 is not null');
select pg_temp.is_presorted_by('null_50 COLLATE "en-x-icu"', 'select percentile_disc(0.5) within group (order by null_50) from valued where null_50 > ''0''');
select pg_temp.is_left_alone('select percentile_disc(0.5) within group (order by random) filter (where few = ''status 1'') from valued');
-- a group's rows are in the order that all rows have
select pg_temp.is_left_alone('select g, percentile_disc(0.5) within group (order by ordered) from valued group by g');
-- before 16: further keys; a strict transition function drops NULLs of its arguments, and another one sorts them
select pg_temp.is_left_alone('select count(distinct null_95), count(distinct few), string_agg(few, '','' order by few) from valued');
select pg_temp.presorts() or pg_temp.is_presorted_by('few COLLATE "en-x-icu", random COLLATE "en-x-icu"', 'select array_agg(g order by few, random) from valued');
select pg_temp.presorts() or pg_temp.is_presorted_by('random COLLATE "en-x-icu"', 'select array_agg(null_95 order by random) from valued');
select pg_temp.presorts() or pg_temp.is_left_alone('select max(null_95 order by random) from valued');
-- nothing is known of these values
select pg_temp.is_presorted_by('((random || few)) COLLATE "en-x-icu"', 'select percentile_disc(0.5) within group (order by random || few) from valued');
delete from pg_statistic where starelid = 'valued'::regclass;
select pg_temp.is_presorted_by('ordered COLLATE "en-x-icu"', 'select percentile_disc(0.5) within group (order by ordered) from valued');
drop table valued;

select pg_temp.left_over();
drop table presorted;
