-- Which plans the planner makes, and how EXPLAIN shows them.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

create table plan_rows(k2 int2, k4 int4, k8 int8, o oid, d date, ts timestamp, tz timestamptz, t text, n numeric, f float8);
insert into plan_rows
	select i, i, i, i, date '2000-01-01' + i, timestamp '2000-01-01' + i * interval '1 hour',
		timestamptz '2000-01-01' + i * interval '1 hour', 'row ' || i, i, i
	from generate_series(1, 2000) i;
analyze plan_rows;

-- every key type
select pg_temp.do_explain('select * from plan_rows order by k2');
select pg_temp.do_explain('select * from plan_rows order by k4');
select pg_temp.do_explain('select * from plan_rows order by k8');
select pg_temp.do_explain('select * from plan_rows order by o');
select pg_temp.do_explain('select * from plan_rows order by d');
select pg_temp.do_explain('select * from plan_rows order by ts');
select pg_temp.do_explain('select * from plan_rows order by tz');

-- direction and place of NULLs, as PostgreSQL prints them
select pg_temp.do_explain('select * from plan_rows order by k2 desc, k4 nulls first, k8 desc nulls last, d asc nulls last');
select pg_temp.do_explain('select * from plan_rows order by k4 using <, k8 using >');
select pg_temp.do_explain('select * from plan_rows order by t collate "C" using ~>~, (t || 1) collate "C" using ~<~ nulls first');

-- expressions, and a key that is no output column
select pg_temp.do_explain('select t from plan_rows order by k4 + 1 desc, abs(k8)');
select pg_temp.do_explain('select k4 % 10 as a, t from plan_rows order by a, k8');
select pg_temp.do_explain('select p.t, q.k8 from plan_rows p join plan_rows q on p.k4 = q.k4 order by p.k4, q.d desc');

-- a constant and a repeated key are no keys
select pg_temp.do_explain('select * from plan_rows where k4 = 5 order by k4, k8, k8');

-- the output of other nodes
select pg_temp.do_explain('select k4 % 7 as a, count(*) from plan_rows group by 1 order by 2, 1');
select pg_temp.do_explain('select k8, t from plan_rows union all select k8, t from plan_rows order by k8');
select pg_temp.do_explain('select k8, t from plan_rows union select k8, t from plan_rows order by 1 desc');
select pg_temp.do_explain('values (3, ''c''), (1, ''a'') order by 1');
select pg_temp.do_explain('select * from generate_series(1, 10) g order by g desc');
select pg_temp.do_explain('select * from plan_rows order by k8 for update');
select pg_temp.do_explain('select * from (select * from plan_rows order by k4 desc) s order by k8');
select pg_temp.do_explain('with c as materialized (select * from plan_rows order by k8) select * from c');
select pg_temp.do_explain('select (select k8 from plan_rows order by k4 limit all)');

-- sorts that other nodes have asked for
select pg_temp.do_explain('select row_number() over (order by k8) from plan_rows');

-- data-modifying statements
select pg_temp.do_explain('create table plan_copy as select * from plan_rows order by k8');
select pg_temp.do_explain('insert into plan_rows select * from plan_rows order by k8');

-- order that is there already
create index plan_rows_k8 on plan_rows(k8);
select pg_temp.do_explain('select k8 from plan_rows where k8 between 1 and 5 order by k8');
drop index plan_rows_k8;

-- a small LIMIT leaves a few rows to the native sort; a large one, or none, does not; nor is there
-- a LIMIT that does when sorts are forced
select pg_temp.do_explain('select * from plan_rows order by k8 limit 10');
set gpusort.debug_force = off;
select pg_temp.do_explain('select * from plan_rows order by k8 limit 10');
select pg_temp.do_explain('select * from plan_rows order by k8 limit 10 offset 20');
select pg_temp.do_explain('select * from plan_rows order by k8 limit 90000');
select pg_temp.do_explain('select * from plan_rows order by k8 limit all');
select pg_temp.do_explain('select * from plan_rows order by k8 limit null');
select pg_temp.do_explain('select * from plan_rows order by k8 offset 10');
select pg_temp.do_explain('select * from plan_rows order by k8 limit (select 10)');
select pg_temp.do_explain('select * from plan_rows order by k8 limit 0');
set gpusort.debug_force = on;

-- keys of many types, and many of them; a key without words behind one that has some
select pg_temp.do_explain('select * from plan_rows order by t');
select pg_temp.do_explain('select * from plan_rows order by n');
select pg_temp.do_explain('select * from plan_rows order by f');
select pg_temp.do_explain('select * from plan_rows order by k8, t');
select pg_temp.do_explain('select * from plan_rows order by k8, array[t]');
select pg_temp.do_explain('select * from plan_rows order by k2, k4, k8, d, ts, o, f, k2 + 1, k4 + 1, k8 + 1, t');

-- what GpuSort does not sort: a first key without words
select pg_temp.do_explain('select * from plan_rows order by array[t]');
select pg_temp.do_explain('select * from plan_rows order by row(k8, t)');
create function backwards_cmp(int4, int4) returns int4 language sql immutable as 'select btint4cmp($2, $1)';
create operator <~ (leftarg = int4, rightarg = int4, function = int4gt);
create operator class backwards for type int4 using btree as
	operator 1 <~, operator 3 =, function 1 backwards_cmp(int4, int4);
select pg_temp.do_explain('select * from plan_rows order by k4 using <~');
drop operator family backwards using btree;
drop operator <~ (int4, int4);
drop function backwards_cmp;

-- settings
set gpusort.enabled = off;
select pg_temp.do_explain('select * from plan_rows order by k8');
set gpusort.enabled = on;
set gpusort.min_rows = 2001;
select pg_temp.do_explain('select * from plan_rows order by k8');
set gpusort.min_rows = 2000;
select pg_temp.do_explain('select * from plan_rows order by k8');
set gpusort.min_rows = 0;

-- by cost: a Sort that the device would be faster at if more rows came becomes a GpuSort all the same
set gpusort.debug_force = off;
select pg_temp.do_explain('select * from plan_rows order by k8');
set gpusort.debug_force = on;

-- VERBOSE names each column of the child
select pg_temp.do_explain('select k8, t from plan_rows order by k4 desc', 'costs off, verbose');
-- a column that only the sort reads is not returned, so that nobody has to remove it
select pg_temp.do_explain('select t, n from plan_rows order by lower(t), k4 % 7 limit 3 offset 1', 'costs off, verbose');
select pg_temp.do_explain('insert into plan_rows(n, t) select n, t from plan_rows order by lower(t)', 'costs off, verbose');
select pg_temp.do_explain('select t from plan_rows order by lower(t) fetch first 3 rows with ties', 'costs off, verbose');
select pg_temp.do_explain('select k2 from (select k2, t from plan_rows order by lower(t) offset 0) q', 'costs off, verbose');
select pg_temp.do_explain('select 1 as a, k8 from plan_rows union all select 2, o::int8 from plan_rows order by 2, 1', 'costs off, verbose');
select pg_temp.do_explain('select random() as a, random() as b, k8 from plan_rows order by k8', 'costs off, verbose');

-- a column under another collation is a copy: it is sorted by its original, and goes where nothing reads it
set gpusort.min_rows = 0;
select pg_temp.do_explain('select k8, t from plan_rows order by t collate "C"', 'costs off, verbose');
select pg_temp.do_explain('select t from plan_rows order by t collate "C", t collate "POSIX" desc limit 1000', 'costs off, verbose');
select pg_temp.do_explain('select t from plan_rows order by t collate "C" fetch first 2 rows with ties', 'costs off, verbose');
select pg_temp.do_explain('insert into plan_rows(t) select t from plan_rows order by t collate "C"', 'costs off, verbose');
select pg_temp.do_explain('select k8 from plan_rows order by t collate "C"', 'costs off, verbose');
select pg_temp.do_explain('select k8, t from plan_rows order by t collate "C" for update', 'costs off, verbose');
select pg_temp.do_explain('select k8, t collate "C" as c from plan_rows order by t collate "C"', 'costs off, verbose');
select pg_temp.do_explain('select count(*) from (select t from plan_rows order by t collate "C" offset 0) x where t > $$1$$', 'costs off, verbose');
select count(*) from (select t from plan_rows order by t collate "C" offset 0) x where t > '1';
with x as materialized (select t from plan_rows order by t collate "C") select min(t), max(t), count(*) from x where t > '1';
-- a constant among the columns of a Sort that was converted
set enable_hashagg = off;
select distinct 'x'::text as x, 100 as y, k2 % 3 as z from plan_rows order by z;
reset enable_hashagg;

-- a view's definition, and a parameter as an expression
create view plan_view as select k8, t from plan_rows order by k8 desc;
select pg_temp.do_explain('select * from plan_view', 'costs off, verbose');
prepare plan_parameter(int8) as select t from plan_rows order by k8 % $1;
set plan_cache_mode = force_generic_plan;
select pg_temp.do_explain('execute plan_parameter(7)');
reset plan_cache_mode;

-- under ANALYZE, in every format
select pg_temp.do_explain('select * from plan_rows order by k8 desc', 'analyze, costs off, summary off, timing off, buffers off');
select pg_temp.do_explain('select * from plan_rows order by k8 desc', 'analyze, costs off, summary off, buffers off');
select pg_temp.do_explain('select * from plan_rows where k8 < 0 order by k8', 'analyze, costs off, summary off, timing off, buffers off');

-- the GpuSort node's own properties; those of every node differ between versions
create function pg_temp.own_properties(plan json) returns table(property text, type text) language sql as $$
	select key, json_typeof(value)
	from json_each(plan->0->'Plan') with ordinality p(key, value, place)
	where key ~ '(Node Type|Custom|Sort|Device|Sent|Received|Key Bits|Feed|Output Time)'
	order by place
$$;
do $$
declare
	plan json;
	text_plan text;
	p record;
begin
	execute 'explain (analyze, format json) select * from plan_rows order by k8' into plan;
	for p in select * from pg_temp.own_properties(plan) loop
		raise info 'json %: %', p.property, p.type;
	end loop;
	execute 'explain (analyze, format yaml) select * from plan_rows order by k8 nulls first' into text_plan;
	raise info 'yaml %', substring(text_plan from 'Sort Key:.*Sort Method: "host"');
	execute 'explain (analyze, format xml) select * from plan_rows order by k8 desc, k4' into text_plan;
	raise info 'xml %', substring(text_plan from '<Sort-Key>.*<Sort-Method>host</Sort-Method>');
	raise info 'xml %', array(select m[1] from regexp_matches(text_plan, '<((?:Feed|Sort|Output)-Time-ms|Sent-Bytes|Received-Bytes|Peak-Device-Memory-Bytes|Device-Rows|Key-Bits)>', 'g') m);
end $$;

drop view plan_view;
drop table plan_rows;

-- who makes plans have GpuSorts: each provider of paths while the others are off, and the conversion while all are
create table provided(k4 int4, k8 int8, t text collate "C") with (autovacuum_enabled = off);
insert into provided select i, i % 1000, 'row ' || i from generate_series(1, 2000) i;
analyze provided;
create function pg_temp.providers_of(query text) returns text language plpgsql as $$
declare
	providers constant text[] := array['order', 'group', 'window'];
	provider text;
	plan text;
	by_conversion text;
	found text[];
begin
	perform set_config('gpusort.debug_providers_off', array_to_string(providers, ','), true);
	by_conversion := (select string_agg(line, e'\n') from pg_temp.do_explain(query, 'costs') line);
	foreach provider in array providers loop
		perform set_config('gpusort.debug_providers_off', array_to_string(array_remove(providers, provider), ','), true);
		plan := (select string_agg(line, e'\n') from pg_temp.do_explain(query, 'costs') line);
		if plan ~ 'GpuSort' and plan <> by_conversion then
			found := found || provider;
		end if;
	end loop;
	return concat_ws(' ', array_to_string(found, ' '), case when by_conversion ~ 'GpuSort' then 'conversion' end);
end $$;
select pg_temp.providers_of('select * from provided order by k8');
select pg_temp.providers_of('select k4, count(*) from provided group by k4');
select pg_temp.providers_of('select distinct k4, t from provided');
select pg_temp.providers_of('select rank() over (order by k8) from provided');
select pg_temp.providers_of('select k4, count(distinct t) from provided group by rollup (k4)');
reset gpusort.debug_providers_off;
drop function pg_temp.providers_of(text);
drop table provided;
