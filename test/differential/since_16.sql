-- New in PostgreSQL 16: rows that come sorted for aggregates with an order, right and full
-- joins in parallel, any_value.
-- @requires current_setting('server_version_num')::int >= 160000
-- @device-sorts 25
set enable_hashagg = off;

select any_value(few), count(distinct k8) from events where few = 7;
select few, any_value(t), array_agg(id order by k8), count(distinct maybe) from events where id < 4000 and t = 'text 7' group by few;
-- one order for most of the aggregates, others sort inside
select few, array_agg(id order by n, id), array_agg(id order by n, id) filter (where maybe > 100), string_agg(t, ',' order by k8) from events where id < 3000 group by few;
select few, count(distinct t), count(distinct n), array_agg(distinct maybe) from events group by few;
-- the groups' keys and the aggregates' order say the same
select few, array_agg(id order by few, id), count(distinct few) from events group by few;
select few, sum(distinct maybe) over_all from events group by few having sum(distinct maybe) > 100 order by few;
-- strict aggregates of values that may be NULL, filters, and an order by what is not aggregated
select few, array_agg(maybe order by maybe nulls first, id), min(maybe), sum(maybe) filter (where id % 3 = 0) from events group by few;
select string_agg(t_us, ',' order by t_us collate "C", id) from texts where id < 500;
-- rows that change between executions
prepare presorted(int) as select few, md5(array_agg(id order by k8, id)::text) from events where id < $1 group by few;
execute presorted(500);
execute presorted(5000);
execute presorted(12000);
deallocate presorted;
select c.id, (select array_agg(o.id order by o.amount desc nulls last, o.id) from orders o where o.customer = c.id) from customers c where c.id < 40;
-- below windows and in a subquery that is joined
select few, array_agg(id order by k8) as ids, rank() over (order by max(k8)) from events where id < 3000 group by few;
select a.few, a.ids, b.n from (select few, array_agg(id order by d, id) as ids from events group by few) a join (select few, count(distinct n) as n from events group by few) b on a.few = b.few;
-- a full join whose inner side alone has rows without a match
set enable_hashjoin = off;
select e.id, c.id from events e full join customers c on e.k4 = c.id where e.few is distinct from 3;
select e.id, c.id from customers c right join events e on e.few = c.id;
