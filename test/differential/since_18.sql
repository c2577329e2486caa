-- New in PostgreSQL 18: virtual generated columns, groups whose expressions have a range table entry
-- of their own, OLD and NEW in RETURNING, self joins that are taken out, skip scans.
-- @requires current_setting('server_version_num')::int >= 180000
-- @device-sorts 30
set enable_hashagg = off;
set enable_hashjoin = off;

create table generated(
	id int4 primary key, k int8, t text,
	twice int8 generated always as (k * 2) virtual,
	name text generated always as (t || ' of ' || k % 10) virtual,
	few int4 generated always as ((k % 20)::int4) stored) with (autovacuum_enabled = off);
insert into generated(id, k, t) select id, k4, t from events;
analyze generated;
select * from generated order by twice, id;
select id, name from generated order by name, id;
select name, count(*), min(twice) from generated group by name order by name;
select distinct name, few from generated;
select id, rank() over (partition by few order by name, twice desc, id) from generated;
select a.id, b.id as other from generated a join generated b on a.twice = b.twice + 0 and a.id < 2000;
select array_agg(id order by twice desc, id) from generated;
select g from generated g order by twice, id limit 300;
select twice from generated order by id;
update generated set k = k + 1 where id in (select id from generated order by twice, id limit 50);
select id, twice from generated order by k, id limit 100;
-- the column of a child is computed from another expression
create table parted(k int4, v int4, g int4 generated always as (v % 7) virtual) partition by range (k);
create table parted_1 partition of parted for values from (0) to (100);
create table parted_2(k int4, v int4, g int4 generated always as (v % 11) virtual);
alter table parted attach partition parted_2 for values from (100) to (200);
insert into parted(k, v) select id % 200, id from events;
select k, v, g from parted order by g, v;
select g, count(*), array_agg(v order by v) from parted where v < 2000 group by g order by g;
select g, v, lag(v) over (partition by g order by v desc) from parted;

-- expressions of a GROUP BY, below and above
select few + 1 as x, count(*) from events group by few + 1 having few + 1 > 5 order by x;
select lower(t) as x, few % 3 as y, grouping(lower(t)), count(*) from events group by rollup (lower(t), few % 3) order by x, y;
select case when few > 10 then few end as x, sum(n), row_number() over (order by sum(n)) from events group by case when few > 10 then few end;
select x, (select count(*) from customers c where c.id = x) from (select few as x from events group by few) q order by x desc;
select few, (select max(e.k8) from events e where e.few = o.few) from events o group by few order by few;
select few, t, count(*) from events group by cube (few, t) having grouping(few) = 1 order by t;
select 'x' as c, few, count(*) from events group by c, few order by few;

-- @rows
update generated set t = 'new' where id in (select id from generated order by k desc limit 20) returning old.name, new.name, old.twice = new.twice;
-- @rows
delete from generated where id in (select id from generated order by name desc, id limit 20) returning old.id, old.twice;
-- @rows
merge into generated g using (select id, k8 from events order by k8 limit 100) e on g.id = e.id when matched then update set t = 'merged' when not matched then insert (id, k, t) values (e.id, 7, 'made') returning merge_action(), old.name, new.name, new.id;
select a.id, a.k, b.t from generated a join generated b on a.id = b.id order by a.twice, a.id limit 200;
create index on generated(few, k);
select few, k from generated where k between 0 and 100000000 order by k, few;
select id from events where t in (values ('text 7'), ('text 8'), ('text 9')) order by k8;
set enable_sort = off;
select id from generated order by twice, id limit 100;
select name, count(*) from generated group by name;
