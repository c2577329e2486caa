-- Keys at the end of a query's columns that only the sort reads.  What goes into a table is the physical tuple: it must
-- be PostgreSQL's own, since a column too many would be read as the value of the next one that is added.
-- @also one-worker
-- @device-sorts 140
-- @spilled-runs 3
create extension if not exists pageinspect;
create extension if not exists amcheck;

-- The tuples of a table as they lie on its pages, less the transactions that wrote them.
create function pages(rel text, with_data bool) returns text language sql as $$
	select count(*) || ' ' || md5(string_agg(concat_ws(',', lp_len, t_infomask2, t_infomask & 15, t_hoff, t_bits, case when with_data then t_data end), ' ' order by b, lp))
	from generate_series(0, pg_relation_size(rel) / current_setting('block_size')::int4 - 1) b, heap_page_items(get_raw_page(rel, b::int4)) $$;
-- What a query leaves in a table, and how that is read when columns are added.
create function stored_statements(query text, with_data bool default true) returns setof text language sql as $$
	select unnest(array['create table stored as ' || query,
		format('select pages(''stored'', %L)', with_data),
		'select * from verify_heapam(''stored'')',
		'alter table stored add added int4, add filled text default ''Filled''',
		'select count(*), count(added), count(filled), md5(string_agg(s::text, '' '' order by ctid)) from stored s',
		'drop table stored']) $$;

-- the visible columns: with NULLs in the last one, without NULLs, fixed ones only, and 7, 8, 9 and 72 of them
create table kept(id int4, s text, j jsonb, n numeric, at timestamptz, maybe text);
insert into kept select i, 'Row ' || md5(i::text) || repeat('x', i % 90), case when i % 7 <> 0 then jsonb_build_object('k', i % 911) end,
		(i * 7919) % 5003, timestamptz 'epoch' + (i * 7919 % 3000) * interval '7 hours', case when i % 3 = 0 then 'M' || i % 50 end
	from generate_series(1, 4000) i;
create table full_rows as select id, s, at from kept;
create table fixed(id int4, k int8, at timestamptz);
insert into fixed select id, nullif(n, 99), at from kept;
do $$ begin
	for n in 6 .. 8 loop
		execute format('create table wide_%s as select id, s, %s from kept', n + 1, (select string_agg(format('nullif(id %% %s, 1)::int4 as c%s', i + 1, i), ', ') from generate_series(1, n - 1) i));
	end loop;
	execute format('create table wide_72 as select id, s, %s from kept', (select string_agg(format('nullif(id %% %s, 1)::int4 as c%s', i + 1, i), ', ') from generate_series(1, 70) i));
end $$;
analyze;
select stored_statements(format('select * from kept order by %s, id', k)) from unnest(array['lower(s)', 'j->>''k''', 'date_trunc(''day'', at)', 'n % 7',
	'nullif(n % 9, 4) desc nulls last', 'lower(maybe) nulls first, s || ''x'' desc', 'coalesce(maybe, s)', 'upper(s) collate ' || or_c('en_us'), 'upper(s) collate ' || or_c('icu_en'), 'null::text']) k \gexec
select stored_statements(format('select %s order by %s, id', c, k)) from (values ('id, s from kept', 'maybe'), ('id, maybe from kept', 's'), ('id, s, j, n, at from kept', 'maybe'), ('id from kept', 's'), ('s, maybe from kept', 'at desc, j->>''k'''),
	('id, maybe, lower(s) as l from kept', 'upper(maybe)'), ('*, lower(s) as l from kept', 'upper(maybe), l'), ('* from full_rows', 'lower(s)'), ('* from fixed', 'k % 10 nulls first'), ('id, k from fixed', 'at'),
	('k from fixed', 'at, k'), ('id, array[id, 1] as a, row(id, s) as r from kept', 'n % 5')) v(c, k) \gexec
select stored_statements(format('select * from wide_%s order by %s, id', n, k)) from unnest(array[7, 8, 9, 72]) n, unnest(array['lower(s)', 'nullif(id % 10, 3)', 'c5 + c4, lower(s), id % 3']) k \gexec
select stored_statements('select kept from kept order by lower(s)', false) \gexec
-- ties that comparisons decide, in memory and beyond it
select stored_statements('select * from kept order by repeat(''p'', 100) || n % 100, repeat(''q'', 90) || lower(s)') \gexec
set work_mem = '64kB';
select stored_statements('select * from kept order by repeat(''p'', 100) || md5(s), id') \gexec
select stored_statements('select id, maybe from kept order by repeat(''p'', 100) || md5(s), s') \gexec
select stored_statements('select * from fixed order by numeric_in(repeat(''9'', 90)::cstring, 0, -1) + k % 100 desc, id') \gexec
reset work_mem;
-- values that are stored beside the table, and rows longer than a chunk
create table toasted as select id, s, case when id % 100 = 0 then (select string_agg(md5(id || ' ' || i), '') from generate_series(1, 400) i) end as t, case when id % 9 = 0 then repeat(s, 50) end as c from kept;
alter table toasted alter t set storage external;
insert into toasted select id, s, t || '!', c from toasted where id % 100 = 0;
select stored_statements('select * from toasted order by lower(s), t nulls first', false) \gexec
select stored_statements('select id, s, t from toasted order by lower(c) nulls first, id, t', false) \gexec
select stored_statements('select id, length(t) as l from toasted order by lower(t), id') \gexec
select id, length(l), md5(l) from (select id, case when id % 40 = 0 then repeat(s, 30000) else s end as l from kept where id <= 200) q order by lower(l), id;
select id, md5(s) from kept where id <= 200 order by case when id % 40 = 0 then repeat(s, 30000) else lower(s) end, id;

-- LIMIT, OFFSET, and subqueries
select stored_statements('select * from kept order by lower(s) limit 3000 offset 77') \gexec
select stored_statements('(select * from kept order by lower(s) limit 3000) limit 2000 offset 10') \gexec
select stored_statements('select q.*, id + 1 as more from (select * from kept order by lower(s) limit 3000) q') \gexec
select stored_statements('select maybe, id from (select * from kept order by lower(s) offset 0) q') \gexec
select stored_statements('with q as materialized (select * from kept order by lower(s)) select * from q union all select * from q where id < 10') \gexec
select stored_statements('select * from kept order by lower(s) fetch first 100 rows with ties') \gexec
select stored_statements('select id, array(select s from kept k where k.id < e.id order by lower(s)) as a from kept e where id % 500 = 0 order by upper(s)', false) \gexec
select stored_statements('select distinct on (lower(s)) s, maybe from kept order by lower(s), id desc') \gexec
select stored_statements('select id, row_number() over (order by lower(s)) from kept order by upper(s) desc') \gexec
select stored_statements('select maybe, count(*) from kept group by maybe order by lower(maybe) nulls first') \gexec
select stored_statements('select a.*, b.s as t from kept a join kept b on a.id = b.id + 1 order by lower(b.s)') \gexec
select stored_statements('(select id, s from kept order by lower(s) limit 100) union all (select id, s from kept order by upper(s) desc limit 100)') \gexec
select * from kept where id < 30 order by lower(s);
select s, maybe from kept where id < 30 order by lower(maybe) nulls first, at;

-- other ways into tables
create table target(like kept);
insert into target select * from kept order by lower(s);
select pages('target', true);
insert into target select * from kept where id < 100 order by upper(maybe) desc, id returning id, maybe;
insert into target(maybe, id) select maybe, id from kept order by lower(s) limit 500;
insert into target(s, at) select s, at from kept where id < 500 order by date_trunc('day', at), id;
select pages('target', true);
select * from verify_heapam('target');
alter table target add added int4, add filled int8 default 5;
select count(*), count(added), count(filled), md5(string_agg(t::text, ' ' order by ctid)) from target t;
insert into target select *, id, id from kept where id < 50 order by lower(s);
alter table target add again text;
select count(*), count(added), count(filled), count(again), md5(string_agg(t::text, ' ' order by ctid)) from target t;
create table parted(like kept) partition by range (id);
create table parted_low partition of parted for values from (0) to (2000);
create table parted_high(maybe text, id int4, at timestamptz, n numeric, j jsonb, s text);
alter table parted attach partition parted_high for values from (2000) to (9000);
insert into parted select * from kept order by lower(s);
select pages('parted_low', true), pages('parted_high', true);
create table keyed(id int4 primary key, s text, maybe text);
insert into keyed select id, s, maybe from kept order by j->>'k', id on conflict do nothing;
insert into keyed select id, s, maybe || '!' from kept where id < 1000 order by lower(s) on conflict (id) do update set maybe = excluded.maybe;
select count(*), md5(string_agg(k::text, ' ' order by ctid)) from keyed k;
select * from verify_heapam('keyed');
create materialized view seen as select * from kept order by lower(s);
select pages('seen', true);
refresh materialized view seen;
select pages('seen', true);
create unique index on seen(id);
refresh materialized view concurrently seen;
select * from verify_heapam('seen');
select id, s, maybe into chosen from kept order by n % 7, id;
select pages('chosen', true);
copy (select id, maybe from kept where id < 300 order by lower(s)) to stdout;
copy (select * from kept where id < 300 order by lower(maybe) nulls first, id) to stdout (format csv);
create table copied as select * from kept order by lower(s) with no data;
alter table copied add added int4;
select count(*) from copied;

-- prepared statements: planned for the device, then sorted natively, and by few rows
set plan_cache_mode = force_generic_plan;
prepare by_key(int4) as select * from kept where id > $1 order by lower(s);
prepare fixed_by_key as select * from fixed order by k % 10, id;
create table before as execute by_key(0);
set gpusort.enabled = off;
create table stored as execute by_key(0);
select pages('stored', true) = pages('before', true), pages('stored', true);
alter table stored add added int4;
select count(added), md5(string_agg(s::text, ' ' order by ctid)) from stored s;
create table fixed_stored as execute fixed_by_key;
select pages('fixed_stored', true);
begin;
declare c scroll cursor for execute by_key(0);
rollback;
execute by_key(3980);
execute fixed_by_key;
reset gpusort.enabled;
create table few as execute by_key(3990);
select pages('few', true);
reset plan_cache_mode;

-- rows that stay in the backend
set gpusort.min_rows = 1000000;
select stored_statements(format('select * from kept order by %s, id', k)) from unnest(array['lower(s)', 'n % 7', 'nullif(n % 9, 4) desc nulls last', 'lower(maybe) nulls first, s || ''x'' desc', 'upper(s) collate ' || or_c('en_us')]) k \gexec
select stored_statements('select id, k from fixed order by k % 10 nulls first, at, id') \gexec
select stored_statements('select * from wide_8 order by c5 + c4, lower(s), id % 3, id') \gexec
begin;
declare c scroll cursor for select id, maybe from kept order by lower(s);
move 1000 in c;
fetch backward 3 from c;
fetch forward 3 from c;
commit;
select g, q.* from generate_series(1, 3) g, lateral (select id, maybe from kept order by (n + g) % 100, lower(s) limit 2 offset 100) q;
reset gpusort.min_rows;

-- cursors
begin;
declare c scroll cursor for select * from kept order by lower(s);
fetch 3 from c;
fetch last from c;
fetch backward 3 from c;
fetch absolute 2000 from c;
fetch backward 2 from c;
fetch first from c;
move forward all in c;
fetch backward 2 from c;
commit;
begin;
declare c scroll cursor with hold for select id, s, maybe from kept order by repeat('p', 100) || md5(s), id;
move 3000 in c;
commit;
fetch backward 3 from c;
fetch absolute 10 from c;
close c;
begin;
declare c no scroll cursor for select id, k from fixed order by at, k;
fetch 3 from c;
move 2000 in c;
fetch 3 from c;
commit;
-- rescans
select g, q.* from generate_series(1, 3) g, lateral (select id, maybe from kept order by (n + g) % 100, lower(s) limit 2 offset 100) q;
select g, (select s from kept where id > g * 1000 order by lower(s) offset 50 limit 1) from generate_series(1, 3) g;
-- functions
create function rows_of_kept() returns setof kept language sql as 'select * from kept order by lower(s)';
create function rows_returned() returns setof kept language plpgsql as $$ begin return query select * from kept order by upper(s) desc; end $$;
select md5(string_agg(r::text, ' ')) from rows_of_kept() r;
select md5(string_agg(r::text, ' ')) from rows_returned() r;
create function first_of_kept() returns kept language sql as 'select * from kept order by lower(s) limit 1';
select first_of_kept();
do $$
declare
	r record;
	seen text := '';
begin
	for r in select id, maybe from kept order by lower(s) loop
		seen := md5(seen || r::text);
	end loop;
	create table walked as select seen;
end $$;
select * from walked;

-- more than the smallest device memory holds
create unlogged table large as select i as id, (i::int8 * 7919) % 45007 as k, 'L' || md5(i::text) as s, repeat(chr(65 + i % 26), 900) as filler from generate_series(1, 45000) i;
vacuum analyze large;
set work_mem = '4MB';
select stored_statements('select * from large order by lower(s)') \gexec
select stored_statements('select id, filler from large order by repeat(''p'', 100) || md5(s)') \gexec
begin;
declare c scroll cursor for select id, left(filler, 3) as start, s from large order by lower(s);
fetch 3 from c;
fetch last from c;
fetch absolute 22000 from c;
fetch backward 3 from c;
fetch first from c;
commit;
