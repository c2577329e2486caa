-- Row-level security, roles, temporary and unlogged tables, settings within transactions.
-- @device-sorts 22

create role gpusort_reader;
create role gpusort_owner;
grant select on events, orders to gpusort_reader;
grant all on schema public to gpusort_owner;
alter table events enable row level security;
create policy few_only on events to gpusort_reader using (few < current_setting('app.few', true)::int4);
set role gpusort_reader;
set app.few = 10;
select id, few from events order by k8;
select count(*), md5(string_agg(id::text, ' ')) from (select id from events order by d, id) q;
set app.few = 1;
select id, few from events order by k8;
-- a function that would leak what the policy hides
create function pg_temp.leak(int4) returns bool language plpgsql cost 0.0001 as 'begin if $1 >= 10 then raise notice ''leak''; end if; return true; end';
select id, few from events where pg_temp.leak(few) order by few, id;
select o.id from orders o join events e on e.id = o.id order by o.amount, o.id;
select id from customers order by since;
reset role;
select count(*) from events;
-- a prepared plan follows the role
prepare of_role as select id from events order by k8;
begin;
set local role gpusort_reader;
set local app.few = 2;
execute of_role;
rollback;
select count(*) from (select id from events order by k8) q;
-- owners, forced
create table owned(id int4, k int4);
insert into owned select i, below(1000, i, 5) from generate_series(1, 3000) i;
alter table owned owner to gpusort_owner;
alter table owned enable row level security;
alter table owned force row level security;
create policy odd_only on owned using (id % 2 = 1) with check (id < 10000);
set role gpusort_owner;
select * from owned order by k, id;
insert into owned select id * 2 + 9001, k from owned order by k, id;
update owned set k = -k where id in (select id from owned order by k, id limit 10) returning id;
reset role;
select count(*), md5(string_agg(o::text, ' ')) from (select * from owned order by k desc, id) o;
create function as_owner() returns setof int4 language sql security definer set search_path = public as 'select id from owned order by k desc, id';
alter function as_owner() owner to gpusort_owner;
select md5(string_agg(i::text, ' ')) from as_owner() i;
drop owned by gpusort_reader, gpusort_owner cascade;
drop role gpusort_reader, gpusort_owner;

-- temporary tables
create temp table gone_at_commit(id int4, k int8) on commit delete rows;
begin;
insert into gone_at_commit select id, k8 from events order by k8;
select md5(string_agg(g::text, ' ')) from (select * from gone_at_commit order by k desc) g;
commit;
select * from gone_at_commit order by k;
create temp table mine as select id, few from events where id < 3000;
select * from mine order by few, id;
create index on mine(few);
analyze mine;
select * from mine order by few desc, id;
select m.id from mine m join events e using (id) order by e.k4;
create temp table events as select 1 as id, 2::int8 as k8;
select * from events order by k8;
drop table pg_temp.events;
select count(*), md5(string_agg(id::text, ' ')) from (select id from events order by k8) q;
-- unlogged
create unlogged table fast as select * from narrow;
select md5(string_agg(f::text, ' ')) from (select * from fast order by b) f;
-- settings that a transaction changes and takes back
begin;
set local work_mem = '64kB';
select md5(string_agg(id::text, ' ')) from (select id from events order by k8) q;
set local gpusort.enabled = off;
select md5(string_agg(id::text, ' ')) from (select id from events order by k8) q;
rollback;
select md5(string_agg(id::text, ' ')) from (select id from events order by k8) q;
begin;
set local max_parallel_workers_per_gather = 4;
set local parallel_leader_participation = off;
set local max_parallel_workers = 0;
select md5(string_agg(f::text, ' ')) from (select * from narrow order by a, b) f;
set local max_parallel_workers = 1;
select md5(string_agg(f::text, ' ')) from (select * from narrow order by a, b) f;
commit;
