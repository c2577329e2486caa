-- Sorts inside aggregates: rows that a GpuSort gives in the aggregate's own order, and those that it must not.
-- @also jit
-- @device-sorts 30
-- @below GroupAggregate 14, Aggregate 14
set enable_hashagg = off;

-- ordered sets, of all rows
select percentile_cont(0.5) within group (order by f) from events;
select percentile_cont(0.5) within group (order by k8) from events;
select percentile_cont(0.5) within group (order by n) from events;
select percentile_cont(0.5) within group (order by maybe desc) from events;
select percentile_cont(array[0, 0.25, 0.5, 1]) within group (order by f desc) from events;
select percentile_disc(0.5) within group (order by k8) from events;
select percentile_disc(0.1) within group (order by t) from events;
select percentile_disc(array[0.1, 0.9]) within group (order by d desc nulls last) from events;
select percentile_disc(0.5) within group (order by ts) from events;
select mode() within group (order by few) from events;
select mode() within group (order by t desc) from events;
select percentile_disc(0.5) within group (order by c_short collate "C") from texts;
select percentile_disc(0.5) within group (order by t_us) from texts;
select percentile_disc(0.5) within group (order by c_uuid), percentile_disc(0.5) within group (order by c_inet) from typed;
-- one day equals 24 hours, and either is right
select justify_interval(percentile_disc(0.5) within group (order by c_interval)), percentile_disc(0.25) within group (order by c_float8) from typed;
select percentile_cont(0.3) within group (order by c_interval) from typed;
-- of groups
select few, percentile_cont(0.5) within group (order by f) from events group by few;
select few, percentile_cont(0.5) within group (order by maybe) from events group by few;
select few, percentile_disc(0.5) within group (order by k8 desc) from events group by few order by few desc;
select few, mode() within group (order by t), count(*), max(k8), sum(few) from events group by few;
select t, percentile_disc(0.5) within group (order by id) from events group by t;
select id, percentile_cont(0.5) within group (order by f) from events group by id having id % 100 = 3;
select few, maybe, percentile_disc(0.9) within group (order by ts) from events group by few, maybe;
select maybe is null as none, percentile_cont(0.5) within group (order by maybe) from events group by 1;
select few, percentile_cont(0.5) within group (order by f) from events where few = 3 group by few;
select few + 1 as next, percentile_disc(0.5) within group (order by k8 % 100) from events group by next;
-- several in a query: of one order, of several
select percentile_cont(0.1) within group (order by f), percentile_cont(0.9) within group (order by f), percentile_disc(0.5) within group (order by f) from events;
select few, percentile_cont(0.1) within group (order by f), percentile_disc(0.5) within group (order by k8), mode() within group (order by t) from events group by few;
select few, percentile_cont(0.5) within group (order by f), count(distinct t), min(k8), max(t), bool_or(maybe > 3), avg(k4) from events group by few;
-- hypothetical sets
select rank(500) within group (order by maybe), dense_rank(500) within group (order by maybe) from events;
select few, percent_rank(3.5) within group (order by f), cume_dist(3.5) within group (order by f) from events group by few;
select few, rank(500, 7) within group (order by maybe, k8) from events group by few;
-- DISTINCT
select count(distinct k8) from events;
select count(distinct t), count(distinct t) filter (where few > 3) from events;
select sum(distinct k4), avg(distinct n) from events;
select few, count(distinct k8), count(distinct t) from events group by few;
select few, count(distinct few), count(distinct maybe) from events group by few;
select array_agg(distinct maybe) from events;
select few, string_agg(distinct t, ',' order by t desc) from events group by few;
select count(distinct t_us), count(distinct t_no_case) from texts;
-- ORDER BY
select md5(string_agg(id::text, ',' order by k8, id)) from events;
select md5(array_agg(id order by f desc, id)::text) from events;
select few, md5(array_agg(id order by t, id)::text) from events group by few;
select few, sum(n order by k8, id), md5(string_agg(t, ',' order by k8 desc, id)) from events group by few;
select few, md5(array_agg(k8 order by few, k8)::text) from events group by few;
-- FILTER
select percentile_cont(0.5) within group (order by f) filter (where few = 2) from events;
select few, percentile_cont(0.5) within group (order by 1000.0 / maybe) filter (where maybe <> 0) from events group by few;
select few, count(distinct k8) filter (where maybe is null), count(*) filter (where few > 2) from events group by few;
-- NULLs, which strict transition functions drop and others sort
select count(distinct maybe), sum(distinct maybe), array_agg(distinct maybe), max(maybe order by k8) from events;
select few, sum(maybe order by k8), md5(array_agg(maybe order by k8, id)::text), md5(string_agg(maybe::text, ',' order by k8, id)) from events group by few;
select sum(distinct maybe) filter (where few > 2), array_agg(distinct maybe) filter (where few > 2), count(distinct maybe) filter (where maybe is null) from events;
select few, percentile_disc(0.5) within group (order by maybe) filter (where k8 > 0), mode() within group (order by maybe) filter (where maybe is null) from events group by few;
-- another aggregate that depends on the order of its rows
select cardinality(array_agg(id)), percentile_cont(0.5) within group (order by f) from events;
select sum(few::float8), trim_scale(percentile_disc(0.5) within group (order by n)) from events;
select md5(string_agg(id::text, ',')), count(distinct k8) from (select * from events order by t, id) q;
select md5(array_agg(k8 order by few)::text) from (select few, k8 from events order by few, k8) q;
-- expressions; volatile ones; errors
select percentile_disc(0.5) within group (order by k8 % 1000 + few) from events;
select few, percentile_cont(0.5) within group (order by (f * 2)::numeric) from events group by few;
select percentile_disc(0.5) within group (order by few + (random() * 0)::int) from events;
select few, percentile_cont(0.5) within group (order by 1 / (few - 3)) from events group by few;
-- few rows, none, and NULLs only
select percentile_cont(0.5) within group (order by k), count(distinct k) from no_rows;
select percentile_cont(0.5) within group (order by k), mode() within group (order by k) from only_nulls;
select percentile_disc(0.5) within group (order by k), count(distinct k) from one_key;
-- grouping sets; HAVING; above a join and other nodes
select few, maybe % 3 as m, percentile_cont(0.5) within group (order by f) from events group by rollup (few, m);
select few from events group by few having percentile_cont(0.5) within group (order by f) > 0;
select status, percentile_cont(0.5) within group (order by amount) from customers c join orders o on o.customer = c.id group by status;
select percentile_disc(0.5) within group (order by n) from (select t, count(*) as n from events group by t) q;
select percentile_cont(0.5) within group (order by x) from (select k4 as x from events union all select few from events) q;
select percentile_disc(0.5) within group (order by value), count(distinct sensor) from measures;
-- in subplans, and prepared
select c.id, (select percentile_disc(0.5) within group (order by amount) from orders where customer = c.id) from customers c where c.id < 60;
select few, f > (select percentile_cont(0.5) within group (order by f) from events) as above, count(*) from events group by 1, 2 order by 1, 2;
select few, q.* from generate_series(1, 4) few, lateral (select count(distinct k8), mode() within group (order by t) from events e where e.few = few) q;
prepare middle(int4) as select few, percentile_cont(0.5) within group (order by f), count(distinct k8) from events where few < $1 group by few;
execute middle(3);
execute middle(30);
deallocate middle;
set work_mem = 64;
select few, percentile_cont(0.5) within group (order by f), count(distinct k8) from events group by few;
select md5(string_agg(id::text, ',' order by t, k8, id)) from events;
