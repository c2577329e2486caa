-- More rows than the smallest device memory holds (32 MB): sorts that do not fit.
-- @device-sorts 7
-- @spilled-runs 5

create unlogged table large as
	select i as id, below(1000000, i, 1)::int4 as k, case when i % 9 > 0 then below(300, i, 2)::int4 end as few, repeat(chr(65 + i % 26), 900) as filler
	from generate_series(1, 45000) i;
vacuum analyze large;
set work_mem = '4MB';
select id, k, left(filler, 3) as start from (select * from large order by k, id offset 0) q where id % 9 = 0;
select count(*), md5(string_agg(id || left(filler, 2), ' ')) from (select id, filler from large order by few nulls first, id) q;
select count(*), md5(string_agg(id || left(filler, 2), ' ')) from (select id, filler from large order by few desc, k, id) q;
select id, length(filler) from (select * from large order by id desc offset 44000) q;
begin;
declare c scroll cursor for select id, k, left(filler, 5) as start from (select id, k, filler from large order by k desc, id offset 0) q;
fetch 3 from c;
fetch last from c;
fetch absolute 22000 from c;
fetch backward 3 from c;
fetch first from c;
commit;
begin;
declare c scroll cursor with hold for select id, filler from large order by k, id;
move 30000 in c;
commit;
move absolute 100 in c;
close c;
-- first read in a subtransaction that is undone
begin;
declare c no scroll cursor for select id, left(filler, 3) as start from (select id, filler from large order by k, id offset 0) q;
savepoint a;
fetch 3 from c;
rollback to a;
fetch 3 from c;
savepoint b;
move 20000 in c;
select 1 / 0;
rollback to b;
fetch 3 from c;
move all in c;
fetch 1 from c;
commit;
-- scanned again, from its beginning, without and with a parameter of its own
select c.id, (select count(*) from (select id, filler from large order by k, id offset 0) s where s.id % 1000 = c.id) as n from customers c where c.id < 4 order by c.id;
select c.id, (select md5(string_agg(id || left(filler, 2), ' ')) from (select id, filler from large where id > c.id * 5000 order by k, id offset 0) s) from customers c where c.id < 4 order by c.id;
-- two at once, one of them in the backend of the other's scan
select count(*), sum(a.id * b.id % 1000) from (select id, k, filler from large order by k, id offset 0) a join (select id, few, filler from large order by few desc, id offset 0) b on a.id = b.id;
-- long rows between short ones
create table mixed as select i as id, below(1000, i, 3)::int4 as k, case when i % 300 = 0 then repeat(md5(i::text), 60000) else repeat('s', 700) end as body from generate_series(1, 6000) i;
analyze mixed;
select id, k, length(body), md5(body) from (select id, k, body from (select id, k, body || '' as body from mixed) m order by k, id offset 0) q where id % 50 = 0;
-- narrow rows, and several keys
select count(*), md5(string_agg(a || ' ' || b, ' ')) from (select a, b from (select a, b from narrow cross join generate_series(1, 30)) n order by a, b desc) q;
select count(*), md5(string_agg(b::text, ' ')) from (select b from narrow cross join generate_series(1, 40) order by b desc) q;
-- half of it read
select id, left(filler, 3) from large order by k, id limit 20000 offset 1000;
do $$
declare
	r record;
	n int4 := 0;
begin
	for r in select id, filler from large order by k desc, id loop
		n := n + 1;
		exit when n = 22000;
	end loop;
	raise notice '%', r.id;
end $$;
create table large_sorted as select * from large order by k, id;
select count(*), md5(string_agg(id::text, ' ' order by ctid)) from large_sorted;
do $$
declare
	r record;
	total int8 := 0;
begin
	for r in select id, filler from large order by few, k, id loop
		total := (total * 31 + r.id + ascii(r.filler)) % 1000000007;
		exit when total = -1;
	end loop;
	raise notice '%', total;
end $$;
