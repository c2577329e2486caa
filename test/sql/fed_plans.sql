-- Plans of 300,000 rows with two workers, at usual costs: wherever workers scan for a sort of the device, they feed it, and such
-- a plan costs no more than one without workers.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on
reset gpusort.debug_force;
reset gpusort.min_rows;
reset enable_incremental_sort;
set enable_hashjoin = off;
set enable_nestloop = off;

create table planned with (autovacuum_enabled = off, parallel_workers = 2) as
select i as id, (i::int8 * 7919) % 300007 as k8, (array['open', 'Paid', 'shipped', 'returned'])[1 + i % 4] as few, 'https://www.example.com/' || md5(i::text) as url,
	date '2020-01-01' + i % 365 as d, timestamp '2020-01-01' + i * interval '1 minute' as ts, i % 1000 / 7.0 as f, (i % 5000)::numeric(10, 2) as n, md5(i::text)::uuid as u,
	jsonb_build_object('a', 'v' || i % 20) as j
from generate_series(1, 300000) i;
vacuum analyze planned;

create temp table queries(id int4 generated always as identity, query text);
insert into queries(query) values
	('select * from planned order by k8'), ('select id from planned order by k8 desc nulls last, id'), ('select * from planned order by url'), ('select id, url from planned order by url collate "C" desc'),
	('select ''constant'', id, k8, id as again from planned order by few, k8'), ('select few, k8, count(*) over (partition by few) from planned order by few'),
	('select * from planned order by few, k8'), ('select id, few from planned order by few collate "C" desc, id'), ('select * from planned order by d, few, n'), ('select * from planned order by ts desc'),
	('select * from planned order by f, id'), ('select * from planned order by n, url'), ('select * from planned order by u'), ('select * from planned order by lower(url)'),
	('select id, few from planned order by upper(few), k8'), ('select id from planned order by date_trunc(''month'', ts), id'), ('select * from planned order by k8 % 100, id'), ('select id, j from planned order by j->>''a'', id'),
	('select id from planned order by url || few'), ('select * from planned where id % 3 > 0 order by url'),
	('select id, lag(ts) over (partition by few, d order by ts) from planned'), ('select id, rank() over (order by k8) from planned'), ('select id, sum(f) over (partition by url) from planned'),
	('select id, row_number() over (partition by lower(few) order by k8) from planned'), ('select id, count(*) over (partition by d order by u), lag(id) over (partition by few order by u) from planned'),
	('select distinct on (d, few) * from planned order by d, few, ts'), ('select distinct on (url) id, url from planned order by url, id'), ('select distinct k8, url from planned order by k8, url'),
	('select url, count(*), max(id) from planned group by url order by url'), ('select k8, string_agg(few, '','' order by id) from planned group by k8'), ('select lower(url), string_agg(few, '','' order by id) from planned group by 1'), ('select lower(url), min(id) from planned group by 1 order by 1'),
	('select u, count(distinct few) from planned group by u'),
	('select a.id, b.few from planned a join planned b on a.k8 = b.k8 order by a.url'), ('select count(*) from planned a join planned b on a.url = b.url'),
	('select a.id from planned a join (select distinct on (url) url, id from planned order by url, id) b on a.url = b.url'),
	('select * from (select id, url from planned union all select id, few from planned) s order by url, id');
insert into queries(query) select replace(query, 'ICU', '"en-x-icu"') from (values ('select * from planned order by few collate ICU, k8'), ('select * from planned order by url collate ICU'),
		('select id, lag(ts) over (partition by few collate ICU order by ts) from planned'), ('select distinct on (few collate ICU) * from planned order by few collate ICU, id')) q(query)
	where exists (select from pg_collation where collname = 'en-x-icu');

-- sorts for an aggregate's own order, of what is no column
insert into queries(query) select 'select string_agg(few, '','' order by lower(url)) from planned' where pg_temp.presorts();
insert into queries(query) select 'select d, array_agg(id order by k8 % 100, id) from planned group by d' where pg_temp.presorts();
-- Says what is wrong with a query's plan: that of PostgreSQL's choice is a sort of the device, that a feed node is below each GpuSort
-- over a Gather, that no worker sorts for a Gather Merge, and that all costs no more than without workers.
create function pg_temp.wrong_with(query text) returns text language plpgsql as $$
declare
	plan jsonb;
	serial jsonb;
begin
	execute 'explain (format json) ' || query into plan;
	set local max_parallel_workers_per_gather = 0;
	execute 'explain (format json) ' || query into serial;
	set local max_parallel_workers_per_gather = 2;
	return case
		when not plan @? '$.** ? (@."Custom Plan Provider" == "GpuSort")' then 'no sort is the device''s'
		when plan @? '$.** ? (@."Custom Plan Provider" == "GpuSort").Plans[*] ? (@."Node Type" == "Gather").Plans[*] ? (!(exists (@."Custom Plan Provider")) || @."Custom Plan Provider" != "GpuSortFeed")'
			then 'a Gather below a GpuSort is not fed'
		when plan @? '$.** ? (@."Node Type" == "Gather Merge").Plans[*] ? (@."Node Type" == "Sort" || @."Custom Plan Provider" == "GpuSort")' then 'workers sort for a Gather Merge'
		when (plan #>> '{0,Plan,Total Cost}')::float8 > (serial #>> '{0,Plan,Total Cost}')::float8 then 'it costs more than without workers'
		when not plan @? '$.** ? (@."Custom Plan Provider" == "GpuSortFeed")' then 'no workers feed'
	end;
end $$;
set max_parallel_workers_per_gather = 2;
-- groups of an expression that no statistics are kept of are sorted as PostgreSQL plans them; workers sort for a join of their own
select query, wrong from (select id, query, pg_temp.wrong_with(query) as wrong from queries) q where wrong is not null order by id;
-- sorts of PostgreSQL's choice, which become the device's when all is planned
set gpusort.debug_providers_off = 'order, group, window';
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
-- how DISTINCT gets its order there is a choice of PostgreSQL that differs between versions; a Gather Merge does not pass on what an
-- aggregate has its rows sorted by
select query, wrong from (select id, query, pg_temp.wrong_with(query) as wrong from queries where query !~ '^select distinct k8|_agg.* order by (lower|k8 %)') q where wrong is not null order by id;
reset gpusort.debug_providers_off;
reset parallel_setup_cost;
reset parallel_tuple_cost;
-- without the device's
set gpusort.enabled = off;
select distinct pg_temp.wrong_with(query) from queries;
reset gpusort.enabled;
-- a key that its operator takes for another type
create table classes with (parallel_workers = 2) as select id::oid::regclass as c, id from planned;
analyze classes;
select pg_temp.wrong_with('select * from classes order by c');
drop table classes;
drop table planned;
