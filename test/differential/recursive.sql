-- Sorts inside and above recursive unions and common table expressions: below the recursive
-- part, which is run again for each round, below what reads its result, and in each other.
-- @device-sorts 300
-- @below Merge Join 13, WindowAgg 8, GroupAggregate 4, Unique 6
set enable_hashagg = off;
set enable_hashjoin = off;

-- the recursive part sorts: joined by merging, distinct, windows, groups not being allowed there
set enable_nestloop = off;
with recursive w as (select id, parent, 0 as depth from tree where parent is null union all select t.id, t.parent, w.depth + 1 from w join tree t on t.parent = w.id) select * from w;
with recursive w as (select id, weight from tree where id < 4 union all select t.id, w.weight + t.weight from w join (select * from tree order by weight, id offset 0) t on t.parent = w.id) select * from w;
with recursive w as (select id, name, since from customers where parent is null union all select c.id, c.name, c.since from customers c join w on c.parent = w.id) select * from w order by since, id;
with recursive w as (select 1 as n, id, k8 from events where few = 1 union all (select w.n + 1, e.id, e.k8 from w join events e on e.id = w.id % 40 + w.n where w.n < 5 order by e.k8, e.id limit 50)) select * from w;
with recursive w as (select id, t, 1 as n from events where id < 20 union all select e.id, e.t, n + 1 from w join events e on e.t = w.t and e.id > w.id and n < 9) select * from w;
with recursive w as (select id, t_us as t, 1 as n from texts where id < 20 union all select e.id, e.t_us, n + 1 from w join texts e on e.t_us = w.t and e.id > w.id and e.few = 1 and n < 3) select * from w;
with recursive w as (select c_numeric as n, id, 1 as round from typed where id < 20 union all select t.c_numeric, t.id, round + 1 from w join typed t on t.c_numeric = w.n and t.id > w.id and round < 3) select count(*), sum(id), max(round) from w;
with recursive w as (select id, few, 1 as n from events where id = 5 union all (select distinct on (e.few) e.id, e.few, n + 1 from w join events e on e.few = (w.few + 1) % 50 and n < 30 order by e.few, e.k8)) select * from w;
with recursive w as (select few, 1 as n from events where id = 5 union all (select x.few, n + 1 from w, lateral (select few, max(k8) as m from events where few > w.few group by few order by 2 desc limit 1) x where n < 20)) select * from w;
with recursive w as (select 1 as n, 0::int8 as s union all select n + 1, (select sum(r * id) from (select id, rank() over (order by k4, id) as r from events where few = n) q) from w where n < 30) select * from w;
with recursive w as (select 3 as few union select x.few from w, lateral (select distinct (few * 2 + w.few) % 50 as few from events where id < 30) x) select * from w;
-- what is known already is set aside
with recursive w as (select id, parent from tree where id > 1400 union select t.id, t.parent from w join tree t on t.id = w.parent) select * from w;
with recursive w as (select few, 0 as n from events where few < 3 union select (few * 7 + 1) % 50, 0 from w) select * from w order by few;
with recursive w as (select id, parent, weight from tree where id = 1 union all select t.id, t.parent, t.weight from w join tree t on t.parent = w.id) search breadth first by weight, id set place select id, place from w order by place, id limit 700;
with recursive w as (select id, parent from tree where id = 1 union all select t.id, t.parent from w join tree t on t.parent = w.id) search depth first by id set place cycle id set again using trail select id, again from w order by place;
reset enable_nestloop;
-- above it: windows, groups, distinct, joins, sets, orders
with recursive w as (select id, parent, 0 as depth from tree where parent is null union all select t.id, t.parent, w.depth + 1 from w join tree t on t.parent = w.id) select id, depth, row_number() over (partition by depth order by id) as n from w;
with recursive w as (select id, parent, 0 as depth from tree where parent is null union all select t.id, t.parent, w.depth + 1 from w join tree t on t.parent = w.id) select depth, count(*), max(id) from w group by depth;
with recursive w as (select id, parent, 0 as depth from tree where parent is null union all select t.id, t.parent, w.depth + 1 from w join tree t on t.parent = w.id) select distinct depth, parent % 5 from w;
set enable_nestloop = off;
with recursive w as (select id, parent, 0 as depth from tree where parent is null union all select t.id, t.parent, w.depth + 1 from w join tree t on t.parent = w.id) select a.id, b.id from w a join w b on a.depth = b.depth and a.id < b.id where a.id < 100 and b.id < 100;
with recursive w as (select id, parent, 0 as depth from tree where parent is null union all select t.id, t.parent, w.depth + 1 from w join tree t on t.parent = w.id) select w.id, c.id from w left join customers c on c.id = w.depth;
reset enable_nestloop;
with recursive w(x) as (select 1 union all select x + 1 from w where x < 3000) select x % 97 as r, count(*) from w group by 1 union select x, 1 from w where x < 100;
with recursive w(x) as (select 1 union all select x + 1 from w where x < 3000) select x from w order by x % 97, x desc;
-- with parameters: rescanned
select c.id, (with recursive w as (select id, parent from customers where id = c.id union all select p.id, p.parent from w join customers p on p.id = w.parent) select array_agg(id order by id desc) from w) from customers c where c.id % 50 = 7;
select c.id, w.* from customers c, lateral (with recursive w as (select id, weight, 1 as n from tree where parent = c.id union all (select t.id, t.weight, n + 1 from w join tree t on t.parent = w.id order by t.weight, t.id limit 10)) select * from w) w where c.id < 30;
-- common table expressions: read once and twice, materialized and not
with a as materialized (select id, few, rank() over (order by k8) as n from events) select x.id, y.id from a x, a y where x.n = y.n + 1 and x.n < 100;
with a as materialized (select distinct few, t from events), b as (select few, count(*) as n from a group by few) select a.t, b.n from a join b using (few) where few < 4;
with a as not materialized (select few, count(*) as n from events group by few) select x.few, y.n from a x join a y on x.few = y.few;
with a as (insert into one_row select few, count(*) from events group by few returning id, k) select id, k, rank() over (order by k, id) as n from a;
with a as (delete from one_row returning *), b as (select distinct k from a) select * from b;
-- in functions, under cursors, prepared
create function below_tree(root int4) returns table(id int4, depth int4, place int8) language sql stable as
	'with recursive w as (select t.id, 0 as depth from tree t where t.id = root union all select t.id, w.depth + 1 from w join tree t on t.parent = w.id) select id, depth, row_number() over (order by depth desc, id) from w';
select * from below_tree(2);
select r, b.* from generate_series(3, 30) r, below_tree(r) b where b.place < 5;
begin;
declare c scroll cursor for with recursive w(x) as (select 1 union all select x + 1 from w where x < 3000) select x, row_number() over (order by x % 97, x desc) as n from w order by n;
fetch 3 from c;
fetch last from c;
fetch absolute 1500 from c;
fetch backward 3 from c;
commit;
prepare up(int4) as with recursive w as (select id, parent from customers where id < $1 union select p.id, p.parent from w join customers p on p.id = w.parent) select distinct parent, count(*) over (partition by parent) from w;
set plan_cache_mode = force_generic_plan;
-- @rows
execute up(100);
-- @rows
execute up(1500);
-- @rows
execute up(0);
reset plan_cache_mode;
-- little memory, an error in the middle
set work_mem = '64kB';
with recursive w(x) as (select 1 union all select x + 1 from w where x < 20000) select count(*), sum(n * x % 1000) from (select x, row_number() over (order by hashint4(x), x) as n from w) q;
reset work_mem;
with recursive w(x) as (select 1 union all select x + 1 from w where x < 20000) select x, row_number() over (order by 1 / (x - 700)) from w;
