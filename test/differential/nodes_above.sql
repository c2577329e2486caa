-- Nodes above the sort: every node that can read an ordered subquery, and every
-- clause that uses its order.
-- @device-sorts 64

-- LIMIT, OFFSET, WITH TIES
select id, k8 from events order by k8 limit 10;
select id, k8 from events order by k8 limit 3000;
select id, k8 from events order by k8 offset 11500;
select id, k8 from events order by k8 limit 2500 offset 4000;
select id, k8 from events order by k8 limit null offset 11900;
select id, k8 from events order by k8 limit 0;
select few, k2 from events order by few limit 30;
select few from events order by few desc limit 1000 offset 300;
select few from events order by few fetch first 10 rows with ties;
select few from events order by few desc offset 100 rows fetch next 300 rows with ties;
select maybe from events order by maybe nulls first fetch first 1 row with ties;
select id from events order by id fetch first 5000 rows with ties;
select t from events order by t collate "C" fetch first 10 rows with ties;
select t from (select t from events order by t collate "C" desc fetch first 300 rows with ties) s;
select id from events order by k8 fetch first row only;
select id from events order by k8 limit (select 7);
select id from events order by k8 limit (select count(*) from customers) offset (select 11000);
select q.id from (select id, k8 from events order by k8 limit 4000) q order by q.id desc limit 2000;
select md5(string_agg(q::text, ' ')) from (select * from events order by tz, id limit 5000 offset 2000) q;
select * from (select id from events order by k8 desc) q limit 3;
select * from (select id from events order by k8 desc) q limit 3 offset 11990;
select * from (select id, k4 from events order by k4 offset 10) q where id % 2 = 0 limit 20;

-- DISTINCT and DISTINCT ON
select distinct few from events order by few;
select distinct few, k2 % 3 as r from events order by r desc, few;
select distinct maybe from events order by maybe desc nulls last;
select distinct k8 from events order by k8;
select distinct on (few) few, id from events order by few, id;
select distinct on (few) few, id, ts from events order by few desc, ts desc, id;
select distinct on (maybe) maybe, id from events where maybe < 500 or maybe is null order by maybe nulls first, id desc;
select distinct on (customer) customer, id, placed from orders order by customer, placed desc, id;
select distinct few from (select few from events order by k8) q order by few desc;
select distinct on (d) d, k4 from events order by d, k4;
select count(*) from (select distinct d, few from events order by d) q;
select distinct t from events where id < 2000 order by t;
select count(distinct few), count(distinct k8), sum(distinct maybe) from events;

-- GROUP BY, HAVING, grouping sets
select few, count(*), sum(k4) from events group by few order by few;
select few, count(*) as n from events group by few order by n desc, few;
select d, min(k8), max(id) from events group by d order by d desc;
select k8, count(*) from events group by k8 order by k8;
select maybe, count(*) from events group by maybe having count(*) > 5 order by maybe nulls first;
select few, maybe % 3 as r, count(*) from events group by few, maybe % 3 order by few, r;
select few % 4 as a, k2 % 3 as b, count(*) from events group by rollup (few % 4, k2 % 3) order by a nulls first, b nulls first;
select few % 4 as a, k2 % 3 as b, count(*), grouping(few % 4, k2 % 3) as g from events group by cube (few % 4, k2 % 3) order by g, a, b;
select customer % 10 as c, status, sum(amount) from orders group by grouping sets ((customer % 10), (status), ()) order by c, status;
select few, d, count(*) from events group by grouping sets ((few), (d)) order by few, d;
select date_trunc('month', placed) as m, count(*) from orders group by m order by m desc;
select customer, array_agg(id order by placed desc, id) from orders where customer <= 40 group by customer order by customer;
select few, string_agg(id::text, ',' order by k8) from events where id < 900 group by few order by few;
select few, percentile_disc(0.5) within group (order by k8), mode() within group (order by k2) from events group by few order by few;
select few, count(*) filter (where k2 > 0) from events group by few order by count(*) filter (where k2 > 0), few;
set enable_hashagg = off;
select few, count(*) from events group by few order by few;
select k4, count(*) from events group by k4 order by k4 desc;
select few, maybe, count(*) from events where id < 3000 group by few, maybe order by few, maybe;
select few, count(*) from (select few from events order by few desc, id) q group by few order by few desc;
reset enable_hashagg;

-- window functions, with the sort below, above, and both
select id, few, row_number() over (partition by few order by k8) as n from events where id <= 2500 order by few, n;
select id, rank() over (order by few) as r from events where id <= 2500 order by id;
select id, sum(k2) over (order by k8) as s from events order by k8 desc limit 3000;
select id, lag(id) over (order by ts, id) as l, lead(id, 2) over (order by ts, id) as n from events where id <= 2500 order by ts, id;
select id, first_value(id) over w, last_value(id) over w, nth_value(id, 3) over w from events where id <= 1500 window w as (partition by few order by d, id rows between 2 preceding and 2 following) order by id;
select id, count(*) over (order by d range between '10 days' preceding and current row) as n from events where id <= 2000 order by id;
select id, sum(few) over (order by few groups 1 preceding) as n from events where id <= 1000 order by id;
select id, ntile(7) over (order by k8), percent_rank() over (order by few), cume_dist() over (order by maybe) from events where id <= 1500 order by id desc;
select few, row_number() over (order by count(*) desc, few) from events group by few order by 2;
select * from (select id, row_number() over (order by k8) as n from events) q where n <= 10 order by n;
select id, row_number() over () as n from (select id from events order by k8) q order by n desc limit 4000;
select id, sum(id) over (order by k2, id), sum(id) over (order by k4), sum(id) over (partition by few) from events where id <= 1000 order by d, id;

-- aggregates that read an order
select string_agg(id::text, ' ') from (select id from events where id <= 2000 order by k8) q;
select array_agg(k2) from (select k2 from events where id <= 2000 order by k2) q;
select array_agg(q) from (select id, few from events where id <= 300 order by few, id) q;
select json_object_agg(id, few) from (select id, few from events where id <= 300 order by k8 desc) q;
select xmlagg(xmlelement(name e, id)) from (select id from events where id <= 100 order by k8) q;
select md5(string_agg(id::text, ' ' order by k8)), md5(string_agg(id::text, ' ' order by k8 desc)), md5(string_agg(d::text, ' ' order by d, id)) from events;

-- ProjectSet, Result, Material, Unique, SetOp, Append, SubqueryScan with a filter
select id, generate_series(1, few % 4) as g from events where id <= 800 order by k8, g;
-- @exact
select id, unnest(array[k2, few]) from (select * from events where id <= 500 order by k8) q;
select generate_series(1, 3) as g, id from events where id <= 500 order by id desc, g;
select id from (select id, few from events order by k8) q where few = 3 and random() >= 0 order by id;
(select id, few from events order by k8 limit 2500) union all (select id, few from events order by k4 desc limit 2500) order by id, few;
(select id from events order by k8 limit 4000) union (select id from events order by k4 limit 4000) order by id;
(select id from events order by k8 limit 4000) intersect (select id from events order by k4 limit 4000) order by id;
(select id from events order by k8 limit 4000) except (select id from events order by k4 limit 4000) order by id desc;
(select id from events order by k8 limit 4000) intersect all (select few from events order by k4 limit 4000) order by 1;
(select few from events order by k8 limit 4000) except all (select few from events order by k4 limit 3000) order by 1;
select a.id, b.id from (select id, k8 from events order by k8 limit 40) a, (select id, k4 from events order by k4 limit 40) b order by a.id, b.id;
-- set-returning functions that are called above the sort
-- @exact
select id, generate_series(1, 2) as g from events where id <= 500 order by k8;
-- @exact
select id, generate_series(1, 2) + few as g, unnest(array[generate_series(1, 2), 7]) as u from events where id <= 500 order by k8 desc limit 900;

-- joins over ordered subqueries
select count(*), md5(string_agg(a::text, ' ')) from (select a.id from (select id, few from events order by k8) a join customers c on c.id = a.id order by a.id) a;
set enable_hashjoin = off;
set enable_nestloop = off;
select a.id, b.amount from (select id, few from events order by few, id) a join (select id, amount from orders order by id desc) b on a.id = b.id order by a.id;
select a.few, count(*) from events a join events b on a.few = b.few and a.id < 800 and b.id < 800 group by a.few order by a.few;
select a.id, b.id from (select id, maybe from events where id < 600) a full join (select id, maybe from events where id between 400 and 900) b on a.maybe = b.maybe order by a.id, b.id;
select c.id, o.id from customers c left join orders o on o.customer = c.id and o.amount > 900 order by c.id, o.id;
select a.id, b.a from events a join narrow b on a.few = b.c and a.id < 60 and b.a < 4000 order by b.b, a.id;
reset enable_hashjoin;
set enable_mergejoin = off;
select a.id, b.id from events a join events b on a.id = b.few where b.id < 1000 order by b.k8;
reset enable_nestloop;
reset enable_mergejoin;

-- targets that are computed above the sort
select id, twice(id), k8 + id as s from events where id <= 1000 order by k8;
select k8 from events where id <= 1000 order by id % 17, k8;
select id as k8, k8 as id from events where id <= 700 order by events.k8;
select -few as few, id from events where id <= 700 order by few, id;
select e.*, e from events e where id <= 50 order by k8;
select from events order by k8 limit 3;
select 1 as one from events where id < 5 order by k8;
select id, (select name from customers c where c.id = e.few + 1) from events e where id <= 600 order by k8 desc;
