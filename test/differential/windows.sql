-- Sorts below WindowAgg: by partitions, by orders, by both; several windows over each other;
-- frames; above and below other nodes; with parameters, rescanned, under cursors, in functions.
-- @also one-worker, four-workers
-- @device-sorts 600
-- @below WindowAgg 105

-- keys of one type, and mixed
select id, row_number() over (order by k8) as n from events;
select id, row_number() over (order by id desc) as n from events;
select id, few, rank() over (order by few) as n from events where id <= 3000;
select id, few, dense_rank() over (order by few desc) as n from events where id <= 3000;
select id, count(*) over (partition by few) as n from events where id <= 3000;
select id, row_number() over (partition by few order by k8) as n from events where id <= 3000;
select id, row_number() over (partition by few order by k8 desc, id) as n from events where id <= 3000;
select id, rank() over (partition by maybe order by few nulls first) as n from events where id <= 3000;
select id, row_number() over (partition by maybe order by ts desc nulls last, id) as n from events where id <= 3000;
select id, t, rank() over (order by t) as n from events where id <= 3000;
select id, row_number() over (partition by t order by id) as n from events where id <= 3000;
select id, n, rank() over (order by n) as r, sum(n) over (order by n) as s from events where id <= 3000;
select id, row_number() over (partition by n order by id desc) as r from events where id <= 3000;
select id, rank() over (order by f desc) as r from events where id <= 3000;
select id, row_number() over (partition by few, t order by n, d, id) as r from events where id <= 3000;
select id, row_number() over (order by d, few desc, n, t, k2, id) as r from events where id <= 3000;
select id, rank() over (order by c_short) as a, dense_rank() over (order by c_short) as b from texts;
select id, rank() over (order by t_c) as n from texts;
select id, rank() over (order by t_us) as n from texts;
select id, rank() over (order by t_icu desc nulls last) as n from texts;
select id, rank() over (order by t_no_case) as n, count(*) over (partition by t_no_case) as m from texts;
select id, row_number() over (partition by t_us order by t_c desc, id) as n from texts;
select id, row_number() over (partition by t_us collate "C" order by id) as n from texts;
select id, rank() over (order by c_wide, c_behind) as n from texts;
select id, count(*) over (partition by c_bpchar) as a, count(*) over (partition by c_varchar, few) as b from texts;
select id, rank() over (order by c_numeric) as n from typed;
select id, rank() over (order by c_numeric desc nulls first, c_uuid) as n from typed;
select id, count(*) over (partition by c_numeric) as a, rank() over (partition by c_float8 order by c_float4) as b from typed;
select id, rank() over (order by c_interval) as a, rank() over (order by c_inet) as b, rank() over (order by c_bytea) as c from typed;
select id, rank() over (partition by c_bool order by c_timestamptz) as a, rank() over (partition by c_enum order by c_varbit) as b from typed;
select id, rank() over (order by d_word) as a, rank() over (order by d_price) as b, rank() over (order by d_shade) as c from typed;
select id, rank() over (order by l) as a, rank() over (order by p) as b from odd;
select id, rank() over (order by e) as a, rank() over (partition by m order by day) as b, rank() over (order by flag, m) as c from odd;

-- constants, which are computed below the sort
select a, id, b, row_number() over (order by k8) as n from (select 'x'::text as a, id, k8, 7 as b from events offset 0) q;
select a, few, count(*) over (partition by a, few) as n from (select 'x'::text as a, few from events where id < 3000 union all select 'y', c from narrow where a < 50000) q;
-- by cost these few rows get native sorts, which the walk over the finished plan takes
set gpusort.debug_force = off;
select a, id, b, row_number() over (order by k8) as n from (select 'x'::text as a, id, k8, 7 as b from events offset 0) q;
select a, few, count(*) over (partition by a, few) as n from (select 'x'::text as a, few from events where id < 3000 union all select 'y', c from narrow where a < 50000) q;
reset gpusort.debug_force;
-- frames
select id, sum(few) over (order by k8 rows between 3 preceding and 2 following) as s from events where id <= 3000;
select id, sum(k4::int8) over (partition by few order by k8 rows unbounded preceding) as s from events where id <= 3000;
select id, count(*) over (order by d range between '10 days' preceding and '3 days' following) as s from events where id <= 3000;
select id, count(*) over (order by n range between 10.5 preceding and current row) as s from events where id <= 3000;
select id, count(*) over (order by k2 desc range between 100 preceding and 7 following) as s from events where id <= 3000;
select id, sum(id) over (order by few groups between 1 preceding and 1 following exclude ties) as s from events where id <= 3000;
select id, sum(id) over (order by few groups between unbounded preceding and 2 preceding exclude group) as s from events where id <= 3000;
select id, max(k8) over (partition by few order by ts, id rows between unbounded preceding and unbounded following exclude current row) as s from events where id <= 3000;
select id, first_value(id) over w as a, last_value(id) over w as b, nth_value(id, 4) over w as c from events where id <= 3000 window w as (partition by few order by ts, id rows between 2 preceding and 5 following);
select id, lag(id, 3, -1) over (order by k8) as a, lead(k8) over (order by k8) as b, lead(id, few) over (order by id desc) as c from events where id <= 3000;
select id, ntile(17) over (order by k8) as a, percent_rank() over (order by few) as b, cume_dist() over (partition by few order by maybe) as c from events where id <= 3000;
select id, min(t) over (partition by few order by n, id rows 5 preceding) as a, string_agg(few::text, ',') over (partition by k2 % 50 order by id) as b from events where id <= 1000;
select id, array_agg(id) over (partition by few order by k8) as a from events where id <= 500;
select id, count(*) filter (where few < 10) over (order by k8) as a, avg(n) over (partition by few order by d, id rows 10 preceding) as b from events where id <= 3000;

-- several windows: those of one sort, of parts of it, of others
select id, rank() over w, dense_rank() over w, count(*) over (partition by few), sum(k2) over (partition by few order by d, id) from events where id <= 3000 window w as (partition by few order by d);
select id, row_number() over (order by k8) as a, row_number() over (order by k8 desc) as b, row_number() over (order by ts, id) as c, row_number() over (order by t, id) as d from events where id <= 3000;
select id, sum(a) over (order by id desc) as b from (select id, count(*) over (partition by few) as a from events where id <= 3000) q;
select id, rank() over (order by a) as b from (select id, rank() over (partition by few order by d) as a from events where id <= 3000) q;
select *, rank() over (order by c, id) as d from (select *, rank() over (partition by a order by b, id) as c from (select id, ntile(9) over (order by k8) as a, ntile(11) over (order by t, id) as b from events where id <= 3000) q) r;

-- an order of the query above, the same as the window's, more, and another
select id, few, row_number() over (partition by few order by k8) as n from events where id <= 3000 order by few, k8;
select id, few, k8, row_number() over (partition by few order by k8) as n from events where id <= 3000 order by few, k8, id;
select id, few, row_number() over (partition by few order by k8) as n from events where id <= 3000 order by n, few desc;
select id, row_number() over (order by t, id) as n from events where id <= 3000 order by id;
select id, t, row_number() over (order by t, id) as n from events order by t desc, id limit 300;
-- a limit above, and a condition that ends the window early
select id, row_number() over (order by k8) as n from events limit 7;
select id, row_number() over (order by k8) as n from events order by k8 offset 11990;
select * from (select id, row_number() over (order by k8) as n from events) q where n <= 10;
select * from (select id, few, row_number() over (partition by few order by k8) as n from events) q where n <= 2;
select * from (select id, few, rank() over (partition by few order by d desc) as n from events) q where n < 3;
select * from (select id, count(*) over (order by few) as n from events) q where n <= 500;
select * from (select id, row_number() over (order by k8) as n from events) q where n between 5000 and 5020;
select * from (select id, few, row_number() over (partition by few order by k8) as n from events) q where few = 7 and n < 20;

-- over other nodes, and below them
select customer, sum(amount) as s, rank() over (order by sum(amount) desc nulls last, customer) as n from orders group by customer;
select status, customer % 7 as c, count(*), rank() over (partition by status order by count(*), customer % 7) as n from orders group by status, customer % 7;
select few, count(*), row_number() over (order by few) as n, sum(count(*)) over (order by few desc) as s from events group by few;
select few, d, count(*), rank() over (partition by few order by d nulls first) as n from events where id < 2000 group by grouping sets ((few), (d), (few, d));
select c.id, o.id, row_number() over (partition by c.id order by o.placed desc, o.id) as n from customers c join orders o on o.customer = c.id where c.id < 200;
select c.id, o.id, rank() over (partition by c.id order by o.amount nulls first, o.id) as n from customers c left join orders o on o.customer = c.id and o.amount > 700 where c.id < 300;
select id, row_number() over (order by id, k) as n from (select id, few as k from events where id < 1000 union all select id, k from one_key where id < 500) u;
select x, row_number() over (order by x) as n from (select few from events union select c + 40 from narrow) u(x);
select distinct few, count(*) over (partition by few) as n from events;
select distinct on (few) few, id, row_number() over (partition by few order by k8) as n from events order by few, n desc;
select few, max(n) from (select few, row_number() over (partition by few order by k8) as n from events) q group by few;
select a.id, b.id, a.n from (select id, row_number() over (order by k8) as n from events) a join (select id, row_number() over (order by k4, id) as n from events) b using (n) where a.n % 10 = 0;
select x, row_number() over (order by x % 97, x desc) as n from generate_series(1, 3000) x;
select at, id, row_number() over (partition by at order by value, id) as n from measures where at < '2020-03-01';
select tableoid::regclass, id, rank() over (order by weight) as n from animals;
select id, generate_series(1, few % 3) as g, row_number() over (order by k8) as n from events where id < 1000;
select id, row_number() over (order by k8) as n, (select count(*) from customers c where c.id < e.few) as m from events e where id < 1000;
select id from events where id in (select id from (select id, row_number() over (order by k8) as n from events) q where n <= 300);
with w as materialized (select id, few, row_number() over (partition by few order by k8) as n from events) select a.id, b.id from w a join w b on a.few = b.few and a.n = b.n + 1 where a.n < 5;

-- nothing to sort, one row, one partition, a partition for each row
select id, row_number() over (order by k) as n from no_rows;
select id, row_number() over (order by k) as n, count(*) over (partition by k) as m from one_row;
select id, row_number() over (order by k, id) as n, count(*) over (partition by k) as m from one_key;
select count(*), sum(n), sum(m) from (select count(*) over (partition by k) as n, rank() over (order by k) as m from only_nulls) q;
select id, count(*) over (partition by up) as n, row_number() over (order by down) as m from ordered;

-- with parameters: rescanned, with other rows and with the same
select c.id, w.id, w.n from customers c, lateral (select o.id, row_number() over (order by o.amount desc nulls last, o.id) as n from orders o where o.customer = c.id) w where c.id < 100 and w.n < 4;
select c.id, w.* from customers c left join lateral (select o.id, rank() over (partition by o.status order by o.placed) as n from orders o where o.customer = c.id and o.amount > 500) w on true where c.id <= 100;
select c.id, (select max(n) from (select rank() over (order by amount) as n from orders o where o.customer = c.id) q) from customers c where c.id <= 300;
select c.id, (select array_agg(n) from (select row_number() over (order by o.id % c.id, o.id) as n, o.id from orders o where o.id < 60) q where q.id < 10) from customers c where c.id < 40;
select c.id, (select count(*) from (select id, row_number() over (order by k8) as n from events where few = 1) q where q.n < c.id) from customers c where c.id < 60;
select a.i, b.n, b.id from generate_series(1, 5) a(i), lateral (select id, row_number() over (order by (k4::int8 * a.i) % 1009, id) as n from events) b where b.n < 4;
select id, (select n from (select id, row_number() over (order by k8) as n from events) q where id = 77) as m from customers where id < 5;
prepare ranked(int4, int4) as select * from (select id, few, row_number() over (partition by few order by k8) as n from events where few < $1) q where n <= $2;
set plan_cache_mode = force_generic_plan;
-- @rows
execute ranked(10, 3);
-- @rows
execute ranked(50, 1);
-- @rows
execute ranked(0, 3);
-- @rows
execute ranked(null, null);
prepare shifted(int4) as select id, lag(id, $1) over (order by k8) as l from events where id < 2000;
-- @rows
execute shifted(1);
-- @rows
execute shifted(1500);
set plan_cache_mode = force_custom_plan;
-- @rows
execute ranked(10, 3);
-- @rows
execute shifted(0);
reset plan_cache_mode;

-- under cursors
begin;
declare c scroll cursor for select id, row_number() over (partition by few order by k8) as n from events where few < 20;
select 1;
-- @unchecked
fetch 3 from c;
-- @unchecked
fetch backward 2 from c;
move forward all in c;
-- @unchecked
fetch backward 3 from c;
close c;
declare c scroll cursor for select id, k8, row_number() over (order by k8) as n from events;
fetch 3 from c;
fetch absolute 7000 from c;
fetch backward 3 from c;
fetch last from c;
fetch absolute 1 from c;
fetch prior from c;
close c;
declare c no scroll cursor for select id, sum(few) over (order by k8) as n from events;
move 11000 in c;
fetch 2 from c;
commit;
declare held scroll cursor with hold for select id, rank() over (order by d, id) as n from events where id < 5000;
fetch absolute 4000 from held;
fetch backward 3 from held;
fetch first from held;
close held;

-- in functions
create function ranks(wanted int4) returns table(id int4, n int8) language sql stable as
	$$select id, row_number() over (order by k8) from events where few = wanted$$;
create function ranks_not_inlined(wanted int4) returns table(id int4, n int8) language plpgsql as
	$$begin return query select e.id, row_number() over (partition by e.maybe % 3 order by e.k8) from events e where few = wanted; end$$;
create function last_rank(wanted int4) returns int8 language plpgsql as $$
declare
	r record;
	total int8 := 0;
begin
	for r in select e.id, row_number() over (order by k8) as n from events e where few = wanted loop
		total := total + r.n * r.id;
		exit when r.n > 100;
	end loop;
	return total;
end $$;
select * from ranks(3);
select * from ranks_not_inlined(4);
select f, r.* from generate_series(1, 4) f, ranks(f) r where r.n < 3;
select f, last_rank(f) from generate_series(1, 9) f;

-- rows that are written
create table ranked_rows as select id, row_number() over (order by k8) as n from events;
select * from ranked_rows;
insert into ranked_rows select id + 100000, rank() over (order by t, n) from events where id < 2000;
update ranked_rows r set n = q.n from (select id, dense_rank() over (order by few) as n from events) q where q.id = r.id;
delete from ranked_rows where id in (select id from (select id, row_number() over (partition by n order by id) as m from ranked_rows) q where m > 20);
select * from ranked_rows;
select ctid, id, row_number() over (order by k8) as n from events where id < 500;
-- @unchecked
select xmin, ctid, tableoid::regclass, rank() over (order by k8) as n from events where id < 100;
select e, row_number() over (order by e.k8) as n from events e where id < 300;
-- values out of line
select id, length(body), row_number() over (partition by k % 3 order by k, id) as n, md5(body), md5(raw) from documents;
select id, rank() over (order by c_external) as a, rank() over (order by c_compressed) as b, rank() over (order by c_number) as c, rank() over (order by c_bytes) as d from toasted;
-- little memory
set work_mem = '64kB';
select count(*), sum(n * id) from (select id, row_number() over (order by k8) as n, filler from events) q;
select id, count(*) over (partition by few order by t, id rows between 100 preceding and 100 following) as n from events where id < 5000;
reset work_mem;
-- errors in the middle
select id, row_number() over (order by 1 / (k8 % 1000)) from events;
select id, 1 / (id - 7) as e, row_number() over (order by k8) from events;
select id, sum(1 / (few - 3)) over (order by k8) from events;

-- a subquery whose order goes on by a column that it does not give
create table joined_by_key(id int4 primary key);
select s.m, rank() over (order by s.m) from (select d as m, few as a, count(*) from events group by 1, 2) s left join joined_by_key u on u.id = s.a order by 1, 2;
select s.n, sum(s.n) over () from (select few as a, count(*) as n from events group by 1) s left join joined_by_key u on u.id = s.a order by 1;
