-- Common table expressions: inlined, materialized, recursive, data-modifying.
-- @device-sorts 65

with q as (select id, k8 from events order by k8) select md5(string_agg(q::text, ' ')) from q;
with q as materialized (select id, k8 from events order by k8) select md5(string_agg(q::text, ' ')) from q;
with q as not materialized (select id, k8 from events order by k8) select md5(string_agg(a.id::text, ' ')), count(*) from q a where id % 3 = 0;
with q as materialized (select id, few, k8 from events order by k8 desc) select a.id, b.few from q a join q b using (id) order by a.id limit 3000;
with q as (select id, few from events order by few, id) select * from q limit 20;
with q as (select id, few from events) select * from q order by few desc, id limit 3000;
with a as (select id, k8 from events where few < 10), b as (select id from a order by k8) select md5(string_agg(id::text, ' ')) from b;
with a as materialized (select * from events where id < 4000 order by d, id) select few, array_agg(id) from a where id < 500 group by few order by few;
with a as materialized (select id, k8 from events order by k8) select (select id from a limit 1), (select id from a offset 11999), (select count(*) from a);
with a as materialized (select id from events order by k8), b as materialized (select id from a order by id desc limit 500) select * from b order by id;
with a as (select id, row_number() over (order by k8) as n from events) select * from a where n between 500 and 520 order by n;
select c.id, (with q as materialized (select id, amount from orders where customer = c.id order by amount, id) select array_agg(id) from q) from customers c where c.id < 30 order by c.id;

-- recursive
with recursive down as (select id, parent, 0 as depth from tree where id = 1 union all select t.id, t.parent, d.depth + 1 from down d join tree t on t.parent = d.id) select * from down order by depth, id;
with recursive down as (select id, parent, 0 as depth from tree where id = 1 union all select t.id, t.parent, d.depth + 1 from down d join tree t on t.parent = d.id) select depth, count(*) from down group by depth order by depth desc;
with recursive n as (select 1 as i union all select i + 1 from n where i < 3000) select i, i % 13 as r from n order by r, i desc;
with recursive n(i) as (values (1) union select (i * 7) % 1009 from n) select i from n order by i;
with recursive down as (select id, weight from tree where id = 1 union all select q.id, q.weight from down d, lateral (select t.id, t.weight from tree t where t.parent = d.id order by t.weight desc, t.id limit 2) q) select * from down order by id;
with recursive seen as (select id from tree where id = 700 union select t.parent from seen s join tree t on t.id = s.id where t.parent is not null) select * from seen order by id;
with recursive down as (select id, parent from tree where id = 1 union all select t.id, t.parent from down d join tree t on t.parent = d.id) search depth first by id set path select id from down order by path limit 200;
with recursive down as (select id, parent from tree where id = 1 union all select t.id, t.parent from down d join tree t on t.parent = d.id) search breadth first by id set path select id from down order by path limit 200;
with recursive loops(id, next) as (select i, i % 7 + 1 from generate_series(1, 7) i), walk as (select id, next from loops where id = 3 union all select l.id, l.next from walk w join loops l on l.id = w.next) cycle id set again using path select id, next, again from walk order by id, again, next;

-- data-modifying
create table target(place serial, id int4, k8 int8);
with q as (select id, k8 from events where few = 1 order by k8) insert into target(id, k8) select id, k8 from q;
select md5(string_agg(t::text, ' ')) from (select * from target order by place) t;
with moved as (delete from target where id % 2 = 0 returning *) select * from moved order by k8 desc;
with changed as (update target set k8 = id where id % 3 = 0 returning id, k8) select id from changed order by k8;
with added as (insert into target(id, k8) select id, k4 from events where few = 2 order by k4 returning place, id, k8) select id, k8 from added order by k8;
with first as (select id from target order by k8 limit 30) delete from target where id in (select id from first) returning id;
with first as (select id from target order by k8 desc limit 30) update target t set k8 = 0 from first f where f.id = t.id returning t.id;
select md5(string_agg(t::text, ' ')) from (select id, k8 from target order by k8, id) t;
with a as (insert into target(id, k8) values (-1, 1), (-2, 2) returning id), b as (delete from target where id = any (select id from events where few = 1 order by k8) returning id) select id from a union all select id from b order by id;
with q as (select id, k8 from events order by k8 limit 5) merge into target t using q on t.id = q.id when matched then update set k8 = -1 when not matched then insert (id, k8) values (q.id, q.k8);
select id, k8 from target order by k8, id;
