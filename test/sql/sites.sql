-- GpuSort below each kind of node: the plans, and what EXPLAIN says in each format.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

set enable_hashagg = off;
set enable_hashjoin = off;
set enable_nestloop = off;
set enable_material = off;

create table site_rows(id int4 primary key, few int4, k8 int8, t text collate "C", n numeric) with (autovacuum_enabled = off);
insert into site_rows select i, i % 50, i * 7919 % 10007, 'row ' || i % 300, i % 70 from generate_series(1, 2000) i;
create table site_parts(k int4, id int4) partition by range (k);
create table site_parts_1 partition of site_parts for values from (0) to (100);
create table site_parts_2 partition of site_parts for values from (100) to (1000);
insert into site_parts select i % 200, i from generate_series(1, 2000) i;
create index on site_parts_1(id, k);
analyze site_rows, site_parts;

-- windows
select pg_temp.do_explain('select id, row_number() over (order by k8) from site_rows');
select pg_temp.do_explain('select id, rank() over (partition by few order by t desc, n) from site_rows');
select pg_temp.do_explain('select id, rank() over (order by t), rank() over (order by n) from site_rows');

-- groups
select pg_temp.do_explain('select k8, count(*) from site_rows group by k8');
select pg_temp.do_explain('select n from site_rows group by n');
select pg_temp.do_explain('select t, count(*) from site_rows group by rollup (t)');

-- distinct rows
select pg_temp.do_explain('select distinct t from site_rows');
select pg_temp.do_explain('select distinct on (few) few, id from site_rows order by few, k8 desc');

-- joins, of which each side may be a GpuSort
select pg_temp.do_explain('select a.id, b.id from site_rows a join site_rows b on a.few = b.few');
select pg_temp.do_explain('select a.id, b.id from site_rows a full join site_parts_2 b on a.n = b.k');

-- parts
select pg_temp.do_explain('select * from (select id from site_rows order by k8 offset 1) a union all select * from (select id from site_rows order by t, id offset 1) b');
-- forced, the whole would be sorted above an Append
set gpusort.debug_force = off;
set enable_seqscan = off;
select pg_temp.do_explain('select id, k from site_parts order by id, k');
reset enable_seqscan;
set gpusort.debug_force = on;

-- subqueries, subplans, common table expressions, recursion
select pg_temp.do_explain('select (select min(r) from (select rank() over (order by k8) as r from site_rows) q)');
select pg_temp.do_explain('select s.id, (select sum(r) from (select rank() over (order by k8) as r from site_rows i where i.few = s.few) q) from site_rows s');
select pg_temp.do_explain('with c as materialized (select distinct t from site_rows) select * from c');
select pg_temp.do_explain('with recursive w as (select 1 as id union all select r.id from w join site_rows r on r.few = w.id) select * from w');

-- statements that write or lock
select pg_temp.do_explain('insert into site_parts select few, row_number() over (order by k8) from site_rows');
select pg_temp.do_explain('select few, id from site_rows order by few for update');
select pg_temp.do_explain('delete from site_rows s using site_parts_2 p where p.id = s.few');

-- in parallel: the rows are sorted by one process, or each worker's by itself
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set max_parallel_workers_per_gather = 2;
alter table site_rows set (parallel_workers = 2);
select pg_temp.do_explain('select k8, row_number() over (partition by few order by k8) from site_rows');
select pg_temp.do_explain('select distinct n from site_rows');
set max_parallel_workers_per_gather = 0;

-- The types of the nodes that GpuSort stands below, in one of the formats that are for programs; and the
-- names and types of its own properties, which are the same below all of them.
create table pg_temp.seen(site text, properties text);
create procedure pg_temp.look_at(plan json, above text, site text) language plpgsql as $$
declare
	child json;
begin
	if plan->>'Custom Plan Provider' = 'GpuSort' then
		insert into pg_temp.seen
			select site || ': ' || above, string_agg(format('%s %s', key, json_typeof(value)), ', ' order by place)
			from json_each(plan) with ordinality p(key, value, place)
			where key ~ '(Custom|Sort|Device|Sent|Received|Key Bits|Key Words|Output Time)';
	end if;
	for child in select json_array_elements(plan->'Plans') loop
		call pg_temp.look_at(child, plan->>'Node Type', site);
	end loop;
end $$;
create function pg_temp.explain_as(query text, format text) returns text language plpgsql as $$
declare
	result text;
begin
	execute format('explain (analyze, format %s) %s', format, query) into result;
	return result;
end $$;
create table pg_temp.queries(site text, query text);
insert into pg_temp.queries values
	('window', 'select id, row_number() over (order by k8) from site_rows'),
	('group', 'select k8, count(*) from site_rows group by k8'),
	('rollup', 'select k8, count(*) from site_rows group by rollup (k8)'),
	('distinct', 'select distinct k8 from site_rows'),
	('union', 'select k8 from site_rows union select id from site_rows'),
	('intersect', 'select k8 from site_rows intersect select id from site_rows'),
	('join', 'select a.id from site_rows a join site_rows b on a.k8 = b.k8'),
	('order', 'select id from site_rows order by k8');
do $$
declare
	q record;
begin
	for q in select * from pg_temp.queries loop
		call pg_temp.look_at(pg_temp.explain_as(q.query, 'json')::json->0->'Plan', 'no node', q.site);
	end loop;
end $$;
-- what stands below a union's Unique differs between versions of PostgreSQL
select distinct site from pg_temp.seen where site !~ 'union' order by site;
select distinct properties from pg_temp.seen;
-- the same names in XML and YAML
create function pg_temp.names_in(plan text, pattern text) returns text language sql as $$
	select string_agg(distinct name, ', ' order by name)
	from (select replace(m[1], '-', ' ') as name from regexp_matches(plan, pattern, 'g') m) names
	where name ~ '(Sort|Device|Sent|Received|Key Bits|Key Words|Output Time)'
$$;
select site, pg_temp.names_in(pg_temp.explain_as(query, 'xml'), '<([A-Z][A-Za-z-]*)>') = pg_temp.names_in(pg_temp.explain_as(query, 'yaml'), '([A-Z][A-Za-z ]*): ') as same_names
from pg_temp.queries order by site;
select distinct pg_temp.names_in(pg_temp.explain_as(query, 'yaml'), '([A-Z][A-Za-z ]*): ') from pg_temp.queries;

-- under ANALYZE in text
select pg_temp.do_explain('select id, row_number() over (order by k8) from site_rows', 'analyze, costs off, summary off, timing off, buffers off');
select pg_temp.do_explain('select count(*) from (select distinct k8 from site_rows) q', 'analyze, costs off, summary off, timing off, buffers off');

drop table site_rows, site_parts;
