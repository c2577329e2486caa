-- Sorts below Unique: DISTINCT and DISTINCT ON, sorted as hashing is off; and above and below
-- other nodes, rescanned, under cursors, in functions.
-- @also one-worker, four-workers
-- @device-sorts 450
-- @below Unique 75, Merge Join 3
set enable_hashagg = off;
set enable_hashjoin = off;

select distinct few from events;
select distinct k8 from events where id < 3000;
select distinct maybe from events;
select distinct d from events;
select distinct t from events;
select distinct n from events;
select distinct f from events where id < 3000;
select distinct ts, few from events where id < 3000;
select distinct few, t from events where id < 3000;
select distinct few, k2 % 5 as r, n::int4 % 3 as s, left(t, 6) as u from events;
select distinct few, maybe % 4, d, t, n, f from events where id < 1000;
select distinct c_short from texts;
select distinct t_c from texts;
select distinct t_us from texts;
select distinct t_icu, few from texts;
select count(*) from (select distinct t_no_case from texts) q;
select distinct c_short collate "C" as t from texts;
select distinct c_wide, few from texts;
select distinct c_prefix, c_behind from texts;
select distinct c_bpchar from texts;
select distinct c_varchar, c_name from texts;
select distinct c_numeric_15_2, c_numeric_18 from typed;
-- equal values that look different: which of them comes out is free
select count(*), sum(n) from (select distinct c_numeric + 0 as n from typed where c_numeric is not null and c_numeric not in ('NaN', 'Infinity', '-Infinity')) q;
select count(*) from (select distinct c_float8, c_float4 from typed) q;
select count(*) from (select distinct c_interval, c_timetz from typed) q;
select distinct c_bool, c_char, c_int2 from typed;
select distinct c_oid, c_date, c_time from typed;
select distinct c_uuid, c_enum, c_inet, c_macaddr from typed;
select distinct c_bytea, c_bit, c_varbit from typed;
select distinct d_word, d_price, d_shade from typed;
select distinct l from odd;
select distinct p, m from odd;
select distinct e, day, flag from odd;
select distinct k from one_key;
select distinct k from only_nulls;
select distinct k from no_rows;
select distinct k, id from one_row;
select distinct up from ordered;
select distinct e from events e where id < 300;
select distinct row(few, t) as r from events where id < 2000;
select distinct on (few) few, id, k8 from events order by few, k8;
select distinct on (few) few, id, k8 from events order by few desc, k8 desc;
select distinct on (t) t, id from events where id < 3000 order by t, id desc;
select distinct on (few, maybe) few, maybe, id from events order by few, maybe nulls first, id;
select distinct on (t_us) t_us, id from texts order by t_us nulls first, id;
select distinct on (c_numeric) id from typed order by c_numeric desc, id;
select distinct on (customer) customer, id, amount from orders order by customer, amount desc nulls last, id;
select distinct on (status, customer % 5) status, customer % 5 as c, id from orders order by status desc, c, placed, id;
select distinct on (few) few, count(*) over (partition by few) as n from events;
-- constants, which are computed below the sort
select distinct 'x'::text as a, few, 7 as b, null::date as c from events;
select distinct 1 as a, few, t from events where id < 3000;
select distinct 'a' as a, 'b' as b from events;
select distinct on (few) 'x'::text as a, few, 3::int8 as b, id from events order by few, k8;
-- by cost these few rows get native sorts, which the walk over the finished plan takes
set gpusort.debug_force = off;
select distinct 'x'::text as a, few, 7 as b, null::date as c from events;
select distinct 1 as a, few, t from events where id < 3000;
select distinct 'a' as a, 'b' as b from events;
select distinct on (few) 'x'::text as a, few, 3::int8 as b, id from events order by few, k8;
reset gpusort.debug_force;
-- by an order above
select distinct few, t from events where id < 3000 order by few desc, t;
select distinct few, t from events where id < 3000 order by t, few limit 50 offset 20;
select distinct few from events order by few desc limit 3;
select distinct t from texts, lateral (select t_us as t) s order by t;
-- counted, grouped, windowed, joined, in sets
select count(*) from (select distinct few, d from events) q;
select few, count(*) from (select distinct few, d from events) q group by few;
select few, d, row_number() over (partition by few order by d) as n from (select distinct few, d from events) q where few < 10;
select a.few, b.few from (select distinct few from events) a join (select distinct few from events where id < 60) b on a.few = b.few;
select a.t, b.n from (select distinct t, few from events where id < 2000) a left join (select distinct on (few) few, n from events order by few, id) b using (few);
select few from events where few in (select distinct c + 3 from narrow);
select * from (select distinct few from events union all select distinct c::int4 from narrow) u;
select distinct customer from orders where customer in (select distinct parent from customers);
select distinct at from measures;
select distinct at, sensor from measures where value > 0;
select distinct on (sensor) sensor, at, id from measures order by sensor, at desc, id;
select distinct tableoid::regclass from animals;
select distinct weight from animals;
select distinct x % 97 as r from generate_series(1, 3000) x;
select distinct sum(few) over (partition by maybe % 7 order by k2 % 10) from events;
with recursive d as (select distinct few from events where few < 3 union all select few + 10 from d where few < 40) select distinct few from d;
-- with parameters: rescanned
select c.id, q.amount from customers c, lateral (select distinct amount % 5 as amount from orders where customer = c.id) q where c.id < 100;
select c.id, (select count(*) from (select distinct status, amount % 3 from orders where customer = c.id) q) from customers c where c.id < 200;
select c.id, array(select distinct status from orders where customer = c.id order by status) from customers c where c.id < 100;
select c.id, q.* from customers c left join lateral (select distinct on (status) status, id from orders where customer = c.id order by status, amount desc nulls last, id) q on true where c.id < 80;
select c.id, (select count(*) from (select distinct few from events where id < 500) q where q.few < c.id) from customers c where c.id < 60;
select id, (select max(few) from (select distinct few from events) q) from customers where id < 4;
prepare d(int4, int4) as select distinct few, maybe % $2 as r from events where few < $1;
set plan_cache_mode = force_generic_plan;
-- @rows
execute d(5, 3);
-- @rows
execute d(50, 2);
-- @rows
execute d(0, 7);
-- @rows
execute d(5, 0);
set plan_cache_mode = force_custom_plan;
-- @rows
execute d(5, 3);
reset plan_cache_mode;
-- under cursors, in functions
begin;
declare c scroll cursor for select distinct k8 from events order by k8;
fetch 3 from c;
fetch absolute 9000 from c;
fetch backward 3 from c;
fetch last from c;
fetch absolute -11990 from c;
close c;
declare c scroll cursor for select distinct on (few) few, id from events order by few, id;
fetch last from c;
fetch backward 3 from c;
fetch first from c;
commit;
declare held cursor with hold for select distinct on (t) t, id from events order by t, id;
fetch 2 from held;
move 1000 in held;
fetch 2 from held;
close held;
create function kinds(wanted int4) returns setof text language sql stable as 'select distinct t from events where few = wanted';
create function kinds_counted(wanted int4) returns int8 language plpgsql as
	$$declare n int8; begin select count(*) into n from (select distinct t, d from events where few = wanted) q; return n; end$$;
select kinds(3);
select f, kinds_counted(f) from generate_series(1, 6) f;
-- rows that are written
create table kept as select distinct few, t from events where id < 3000;
insert into kept select distinct 100, t from events;
update kept set few = few + 1 where t in (select distinct t from events where few = 5);
delete from kept where few in (select distinct on (c) c from narrow order by c, a);
select * from kept;
-- little memory, values out of line
set work_mem = '64kB';
select count(*) from (select distinct k8, filler from events) q;
select count(*), sum(length(c_external)) from (select distinct c_external from toasted) q;
select count(*) from (select distinct c_compressed, c_number from toasted) q;
reset work_mem;
-- errors in the middle
select distinct 1 / (k8 % 1000) from events;
select distinct on (few) few, 1 / (id - 7) from events order by few, k8;
