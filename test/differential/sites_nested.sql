-- Sorts at many places of one plan, each over another's rows: windows over joins over distinct
-- rows, groups over unions, unions of windows; subplans in each of them; statements that write.
-- @device-sorts 600
-- @below WindowAgg 24, Merge Join 22, Unique 24, GroupAggregate 15
set enable_hashagg = off;
set enable_hashjoin = off;
set enable_nestloop = off;

-- windows over joins over distinct rows
select a.few, b.id, row_number() over (partition by a.few order by b.k8) as n from (select distinct few from events) a join events b on a.few = b.few where b.id < 2000;
select a.t, b.id, rank() over (partition by a.t order by b.d, b.id) as n from (select distinct t, few from events where id < 2000) a join (select distinct on (few) few, id, d from events order by few, k8) b on a.few = b.few;
select a.t_us, b.id, row_number() over (order by a.t_us, b.id) as n from (select distinct t_us from texts) a join (select t_us, id from texts where few = 1) b on a.t_us = b.t_us;
select a.x, sum(b.v) over (partition by a.x % 3 order by a.x, b.v rows 3 preceding) as s from (select distinct c_numeric_15_2::int8 % 100 as x from typed where c_numeric_15_2 <> 'NaN') a join (select c_int4 % 100 as x, c_int2 as v from typed) b on a.x = b.x;
select g.few, g.n, w.r from (select few, count(*) as n from events group by few) g join (select distinct few, rank() over (order by few) as r from events) w on g.few = w.few;
select few, r, count(*) from (select few, rank() over (partition by few order by d) as r from events) q group by few, r having count(*) > 1;
select distinct few, first_value(id) over (partition by few order by k8) as id from events;
select distinct r, s from (select rank() over (order by few) as r, sum(k2) over (partition by few) as s from events) q;
-- groups and windows over unions, unions of them
select x, count(*), sum(n) from (select few as x, row_number() over (partition by few order by k8) as n from events union select c, rank() over (order by c, a) from narrow where a < 100000) u group by x;
select x, rank() over (order by sum(n), x) from (select few as x, count(*) as n from events group by few union all select c, count(*) from narrow group by c) u group by x;
(select distinct few, 'd' from events) union (select few, 'g' from events group by few having count(*) > 230) union all (select few, 'w' from (select few, row_number() over (partition by few order by k8) as n from events) q where n = 240);
(select few, row_number() over (order by few, id) from events where id < 500) intersect (select few, count(*) from events group by few);
select * from (select few, t from events where id < 900 except select few, t from events where id > 500 and id < 2000) a join (select distinct on (few) few, id, k8 from events order by few, k8) b using (few);
-- joins of joins, each sorted another way
select a.id, b.id, c.id, row_number() over (order by a.k8, b.id, c.id) as n from events a join events b on a.few = b.few and b.id < 100 join customers c on c.id = b.maybe where a.id < 300;
select o.status, c.since, count(*), rank() over (partition by o.status order by count(*) desc, c.since) as n from orders o join customers c on c.id = o.customer group by o.status, c.since;
select m.at, count(*), sum(e.few), lag(m.at) over (order by m.at) from measures m join events e on e.id = m.id group by m.at;
select a.weight, a.n, b.tricks from (select weight, count(*) as n from animals group by weight) a left join (select distinct on (weight) weight, tricks from dogs order by weight, tricks) b on a.weight = b.weight;
select q.*, rank() over (order by q.few desc, q.t) from (select a.few, b.t, count(*) as n from events a join events b on a.k2 = b.k2 group by a.few, b.t having count(*) > 3) q;
select e.few, e.id, g.n, u.x from events e join (select few, count(distinct t) as n from events group by few) g on g.few = e.few join (select few as x from events union select c from narrow) u on u.x = e.few where e.id < 100;
-- subplans in them: in windows, in groups, in join conditions, in sorts' own keys
select id, row_number() over (order by (select count(*) from customers c where c.id < e.few), id) as n from events e where id < 300;
select few, (select max(n) from (select row_number() over (partition by maybe order by k8) as n from events i where i.few = e.few) q) as m, count(*) from events e where few < 20 group by few;
select few, count(*), (select array_agg(d) from (select distinct d from events i where i.few = e.few and i.id < 400 order by d) q) from events e where few < 20 group by few;
select a.id, (select count(*) from (select distinct b.maybe from events b join customers c on b.few = c.id where b.id < a.id) q) from events a where a.id < 60;
select a.id from events a join customers c on a.few = c.id where a.k4 > (select min(k4) from (select k4, rank() over (order by k8) as n from events where few = a.few) q where n > 10) and a.id < 300;
select id from events where id in (select min(id) from events group by t having count(*) > 3) and few in (select few from (select few, row_number() over (partition by few order by k8) as n from events) q where n = 235);
select id, (select r from (select id, rank() over (order by k8) as r from events) q where q.id = 100), (select count(*) from (select distinct few from events) q), (select count(*) from (select few from events union select c from narrow) q) from customers where id < 4;
-- LATERAL: all of it again for each row
set enable_nestloop = on;
select c.id, q.* from customers c, lateral (select a.status, count(*), row_number() over (order by count(*), a.status) as n from orders a join (select distinct status from orders where customer = c.id) b on a.status = b.status where a.customer between c.id and c.id + 2 group by a.status) q where c.id < 50;
select c.id, q.* from customers c left join lateral (select distinct on (status) status, id, lag(id) over (partition by status order by amount, id) as l from orders where customer = c.id order by status, amount desc nulls last, id) q on q.l is not null where c.id < 60;
select a.i, q.* from generate_series(0, 49, 7) a(i), lateral (select t, count(*) from (select t from events where few = a.i union all select t from events where few = a.i + 1) u group by t having count(*) > 1) q;
select a.i, q.* from generate_series(1, 5) a(i), lateral (select few, r from (select few, rank() over (order by few % a.i, k8) as r from events) w where r < 4) q;
set enable_nestloop = off;
-- statements that write
create table made as select a.few, b.t, count(*) as n, rank() over (order by count(*), a.few, b.t) as r from (select distinct few from events) a join events b on a.few = b.few group by a.few, b.t;
select * from made;
insert into made select few, t, row_number() over (partition by few order by t), 0 from (select few, t from events where few < 5 union select few, 'x' from events) u returning few, t, n;
update made m set r = q.r from (select few, t, dense_rank() over (order by few, t) as r from made group by few, t) q where q.few = m.few and q.t = m.t;
delete from made m using (select few, t, row_number() over (partition by few, t order by n, r) as k from made) q where q.few = m.few and q.t = m.t and q.k > 1 returning m.few, m.t;
merge into made m using (select a.few, min(b.t) as t, count(*) as n from (select distinct few from events) a join events b on a.few = b.few group by a.few) q on m.few = q.few and m.t = q.t when matched and m.few % 2 = 0 then delete when matched then update set n = q.n when not matched then insert values (q.few, q.t, q.n, -1);
select * from made;
with gone as (delete from made where n in (select distinct n from made where n < 3) returning few, t), groups as (select few, count(*) as n from gone group by few) insert into made select few, 'gone', n, rank() over (order by n, few) from groups returning *;
begin;
select e.id, q.n from events e join (select few, count(*) as n from made group by few) q on q.few = e.few where e.id < 500 for update of e;
select * from (select id, few from events where id < 300 for update) q join (select distinct few from made) m on m.few = q.few;
select id, few from events where few in (select few from made group by few having count(*) > 3) order by few, id limit 300 for update skip locked;
rollback;
-- prepared, in functions, under cursors
prepare nested(int4, int4) as select a.few, b.id, row_number() over (partition by a.few order by b.k8) as n from (select distinct few from events where few % $2 = 1) a join events b on a.few = b.few where b.id < $1;
set plan_cache_mode = force_generic_plan;
-- @rows
execute nested(1000, 3);
-- @rows
execute nested(5, 2);
-- @rows
execute nested(2000, 49);
set plan_cache_mode = force_custom_plan;
-- @rows
execute nested(1000, 3);
reset plan_cache_mode;
create function nested_sum(wanted int4) returns int8 language plpgsql as $$
declare
	r record;
	inner_r record;
	total int8 := 0;
begin
	for r in select few, count(*) as n from events where few < wanted group by few order by few loop
		for inner_r in select e.id, rank() over (order by k8) as k from events e where e.few = r.few and e.id < 2000 order by e.id loop
			total := (total * 31 + inner_r.k * inner_r.id + r.n) % 1000000007;
			exit when inner_r.k = 20;
		end loop;
	end loop;
	return total;
exception when division_by_zero then return -1;
end $$;
select w, nested_sum(w) from generate_series(1, 6) w;
begin;
declare a scroll cursor for select a.few, b.id, row_number() over (partition by a.few order by b.k8) as n from (select distinct few from events) a join events b on a.few = b.few order by a.few, n;
declare b scroll cursor for select few, t, count(*) from events group by few, t order by few, t;
fetch 3 from a;
fetch last from b;
fetch absolute 11000 from a;
fetch backward 3 from b;
savepoint s;
fetch backward 3 from a;
select few, 1 / (few - 3) from (select distinct few from events) q;
rollback to s;
fetch first from a;
fetch first from b;
commit;
-- little memory
set work_mem = '64kB';
select count(*), sum(n) from (select a.few, b.id, row_number() over (partition by a.few order by b.k8) as n, b.filler from (select distinct few from events) a join events b on a.few = b.few) q;
select count(*), sum(n), sum(k) from (select filler, t, count(*) as n, rank() over (order by filler, t) as k from (select filler, t, few from events union all select filler, t, few from events where few < 9) u group by filler, t) q;
reset work_mem;
-- errors in the middle
select a.few, 1 / (b.id - 7), row_number() over (partition by a.few order by b.k8) as n from (select distinct few from events) a join events b on a.few = b.few;
select few, rank() over (order by 1 / (sum(few) - 250)) from events where few = 1 or id = 3 group by few;
