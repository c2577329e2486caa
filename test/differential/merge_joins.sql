-- Sorts below merge joins, as nothing else is allowed: either side, all kinds of joins; the inner
-- side is marked and restored wherever outer keys repeat; above and below other nodes, rescanned,
-- under cursors, in functions.
-- @device-sorts 480
-- @below Merge Join 88, Merge Join inner 84
set enable_hashjoin = off;
set enable_nestloop = off;
set enable_hashagg = off;
-- without it, the inner side's sort itself is marked and restored
set enable_material = off;

-- keys of one type, and mixed; unique and repeated on either side
select a.id, b.id from events a join events b on a.k8 = b.k8 where a.id < 3000;
select c.id, o.id from customers c join orders o on o.customer = c.id;
select a.id, b.id from events a join events b on a.few = b.few where a.id < 200 and b.id < 600;
select a.id, b.id from events a join events b on a.maybe = b.maybe where a.id < 2000 and b.id < 2000;
select a.id, b.id from events a join events b on a.few = b.few and a.k2 % 5 = b.k2 % 5 where a.id < 500 and b.id < 900;
select a.id, b.id from events a join events b on a.t = b.t where a.id < 3000 and b.id < 2000;
select a.id, b.id from events a join events b on a.n = b.n where a.id < 4000;
select a.id, b.id from events a join events b on a.f = b.f where a.id < 4000;
select a.id, b.id from events a join events b on a.d = b.d and a.few = b.few where a.id < 4000;
select a.id, b.id from events a join events b on a.few = b.few and a.t = b.t and a.n > b.n where a.id < 4000;
select a.id, o.id from events a join orders o on a.ts = o.placed or false where a.id < 10;
select a.id, b.id from texts a join texts b on a.t_c = b.t_c;
select a.id, b.id from texts a join texts b on a.t_us = b.t_us and a.few = b.few;
select a.id, b.id from texts a join texts b on a.c_short = b.c_short;
select a.id, b.id from texts a join texts b on a.t_icu = b.t_icu where a.id < b.id;
select a.id, b.id from texts a join texts b on a.c_bpchar = b.c_bpchar and a.few = b.few;
select a.id, b.id from texts a join texts b on a.c_wide = b.c_wide and a.c_behind < b.c_behind;
select a.id, b.id from typed a join typed b on a.c_numeric = b.c_numeric where a.id < 700;
select a.id, b.id from typed a join typed b on a.c_float8 = b.c_float8 where a.id < 700;
select a.id, b.id from typed a join typed b on a.c_float4 = b.c_float8 where a.id < 700;
select a.id, b.id from typed a join typed b on a.c_int2 = b.c_int8;
select a.id, b.id from typed a join typed b on a.c_interval = b.c_interval where a.id < 500;
select a.id, b.id from typed a join typed b on a.c_uuid = b.c_uuid and a.c_bool = b.c_bool;
select a.id, b.id from typed a join typed b on a.c_inet = b.c_inet where a.id < 300;
select a.id, b.id from typed a join typed b on a.c_bytea = b.c_bytea where a.id < 300;
select a.id, b.id from typed a join typed b on a.c_timestamp = b.c_date where a.id < 900;
select a.id, b.id from typed a join typed b on a.d_word = b.d_word and a.d_price = b.d_price;
select a.id, b.id from typed a join typed b on a.c_enum = b.c_enum and a.c_numeric_15_2 = b.c_numeric_15_2;
select a.id, b.id from odd a join odd b on a.l = b.l;
select a.id, b.id from odd a join odd b on a.p = b.p and a.m = b.m where a.id < 20000;
-- everything equal on one side, on both; nothing
select count(*), sum(a.id), sum(b.id) from one_key a join (select * from one_key where id < 200) b on a.k = b.k;
select count(*), sum(a.id), sum(b.id) from (select * from one_key where id < 200) a join one_key b on a.k = b.k;
select a.id, b.id from one_key a join one_row b on a.k = b.k;
select a.id, b.id from one_row a join one_key b on a.k + 0 = b.k;
select a.id, b.id from only_nulls a join only_nulls b on a.k = b.k;
select a.id, b.id from no_rows a join one_key b on a.k = b.k;
select a.id, b.id from one_key a left join no_rows b on a.k = b.k where a.id < 100;
select a.up, b.down from ordered a join ordered b on a.up = -b.down;
select a.up, b.down from ordered a join ordered b on a.down = b.down where b.up % 7 = 0;

-- kinds of joins
select c.id, o.id from customers c left join orders o on o.customer = c.id and o.amount > 900;
select o.id, c.id from (select * from customers where id % 2 = 0) c right join orders o on o.customer = c.id;
select c.id, o.id from (select * from customers where id % 2 = 0) c full join (select * from orders where amount < 100) o on o.customer = c.id;
select a.id, b.id from (select id, maybe from events where id < 600) a full join (select id, maybe from events where id between 400 and 900) b on a.maybe = b.maybe;
select a.id, b.id from (select id, t from events where id < 600) a full join (select id, t from events where id between 400 and 900) b on a.t = b.t;
select a.id, b.id from (select id, k from only_nulls where id < 300) a full join (select id, maybe from events where id < 300) b on a.k = b.maybe;
select c.id from customers c where exists (select 1 from orders o where o.customer = c.id and o.amount > 700);
select c.id from customers c where not exists (select 1 from orders o where o.customer = c.id and o.amount < 300);
select id from events where (few, maybe) in (select few, maybe from events where id < 500);
select id from events e where not exists (select 1 from events f where f.t = e.t and f.id < e.id);
select id from customers where id in (select customer from orders where amount > 900);
select a.id, b.id, c.id from events a join events b on a.few = b.few join events c on b.maybe = c.maybe where a.id < 60 and b.id < 300 and c.id < 900;
select a.id, b.id from events a left join (events b join customers c on b.id = c.id) on a.k2 = b.k2 where a.id < 3000;
select a.id, b.id from events a join events b on a.few = b.few and a.id <> b.id and a.filler < b.filler where a.id < 400 and b.id < 400;
-- an order above: the join's, more, another, the other way
select c.id, o.id from customers c join orders o on o.customer = c.id order by c.id, o.id;
select c.id, o.id from customers c join orders o on o.customer = c.id order by c.id desc, o.id limit 300;
select a.few, a.id, b.id from events a join events b on a.few = b.few where a.id < 200 and b.id < 300 order by a.few desc, b.id, a.id;
select a.t, a.id, b.id from events a join events b on a.t = b.t where a.id < 900 order by t, a.id, b.id;
-- over other nodes, and below them
select c.since, count(*), sum(o.amount) from customers c join orders o on o.customer = c.id group by c.since;
select distinct c.since from customers c join orders o on o.customer = c.id and o.amount > 900;
select c.id, o.id, row_number() over (partition by c.id order by o.placed, o.id) as n from customers c join orders o on o.customer = c.id where c.id < 300;
select a.few, a.n, b.n from (select few, count(*) as n from events group by few) a join (select few, sum(id) as n from events group by few) b on a.few = b.few;
select a.few, b.id from (select distinct few from events) a join (select distinct on (few) few, id from events order by few, id) b on a.few = b.few;
select a.id, b.id from (select id, rank() over (order by k8) as n from events) a join (select id, rank() over (order by t) as n from events) b on a.n = b.n;
select a.x, b.id from (select few from events union select c from narrow) a(x) join customers b on a.x = b.id;
select a.x, b.x from (select few from events union all select c from narrow) a(x) join (select maybe from events where id < 100 union all select 3) b(x) on a.x = b.x;
select m.at, m.id, n.id from measures m join measures n on m.at = n.at and m.sensor = n.sensor where m.id < 1000;
select a.id, b.id, a.tableoid::regclass from animals a join animals b on a.weight = b.id;
select a.x, b.x from generate_series(1, 3000) a(x) join generate_series(1, 3000) b(x) on a.x % 997 = b.x;
select a.id, b.id from (select id, few from events order by few, id offset 100) a join (select id, few from events order by k8 limit 300) b on a.few = b.few where a.id < 500;
select a.id, b.id from (select id, k8 from events order by k8 limit 3000) a join (select id, k4 from events order by k4 limit 3000) b on a.id = b.id;
set enable_partitionwise_join = on;
select m.at, m.id, n.id from measures m join measures n on m.at = n.at and m.sensor = n.sensor where m.id < 1000;
reset enable_partitionwise_join;
with a as materialized (select * from events where id < 3000), b as materialized (select * from events where few < 10) select a.id, b.id from a join b on a.maybe = b.maybe;
select count(*) from events a join events b on a.few = b.few;
select count(*), sum(a.id), sum(b.id) from narrow a join narrow b on a.c = b.c and a.a < b.a where a.a < 100000 and b.a < 100000;

-- with parameters: rescanned
set enable_nestloop = on;
select c.id, q.* from customers c, lateral (select a.id, b.id as other from orders a join orders b on a.status = b.status and a.id < b.id where a.customer = c.id and b.customer = c.id offset 0) q where c.id < 60;
set enable_nestloop = off;
select c.id, (select count(*) from orders a join orders b on a.amount % 9 = b.amount % 9 where a.customer = c.id and b.customer = c.id + 1) from customers c where c.id < 100;
select c.id, (select count(*) from events a join events b on a.few = b.few where a.id < 100 and b.id < 100 and a.id > c.id) from customers c where c.id < 60;
select c.id, (select sum(q.n) from (select a.id as n from events a join events b on a.few = b.few where a.id < 200 and b.id < 200 offset 0) q where q.n < c.id) from customers c where c.id < 60;
select id, (select count(*) from customers a join orders b on a.id = b.customer) from customers where id < 4;
prepare j(int4, int4) as select a.id, b.id from events a join events b on a.maybe % $2 = b.maybe % $2 and a.t = b.t where a.few < $1 and b.few < $1;
set plan_cache_mode = force_generic_plan;
-- @rows
execute j(5, 3);
-- @rows
execute j(8, 1);
-- @rows
execute j(0, 7);
-- @rows
execute j(5, 0);
set plan_cache_mode = force_custom_plan;
-- @rows
execute j(5, 3);
reset plan_cache_mode;

-- under cursors, in functions
begin;
declare c scroll cursor for select a.id, b.id as other from events a join events b on a.k8 = b.k8 order by a.k8;
fetch 3 from c;
fetch absolute 9000 from c;
fetch backward 3 from c;
fetch last from c;
close c;
declare c scroll cursor for select a.few, a.id, b.id as other from (select * from events where id < 300) a join (select * from events where id < 300) b on a.few = b.few order by a.few, a.id, b.id;
fetch last from c;
fetch backward 3 from c;
fetch first from c;
close c;
declare c no scroll cursor for select a.id, b.id as other from (select * from events where id < 300) a join events b on a.few = b.few;
move 11000 in c;
savepoint s;
move 11000 in c;
rollback to s;
move all in c;
commit;
declare held cursor with hold for select c.id, o.id as other from customers c join orders o on o.customer = c.id order by c.id, o.id;
fetch 2 from held;
move 10000 in held;
fetch 2 from held;
close held;
create function pairs(wanted int4) returns table(a int4, b int4) language sql stable as 'select a.id, b.id from events a join events b on a.t = b.t where a.few = wanted';
create function pairs_summed(wanted int4) returns int8 language plpgsql as $$
declare
	r record;
	total int8 := 0;
	n int4 := 0;
begin
	for r in select a.id as a, b.id as b from events a join events b on a.few = b.few where a.few < wanted and a.id < 900 loop
		n := n + 1;
		total := total + 1;
		exit when n = 1000;
	end loop;
	return total;
end $$;
select * from pairs(3);
select f, pairs_summed(f) from generate_series(1, 6) f;

-- rows that are written, and locked
create table joined as select a.id as a, b.id as b from events a join events b on a.maybe = b.maybe where a.id < 2000;
insert into joined select c.id, o.id from customers c join orders o on o.customer = c.id where o.amount > 900;
update joined j set b = -e.few from events e where e.id = j.a;
delete from joined j using events e where e.id = j.a and e.few > 40;
select * from joined;
begin;
select c.id, o.id, o.amount from customers c join orders o on o.customer = c.id where o.amount > 950 for update;
select c.id, o.id, o.amount from customers c join orders o on o.customer = c.id where o.amount > 950 order by o.amount, o.id for share of o;
update orders o set amount = amount + 1 from customers c where o.customer = c.id and c.since > '2015-01-01' returning o.id, o.amount;
merge into orders o using (select id from customers where id < 100) c on o.customer = c.id when matched and o.amount < 500 then delete when matched then update set amount = 0;
select id, amount from orders;
rollback;
select a.ctid, b.ctid, a.id from events a join customers b on a.few = b.id where a.id < 500;
select a, b from events a join customers b on a.few = b.id where a.id < 100;

-- little memory, values out of line, wide rows
set work_mem = '64kB';
select count(*), sum(a.id), sum(length(b.filler)) from events a join events b on a.k8 = b.k8;
select count(*), sum(a.id), sum(length(b.filler)) from events a join events b on a.few = b.few where a.id < 1000;
select a.id, b.id, length(a.c_external) from toasted a join toasted b on a.c_external = b.c_external and a.id = b.id;
select a.id, b.id from toasted a join toasted b on a.c_number = b.c_number and a.c_bytes = b.c_bytes;
select a.id, b.id, md5(a.body), md5(b.raw) from documents a join documents b on a.k % 50 = b.k % 50;
reset work_mem;
-- over Material, which marks for the sort
set enable_material = on;
select a.id, b.id from events a join events b on a.few = b.few where a.id < 200 and b.id < 600;
select count(*), sum(a.id), sum(b.id) from one_key a join (select * from one_key where id < 200) b on a.k = b.k;
select a.id, b.id from texts a join texts b on a.t_us = b.t_us and a.few = b.few;
-- errors in the middle
select a.id, 1 / (a.id - 7) from events a join events b on a.few = b.few;
select a.id from events a join events b on a.few = 1 / (b.k8 % 1000);
