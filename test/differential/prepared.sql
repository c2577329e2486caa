-- Prepared statements: generic and custom plans, parameters in every place, settings that
-- change between planning and execution.
-- @device-sorts 95

prepare by_few(int4) as select id, k8 from events where few = $1 order by k8;
execute by_few(1);
execute by_few(2);
execute by_few(3);
execute by_few(4);
execute by_few(5);
execute by_few(6);
execute by_few(7);
execute by_few(null);
execute by_few(99);

set plan_cache_mode = force_generic_plan;
execute by_few(1);
execute by_few(49);
execute by_few(50);
execute by_few(1);
prepare below(int4) as select id, d from events where id <= $1 order by d, id;
execute below(0);
execute below(1);
execute below(2);
execute below(1000);
execute below(3);
prepare remainder(int4) as select id, id % $1 as r from events where id <= 1500 order by id % $1, id;
execute remainder(7);
execute remainder(1499);
execute remainder(1);
execute remainder(0);
execute remainder(2);
prepare counted(int8, int8) as select id from events order by k4 limit $1 offset $2;
execute counted(3, 0);
execute counted(3, 11990);
execute counted(null, 11990);
execute counted(0, 0);
execute counted(5, null);
execute counted(-1, 0);
prepare all_rows as select * from events order by tz, id;
create table copied as execute all_rows;
select md5(string_agg(c::text, ' ')) from (select * from copied order by tz, id) c;
explain (costs off) execute all_rows;
prepare of_type(int8) as select k8 - $1 as x, id from events where few = 1 order by 1 desc, 2;
execute of_type(0);
execute of_type(9223372036854775807);
prepare in_subquery(int4) as select c.id, (select array_agg(o.id) from (select id from orders where customer = c.id and amount > $1 order by amount, id) o) from customers c where c.id < 30 order by c.id;
execute in_subquery(100);
execute in_subquery(900);
prepare keyed(int8, timestamp) as select id, coalesce(maybe, $1) as k, greatest(ts, $2) as g from events where id <= 900 order by 2, 3 desc, 1;
execute keyed(50, '2000-01-01');
execute keyed(null, null);

set plan_cache_mode = force_custom_plan;
execute by_few(1);
execute below(1);
execute below(2000);
execute counted(3, 0);
execute counted(4, 11990);
execute remainder(11);
reset plan_cache_mode;

-- the settings of execution are not those of planning
set plan_cache_mode = force_generic_plan;
prepare switched as select id, few, filler from events where id <= 2000 order by few, id desc;
execute switched;
set gpusort.min_rows = 1000000;
execute switched;
set work_mem = '64kB';
execute switched;
set gpusort.min_rows = 0;
execute switched;
set gpusort.enabled = off;
execute switched;
reset gpusort.enabled;
execute switched;
reset work_mem;
prepare small(int4) as select id, few from events where id <= $1 order by few desc, id;
execute small(10);
set gpusort.min_rows = 100;
execute small(10);
execute small(99);
execute small(100);
execute small(101);
execute small(0);
execute small(5000);
reset gpusort.min_rows;
reset plan_cache_mode;

-- the table changes under a plan
create table moving as select i as id, below(100, i, 1) as k from generate_series(1, 2000) i;
prepare moved as select * from moving order by k, id;
execute moved;
alter table moving add column extra text default 'x';
execute moved;
prepare moved_again as select id, k::int8 as k from moving order by moving.k desc, id;
execute moved_again;
alter table moving alter column k type int4;
execute moved_again;
create index on moving(k);
analyze moving;
execute moved_again;
delete from moving where id > 50;
execute moved_again;
truncate moving;
execute moved_again;
drop table moving;
execute moved_again;
deallocate all;

-- run within transactions, twice, and through EXPLAIN ANALYZE
prepare again as select id from events where few < 3 order by k2, id;
begin;
execute again;
savepoint s;
execute again;
select 1 / 0;
rollback to s;
execute again;
explain (analyze, costs off) execute again;
commit;
deallocate again;
