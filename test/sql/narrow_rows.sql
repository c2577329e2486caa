-- Narrow rows: all columns of a fixed width and passed by value, sent without headers.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

-- Bytes of a row on its way back from the device.
create function pg_temp.row_bytes(query text) returns int4 language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, timing off, format json) ' || query into plan;
	return round((plan#>>'{0,Plan,Received Bytes}')::numeric / (plan#>>'{0,Plan,Actual Rows}')::numeric);
end $$;

-- every fixed-width type that is passed by value, each of them NULL in some rows and in
-- one row all of them
create type mood as enum ('sad', 'ok', 'happy');
create domain counted as int2 check (value > -30000);
create table narrow(id int4, b bool, c "char", s int2, f float4, d float8, m mood, o oid, x xid, y cid, big int8,
	day date, t time, at timestamp, tz timestamptz, n counted);
insert into narrow
	select i, nullif(i % 3, 0) = 1, nullif(i % 128, 7)::"char", nullif(i % 70 - 35, 0), case when i % 11 <> 0 then i / 7.0 end,
		case i % 13 when 0 then null when 1 then 'NaN' when 2 then '-infinity' when 3 then '-0' else i * 1e100 end,
		case i % 4 when 0 then null when 1 then 'sad' when 2 then 'ok' else 'happy' end::mood,
		(nullif(i % 17, 0) + 4294967200)::oid, nullif(i % 5, 0)::text::xid, nullif(i % 6, 0)::text::cid, nullif(i % 19, 0) * -485440633518672410,
		case when i % 23 <> 0 then date '2020-02-28' + i end, case when i % 29 <> 0 then time '00:00' + i * interval '1 second' end,
		case when i % 31 <> 0 then timestamp 'epoch' - i * interval '1 day' end, case when i % 37 <> 0 then timestamptz 'epoch' + i * interval '1 us' end,
		nullif(i % 41, 0)
	from generate_series(1, 20000) i;
insert into narrow(id) values (null), (0);
select pg_temp.row_bytes('select * from narrow order by id');
select pg_temp.compare('select id, b, c, s, f, d, m, o, big, day, t, at, tz, n, x::text, y::text from (select * from narrow order by id offset 0) s order by id');
-- xid and cid have no hash: each row as text
create temp table device as select * from narrow order by big desc nulls last, id;
set gpusort.enabled = off;
create temp table native as select * from narrow order by big desc nulls last, id;
set gpusort.enabled = on;
select count(*), count(*) filter (where a::text is distinct from b::text) as differ
	from (select row_number() over (order by ctid) as place, native as a from native) a
	full join (select row_number() over (order by ctid) as place, device as b from device) b using (place);

-- each type alone beside the key, and before it
select name, pg_temp.row_bytes(format('select %I, id from narrow order by id', name)),
		pg_temp.compare(format('select %I, id from narrow order by id', name))
	from unnest(array['b', 'c', 's', 'f', 'd', 'm', 'o', 'big', 'day', 't', 'at', 'tz', 'n']) as name;
-- a seventeenth column, and one of variable width, make them ordinary rows
select pg_temp.row_bytes('select *, id + 1 as more from narrow order by id') > 100 as ordinary,
	pg_temp.compare('select id, b, c, s, f, d, m, o, big, day, t, at, tz, n, id + 1, id + 2, id + 3 from narrow order by id');
select pg_temp.row_bytes('select id, ''a''::text || id as label from narrow order by id') > 24 as ordinary;
-- columns that were dropped and added
alter table narrow drop column x, drop column y, drop column s, add later int4, add filled int8 default 7;
insert into narrow(id, later) select i, nullif(i % 3, 0) from generate_series(20001, 21000) i;
select pg_temp.compare('select * from narrow order by id');
select pg_temp.compare('select later, id, filled, b from narrow order by id desc, later nulls first');

-- through other nodes and slots
select pg_temp.compare('select id, big, row_number() over () from (select id, big from narrow order by id offset 0) s');
select pg_temp.compare('select * from (select id, big from narrow union all select id, later from narrow) u order by id, big');
set enable_hashjoin = off;
select pg_temp.compare('select a.id, b.tz from narrow a join narrow b on b.id = a.id + 1 order by a.id');
reset enable_hashjoin;
select pg_temp.compare('select g, g::int2 % 7::int2 as m from generate_series(1, 30000) g order by 2, 1');
select pg_temp.compare('select distinct on (s.m) s.m, s.id from (select id, m from narrow where id > 0 order by id offset 0) s order by s.m, s.id');
select sum(x) over (order by id rows 2 preceding) from (select id, id % 7 as x from narrow where id <= 5 order by id) s;
begin;
declare n scroll cursor for select id, b, f from narrow order by id;
fetch 3 from n;
fetch absolute 20000 from n;
fetch backward 2 from n;
fetch last from n;
fetch first from n;
commit;

-- sorted in the backend, and natively
prepare p as select id, m, d, big from narrow order by id, big;
set plan_cache_mode = force_generic_plan;
execute p \g /dev/null
set gpusort.min_rows = 1000000;
create temp table in_backend as execute p;
set gpusort.enabled = off;
create temp table not_served as execute p;
reset gpusort.enabled;
set gpusort.min_rows = 0;
select count(*), count(*) filter (where a::text is distinct from b::text) as differ
	from (select row_number() over (order by ctid) as place, in_backend as a from in_backend) a
	full join (select row_number() over (order by ctid) as place, not_served as b from not_served) b using (place);
reset plan_cache_mode;

-- fed by workers
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
analyze narrow;
select pg_temp.do_explain('select * from narrow order by id, filled');
select pg_temp.row_bytes('select id, b from narrow order by id, b::int4');
select pg_temp.compare('select * from narrow order by big, id');
select pg_temp.compare('select b, c, id from narrow order by id desc nulls last');
select pg_temp.left_over();
drop table narrow, device, native, in_backend, not_served;
drop type mood;
drop domain counted;
