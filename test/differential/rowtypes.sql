-- The contents of rows: values out of line, composite and domain types, dropped and
-- added and generated columns, whole rows, records, arrays, tables of wide rows.
-- @device-sorts 50

-- TOAST
select id, k, length(body), length(raw) from documents order by k, id;
select id, md5(body), md5(raw) from documents order by k desc, id;
select md5(string_agg(d::text, ' ')) from (select * from documents order by k, id) d;
select id, left(raw, 30) from (select * from documents order by k desc, id) q where length(raw) > 10;
select length(string_agg(raw, '')), md5(string_agg(body, '')) from (select body, raw from documents order by k, id) q;
select id, body || raw = raw || body as same from documents order by length(body), id;
select id, upper(left(body, 5)) from documents order by length(raw) desc, k;
create table more_documents as select id, k, body || body as body, raw from documents order by k, id;
select md5(string_agg(d::text, ' ')) from (select * from more_documents order by ctid) d;
update documents set raw = raw || 'more' where id in (select id from documents order by k, id limit 20);
select id, length(raw) from documents order by k limit 30;
begin;
declare c scroll cursor for select id, body, raw from documents order by k, id;
move last in c;
move absolute 100 in c;
create temp table taken as select 1;
fetch absolute 3 from c;
delete from documents;
fetch relative 2 from c;
rollback;
do $$
declare
	r record;
	total int8 := 0;
begin
	for r in select * from documents order by k, id loop
		total := (total * 31 + length(r.body) + length(r.raw)) % 1000003;
	end loop;
	raise notice '%', total;
end $$;
select x.id, x.body = d.body and x.raw = d.raw from (select * from documents where id < 40 order by k) x join documents d on d.id = x.id order by x.id;
-- rows longer than a buffer
create table giants as select i as id, (i * 7) % 10 as k, repeat(md5(i::text), 60000 + i * 7000) as body from generate_series(1, 10) i;
select id, k, length(body), md5(body) from giants order by k, id;
select id, length(body), md5(body) from (select g.id, g.body || o.id as body, o.k from giants g, one_row o order by g.k desc) q;
select id, md5(body) from (select e.id, case when g.id is null then 'short' else g.body end as body from (select id, few from events where id <= 400) e left join giants g on g.id * 30 = e.id order by e.few, e.id offset 0) q where body <> 'short';
begin;
declare c scroll cursor for select id, k, length(body), md5(body) from (select * from giants order by k, id offset 0) q;
fetch last from c;
fetch backward 3 from c;
fetch first from c;
fetch 4 from c;
fetch absolute 5 from c;
fetch prior from c;
fetch absolute 9 from c;
fetch forward all from c;
fetch backward all from c;
commit;
-- expanded objects, made for each row
create function expanded(n int4) returns int4[] language plpgsql stable parallel safe as $$
declare
	a int4[] := array[n];
begin
	a[3] := n * 2;
	return a;
end $$;
select id, expanded(id) as a from events where id <= 1500 order by k8;
select a[3], id from (select id, expanded(id) as a, few from events where id <= 1500 offset 0) q order by few, id;

-- dropped columns, columns added later, generated ones, domains, enums, arrays
select * from odd order by e, id;
select md5(string_agg(o::text, ' ')) from (select * from odd order by day, id) o;
select md5(string_agg(o::text, ' ')) from (select o from odd o order by day desc, id) o;
select id, later, latest from odd where id < 20000 order by later, id;
select id, doubled from odd where id < 20000 order by doubled desc;
select id, (p).x, (p).y from odd where id < 20000 order by (odd.p).x, id;
select id, l[1] as first, l from odd where id < 20000 order by l[2], l[1];
select id, p from odd where id < 20000 order by day, id;
select e, count(*) from odd group by e order by e;
alter table odd add column yet_another int8 not null default 5;
insert into odd(id, e, p, day, m, l, flag, latest) select id + 100000, e, p, day, m, l, flag, 'new' from odd where id < 5000 order by id;
select id, later, latest, yet_another from odd where id < 5000 or id >= 100000 order by yet_another, later, id;
alter table odd drop column later;
select md5(string_agg(o::text, ' ')) from (select * from odd order by id) o;
alter table odd alter column yet_another type int2;
select id, yet_another from odd where id < 9000 order by yet_another desc, id desc;
create table rebuilt as table odd;
select md5(string_agg(o::text, ' ')) from (select * from rebuilt order by id) o;

-- whole rows and records
select e from events e where id <= 300 order by k8;
select (e).few, (e).id from (select e from events e where id <= 500 order by (e).k8) q;
select row(id, few) from events where id <= 300 order by k8;
select row(id, few)::text, q from (select id, few, k8 from events where id <= 300 order by k8) q;
select to_json(q) from (select id, few, tz from events where id <= 300 order by tz, id) q;
select (q.c).* from (select row(id, t)::pair as c from events where id <= 300 order by k8) q;
select array_agg(c order by c.id) from (select * from customers where id < 50 order by since, id) c;
select c, o from customers c join orders o on o.customer = c.id where c.id < 20 order by o.placed, o.id;
select c from customers c left join orders o on o.customer = c.id and o.amount > 980 where c.id < 200 order by o.id nulls first, c.id;
select r.a, r.b from (select id as a, few as b from events where id < 400 order by few, id) r(a, b) where r.b > 10;
create function pairs(n int4) returns setof pair language sql immutable as 'select x, ''p'' || x from generate_series(1, n) x order by x % 7, x desc';
-- @exact
select * from pairs(300);
select p.x, p from pairs(300) p order by p.x;
select (pairs(30)).* order by 1 desc;
create type nested_pair as (p pair, at timestamptz, k int8);
create table nested_rows as select i as id, row(row(i % 50, 'a')::pair, timestamptz '2020-01-01' + i * interval '1 hour', -i)::nested_pair as n from generate_series(1, 2000) i;
select id, n from nested_rows order by ((n).p).x, (n).k;
select id from nested_rows order by (n).at desc;
alter type pair add attribute z int8;
select id, n from nested_rows where id < 200 order by ((n).p).z nulls first, (n).k;

-- widths: rows of one byte-wide column to many columns, with NULLs between
select true as b from events where id < 1000 order by id;
select id::int2 as s, 'c'::"char" as c, true as b from events where id < 2000 order by id::int2 desc;
select null::text as a, id, null::int8 as b from events where id < 1000 order by id desc;
select id, null::int2, few::int2, d, null::date, k8, o from events where id < 2000 order by d, id;
select case when id % 3 = 0 then few end as a, case when id % 5 = 0 then k8 end as b, id from events where id < 2000 order by 1, 2, 3;
select id, id::numeric, id::float8, id::text, id::bit(8), id::money is null, point(id, few) from events where id < 1000 order by few, id;
select md5(string_agg(q::text, ' ')) from (select a, b, c, a::int8 as a2, b as b2, c::int4 as c2, a as a3, b as b3 from narrow order by b, a) q;
do $$
begin
	execute (select 'create table many(' || string_agg('c' || i || case when i % 3 = 0 then ' text' else ' int4' end, ',') || ')' from generate_series(1, 300) i);
	execute (select 'insert into many select ' || string_agg(case when i % 3 = 0 then '''t'' || i' when i % 7 = 0 then 'null' else 'i * ' || i end, ',') || ' from generate_series(1, 500) i' from generate_series(1, 300) i);
end $$;
select md5(string_agg(m::text, ' ')) from (select * from many order by c1 desc) m;
select c1, c299, c300, c7 from many order by c7 nulls first, c2;

-- volatile expressions, seeded: each row keeps its own value
set max_parallel_workers_per_gather = 0;
select setseed(0.5);
select random() as r, id from events where id <= 300 order by k8;
select setseed(0.25);
select id, r from (select id, random() as r, k8 from events where id <= 1000 offset 0) q order by (r * 1000)::int4, id;
select setseed(0.75);
select id, (random() * 100)::int4 as r, (random() * 100)::int4 as s from events where id <= 1000 order by 2, 3, 1;
select setseed(0.1);
select id from events where id <= 1000 order by (random() * 1000000000)::int4;
reset max_parallel_workers_per_gather;
