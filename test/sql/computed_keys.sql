-- Keys that the scan computes behind the table's columns: each page's rows are taken as
-- they are, and the values are appended (src/executor/page_drain.c).
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;

-- Do the rows agree with PostgreSQL's, with 0, 1, 2 and 4 workers?
create function pg_temp.compare_all(query text) returns text language plpgsql as $$
declare
	workers int;
	results text[];
begin
	foreach workers in array array[0, 1, 2, 4] loop
		perform set_config('max_parallel_workers_per_gather', workers::text, true);
		results := results || pg_temp.compare(query);
	end loop;
	return (select string_agg(distinct r, '; ') from unnest(results) r);
end $$;

create table computed(id int4, k int8, s text, t text, j jsonb, at timestamptz, h text) with (autovacuum_enabled = off);
alter table computed alter column h set storage external;
insert into computed
	select i, (i::int8 * 7919) % 5003, 'Row ' || md5(i::text) || repeat('x', i % 150), case when i % 3 <> 0 then 'T' || i % 1000 end,
		case when i % 7 <> 0 then jsonb_build_object('a', i % 911, 'b', repeat('y', i % 40)) end,
		timestamptz 'epoch' + i * interval '7 hours', case when i % 500 = 0 then repeat(md5(i::text), 100) end
	from generate_series(1, 6000) i;
analyze computed;

-- widths and alignments of what is appended, one column or several, and keys among the table's columns
select key, pg_temp.compare_all(format('select * from computed order by %s, id', key)) from unnest(array[
	'lower(s)', 'upper(s) desc', 'k % 100', '(k % 100)::int2', '(k % 100)::int4 desc', 'k % 2 = 0', '(k % 90)::int4::"char"', 'k / 7.0',
	'k::float4', 'date_trunc(''day'', at)', 'at::date', 'at - timestamptz ''epoch''', 'md5(s)::uuid', 's::name', 's::char(40)', 's::bytea',
	'left(s, 9), k % 3, right(s, 2)', 'k % 7, s, k % 5, lower(t)', 'substr(s, 1, 4 + id % 3), (k % 10)::int2, k', 'repeat(s, 2 + id % 9)',
	'lower(s) collate "C"', 't collate "C"', 'coalesce(t, s)', 'array[k % 9, id % 2]', 'row(k % 9, id % 2)', 'int4range(id % 9, 100)']) key;
-- NULLs, in the key and beside it, toasted values, JSON
select key, pg_temp.compare_all(format('select * from computed order by %s, id', key)) from unnest(array[
	'lower(t)', 'lower(t) desc nulls last', 'j->>''a''', 'j->''a''', '(j->>''a'')::int4 nulls first', 'nullif(k % 100, 5)', 'length(h)', 'lower(h)',
	'coalesce(h, s)', 'upper(h) nulls first', 'null::text']) key;
-- what else a row is computed from
select key, pg_temp.compare_all(format('select * from computed order by %s, id', key)) from unnest(array[
	'(ctid::text)', 'tableoid, k % 10', 'hash_record(computed) % 100', 'computed::text', '(select count(*) from computed where id < 10) + k % 10',
	'(select max(x) from unnest(array[k % 10, id % 9]) x)', '1 + 1', 'case when k > 2500 then lower(s) else s end']) key;
-- ties that only the comparator decides
select pg_temp.compare_all('select * from computed order by repeat(''p'', 100) || k % 100, repeat(''q'', 90) || lower(s), id');

-- the key, or all columns, are read above; the row as a whole too
select pg_temp.compare_all('select *, lower(s) as l from computed order by l, id');
select pg_temp.compare_all('select c.*, c::text, c.k % 10 as m from computed c order by lower(s), id');
select pg_temp.compare_all('select *, row_number() over (order by lower(s), id) from computed');
select pg_temp.compare_all('select distinct on (k % 100) * from computed order by k % 100, id');
select pg_temp.compare_all('select s, t, k % 10 as m from computed order by upper(s), m');
select pg_temp.compare_all('select * from computed where id % 3 = 0 order by lower(s)');
select pg_temp.compare_all('select * from computed order by lower(s), id limit 3000 offset 77');
select pg_temp.compare_all('select a.id, b.* from computed a join computed b on a.id = b.id + 1 order by lower(b.s), a.id');

-- each row is computed once, and an error is an error
create sequence computed_calls;
select count(q), count(distinct n) from (select *, nextval('computed_calls') as n from computed order by nextval('computed_calls') % 7 offset 0) q;
select last_value from computed_calls;
alter sequence computed_calls restart;
create function pg_temp.counted(v int8) returns int8 language plpgsql as $$ begin perform nextval('computed_calls'); return v % 100; end $$;
select count(q) from (select * from computed order by pg_temp.counted(k) offset 0) q;
select last_value from computed_calls;
select count(q) from (select * from computed order by 1 / (k - 50) offset 0) q;
select count(q) from (select * from computed order by (s || 'x')::int4 offset 0) q where s like 'Row c4ca%';
select count(q), bool_and(r between 0 and 1) from (select *, random() as r from computed order by random() offset 0) q;

-- parameters, rescans, cursors
prepare by_parameter(int8) as select id from computed order by k % $1, id limit 3;
set plan_cache_mode = force_generic_plan;
execute by_parameter(7);
execute by_parameter(1000);
reset plan_cache_mode;
select g, q.id from generate_series(1, 3) g, lateral (select * from computed order by (k + g) % 100, id limit 2 offset 100) q;
begin;
declare c scroll cursor for select id, k, s, t, j, at, h from computed order by k % 100 desc, id;
fetch absolute 5000 from c \gset first_
move backward 3000 in c;
fetch 1 from c \gset second_
select :first_id, :second_id;
commit;
begin;
select count(*), sum(id * n) from (select id, row_number() over () as n from (select * from computed order by lower(s), id for update) q) r;
rollback;

-- partitions and children whose rows differ
create table computed_parent(id int4, s text, k int8);
create table computed_child(more text default 'm') inherits (computed_parent);
insert into computed_parent select i, 'P' || md5(i::text), i % 77 from generate_series(1, 2000) i;
insert into computed_child select i, 'c' || md5(i::text), i % 77, 'more' from generate_series(2001, 4000) i;
select pg_temp.compare_all('select * from computed_parent order by lower(s)');
select pg_temp.compare_all('select * from only computed_parent order by lower(s)');
select pg_temp.compare_all('select * from computed_child order by k % 10, lower(s)');
create table computed_parted(id int4, s text, k int8) partition by range (id);
create table computed_low partition of computed_parted for values from (0) to (2000);
create table computed_high(k int8, s text, id int4);
alter table computed_parted attach partition computed_high for values from (2000) to (9000);
insert into computed_parted select id, s, k from computed_parent;
select pg_temp.compare_all('select * from computed_parted order by lower(s)');
select pg_temp.compare_all('select * from computed_low order by lower(s)');

-- who opens a cursor needs the right to call the function, not who reads it
create function private_key(v int8) returns int8 language plpgsql as 'begin return v % 10; end';
revoke execute on function private_key from public;
create function open_rights() returns refcursor security definer language plpgsql as
	$$ declare c refcursor := 'rights'; begin open c for select * from computed_low order by private_key(k), id; return c; end $$;
create role regress_computed_keys;
begin;
set local role regress_computed_keys;
select open_rights();
fetch 1 from rights;
commit;
drop role regress_computed_keys;

-- many columns, of which the last ones lengthen the NULLs' bitmap
do $$ begin
	execute 'create table computed_broad(id int4, ' || (select string_agg('c' || i || ' int4', ', ') from generate_series(1, 70) i) || ')';
end $$;
insert into computed_broad(id, c3, c70) select i, nullif(i % 3, 0), i % 50 from generate_series(1, 3000) i;
select pg_temp.compare_all('select * from computed_broad order by c70 % 7, -id');
select pg_temp.compare_all('select * from computed_broad order by c70 % 7, c70 % 6, c70 % 5, -id');
select pg_temp.compare_all('select * from computed_broad order by c3, id');

-- narrow rows that have fewer columns than the table
create table computed_late(a int4);
insert into computed_late select generate_series(1, 3000);
alter table computed_late add b int8, add c float8, add d int2;
select pg_temp.compare_all('select * from computed_late order by a');
insert into computed_late select i, i % 9, i, i % 5 from generate_series(3001, 4000) i;
select pg_temp.compare_all('select * from computed_late order by b nulls first, a');

-- columns that were dropped, added, or generated
alter table computed add later int4, add filled text default 'Filled', add made int8 generated always as (k * 2) stored;
insert into computed(id, k, s, later, filled) select i, i % 50, 'Later ' || i, i, 'f' || i from generate_series(6001, 7000) i;
select pg_temp.compare_all('select * from computed order by lower(filled), later nulls first, id');
select pg_temp.compare_all('select * from computed order by made % 10, id');
alter table computed add still int4 default 4;
insert into computed(id, k, s) select i, i % 50, 'Still ' || i from generate_series(7001, 8000) i;
select pg_temp.compare_all('select * from computed order by still + k % 10, id');
alter table computed drop column t;
select pg_temp.compare_all('select * from computed order by lower(s), id');
select pg_temp.left_over();
