-- Sorts below set operations: UNION's Unique, INTERSECT's and EXCEPT's SetOp, as hashing is off;
-- in each other, rescanned, under cursors, in functions.
-- @device-sorts 300
-- @below SetOp 35, Unique or Merge Append 33
set enable_hashagg = off;
set enable_hashjoin = off;

select few from events union select c from narrow;
select k8 from events where id < 2000 union select b from narrow where a < 100000;
select few, maybe from events where id < 3000 union select maybe, few from events where id < 2000;
select t from events where id < 2000 union select name from customers where id < 300;
select n + 0.001 from events where id < 2000 union select few from events;
select f from events where id < 2000 union select few from events;
select d from events union select since from customers;
select ts from events where id < 1000 union select placed from orders where id < 1000;
select t_c from texts union select c_short from texts;
select t_us from texts union select t_us || 'x' from texts where few = 1;
select t_icu, few from texts union select t_icu, few + 1 from texts;
select count(*) from (select t_no_case from texts union select upper(t_no_case) from texts) q;
select c_numeric_15_2, c_uuid from typed union select c_numeric_15_2, c_uuid from typed where id < 300;
select count(*) from (select c_numeric, c_float8 from typed union select c_numeric, c_float8 from typed) q;
select c_bool, c_enum, c_date from typed union select c_bool, c_enum, c_date from typed;
select c_inet, c_bytea from typed union select c_inet, c_bytea from typed;
select l, p from odd where id < 20000 union select l, p from odd;
select k from one_key union select k from one_row union select k from no_rows union select k from only_nulls;
select few from events intersect select maybe from events;
select few from events intersect all select maybe from events;
select few, k2 % 9 from events intersect select maybe, k2 % 9 from events;
select few, k2 % 9 from events intersect all select maybe, k2 % 9 from events;
select t, few from events intersect select t, few from events where id % 3 = 0;
select t_us from texts intersect select c_short from texts;
select t_c, few from texts intersect all select t_us collate "C", few from texts;
select count(*) from (select t_no_case from texts intersect select upper(t_no_case) from texts) q;
select count(*) from (select c_numeric from typed intersect select c_numeric from typed where id % 2 = 0) q;
select count(*) from (select c_numeric, c_interval from typed intersect all select c_numeric, c_interval from typed where id % 2 = 0) q;
select id from events where id < 3000 except select id::int4 from orders where amount > 100;
select few from events except select c from narrow;
select few from events except all select c from narrow where a < 300000;
select t, few from events where id < 3000 except select t, few from events where id % 3 = 0;
select t, d from events where id < 3000 except all select t, d from events where id % 3 = 0;
select t_us from texts except select c_short from texts;
select t_c, few from texts except all select t_us collate "C", few from texts where few = 1;
select c_uuid, c_enum from typed except select c_uuid, c_enum from typed where id % 2 = 0;
select count(*) from (select c_float8, c_numeric from typed except all select c_float8, c_numeric from typed where id % 2 = 0) q;
select k from one_key except select k from one_row;
select k from only_nulls intersect select few from events;
select k from no_rows except select few from events;
select k from no_rows union select k from no_rows;
select few from events where false intersect select few from events;
-- constants, which are computed below the sort
select 'x'::text as a, few, 7 as b from events union select 'y', c, 8 from narrow;
select 'x'::text as a, few from events intersect select 'x', maybe from events;
select 'x'::text as a, few, null::int4 as b from events where id < 3000 except select 'x', c, null from narrow;
-- by cost these few rows get native sorts, which the walk over the finished plan takes
set gpusort.debug_force = off;
select 'x'::text as a, few, 7 as b from events union select 'y', c, 8 from narrow;
select 'x'::text as a, few from events intersect select 'x', maybe from events;
select 'x'::text as a, few, null::int4 as b from events where id < 3000 except select 'x', c, null from narrow;
reset gpusort.debug_force;
-- in each other
(select few from events union select c from narrow) except (select maybe from events intersect select few from events);
select few from events union (select c from narrow union all select maybe from events where id < 100);
(select few from events except select 3) union (select maybe from events intersect select k4 % 50 from events);
(select few, t from events where id < 900 intersect select few, t from events) except all (select few, t from events where few < 10);
-- by an order above, limits within
select few from events union select maybe from events order by 1 desc nulls last;
select few, t from events where id < 900 union select few, t from events where few = 2 order by t, few desc limit 50;
select few from events intersect select maybe from events order by few desc;
(select id from events order by k8 limit 4000) except (select id from events order by k4, id limit 4000);
(select few from events order by k8 limit 4000) except all (select few from events order by k4, id limit 3000);
(select id from events order by k8 limit 3000) union (select id from events order by k4, id limit 300);
-- over other nodes, and below them
select count(*), sum(few) from (select few, t from events union select few, t || 'x' from events) q;
select few, count(*) from (select few, t from events union select c, 'n' || b from narrow where a < 100000) q group by few;
select few, row_number() over (order by few, m) as n from (select few, maybe as m from events where id < 900 union select maybe, few from events where id < 900) q;
select distinct few from (select few, t from events except all select few, t from events where id < 1000) q;
select a.x, b.x from (select few from events union select c from narrow) a(x) join (select maybe from events intersect select few from events) b(x) on a.x = b.x;
select few, count(*) from events group by few union select c, count(*) from narrow group by c;
select distinct few from events union select distinct on (c) c from narrow order by 1;
select id, row_number() over (order by k8) from events where id < 900 union select id, rank() over (order by since) from customers;
select at, sensor from measures union select at, sensor from measures where value > 0;
select weight from animals intersect select lives from cats;
select x from generate_series(1, 3000, 2) x intersect select x from generate_series(1, 3000, 3) x;
select id from events where few in (select c from narrow intersect select maybe from events);
select exists (select few from events except select c from narrow), not exists (select few from events where few < 7 except select c from narrow);
-- with parameters: rescanned
select c.id, q.* from customers c, lateral (select status from orders where customer = c.id union select note from orders where customer = c.id) q where c.id < 60;
select c.id, (select count(*) from (select amount % 5 from orders where customer = c.id intersect select few from events where id < c.id * 10) q) from customers c where c.id < 80;
select c.id, array(select id from orders where customer = c.id except select id from orders where amount > 500 order by 1) from customers c where c.id < 80;
select c.id, (select count(*) from (select few from events where id < 500 union select c from narrow where a < 10000) q(x) where q.x < c.id) from customers c where c.id < 60;
select id, (select max(few) from (select few from events intersect select maybe from events) q) from customers where id < 4;
prepare s(int4) as select few from events where few < $1 union select maybe from events where maybe < $1 * 10;
prepare i(int4) as select few from events where few < $1 intersect all select maybe from events where id > $1;
set plan_cache_mode = force_generic_plan;
-- @rows
execute s(5);
-- @rows
execute s(0);
-- @rows
execute s(null);
-- @rows
execute i(20);
set plan_cache_mode = force_custom_plan;
-- @rows
execute s(5);
-- @rows
execute i(20);
reset plan_cache_mode;
-- under cursors, in functions, rows that are written
begin;
declare c scroll cursor for select k8 from events union select b from narrow order by 1;
fetch 3 from c;
fetch absolute 9000 from c;
fetch backward 3 from c;
fetch last from c;
commit;
declare held cursor with hold for select id from events except select id::int4 from orders where amount < 500 order by id;
fetch 2 from held;
move 1000 in held;
fetch 2 from held;
close held;
create function either(wanted int4) returns setof int4 language sql stable as 'select maybe from events where few = wanted union select id from events where few = wanted';
create function both_counted(wanted int4) returns int8 language plpgsql as
	$$declare n int8; begin select count(*) into n from (select maybe from events where few = wanted intersect select maybe from events where few = wanted + 1) q; return n; end$$;
select either(3);
select f, both_counted(f) from generate_series(1, 6) f;
create table united as select few, t from events where id < 900 union select few, t from events where few = 5;
insert into united select few, t from events where few = 6 except all select few, t from united;
delete from united where t in (select t from united intersect select t from events where few = 5);
select * from united;
-- little memory, values out of line
set work_mem = '64kB';
select count(*) from (select k8, filler from events union select k8, filler from events) q;
select count(*), sum(length(c_external)) from (select c_external, few from (select c_external, 1 as few from toasted intersect select c_external, 1 from toasted where id % 2 = 0) x) q;
select count(*) from (select body, raw from documents except select body, raw from documents where id % 2 = 0) q;
reset work_mem;
-- in workers, when there are some
select few, k2 from events where k2 > 0 union select few, k2 from events where k2 < 0;
-- errors in the middle
select 1 / (k8 % 1000) from events union select few from events;
select few from events intersect select 1 / (id - 7) from events;
