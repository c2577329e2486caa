-- New in PostgreSQL 17: MERGE with RETURNING and for rows without a source, groups' columns in
-- another order, unions of parts that are each sorted, JSON_TABLE.
-- @requires current_setting('server_version_num')::int >= 170000
-- @device-sorts 25
set enable_hashagg = off;
set enable_hashjoin = off;

create table stock(id int4 primary key, few int4, amount numeric) with (autovacuum_enabled = off);
insert into stock select id, few, n from events where id % 3 > 0;
analyze stock;
-- @rows
merge into stock s using (select id, few, n from events where id % 2 = 0 order by k8) e on s.id = e.id
	when matched and e.few < 10 then delete
	when matched then update set amount = s.amount + e.n
	when not matched then insert values (e.id, e.few, e.n)
	when not matched by source and s.few = 3 then update set amount = -1
	returning merge_action(), s.id, s.amount;
select * from stock order by amount, id;
with changed as (merge into stock s using (select distinct on (few) few, id from events order by few, k8) e on s.id = e.id
	when matched then update set amount = 0 when not matched then insert values (e.id, e.few, 1) returning s.id, s.few)
select * from changed order by few desc, id;
select count(*), sum(amount) from stock;

-- columns of a group in whatever order is cheapest; the result's own order
select few, t, count(*) from events group by few, t order by t, few;
select t, few, maybe, count(*) from events group by t, few, maybe order by few;
select k2, few, n from events group by k2, few, n order by n, few, k2 limit 500;
select few, t, d from (select * from events order by t, few offset 0) e group by few, t, d;
select a.few, b.few as other, count(*) from events a join events b on a.few = b.few and a.id < 300 and b.id < 300 group by b.few, a.few order by b.few;

-- unions
select id, t from events where few = 1 union select id, name from customers;
select few from events union select c from narrow union select customer from orders order by 1 desc;
select id from events where few = 1 union (select id from customers order by since, id limit 100) order by 1;
select id, k8 from events union all select id, k8 from events order by k8, id limit 1000;
select t, n from events where id < 4000 intersect select t, n from events where id > 2000 order by n, t;
select t from (select t from events except select t from events where id > 6000) q order by t collate "C" desc;
(select few from events union select c from narrow) except (select few from events where few < 5 union select 49);
select * from (select few, n from events union select few, n + 1 from events) u order by n, few offset 100 limit 200;

select e.id, j.k from events e, json_table(jsonb_build_object('k', jsonb_build_array(few, id)), '$.k[*]' columns (k int path '$')) j where e.id < 400 order by j.k, e.id;
