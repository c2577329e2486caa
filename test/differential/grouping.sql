-- Sorts below Group and GroupAggregate, as hashing is off: by one key and by many, whole and
-- partial, above and below other nodes, rescanned, under cursors, in functions.
-- @device-sorts 400
-- @below GroupAggregate 78, Group 2, Merge Join 4
set enable_hashagg = off;
set enable_hashjoin = off;

select few, count(*), sum(k4::int8), min(k8), max(t) from events group by few;
select k8, count(*) from events where id < 3000 group by k8;
select maybe, count(*), sum(id) from events group by maybe;
select d, count(*), min(id) from events group by d;
select t, count(*), min(k8) from events group by t;
select n, count(*), sum(n) from events where id < 3000 group by n;
select f, count(*), min(id) from events where id < 3000 group by f;
select few, t, count(*) from events where id < 3000 group by few, t;
select few, maybe % 4 as m, n::int4 % 3 as r, left(t, 6) as u, count(*) from events group by few, m, r, u;
select few, d, t, n, f, k2, count(*) from events where id < 1000 group by few, d, t, n, f, k2;
select few from events group by few;
select few, t from events where id < 2000 group by few, t;
select t from events group by t having count(*) > 2;
select few, count(*) from events group by few having sum(k2) > 0 and few % 2 = 1;
select c_short, count(*) from texts group by c_short;
select t_c, count(*), max(id) from texts group by t_c;
select t_us, count(*), max(id) from texts group by t_us;
select t_icu, few, count(*) from texts group by t_icu, few;
select count(*) as n, max(id) from texts group by t_no_case;
select c_wide, few, count(*) from texts group by c_wide, few;
select c_prefix, count(*), min(c_behind) from texts group by c_prefix;
select c_bpchar, count(*) from texts group by c_bpchar;
select c_varchar, c_name, count(*) from texts group by c_varchar, c_name;
-- equal values that look different: which of them comes out is free
select count(*), min(id), max(id), sum(id) from typed group by c_numeric;
select count(*), sum(id) from typed group by c_float8;
select count(*), sum(id) from typed group by c_float4, c_interval;
select count(*), sum(id) from typed group by c_timetz, c_numeric;
select c_numeric_15_2, count(*), sum(id) from typed group by c_numeric_15_2;
select c_bool, c_int2, count(*) from typed group by c_bool, c_int2;
select c_uuid, c_enum, count(*) from typed group by c_uuid, c_enum;
select c_inet, c_cidr, c_macaddr8, count(*) from typed group by c_inet, c_cidr, c_macaddr8;
select c_bytea, c_bit, c_varbit, count(*) from typed group by c_bytea, c_bit, c_varbit;
select d_word, d_price, d_shade, count(*) from typed group by d_word, d_price, d_shade;
select c_timestamp, c_timestamptz, c_date, count(*) from typed group by c_timestamp, c_timestamptz, c_date;
select l, count(*) from odd group by l;
select p, count(*), min(id) from odd group by p;
select e, m, day, flag, count(*) from odd group by e, m, day, flag;
select k, count(*), sum(id) from one_key group by k;
select k, count(*), sum(id) from only_nulls group by k;
select k, count(*) from no_rows group by k;
select k, count(*) from one_row group by k;
select up, count(*) from ordered group by up;
select e, count(*) from events e where id < 300 group by e;
select length(filler), count(*) from events group by length(filler);
-- constants, which are computed below the sort
select 'x'::text as a, few, 7 as b, count(*) from events group by 1, 2, 3;
select c, few, count(*) from (select 'c'::text as c, few from events union all select 'd', c from narrow) q group by c, few;
-- by cost these few rows get native sorts, which the walk over the finished plan takes
set gpusort.debug_force = off;
select 'x'::text as a, few, 7 as b, count(*) from events group by 1, 2, 3;
select c, few, count(*) from (select 'c'::text as c, few from events union all select 'd', c from narrow) q group by c, few;
reset gpusort.debug_force;
-- aggregates of their own order, of distinct values, of all kinds
select few, array_agg(id order by k8), count(distinct maybe), string_agg(t, ',' order by t, id) from events where id < 2000 group by few;
select few, percentile_disc(0.5) within group (order by k8), mode() within group (order by k2 % 10), count(*) filter (where n > 500) from events group by few;
select t, stddev_pop(k2), avg(n), bool_or(few = 3), min(ts), max(d) from events where id < 3000 group by t;
select few, count(*) filter (where id % 2 = 0), json_agg(id order by id) from events where id < 500 group by few;
-- by an order above
select few, count(*) from events group by few order by few desc;
select few, t, count(*) from events where id < 3000 group by few, t order by t, few;
select t, count(*) as n from events group by t order by n desc, t limit 100;
select few, count(*) from events group by few order by few limit 3;
select few, k2 % 10 as r, count(*) from events group by few, r order by r desc nulls last, few;
-- over other nodes, and below them
select c.since, count(*), sum(o.amount) from customers c join orders o on o.customer = c.id group by c.since;
select c.name, count(o.id) from customers c left join orders o on o.customer = c.id and o.amount > 900 group by c.name;
select customer, status, count(*) from orders group by customer, status;
select n, count(*) from (select customer, count(*) as n from orders group by customer) q group by n;
select few, m, count(*) from (select few, max(k2) % 7 as m from events group by few, d) q group by few, m;
select few, rank() over (order by count(*), few) from events group by few;
select few, count(*) from (select distinct few, d, t from events) q group by few;
select r, count(*) from (select id, rank() over (order by few) as r from events) q group by r;
select x, count(*) from (select few from events union all select c from narrow) u(x) group by x;
select at, count(*), sum(value) from measures group by at;
select sensor, at, count(*) from measures group by sensor, at;
select weight, count(*) from animals group by weight;
select a.few, a.n, b.n from (select few, count(*) as n from events group by few) a join (select few, sum(id) as n from events where id < 900 group by few) b using (few);
select few from events where few in (select c from narrow group by c having count(*) > 10);
select x % 97 as r, sum(x) from generate_series(1, 3000) x group by 1;
select date_trunc('month', placed) as m, status, count(*) from orders group by 1, 2;
with g as materialized (select few, t, count(*) as n from events group by few, t) select few, sum(n), count(*) from g group by few;
set enable_partitionwise_aggregate = on;
select at, sensor, count(*) from measures group by at, sensor;
select sensor, sum(value), avg(id) from measures group by sensor;
reset enable_partitionwise_aggregate;
-- with parameters: rescanned
select c.id, q.* from customers c, lateral (select status, count(*), sum(amount) from orders where customer = c.id group by status) q where c.id < 100;
select c.id, (select max(n) from (select count(*) as n from orders where customer = c.id group by amount % 3) q) from customers c where c.id < 200;
select c.id, q.r, q.n from customers c left join lateral (select o.id % c.id as r, count(*) as n from orders o where o.id < 50 group by 1) q on q.n > 3 where c.id < 40;
select c.id, (select count(*) from (select few, count(*) as n from events where id < 1000 group by few) q where q.n > c.id) from customers c where c.id < 60;
select id, (select count(*) from (select t from events group by t) q) from customers where id < 4;
prepare g(int4, int4) as select few % $2 as r, t, count(*) from events where few < $1 group by 1, 2;
set plan_cache_mode = force_generic_plan;
-- @rows
execute g(5, 3);
-- @rows
execute g(10, 2);
-- @rows
execute g(0, 7);
-- @rows
execute g(5, 0);
set plan_cache_mode = force_custom_plan;
-- @rows
execute g(5, 3);
reset plan_cache_mode;
-- under cursors, in functions
begin;
declare c scroll cursor for select k8, count(*) from events group by k8 order by k8;
fetch 3 from c;
fetch absolute 9000 from c;
fetch backward 3 from c;
fetch last from c;
fetch absolute -11990 from c;
close c;
declare c no scroll cursor for select t, count(*) as n, min(k8) from events group by t order by t desc;
move 1000 in c;
fetch 3 from c;
commit;
declare held cursor with hold for select d, count(*), min(id) from events group by d order by d;
fetch 2 from held;
move 1000 in held;
fetch 2 from held;
close held;
create function sums(wanted int4) returns table(t text, n int8) language sql stable as 'select t, sum(k2) from events where few = wanted group by t';
create function groups_counted(wanted int4) returns int8 language plpgsql as $$
declare
	r record;
	total int8 := 0;
begin
	for r in select maybe, count(*) as n from events where few = wanted group by maybe loop
		total := total + r.n * coalesce(r.maybe, -1);
	end loop;
	return total;
end $$;
select * from sums(3);
select f, groups_counted(f) from generate_series(1, 6) f;
-- rows that are written
create table groups as select few, t, count(*) as n from events where id < 3000 group by few, t;
insert into groups select 100, t, count(*) from events group by t;
update groups g set n = q.n from (select few, count(*) as n from events group by few) q where q.few = g.few;
delete from groups where t in (select t from events group by t having count(*) > 3);
select * from groups;
merge into groups g using (select few, min(t) as t, count(*) as n from events group by few) q on g.few = q.few and g.t = q.t when matched then update set n = -q.n when not matched then insert values (q.few, 'new', q.n);
select * from groups;
-- little memory, values out of line
set work_mem = '64kB';
select count(*), sum(n) from (select k8, filler, count(*) as n from events group by k8, filler) q;
select md5(c_external), count(*), sum(id) from toasted group by c_external;
select length(c_compressed), c_number > 0, count(*) from toasted group by c_compressed, c_number;
reset work_mem;
-- in workers, when there are some: partial groups
select few, sum(n), count(*) from events group by few;
select customer, count(*), sum(amount), min(placed) from orders group by customer;
-- errors in the middle
select 1 / (k8 % 1000) as k, count(*) from events group by 1;
select few, sum(1 / (id - 7)) from events group by few;
