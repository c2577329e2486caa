-- Sorts below MergeAppend and Append: parts that are each sorted, of unions, partitions and
-- children, some of them by an index; pruned, limited, rescanned, read backward.
-- @device-sorts 280
-- @below Merge Append or Gather Merge 5, Append 1, Limit 8
set enable_hashagg = off;
set enable_hashjoin = off;

-- partitions and children, one of them ordered by an index: the others are sorted beside it
create index on measures_1(at, id);
create index on measures_rest_a(value, id);
create index on cats(weight, id);
create index on animals(weight, id);
set enable_seqscan = off;
-- forced, GpuSort stands above an Append that is cheaper; by cost, below the MergeAppend
set gpusort.debug_force = off;
select at, id, value from measures order by at, id;
select at, id from measures order by at desc, id desc;
select 'x'::text as a, at, id, 7 as b from measures order by at, id;
select at, id from measures order by at, id limit 300;
select value, id from measures where sensor < 4 order by value, id limit 3000;
select weight, id, tableoid::regclass from animals order by weight, id;
select a from animals a order by weight, id;
select at, id from measures where at between '2020-02-01' and '2020-08-01' order by at, id;
select distinct at from measures;
select at, count(*), sum(value) from measures group by at;
select at, id, row_number() over (order by at, id) as n from measures;
select distinct on (at) at, id, value from measures order by at, id;
select weight, count(*) from animals group by weight;
set enable_nestloop = off;
select a.id, b.id from measures a join measures b on a.at = b.at and a.id = b.id;
reset enable_nestloop;
select v.d, m.id from (values (date '2020-01-05'), ('2020-08-05'), ('2021-02-05')) v(d), lateral (select at, id from measures where at > v.d order by at, id limit 20) m;
select c.id, (select m.id from measures m where m.id > c.id order by at, id limit 1) from customers c where c.id < 20;
begin;
declare c scroll cursor for select at, id from measures order by at, id;
fetch 3 from c;
fetch last from c;
fetch absolute 4000 from c;
fetch backward 3 from c;
fetch first from c;
commit;
select id, 1 / (value % 1000) as v, at from measures order by at, id;
-- a GPU sorts so fast that one sort of all rows is cheaper than two of some parts: here one part alone has no index
create index on measures_2(at, id);
create index on measures_3(at, id);
create index on measures_rest_a(at, id);
select at, id, value from measures order by at, id;
select at, id from measures order by at desc, id desc;
select 'x'::text as a, at, id, 7 as b from measures order by at, id;
select distinct at from measures;
select at, count(*), sum(value) from measures group by at;
select at, id, row_number() over (order by at, id) as n from measures;
select distinct on (at) at, id, value from measures order by at, id;
set enable_nestloop = off;
select a.id, b.id from measures a join measures b on a.at = b.at and a.id = b.id;
reset enable_nestloop;
begin;
declare c scroll cursor for select at, id from measures order by at, id;
fetch 3 from c;
fetch absolute 4000 from c;
fetch backward 3 from c;
commit;
drop index measures_2_at_id_idx, measures_3_at_id_idx, measures_rest_a_at_id_idx;
reset gpusort.debug_force;
select at, id, value from measures order by at, id;
select at, id from measures order by at desc, id desc;
select at, id from measures order by at, id limit 300;
select value, id from measures order by value, id;
select value, id from measures where sensor < 4 order by value, id limit 3000;
select weight, id from animals order by weight, id;
select weight, id, tableoid::regclass from animals order by weight, id;
select weight, id from animals order by weight desc, id desc limit 1500;
select a from animals a order by weight, id;
select at, id from measures where at between '2020-02-01' and '2020-08-01' order by at, id;
select distinct at from measures;
select at, count(*), sum(value) from measures group by at;
select at, id, row_number() over (order by at, id) as n from measures;
select distinct on (at) at, id, value from measures order by at, id;
select weight, count(*) from animals group by weight;
set enable_nestloop = off;
select a.id, b.id from measures a join measures b on a.at = b.at and a.id = b.id;
select a.id, b.id from animals a join cats b on a.weight = b.weight and a.id = b.id;
reset enable_nestloop;
-- rescanned, backward, in functions
select v.d, m.id from (values (date '2020-01-05'), ('2020-08-05'), ('2021-02-05')) v(d), lateral (select at, id from measures where at > v.d order by at, id limit 20) m;
select c.id, (select m.id from measures m where m.id > c.id order by at, id limit 1) from customers c where c.id < 30;
select c.id, array(select a.id from animals a where a.id % 50 = c.id order by weight, id) from customers c where c.id < 30;
begin;
declare c scroll cursor for select at, id from measures order by at, id;
fetch 3 from c;
fetch last from c;
fetch absolute 4000 from c;
fetch backward 3 from c;
fetch first from c;
close c;
declare c scroll cursor for select weight, id from animals order by weight, id;
fetch last from c;
fetch backward 3 from c;
fetch absolute 700 from c;
commit;
declare held scroll cursor with hold for select value, id from measures order by value desc, id desc;
fetch 3 from held;
fetch absolute 5000 from held;
close held;
set plan_cache_mode = force_generic_plan;
prepare pruned(date, date) as select at, id from measures where at >= $1 and at < $2 order by at, id;
execute pruned('2020-01-01', '2020-02-01');
execute pruned('2020-03-15', '2020-09-01');
execute pruned('2020-05-01', '2020-09-01');
execute pruned('2022-01-01', '2023-01-01');
execute pruned(null, null);
reset plan_cache_mode;
create function measured(wanted date) returns table(d date, n int4) language sql stable as 'select at, id from measures where at >= wanted order by at, id limit 50';
select * from measured('2020-02-20');
select g.d, m.n from generate_series('2020-01-01'::timestamp, '2020-12-01', '1 month') g(d), measured(g.d::date) m;
begin;
select at, id from measures where id < 3000 order by at, id for update;
update measures set value = 0 where id in (select id from measures order by at, id limit 300) returning id;
select tableoid::regclass, id from measures order by value, id limit 400;
rollback;
reset enable_seqscan;

-- unions of ordered parts
(select id, few from events order by k8 limit 2500) union all (select id, few from events order by k4, id limit 2500);
select * from ((select id, k8 from events where id < 3000 order by k8) union all (select id, b from (select a as id, b from narrow where c = 3) n order by b)) u order by k8;
select id, k8 from events where id < 900 union all select id, id from orders where id < 900 order by k8, id;
select id, t from events where id < 900 union all select id, name from customers where id < 900 order by t, id;
select id, t from events where id < 900 union all select id, name from customers where id < 900 order by t limit 20;
select n, id from events where id < 900 union all select amount, id from orders where id < 900 order by n desc nulls first, id;
select * from (select few as x, id from events where id < 900 union all select c, a from narrow where a < 50000) u order by x, id desc;
select x, count(*) from (select few from events union all select c from narrow) u(x) group by x;
select distinct x from (select few from events union all select c from narrow) u(x);
select x, rank() over (order by x) as n from (select few from events where id < 900 union all select c from narrow where a < 50000) u(x);
select u.x, c.id from (select few from events where id < 900 union all select c from narrow where a < 50000) u(x) join customers c on c.id = u.x;
(select distinct few from events) union all (select distinct maybe from events) union all (select distinct c from narrow);
(select few::text, count(*) from events group by few) union all (select status, count(*) from orders group by status);
select * from (select few, row_number() over (partition by few order by k8) as n from events union all select c, rank() over (order by c, a) from narrow where a < 50000) u where n < 5;
select c.id, u.x from customers c, lateral ((select amount from orders where customer = c.id order by amount, id limit 2) union all (select id from events where few = c.id order by k8 limit 2)) u(x) where c.id < 60;
select c.id, (select array_agg(x) from ((select amount from orders where customer = c.id order by amount, id) union all (select id from events where few = c.id order by k8)) u(x)) from customers c where c.id < 60;

-- partitions alone: joined and grouped one by one
set enable_partitionwise_join = on;
set enable_partitionwise_aggregate = on;
set enable_nestloop = off;
select a.at, a.id, b.id from measures a join measures b on a.at = b.at and a.id = b.id;
select at, sensor, count(*), sum(value) from measures group by at, sensor;
select distinct at, sensor from measures;
select at, count(*) from measures group by at order by at;
reset enable_partitionwise_join;
reset enable_partitionwise_aggregate;
reset enable_nestloop;
-- little memory, nothing at all, an error in the middle
set work_mem = '64kB';
select count(*), sum(id) from (select id, k8, filler from events union all select id, k8, filler from events order by k8, id offset 100) q;
reset work_mem;
select k, id from no_rows union all select k, id from one_row order by k, id;
select id, 1 / (value % 1000) as v from measures order by 2, id;

-- tables that are no partitions give their columns, and the expressions are made above the Append
create table heirs(s text, x int4, id int4);
create table heirs_1() inherits (heirs);
create table heirs_2() inherits (heirs);
insert into heirs_1 select 'A' || i, i, i from generate_series(1, 5000) i;
insert into heirs_2 select 'B' || i, i, i from generate_series(1, 5000) i;
create index on heirs_1 (x);
create index on heirs_2 (x);
vacuum analyze heirs_1, heirs_2;
-- @device
select lower(s), x from heirs order by x, lower(s);
-- @device
select lower(s), x, id from heirs order by x, id, 1;
-- @device
select x + 1, x from heirs order by x;
-- @device
select x, x + 1, lower(s) || id from heirs order by x, 3;
-- @device
select lower(s), x from (select s, x from heirs_1 union all select s, x from heirs_2) q order by x, 1;
-- @device
select lower(s), x from heirs_1 order by x;
