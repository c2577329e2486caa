-- Ordered rows that are written: INSERT ... SELECT with sequences, CREATE TABLE AS,
-- materialized views, COPY, UPDATE and DELETE from ordered subqueries, triggers, foreign keys.
-- @device-sorts 460

create table numbered(place bigserial, id int4, k8 int8);
insert into numbered(id, k8) select id, k8 from events order by k8;
select count(*), min(place), max(place) from numbered;
select md5(string_agg(n::text, ' ')) from (select * from numbered order by place) n;
-- the rows lie in their order
select count(*) from (select k8, lag(k8) over (order by ctid) as before from numbered) q where k8 < before;
insert into numbered(id) select id from events where id <= 1000 order by few, id returning place, id;
insert into numbered(id, k8) select id, k8 from events where id <= 300 order by k8 desc limit 100 returning *;
insert into numbered(id) (select id from events order by k8 limit 10) union all (select id from events order by k8 desc limit 10);
-- @exact
select id from numbered where place > 13100 order by place;
create sequence counter;
select nextval('counter') as n, id from events where id <= 1500 order by k8;
select id, nextval('counter') as n from (select id from events where id <= 1500 order by k4 desc) q;
select currval('counter');
select nextval('counter') as n, id from events where id <= 100 order by 1 desc;
insert into numbered(place, id) select nextval('counter'), id from events where id < 800 order by d, id;
select place, id from numbered where k8 is null and place between 3101 and 3900 order by place, id;

-- identity, defaults, generated columns
create table generated(id int4 generated always as identity, event int4, twice int4 generated always as (event * 2) stored, note text default 'none');
insert into generated(event) select id from events where few < 10 order by k8;
select md5(string_agg(g::text, ' ')) from (select * from generated order by id) g;

-- CREATE TABLE AS, SELECT INTO, materialized views
create table sorted as select id, k8, filler from events order by k8;
select md5(string_agg(s::text, ' ')) from (select * from sorted order by ctid) s;
select id, tz into sorted_too from events order by tz desc, id;
select md5(string_agg(s::text, ' ')) from (select * from sorted_too order by ctid) s;
create table sorted_none as select * from events order by k8 with no data;
select count(*) from sorted_none;
create temp table sorted_temp on commit drop as select * from events order by k8;
create unlogged table sorted_unlogged as select id, o from events order by o, id;
select md5(string_agg(s::text, ' ')) from (select * from sorted_unlogged order by ctid) s;
create materialized view seen as select id, few, d from events order by few, d, id;
select md5(string_agg(s::text, ' ')) from (select * from seen order by ctid) s;
create unique index on seen(id);
delete from events where id % 10 = 0;
refresh materialized view seen;
select md5(string_agg(s::text, ' ')) from (select * from seen order by ctid) s;
refresh materialized view concurrently seen;
select count(*), md5(string_agg(s::text, ' ')) from (select * from seen order by d desc, id) s;

-- COPY
copy (select id, few, d from events order by few desc, d, id) to stdout;
copy (select id, k8 from events where id < 2000 order by k8) to stdout with (format csv, header);
copy (select maybe, id from events where id < 2000 order by maybe nulls first, id) to stdout with (null 'N', delimiter '|');
-- @keys 1
copy (select few from events order by few) to stdout;
-- @keys 2
copy (select id, few from events where id < 3000 order by few) to stdout;
create table copied_in(place serial, id int4, k int8);
copy copied_in(id, k) from stdin;
5	50
3	\N
9	-7
1	50
\.
select id, k from copied_in order by k nulls first, id desc;

-- UPDATE and DELETE
update numbered n set k8 = q.n from (select id, row_number() over (order by k8 desc) as n from events) q where q.id = n.id and n.place < 100;
select id, k8 from numbered where place < 100 order by place;
delete from numbered where place in (select place from numbered order by k8 nulls first, place limit 500);
select count(*), md5(string_agg(n::text, ' ')) from (select place from numbered order by place) n;
update numbered set k8 = (select max(k4) from (select k4 from events where few = 3 order by k4 limit 10 offset 40) q) where place between 2000 and 2010;
select place, k8 from numbered where place between 2000 and 2010 order by place;
delete from numbered where ctid = any (array(select ctid from numbered order by k8 desc nulls last, place limit 100)) returning place;
insert into one_row select id, k8 from events where few = 1 order by k8 on conflict do nothing;
create table unique_few(few int4 primary key, id int4, n int4 default 1);
insert into unique_few select few, id from events order by few, k8 on conflict (few) do nothing;
select * from unique_few order by few;
insert into unique_few(few, id) select distinct on (few) few, id from events order by few, k8 desc on conflict (few) do update set id = excluded.id, n = unique_few.n + 1;
select * from unique_few order by n, few desc;
insert into unique_few(few, id) select few, id from events order by few, k8 on conflict (few) do update set n = 9;
merge into unique_few u using (select few, id from events where id < 30 order by id) e on u.id = e.id when matched then delete when not matched and e.few < 0 then insert values (e.few, e.id);
select count(*) from unique_few;

-- triggers see the rows in their order
create table logged(id serial, event int4, note text);
create table watched(event int4 primary key, few int4);
create function log_row() returns trigger language plpgsql as $$
begin
	insert into logged(event, note) select new.event, tg_when || ' ' || count(*) from (select 1 from watched order by few) q;
	return new;
end $$;
create trigger log_before before insert on watched for each row execute function log_row();
insert into watched select id, few from events where id < 120 order by k8;
select * from logged order by id;
create function log_statement() returns trigger language plpgsql as $$
begin
	insert into logged(event, note) select event, 'all' from added order by few desc, event;
	return null;
end $$;
create trigger log_after after insert on watched referencing new table as added for each statement execute function log_statement();
insert into watched select id, few from events where id between 200 and 600 order by k8;
select event, note from logged where note = 'all' order by id;
-- foreign keys, checked row by row after an ordered insert
create table child(id serial primary key, customer int4 references customers on delete cascade, amount int4);
insert into child(customer, amount) select customer, amount from orders where amount is not null order by amount, id;
select md5(string_agg(c::text, ' ')) from (select * from child order by id) c;
insert into child(customer, amount) select customer + 1400, amount from orders where id < 300 order by amount, id;
delete from orders where customer in (select id from customers order by since, id limit 20);
delete from customers where id in (select id from customers order by since, id limit 5);
select count(*) from child;
-- deferred
create table later(id int4 primary key, next int4 references later deferrable initially deferred);
begin;
insert into later select up, 8001 - up from ordered order by down;
commit;
select md5(string_agg(l::text, ' ')) from (select * from later order by next) l;
begin;
insert into later select id + 100000, 5 from ordered order by down limit 3;
insert into later values (200000, -1);
commit;
select count(*) from later;
-- rules and views that are written through
create view few_numbered as select place, id from numbered where id < 100;
insert into few_numbered(id) select id from events where id < 50 order by k8;
select id from numbered where k8 is null and id < 50 order by place desc limit 60;
update few_numbered set id = -id where place in (select place from few_numbered order by place desc limit 7);
select id from numbered where id < 0 order by place;
-- cluster and index builds sort by themselves
create index on numbered(k8 desc);
cluster numbered using numbered_k8_idx;
select md5(string_agg(n::text, ' ')) from (select id, k8 from numbered order by k8, place) n;
