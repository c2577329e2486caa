-- That the comparison sees what is wrong: each statement does something else where the mode
-- is not native.
-- @device-sorts 8

create function faulty() returns bool language sql stable parallel safe as $$ select current_setting('differential.mode') <> 'native' $$;

-- two rows in the wrong order
-- @differs other keys, first in row 2043
select case when faulty() and id in (2043, 2044) then 4087 - id else id end as id, k8 from events order by events.id;
-- the same, below an aggregate
-- @differs other rows
select md5(string_agg(id::text, ' ')) from (select case when faulty() and id in (7, 8) then 15 - id else id end as id from events order by events.id) q;
-- the last row first
-- @differs other order
select id, maybe from events order by case when faulty() and id = 12000 then 0 else id end;
-- NULLs at the wrong end
-- @differs other order
select maybe, id from events order by case when faulty() then maybe is not null end, maybe, id;

-- a lost row, a doubled one, one in another's place
-- @differs 11999 rows instead of 12000
select id, k8 from events where not (faulty() and id = 4711) order by k8;
-- @differs 12001 rows instead of 12000
select id, k8 from events, generate_series(1, case when faulty() and id = 4711 then 2 else 1 end) order by k8;
-- @differs other keys
select case when faulty() and id = 4711 then 4712 else id end as id from events order by id;
-- among ties, and in a column that is no key
-- @differs same keys, other rows
select few, case when faulty() and id = 501 then 502 else id end as other from events order by few;
-- @differs same keys, other rows
select d, id, case when faulty() and id = 501 then 'x' else left(filler, 5) end as start from events order by d;
-- within the ties that no LIMIT cuts
-- @differs same keys, other rows
select few, case when faulty() and few = 2 then 0 else id end as other from events order by few limit 1200;
-- beyond a LIMIT
-- @differs 2001 rows instead of 2000
select few from events order by few limit (case when faulty() then 2001 else 2000 end);
-- without an order
-- @differs other rows
select case when faulty() and id = 1 then null else id end from events;

-- cursors are compared exactly
begin;
declare c scroll cursor for select id, few from events order by case when faulty() and id < 3 then -id else id end;
-- @differs other output
fetch 2 from c;
fetch 2 from c;
-- @differs other output
fetch first from c;
commit;

-- tags, COPY, errors and notices
create table written(id int4);
-- @differs other output
insert into written select id from events where not (faulty() and id = 1) order by k8;
-- @differs other command tags
delete from written where id < (case when faulty() then 99 else 100 end) returning id;
-- @differs other output
copy (select case when faulty() then id end from events where id < 5 order by id) to stdout;
-- @keys 1
-- @differs other keys, first in row 3
copy (select case when faulty() and id = 3 then 7 else id end from events where id < 5 order by id) to stdout;
-- @differs other messages
select id, 1 / (case when faulty() and id = 11999 then 0 else 1 end) from events order by k8;
-- @differs other messages
do $$ begin raise notice '%', (select array_agg(id) from (select id from events where id < 10 order by case when faulty() then id else -id end) q); end $$;
-- @unchecked
-- @differs other messages
explain analyze select 1 / (case when faulty() then 0 else 1 end) from events order by k8;
-- a session that is gone
-- @differs other messages
select pg_terminate_backend(pg_backend_pid()) where faulty();
