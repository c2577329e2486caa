-- Sorts below GroupAggregate with grouping sets: the first one is a Sort node, those of further
-- rollups are in the aggregate; rows with NULLs that are none of the input's.
-- @device-sorts 180
-- @below GroupAggregate 40
set enable_hashagg = off;
set enable_hashjoin = off;

select few % 4 as a, k2 % 3 as b, count(*) from events group by rollup (few % 4, k2 % 3);
select few, t, count(*), grouping(few, t) as g from events where id < 2000 group by rollup (few, t);
select few % 4 as a, k2 % 3 as b, maybe % 5 as c, count(*), grouping(few % 4, k2 % 3, maybe % 5) as g from events group by cube (few % 4, k2 % 3, maybe % 5);
select few, d, count(*) from events group by grouping sets ((few), (d));
select few, d, t, count(*), min(k8) from events where id < 3000 group by grouping sets ((few, d), (d, t), (t), ());
select customer % 10 as c, status, sum(amount), count(*) from orders group by grouping sets ((customer % 10), (status), (customer % 10, status), ());
select n, f, count(*) from events where id < 1000 group by rollup (n, f);
select t_us, few, count(*), max(id) from texts group by rollup (t_us, few);
select t_c, t_icu, count(*) from texts group by grouping sets ((t_c), (t_icu), (t_c, t_icu));
select few, count(*), max(id) from texts group by rollup (few, t_no_case) having grouping(t_no_case) = 1;
select grouping(c_numeric, c_bool) as g, c_bool, count(*), sum(id) from typed group by cube (c_numeric, c_bool);
select c_date, c_enum, c_uuid, count(*) from typed group by grouping sets ((c_date, c_enum), (c_uuid), ());
select count(*), sum(id) from typed group by rollup (c_float8, c_interval);
select m, flag, day, count(*) from odd group by rollup (m, flag, day);
select k, count(*) from one_key group by rollup (k);
select k, id % 3 as r, count(*) from only_nulls group by cube (k, id % 3);
select k, count(*), grouping(k) from no_rows group by grouping sets ((k), ());
select count(*) from no_rows group by grouping sets ((), ());
select few, count(*) from events group by distinct rollup (few), rollup (few);
select few % 3 as a, array_agg(id order by k8), count(distinct maybe) from events where id < 500 group by rollup (few % 3);
select few % 3 as a, d, percentile_disc(0.3) within group (order by k8) from events where id < 2000 group by cube (few % 3, d);
select few, sum(k2) filter (where k2 > 0) from events group by grouping sets ((few), (maybe), ()) having sum(k2) > 0;
-- by an order above
select few % 4 as a, k2 % 3 as b, count(*) from events group by rollup (few % 4, k2 % 3) order by a nulls first, b desc nulls last;
select few, d, count(*) as n from events group by grouping sets ((few), (d)) order by n desc, few, d limit 100;
select few, t, count(*) from events where id < 2000 group by rollup (few, t) order by few, t;
-- over other nodes, and below them
select c.since, o.status, count(*) from customers c join orders o on o.customer = c.id where c.id < 200 group by rollup (c.since, o.status);
select a, count(*) from (select few % 5 as a, k2 % 7 as b, count(*) from events group by cube (few % 5, k2 % 7)) q group by a;
select a, b, n, rank() over (partition by a order by n, b) as r from (select few % 5 as a, k2 % 7 as b, count(*) as n from events group by cube (few % 5, k2 % 7)) q;
select distinct a from (select few % 5 as a, count(*) as n from events group by rollup (few % 5, d)) q;
select x, s, count(*) from (select few, 'e' from events union all select c, 'n' from narrow) u(x, s) group by cube (x, s);
select at, sensor, sum(value), count(*) from measures group by rollup (at, sensor);
select a.few, a.n, b.n from (select few, count(*) as n from events group by rollup (few)) a join (select few, sum(id) as n from events where id < 900 group by rollup (few)) b on a.few is not distinct from b.few;
select x % 9 as r, x % 4 as s, sum(x) from generate_series(1, 3000) x group by cube (1, 2);
-- with parameters: rescanned
select c.id, q.* from customers c, lateral (select status, amount % 3 as a, count(*) from orders where customer = c.id group by rollup (status, amount % 3)) q where c.id < 60;
select c.id, (select max(n) from (select count(*) as n from orders where customer = c.id group by cube (amount % 3, status)) q where n < 9) from customers c where c.id < 100;
select c.id, (select count(*) from (select few, count(*) as n from events where id < 1000 group by rollup (few, maybe)) q where q.n > c.id) from customers c where c.id < 30;
prepare gs(int4, int4) as select few % $2 as r, t, count(*) from events where few < $1 group by rollup (1, 2);
set plan_cache_mode = force_generic_plan;
-- @rows
execute gs(5, 3);
-- @rows
execute gs(0, 7);
-- @rows
execute gs(5, 0);
set plan_cache_mode = force_custom_plan;
-- @rows
execute gs(5, 3);
reset plan_cache_mode;
-- under cursors, in functions, rows that are written
begin;
declare c scroll cursor for select k8, count(*) from events group by rollup (k8) order by k8, 2;
fetch 3 from c;
fetch absolute 9000 from c;
fetch last from c;
fetch backward 3 from c;
commit;
create function rolled(wanted int4) returns table(t text, m int4, n int8) language sql stable as 'select t, maybe % 3, sum(k2) from events where few = wanted group by rollup (t, maybe % 3)';
create function rolled_counted(wanted int4) returns int8 language plpgsql as
	$$declare total int8; begin select sum(n * coalesce(few, -7)) into total from (select few, count(*) as n from events where id < wanted * 100 group by cube (few, d)) q; return total; end$$;
select * from rolled(3);
select f, rolled_counted(f) from generate_series(1, 6) f;
create table rollups as select few, t, count(*) as n from events where id < 3000 group by rollup (few, t);
insert into rollups select 100, d::text, count(*) from events group by grouping sets ((d), ());
delete from rollups where (few, n) in (select few, count(*) from events group by rollup (few));
select * from rollups;
-- little memory
set work_mem = '64kB';
select count(*), sum(n) from (select k8, filler, count(*) as n from events group by rollup (k8, filler)) q;
select md5(c_external), length(c_compressed), count(*) from toasted group by cube (c_external, c_compressed);
reset work_mem;
-- beside hashing
set enable_hashagg = on;
select few, d, t, count(*) from events where id < 3000 group by grouping sets ((few, d), (d, t), (t), ());
select few % 4 as a, k2 % 3 as b, maybe % 5 as c, count(*) from events group by cube (few % 4, k2 % 3, maybe % 5);
reset enable_hashagg;
-- errors in the middle
select 1 / (k8 % 1000) as k, few, count(*) from events group by rollup (1, 2);
select few, t, sum(1 / (id - 7)) from events group by rollup (few, t);
