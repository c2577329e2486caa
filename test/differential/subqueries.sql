-- Sorts below and above subplans, correlated and not; LATERAL; rescans with new
-- parameters and without.
-- @device-sorts 790

-- uncorrelated
select id, (select max(k8) from events) as m from events where id < 200 order by k4;
select id from events where few = (select few from events order by k8 limit 1) order by id;
select id from events where k4 > all (select k4 from events where few = 3 order by k4) order by id;
select id from events where id in (select id from events where few < 5 order by k8 offset 500) order by k4;
select id from events where id not in (select id from orders where amount > 50 order by amount) and id < 4000 order by k8 desc;
select array(select id from events where few = 11 order by k8 desc);
select array(select k8 from events where few = 11 order by k8);
select (select count(*) from (select 1 from events order by k8) q);
select exists (select 1 from events order by k8), exists (select 1 from no_rows order by k);
select id, array(select few from events where id < 9 order by 1 desc, id) from customers where id < 5 order by id;
select md5(string_agg(q::text, ' ')) from (select id, k8 from events order by k8 desc) q;
select md5(string_agg(id::text, ' ')), md5(string_agg(few::text, ' ')) from (select id, few from events order by few, k8) q;
select q.* from (select id, ts from events order by ts limit all) q order by q.ts desc limit 3000;
select count(*) from (select id, lag(id) over () as before, k8, lag(k8) over () as k8_before from (select id, k8 from events order by k8) q) w where k8 < k8_before;

-- correlated: the sort runs again for each outer row
select c.id, array(select o.id from orders o where o.customer = c.id order by o.amount desc nulls last, o.id) from customers c where c.id <= 60 order by c.id;
select c.id, (select o.id from orders o where o.customer = c.id order by o.placed, o.id limit 1) from customers c where c.id <= 300 order by c.id;
select c.id, (select string_agg(q.amount::text, ',') from (select amount from orders o where o.customer = c.id order by amount, id) q) from customers c where c.id % 31 = 0 order by c.since, c.id;
select c.id, (select md5(string_agg(q::text, ' ')) from (select id, amount from orders o where o.customer between c.id and c.id + 5 order by amount desc, id) q) from customers c where c.id % 50 = 0 order by c.id;
select c.id from customers c where exists (select 1 from orders o where o.customer = c.id and amount > 990 order by placed) order by c.id;
select c.id from customers c where (select o.status from orders o where o.customer = c.id order by o.placed desc, o.id offset 2 limit 1) = 'lost' order by c.id;
select c.id, (select array_agg(x) from (select x from generate_series(1, c.id) x order by x % 5, x desc) s) from customers c where c.id < 25 order by c.id;
select e.few, (select array_agg(z) from (select o.few * 100 + e.few as z from events o where o.few > e.few and o.id < 300 order by o.k8) s) from (select distinct few from events where few > 44) e order by e.few;
-- correlated by a key
select c.id, array(select o.id from orders o where o.id < 60 order by o.customer % c.id, o.id) from customers c where c.id < 40 order by c.id;
-- a correlation that does not reach the sort: rewound, not sorted again
select c.id, (select count(*) from (select k8, id from events where few = 1 order by k8) s where s.id > c.id) from customers c where c.id < 40 order by c.id;
select c.id, s.id from customers c, (select id, k8 from events where few = 1 order by k8 limit 4) s where c.id < 10 order by c.id, s.k8;
-- @rows
select c.id, s.id from customers c left join lateral (select id from events where few = 2 order by k8 offset 200) s on s.id % 100 = c.id % 100 where c.id < 60;

-- LATERAL
select c.id, o.id, o.amount from customers c, lateral (select id, amount from orders where customer = c.id order by amount desc nulls last, id limit 3) o where c.id <= 100 order by c.id, o.amount desc nulls last, o.id;
select c.id, o.* from customers c cross join lateral (select id, placed from orders where customer = c.id order by placed, id) o where c.id <= 50 order by o.placed desc, o.id;
select c.id, o.id from customers c left join lateral (select id from orders where customer = c.id and amount > 950 order by placed, id) o on true where c.id <= 200 order by 1, 2 nulls first;
select c.id, l.* from customers c, lateral (select array_agg(id) as ids from (select id from orders where customer = c.id order by status, placed, id) q) l where c.id between 20 and 60 order by c.id;
select a.i, b.n, b.few from generate_series(1, 6) a(i), lateral (select few, count(*) as n from events where k2 % 10 = a.i group by few order by few desc limit a.i) b order by a.i, b.few;
select a.i, b.id from generate_series(1, 5) a(i), lateral (select id from events order by (k4::int8 * a.i) % 1009, id limit 4) b order by a.i, b.id;
-- @exact
select a.i, b.x from generate_series(1, 4) a(i), lateral (select x from generate_series(1, 500 * a.i) x order by x % 7 desc, x) b where b.x % 100 = 0;
select a.i, l.d from generate_series(0, 400, 100) a(i), lateral (select md5(string_agg(q::text, ' ')) as d from (select id from events where id > a.i and id < 2000 order by k8) q) l order by a.i;
-- LATERAL whose sort has nothing to sort for some outer rows
select a.i, b.id from generate_series(1, 60) a(i) left join lateral (select id from events where few = a.i and id < 400 order by k8) b on true order by a.i, b.id;

-- ordered subqueries in FROM, joined and aggregated
select * from (select id, k8 from events where few = 1 order by k8) a join (select id, k4 from events where few = 1 order by k4) b using (id) order by id;
select string_agg(id::text, ',') from (select id from events where few = 13 order by k8) q;
select array_agg(id) from (select id from events where few = 13 order by k8 desc) q;
select json_agg(q) from (select id, few from events where few = 14 order by d, id) q;
select few, array_agg(id) from (select few, id from events where id < 1500 order by k8) q group by few order by few;
select few % 3 as r, md5(string_agg(id::text, ' ')) from (select few, id from events order by few % 3, k8) q group by few % 3 order by r;
select sum(id) filter (where n % 100 = 0) from (select id, row_number() over () as n from (select id from events order by k8) q) w;
select (array_agg(id))[1:5] from (select id from events order by k8 offset 6000) q;
select max(n), min(n) from (select row_number() over () as n, id from (select id from events order by o, id) q) w where id in (1, 500, 1000);

-- ordered subqueries in other places
select id from events where (few, k2) in (select few, k2 from events where id < 300 order by k8) order by id;
select case when exists (select 1 from events where few = 1 order by k8) then array(select id from events where few = 2 and id < 1000 order by k8) end;
select coalesce((select id from events where few = 77 order by k8), (select id from events where few = 7 order by k8 limit 1));
select id from customers order by (select count(*) from orders o where o.customer = customers.id), id limit 2000;
select id, (select count(*) from orders o where o.customer = c.id)::int4 as n from customers c order by n desc, id;
select id from events where id < 100 order by (select few from one_row), id;
values ((select array_agg(id) from (select id from events where few = 1 and id < 2000 order by k8) q)), (array[1]);
select * from unnest(array(select id from events where few = 20 order by k8 desc)) with ordinality u(id, n) order by n;
-- two levels
select c.id, (select array_agg(p.x) from (select (select count(*) from (select 1 from orders o2 where o2.customer = o.customer and o2.amount < o.amount order by o2.id) deep) as x from orders o where o.customer = c.id order by o.id) p) from customers c where c.id < 25 order by c.id;
select md5(string_agg(a::text, ' ')) from (select id, k8 from (select id, k8 from (select * from events order by ts, id) i order by k8 desc) j order by id desc) a;
