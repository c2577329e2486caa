-- Partitions, inheritance, views, tableoid and other system columns.
-- @device-sorts 54

select id, at, sensor, value from measures order by value, id;
select * from measures order by at, id;
select tableoid::regclass as part, id from measures where id <= 3000 order by at desc, id;
select at, id from measures where at < '2020-05-01' order by at, id;
select at, id from measures where at >= '2020-07-01' and sensor < 5 order by sensor, at desc, id;
select at, id from measures where at > '2021-01-01' and sensor = 6 order by value desc, id;
select id from measures where at = '1999-01-01' order by value;
select * from measures_3 order by sensor, value, id;
select m from measures_3 m where id < 4000 order by m.at, m.id;
select m from measures m where id < 1500 order by m.sensor, m.id;
select md5(string_agg(m::text, ' ')) from (select m from measures m order by value desc, id) m;
select at, sensor, count(*), sum(value) from measures group by at, sensor order by at, sensor;
select tableoid::regclass::text as part, count(*) as n from measures group by 1 order by n;
select a.id, b.id from measures a join measures b on a.at = b.at and a.sensor = b.sensor and a.id < b.id where a.id < 900 order by a.value, b.id, a.id;
select distinct on (at) at, id, value from measures order by at, value desc, id;
set enable_partitionwise_join = on;
set enable_partitionwise_aggregate = on;
select at, count(*) from measures group by at order by at desc;
select a.id, b.value from measures a join measures b on a.at = b.at and a.id = b.id order by b.value, a.id;
reset enable_partitionwise_join;
reset enable_partitionwise_aggregate;
create index on measures(at);
select at, id from measures order by at, id;
set enable_seqscan = off;
select at from measures order by at desc limit 4000;
select at, id from measures where at between '2020-03-20' and '2020-07-10' order by at, value, id;
reset enable_seqscan;
-- pruned at execution
set plan_cache_mode = force_generic_plan;
prepare pruned(date, date) as select at, id from measures where at >= $1 and at < $2 order by at desc, id;
execute pruned('2020-01-01', '2020-02-01');
execute pruned('2020-03-15', '2020-09-01');
execute pruned('2022-01-01', '2023-01-01');
execute pruned(null, null);
reset plan_cache_mode;
select m.id from (values (date '2020-01-05'), (date '2020-08-05'), (date '2021-02-05')) v(d), lateral (select id from measures where at = v.d order by value, id) m;
-- rows that move between partitions, in order
with moved as (update measures set at = at + 90 where sensor = 3 returning id, at) select id, at from moved order by at, id;
insert into measures select at + 400, sensor, value, id + 100000 from measures where sensor = 2 order by value, id;
select tableoid::regclass, count(*) from measures group by tableoid order by 1::int4, 2;
alter table measures detach partition measures_2;
select id, at from measures order by at, id;
select id, at from measures_2 order by value, id;
-- one level, one partition, none
create table single(k int4, id int4) partition by hash (id);
select * from single order by k, id;
create table single_1 partition of single for values with (modulus 2, remainder 0);
create table single_2 partition of single for values with (modulus 2, remainder 1);
insert into single select below(100, i, 1), i from generate_series(1, 2500) i;
analyze single;
select * from single order by k desc, id;
select * from single where id = 77 order by k;
truncate single_2;
select * from single order by k, id;
-- a foreign key's partitions, and an ordered merge of them
select * from (select at, id from measures_1 order by at, id limit 300) a union all select * from (select at, id from measures_3 order by at, id limit 300) b order by at, id;

-- inheritance
select id, name, weight from animals order by weight nulls first, id;
select id, name from only animals order by id desc;
select tableoid::regclass, id from animals order by id;
select a, tableoid::regclass from animals a where id < 100 order by weight, id;
select * from cats order by lives desc, id;
select * from dogs order by tricks, id;
select c::animals from cats c where id < 300 order by c.weight, c.id;
select md5(string_agg(a::text, ' ')) from (select * from animals a order by weight desc nulls last, id) a;
update animals set weight = weight + 1 where id in (select id from animals order by weight nulls first, id limit 500);
select tableoid::regclass, weight, id from animals where id <= 600 order by weight, id;
delete from animals where id in (select id from animals order by weight desc nulls last, id limit 300);
select count(*), max(weight) from animals;
alter table dogs no inherit animals;
select count(*), md5(string_agg(i::text, ' ')) from (select id as i from animals order by weight, id) q;

-- views
create view by_k8 as select id, few, k8 from events order by k8;
select * from by_k8 limit 3000;
select * from by_k8 order by few desc, id limit 3000;
select id from by_k8 where few = 9;
select few, count(*) from by_k8 group by few order by few;
select a.id, b.id from by_k8 a join by_k8 b on a.id = b.few + 1 where a.id < 10 order by b.id;
create view with_limit as select id, d from events order by d desc, id limit 2000 offset 10;
select * from with_limit order by id;
select * from with_limit;
create view nested_view as select few, array_agg(id) as ids from by_k8 where id < 2000 group by few;
select few, cardinality(ids) from nested_view order by few;
create view locked_out with (security_barrier) as select id, few, filler from events where few < 10;
select id from locked_out where filler like 'a%' order by few, id;
create view checked_view as select * from narrow where c = 1 with check option;
select * from checked_view order by a, b;

-- system columns
select ctid, id from events where id <= 500 order by k8;
select ctid, tableoid::regclass, id from events where few = 3 order by d, id;
-- @unchecked
select xmin, cmin, xmax, cmax, id from events where id <= 500 order by k8;
-- a virtual slot has none
select id from (select ctid, id from events where id < 100 order by k8 desc) q order by ctid;
