-- New in PostgreSQL 19: groups that are made below joins, IGNORE NULLS, joins of rows that are made unique, oid8.
-- @requires current_setting('server_version_num')::int >= 190000
-- @device-sorts 20
set enable_hashagg = off;
set enable_hashjoin = off;

select c.id, count(*), sum(o.amount), max(o.placed) from customers c join orders o on o.customer = c.id group by c.id order by c.id;
select c.name, avg(o.amount), count(o.status) from customers c join orders o on o.customer = c.id group by c.name;
select c.since, sum(o.amount) from customers c join orders o on o.customer = c.id join customers p on p.id = c.parent group by c.since order by sum(o.amount) desc, c.since limit 50;
select e.few, count(*), sum(f.n) from events e join events f on e.few = f.few where e.id < 400 group by e.few;
select c.id, sum(distinct o.amount) from customers c join orders o on o.customer = c.id group by c.id having count(*) > 3 order by c.id;

select id, lag(maybe) ignore nulls over (order by k8), first_value(maybe) ignore nulls over (partition by few order by k8) from events;
select id, lead(maybe, 2) ignore nulls over w, nth_value(maybe, 2) ignore nulls over w from events window w as (partition by few order by n, id rows between 3 preceding and 3 following);
select id, last_value(maybe) respect nulls over (partition by t order by id) from events order by id limit 1000;

select id, name from customers where id in (select customer from orders where amount > 500) order by since, id;
select o.id from orders o where exists (select from events e where e.few = o.customer) order by o.placed, o.id;
select c.id from customers c where c.id in (select few from events union select customer from orders where amount < 100);
select e.id from events e where (e.few, e.t) in (select few, t from events where id < 3000) order by e.k8 limit 700;
select e.id from events e where e.few not in (select customer from orders where amount > 990 and customer is not null) order by e.k8 limit 100;

select id, k8::oid8 as o from events order by o, id;
select few, k8::oid8 as o, id from events order by few, o desc nulls last, id;

set enable_sort = off;
select id, name from customers where id in (select customer from orders where amount > 500) order by since, id limit 50;
select c.id, count(*) from customers c join orders o on o.customer = c.id group by c.id;
