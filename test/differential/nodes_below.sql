-- Nodes below the sort: each kind of scan, join, aggregate and other source.
-- @device-sorts 80

-- scans
select id, k8 from events order by k8;
select id, k8 from events where k2 > 20000 order by k8;
select id, k8 from events where filler like 'b%' and maybe is not null order by k8 desc;
select id, few from events where false order by few, id;
select id from no_rows order by k, id;
select id, k from one_row order by k;
select id, k from one_key order by k, id desc;
select md5(string_agg(k::text, ' ')) from (select id, k from one_key order by k) q;
set enable_seqscan = off;
select id, placed from orders where placed < '2020-01-03' order by id desc;
select id, amount from orders where customer between 5 and 300 order by amount, id;
select placed from orders where placed > '2020-01-10' order by placed desc;
set enable_bitmapscan = off;
select id, amount from orders where customer between 5 and 300 order by amount desc, id;
select customer, id from orders where customer < 200 order by id;
select id from orders order by id desc;
select placed, id from orders order by placed, id;
set enable_indexonlyscan = off;
select customer from orders where customer > 800 order by customer desc;
set enable_indexscan = off;
set enable_bitmapscan = on;
select id, status from orders where customer in (3, 7, 11, 400) or placed < '2020-01-01 06:00' order by amount nulls first, id;
reset enable_seqscan;
reset enable_bitmapscan;
reset enable_indexonlyscan;
reset enable_indexscan;
select id, few from events where ctid in ('(0,1)', '(0,3)', '(5,2)', '(9999,1)') order by id;
select id, few from events where ctid >= '(10,0)' and ctid < '(60,0)' order by few, id desc;
select count(*), md5(string_agg(i::text, ' ')) from (select id as i from events tablesample bernoulli (30) repeatable (7) order by k8) q;
select count(*), md5(string_agg(i::text, ' ')) from (select id as i from events tablesample system (50) repeatable (3) order by k8) q;
select x, x % 97 as r from generate_series(1, 3000) x order by x % 97, x desc;
select i, s from generate_series(timestamp '2020-01-01', '2020-03-01', '1 hour') with ordinality g(s, i) order by s desc;
select a, b from rows from (generate_series(1, 500), generate_series(500, 1, -2)) r(a, b) order by b nulls first, a;
select x from unnest(array[5, 3, null, 9, 1, 3]) x order by x nulls first;
select column1, column2 from (values (3, 'c'), (1, 'a'), (2, 'b'), (null, 'n')) v order by column1 desc;
values (3), (1), (2), (null) order by 1;
select * from (values (date '2020-01-02'), ('2019-01-01'), ('infinity')) v(d) order by d desc;
select * from json_to_recordset('[{"a":3,"b":"x"},{"a":1,"b":"y"},{"a":null,"b":"z"}]') as j(a int4, b text) order by a;
select * from jsonb_array_elements('[3,1,2]') with ordinality j(v, n) order by n desc;
select * from xmltable('/r/i' passing '<r><i k="3"/><i k="1"/><i k="2"/></r>' columns k int4 path '@k') order by k;
select w, n from regexp_split_to_table('the quick brown fox jumps', ' ') with ordinality r(w, n) order by n desc;
select relname, oid::int8 < 20000 as old from pg_class where relname in ('events', 'pg_class', 'pg_type') order by oid;
select * from (select few, id from events where id < 3000 offset 0) q order by few, id;
table one_row order by id;

-- joins of each kind and method
set enable_hashjoin = on; set enable_mergejoin = off; set enable_nestloop = off;
select c.id, o.id from customers c join orders o on o.customer = c.id order by o.placed, o.id;
select c.id, o.id from customers c left join orders o on o.customer = c.id and o.amount > 800 order by o.id nulls first, c.id;
select c.id, o.id from (select * from customers where id % 2 = 0) c full join (select * from orders where amount < 100) o on o.customer = c.id order by c.id, o.id desc;
select c.id from customers c where exists (select 1 from orders o where o.customer = c.id and o.amount = 5) order by since, id;
select c.id from customers c where not exists (select 1 from orders o where o.customer = c.id and o.amount < 500) order by since, id;
select md5(string_agg(q::text, ' ')) from (select c.name, o.* from customers c join orders o on o.customer = c.id order by c.since, o.id) q;
set enable_hashjoin = off; set enable_mergejoin = on;
select c.id, o.id from customers c join orders o on o.customer = c.id order by o.placed desc, o.id;
select c.id, o.id from customers c left join orders o on o.customer = c.id and o.amount > 800 order by c.id desc, o.id;
select c.id, o.id from (select * from customers where id % 2 = 0) c full join (select * from orders where amount < 100) o on o.customer = c.id order by o.id desc nulls last, c.id;
select c.id from customers c where c.id in (select customer from orders where amount > 900) order by since desc, id;
select count(*) from (select a.id from narrow a1 join events a on a.few = a1.c where a.id < 100 order by a1.b) q;
set enable_mergejoin = off; set enable_nestloop = on;
select c.id, o.id from customers c join orders o on o.customer = c.id where c.id < 100 order by o.amount, o.id;
select c.id, o.id from customers c left join orders o on o.customer = c.id and o.status = 'lost' where c.id < 100 order by o.placed nulls first, c.id;
select a.id, b.id from one_key a, one_row b order by a.id desc;
select a.id, b.id from customers a join customers b on a.since < b.since and a.id < 40 and b.id < 40 order by a.id, b.id;
set enable_memoize = on;
select o.id, c.name from orders o, lateral (select name from customers c where c.id = o.customer offset 0) c where o.id < 2000 order by o.placed, o.id;
reset enable_hashjoin; reset enable_mergejoin; reset enable_nestloop; reset enable_memoize;

-- aggregates
select few, count(*) as n, max(k8) as m from events group by few order by m;
select k2, count(*) as n from events group by k2 order by n desc, k2;
select count(*) as n from events order by n;
select max(k8) from events group by few, maybe order by 1;
select status, sum(amount) as s, min(placed) as first from orders group by status order by first;
select customer, count(*)::int4 as n, max(id) as m from orders group by customer order by n, m desc;
set enable_hashagg = off;
select few, count(*) as n, max(k8) as m from events group by few order by m;
select distinct few, k2 % 2 as r from events order by r, few desc;
reset enable_hashagg;
select few % 5 as f, status, count(*) as n from events join orders using (id) group by cube (1, 2) order by n, f, status;
-- window functions
select id, n from (select id, row_number() over (order by t, id) as n from events where id <= 3000) q order by n % 100, id;
select id, sum(few) over (partition by k2 % 5 order by id) as s from events where id <= 3000 order by s, id;
-- set operations
select few from events union select c from narrow order by 1;
select id from events where few = 1 union all select a from narrow where c = 1 order by 1 desc;
select few, maybe from events where id < 3000 union select maybe, few from events where id < 2000 order by few nulls first, maybe;
select few from events intersect select maybe from events order by few;
select id from events except select id::int4 from orders where amount > 100 order by id;
select few from events except all select c from narrow where a < 300000 order by 1;
select k8 as k from events where id < 900 union all select id from orders where id < 900 order by k;
select id, 'e' as source from events where id < 700 union all select id, 'c' from customers where id < 700 order by id, source;
(select id from events where few = 5) union all (select id from customers where id < 300 except select parent from customers) order by 1;
select a.few from events a where id < 100 union select b.few + 100 from events b where id < 100 union all values (7), (null) order by 1 desc;
select null::int4 as k union all select few from events where id < 300 order by k nulls first;
-- subqueries that order already, limits below, several levels
select id from (select id, k4 from events order by k8 limit 3000) q order by k4;
select id from (select id, few from events order by few, id) q order by few, id;
select id from (select id, few, d from events order by few) q order by few, d, id;
select * from (select distinct on (few) few, id from events order by few, k8) q order by id desc;
-- set-returning functions and expressions in the target
select generate_series(1, few) as g, id from events where id <= 300 order by 1 desc, 2;
select id, unnest(array[3, 1, 2]) as u from events where id <= 300 order by u, id;
select id % 10 as a, k8 / 3 as b from events where id <= 2000 order by 1, 2;
select id from events where id <= 2000 order by k2 + few, k8;
select id from events where id <= 2000 order by abs(k4) % 1000, id;
select id from events where id <= 2000 order by twice(few), id desc;
select id from events where id <= 2000 order by extract(doy from ts)::int4, id;
select id from events where id <= 2000 order by ts::date, id;
select id from events where id <= 2000 order by date_trunc('year', tz), id;
select id from events where id <= 2000 order by case when few > 25 then k4 end nulls first, id;
select id from events where id <= 2000 order by coalesce(maybe, -1), id;
select id from events where id <= 2000 order by length(filler), id;
select id from events where id <= 2000 order by ctid::text::point <-> point(0,0), id;
select id from events where id <= 2000 order by (select few), id desc;
select id from events where id <= 2000 order by few = 3, id;
-- rows of no columns, of very many, and of wide text
select md5(string_agg(q::text, ' ')) from (select e.*, o.*, e.id + 1 as a, e.id + 2 as b, repeat(e.filler, 3) as wide from events e join orders o using (id) order by e.k8) q;
select length(string_agg(wide, '')), md5(string_agg(id::text, ' ')) from (select id, repeat(filler, 100) as wide from events where id <= 3000 order by k8) q;
select id from (select id from events where id <= 100) q order by id desc limit all;
-- ordered input, up and down
select id, up from ordered order by up;
select id, down from ordered order by down;
select md5(string_agg(up::text, ' ')) from (select up from ordered order by up desc) q;
-- partial order by an index, completed by a sort
set enable_incremental_sort = on;
select customer, amount, id from orders where customer < 600 order by customer, amount, id;
select md5(string_agg(q::text, ' ')) from (select placed, id from orders order by placed, id desc) q;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashagg = off;
set random_page_cost = 0;
select customer, amount, count(*), grouping(amount) from orders group by grouping sets ((customer, amount), (customer)) order by 1, 2, 4;
select count(*), sum(n) from (select customer, status, count(*) as n from orders group by customer, status) q;
select customer, amount, id, row_number() over (partition by customer order by amount, id) from orders where customer < 600;
select customer, amount, id from orders where customer < 600 order by customer, amount desc, id limit 50;
select customer, id from orders o where customer < 20 and exists (select 1 from (select p.customer, p.amount from orders p where p.customer = o.customer order by p.customer, p.amount limit 1) q where q.amount < o.amount) order by customer, id;
reset enable_seqscan;
reset enable_bitmapscan;
reset enable_hashagg;
reset random_page_cost;
reset enable_incremental_sort;
