-- Rows of every kind and every place in a statement: the same rows in the same order
-- as PostgreSQL's own sort gives, by way of the device.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

create table sorted(id int4 primary key, k int8, small int2, note text);
insert into sorted select i, (i::int8 * 7919) % 5003, i % 100, 'note ' || i from generate_series(1, 20000) i;
analyze sorted;

-- no rows, one, two, many
select pg_temp.compare('select * from sorted where id < 1 order by k');
select pg_temp.compare('select * from sorted where id = 1 order by k');
select pg_temp.compare('select * from sorted where id < 3 order by k');
select pg_temp.compare('select * from sorted order by k, id');
select pg_temp.compare('select id from sorted order by k desc, id desc');
select pg_temp.compare('select id from sorted order by small, k % 11, -k, id');
select pg_temp.compare('select sorted, id from sorted order by id + k, id');
select id, k from sorted order by k, id limit 19000 offset 19997;

-- volatile columns that look alike stay two columns, sorted by or not
select count(*) > 19900 as differ, count(*) filter (where a < 0 or a >= 1 or b < 0 or b >= 1) as outside
	from (select random() as a, random() as b, k from sorted order by k) s where a <> b;
create view volatile_pair as
	select (random() * 1000000)::int4 as a, (random() * 1000000)::int4 as b from sorted;
select pg_temp.do_explain('select * from volatile_pair order by b, a', 'costs off, verbose');
with s as materialized (select * from volatile_pair order by a, b)
	select count(*) filter (where a <> b) > 19000 as differ, count(*) filter (where a_falls) as falls
	from (select a, b, a < lag(a) over () as a_falls from s) t;
with s as materialized (select * from volatile_pair order by b, a)
	select count(*) filter (where a <> b) > 19000 as differ, count(*) filter (where b_falls) as falls
	from (select a, b, b < lag(b) over () as b_falls from s) t;
drop view volatile_pair;

-- set operations, grouping, joins that PostgreSQL sorts for
set enable_hashagg = off;
set enable_hashjoin = off;
select regexp_replace(pg_temp.compare('select k, note from sorted union select k, note from sorted order by 1, 2'), ', [1-9] on the device', '') as two_text_keys;
select regexp_replace(pg_temp.compare('select k, id from sorted union select k + 1, id from sorted order by 1 desc, 2'), ', [1-9] on the device', '');
select pg_temp.compare('select k, id from sorted union all select k + 1, -id from sorted order by 1 desc, 2');
-- set operations in each other, of which the inner one is cast, or gets a column that says where rows are from
select regexp_replace(pg_temp.compare('select * from ((select id from sorted union select id + 1 from sorted) union all select 1.5) s order by 1'), ', [1-9] on the device', '');
select regexp_replace(pg_temp.compare('select * from (select k from sorted except (select id from sorted where id < 5000 union select id + 1 from sorted)) s order by 1'), ', [1-9] on the device', '');
select regexp_replace(pg_temp.compare('select * from (select k::numeric from sorted union (select id from sorted intersect select k from sorted)) s order by 1'), ', [1-9] on the device', '');
select pg_temp.compare('select k, count(*), max(note) from sorted group by k order by k desc');
select pg_temp.compare('select a.id, b.note from sorted a join sorted b on a.id = b.k order by b.k, b.id');
select pg_temp.compare('select a.id, b.note from sorted a left join sorted b on a.k = b.id order by b.id nulls first, a.id');
reset enable_hashjoin;
reset enable_hashagg;

-- statements that take the rows
create table copy_as as select * from sorted order by k, id;
select pg_temp.new_jobs() > 0 as on_device, count(*) filter (where k < previous) as falls
	from (select k, lag(k) over (order by ctid) as previous from copy_as) s;
insert into copy_as select id, k, small, note from sorted order by k desc, id;
select count(*) from copy_as;
select pg_temp.new_jobs();
create materialized view sorted_mv as select * from sorted order by small, id;
select pg_temp.new_jobs(), (select count(*) from sorted_mv);
drop materialized view sorted_mv;
create view sorted_view as select k, note, id from sorted order by k desc, id;
select pg_temp.compare('select * from sorted_view');
select pg_temp.compare('select note from sorted_view');
select pg_temp.compare('select * from sorted_view where k between 100 and 300');
drop view sorted_view;
drop table copy_as;
select array(select k from sorted where id < 6 order by k);
select pg_temp.new_jobs();
copy (select id, k from sorted where id <= 5 order by k) to stdout;
select pg_temp.new_jobs();
create function top_of(int4) returns setof int4 language sql as 'select id from sorted order by k, id offset $1';
select * from top_of(19998);
drop function top_of;
select id from sorted where id < 5 order by k for update;
update sorted set small = small where id in (select id from sorted order by k offset 19990);
select pg_temp.new_jobs() > 0 as on_device;

-- partitions and inheritance
create table parts(id int4, k int8, note text) partition by range (k);
create table parts_low partition of parts for values from (minvalue) to (2500);
create table parts_high(note text, gone int4, k int8, id int4);
alter table parts_high drop column gone;
alter table parts attach partition parts_high for values from (2500) to (maxvalue);
insert into parts select id, k, note from sorted;
select pg_temp.compare('select * from parts order by k, id');
select pg_temp.compare('select tableoid::regclass, k from parts order by id');
drop table parts;
create table parent(id int4, k int4);
create table child(more text) inherits (parent);
insert into parent select i, i % 77 from generate_series(1, 1000) i;
insert into child select i, i % 77, 'm' || i from generate_series(1001, 2000) i;
select pg_temp.compare('select *, tableoid::regclass from parent order by k desc, id');
drop table parent cascade;

-- columns dropped, and added with and without a default that old rows lack
create table changed(gone text, id int4, k int4, gone_too int8);
insert into changed select 'g', i, i % 13, i from generate_series(1, 500) i;
alter table changed drop column gone;
alter table changed add column late int8 default 42;
alter table changed add column later text default 'filled';
alter table changed add column empty date;
insert into changed(id, k, late, later, empty) select i, i % 13, i, null, '2020-01-01' from generate_series(501, 1000) i;
alter table changed drop column gone_too;
select pg_temp.compare('select * from changed order by k, id');
select pg_temp.compare('select * from changed order by late, id');
select pg_temp.compare('select * from changed order by empty desc nulls last, id');
select pg_temp.compare('select changed from changed order by late desc, id');
select * from changed where id in (1, 2, 501) order by late desc, id;
drop table changed;

-- composite values, domains, arrays, system columns
create type pair as (a int4, b text);
create domain positive as int8 check (value > 0);
create domain small_positive as positive check (value < 100000);
create table typed(id small_positive, p pair, a int4[], d positive);
insert into typed select i, row(i, 'b' || i)::pair, array[i, i + 1], 1 + i % 17 from generate_series(1, 3000) i;
analyze typed;
select pg_temp.do_explain('select * from typed order by d, id');
select pg_temp.compare('select * from typed order by d, id');
select pg_temp.compare('select p, a[2] from typed order by (p).a % 10, a[1]');
select pg_temp.compare('select ctid, p from typed order by d desc, id');
drop table typed;
drop domain small_positive;
drop domain positive;
drop type pair;

-- rows of a single column, most of them NULL, which share one row of the array
create table single(s text);
insert into single select case when i % 10 = 0 then 's' || i * 7 % 50 end from generate_series(1, 5000) i;
analyze single;
set gpusort.min_rows = 100000;
select pg_temp.compare('select s from single order by s');
select pg_temp.compare('select s from single order by s desc nulls last');
select count(distinct s), count(*) from (select s from single order by s offset 0) q;
set gpusort.min_rows = 1000;
select pg_temp.compare('select s from single order by s');
drop table single;
set gpusort.min_rows = 0;

drop table sorted;
