-- Aggregates with an order or DISTINCT of their own: from PostgreSQL 16 on their rows come
-- sorted from a Sort node below, before that the aggregate sorts them itself; aggregates of
-- ordered sets; and aggregates over ordered rows.
-- @device-sorts 18
-- @below GroupAggregate 14, Merge Join 1
set enable_hashagg = off;
set enable_hashjoin = off;

-- one group
select array_agg(id order by k8) from events where id < 3000;
select array_agg(id order by k8 desc) from events where id < 3000;
select md5(string_agg(id::text, ',' order by t, id)) from events;
select md5(string_agg(id::text, ',' order by n desc, d, id)) from events;
select md5(string_agg(id::text, ',' order by maybe nulls first, f, id)), count(*), sum(n) from events;
select md5(string_agg(id::text, ',' order by c_short, id)), md5(string_agg(id::text, ',' order by t_us, id)), md5(string_agg(id::text, ',' order by t_c desc, id)) from texts;
select md5(string_agg(id::text, ',' order by c_numeric, id)), md5(string_agg(id::text, ',' order by c_uuid desc, c_inet, id)) from typed;
select md5(string_agg(id::text, ',' order by l, id)), md5(string_agg(id::text, ',' order by p desc, id)) from odd;
select json_agg(id order by few desc, id), jsonb_object_agg(id, few order by id) from events where id < 200;
select xmlagg(xmlelement(name e, id) order by k8) from events where id < 100;
select count(distinct few), count(distinct t), count(distinct n), count(distinct maybe), count(distinct k8) from events;
select sum(distinct few), avg(distinct n), array_agg(distinct few), string_agg(distinct t, ',') from events where id < 500;
select count(distinct (few, t)), count(distinct row(d, few)) from events;
select count(distinct t_us), count(distinct t_no_case), count(distinct c_short collate "C") from texts;
select count(distinct c_numeric), count(distinct c_float8), count(distinct c_interval), count(distinct c_uuid) from typed;
select array_agg(distinct few order by few desc) from events;
select array_agg(distinct maybe order by maybe nulls first) from events where id < 200;
select string_agg(distinct t, ',' order by t desc) from events where id < 1000;
select array_agg(id order by k8) filter (where few = 3), array_agg(id order by k8 desc) filter (where few = 4) from events;
select array_agg(id order by k8), array_agg(id order by k4, id), array_agg(id order by k8, id) from events where id < 300;
select array_agg(few order by few), array_agg(few order by few desc), max(few) from events where id < 300;
select count(distinct k), array_agg(k order by k) from no_rows;
select count(distinct k), array_agg(k order by k) from one_row;
select count(distinct k), cardinality(array_agg(id order by k, id desc)) from one_key;
select count(distinct k), cardinality(array_agg(id order by k, id desc)) from only_nulls;
-- ordered sets
select percentile_disc(0.25) within group (order by k8), percentile_cont(0.7) within group (order by f), mode() within group (order by few) from events;
select percentile_disc(array[0, 0.1, 0.5, 1]) within group (order by n), percentile_disc(0.5) within group (order by t) from events;
select rank(500) within group (order by maybe), dense_rank(500) within group (order by maybe desc nulls last), percent_rank(3) within group (order by few), cume_dist(7) within group (order by few) from events;
select few, percentile_disc(0.5) within group (order by ts), mode() within group (order by d) from events group by few;
-- groups
select few, array_agg(id order by k8) from events where id < 3000 group by few;
select few, count(distinct t), count(distinct maybe), sum(distinct k2) from events group by few;
select t, string_agg(id::text, ',' order by n, id) from events where id < 3000 group by t;
select few, array_agg(distinct maybe order by maybe) from events where id < 2000 group by few having count(distinct maybe) > 20;
select few, first.id from (select few, (array_agg(e order by k8))[1] as first from events e group by few) q, lateral (select (first).id) first;
select few % 4 as a, k2 % 3 as b, array_agg(id order by k8) from events where id < 200 group by rollup (few % 4, k2 % 3);
select t_us, count(distinct c_short), string_agg(c_short, ',' order by c_short collate "C", id) from texts group by t_us;
select customer, array_agg(id order by amount desc nulls last, placed, id), count(distinct status) from orders where customer < 300 group by customer;
-- over ordered rows, of which aggregates read the order
select array_agg(id) from (select id from events where id < 3000 order by k8) q;
select md5(string_agg(id::text, ' ')) from (select id from events order by t, id) q;
select few, array_agg(id) from (select few, id from events where id < 3000 order by few, k8) q group by few;
select few, md5(string_agg(id::text, ' ')) from (select few, id from events order by few, n, id) q group by few;
-- over other nodes
select array_agg(c.id order by o.placed, o.id) from customers c join orders o on o.customer = c.id and o.amount > 900;
select count(distinct n) from (select rank() over (order by few) as n from events) q;
select count(distinct x), array_agg(distinct x order by x) from (select few from events union all select c from narrow) u(x);
select count(distinct at), count(distinct sensor), md5(string_agg(id::text, ',' order by value, id)) from measures;
select max(n), count(distinct n) from (select few, count(distinct t) as n from events group by few) q;
select count(distinct x % 97), array_agg(x order by x % 7, x desc) from generate_series(1, 300) x;
select id, count(few) filter (where few < 9) over (order by k8), (select count(distinct few) from events e where e.id < c.id) from events c where id < 100;
-- with parameters: rescanned
select c.id, (select array_agg(id order by amount desc nulls last, id) from orders where customer = c.id) from customers c where c.id < 100;
select c.id, (select count(distinct status) from orders where customer = c.id) from customers c where c.id < 300;
select c.id, q.* from customers c, lateral (select array_agg(distinct amount % 5 order by amount % 5) as a, string_agg(status, ',' order by placed, id) as s from orders where customer = c.id) q where c.id < 60;
select c.id, (select count(distinct few + c.id % 2) from events where id < 100) from customers c where c.id < 40;
prepare a(int4) as select few, array_agg(id order by k8), count(distinct t) from events where few < $1 group by few;
set plan_cache_mode = force_generic_plan;
-- @rows
execute a(3);
-- @rows
execute a(0);
set plan_cache_mode = force_custom_plan;
-- @rows
execute a(3);
reset plan_cache_mode;
-- in functions, under cursors, rows that are written
create function lists(wanted int4) returns table(t text, ids int4[]) language sql stable as 'select t, array_agg(id order by k8) from events where few = wanted group by t';
create function list_length(wanted int4) returns int8 language plpgsql as
	$$declare n int8; begin select count(distinct t) into n from events where few = wanted; return n; end$$;
select * from lists(3);
select f, list_length(f) from generate_series(1, 6) f;
begin;
declare c scroll cursor for select d, array_agg(id order by k8) from events group by d order by d;
fetch 3 from c;
fetch last from c;
fetch backward 3 from c;
commit;
create table listed as select few, array_agg(id order by k8) as ids from events group by few;
update listed l set ids = (select array_agg(id order by id desc) from events e where e.few = l.few and e.id < 300);
select * from listed;
-- little memory, values out of line, errors in the middle
set work_mem = '64kB';
select count(distinct k8), count(distinct filler), md5(string_agg(id::text, ',' order by filler, k8)) from events;
select count(distinct c_external), count(distinct c_compressed), md5(string_agg(id::text, ',' order by c_external, id)) from toasted;
reset work_mem;
select array_agg(id order by 1 / (id - 7)) from events;
select few, count(distinct 1 / (id - 7)) from events group by few;

-- what the aggregate is ordered by is made by workers, and another argument by the leader alone
select string_agg(t, ',' order by lower(t), id), count(random()) from events where id <= 2000;
