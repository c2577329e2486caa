-- Many rows that only a comparator tells apart, or that nothing does: more of them than work_mem
-- holds, and more than the smallest device memory; read forward, backward, again and from marks.
-- @also one-worker, four-workers
-- @device-sorts 20
-- @spilled-runs 2

set work_mem = '1MB';
-- one text of 100 bytes, another key behind it
create unlogged table tied as
	select i as id, repeat('0123456789', 10) as one, repeat('long beginning ', 6) || below(4, i, 1) as few, below(200000, i, 2)::int4 as k, repeat('f', 20 + i % 90) as filler
	from generate_series(1, 200000) i;
vacuum analyze tied;
-- @device
select count(*), sum(id * (n % 1009)), sum(length(one) + length(filler)) from (select *, row_number() over () as n from (select * from tied order by one collate "C", k, id) o) q;
-- @device
select count(*), sum(id * (n % 1009)), sum(length(one) + length(filler)) from (select *, row_number() over () as n from (select * from tied order by few collate "C" desc, k desc, id) o) q;
-- @device
select count(*), sum(id * (n % 1009)) from (select id, row_number() over () as n from (select id, one, few from tied where id <= 60000 order by one collate "C", few collate "C", id) o) q;
-- nothing decides: rows in any order
-- @device
select count(*), sum(id::int8), sum(length(filler)), count(distinct one) from (select * from tied order by one collate "C" offset 0) o;
begin;
declare c scroll cursor for select id, k, left(filler, 2) as start from (select * from tied order by one collate "C", k desc, id offset 0) q;
fetch 3 from c;
fetch last from c;
fetch backward 3 from c;
fetch absolute 100000 from c;
fetch backward 5 from c;
fetch first from c;
fetch prior from c;
move absolute -50000 in c;
fetch 3 from c;
fetch relative -20000 from c;
commit;
begin;
declare c scroll cursor with hold for select id, k from tied where id <= 50000 order by few collate "C", k, id;
move 30000 in c;
fetch 2 from c;
commit;
fetch absolute 100 from c;
fetch last from c;
fetch backward 2 from c;
close c;
-- the beginning of a group, and no more
-- @device
select count(*), sum(id), max(k) from (select id, k from tied order by few collate "C", k, id limit 30000) q;
begin;
declare c no scroll cursor for select id from tied order by few collate "C" desc, k, id;
fetch 2 from c;
close c;
commit;
-- merge joins go back to the beginning of a group
set enable_hashjoin = off;
set enable_nestloop = off;
-- @device 2
select count(*), sum(a.id * (b.id % 101)) from (select id, few from tied where id <= 400 order by few, id offset 0) a join (select id, few from tied where id between 1000 and 1800 order by few, k offset 0) b on a.few = b.few;
-- @device 2
select count(*), sum(a.id * (b.id % 101)) from (select id, one, k % 50 as k from tied where id <= 2000 order by one, k % 50 offset 0) a join (select id, one, k % 50 as k from tied where id between 3000 and 5000 order by one, k % 50, id offset 0) b on a.one = b.one and a.k = b.k;
reset enable_hashjoin;
reset enable_nestloop;
-- scanned again, without and with a parameter
-- @device
select s, (select sum(id * (n % 13)) from (select id, row_number() over () as n from (select id from tied where id <= 8000 order by few collate "C", k, id offset 0) o) q where n % 4 = s) from generate_series(0, 3) s order by s;
-- @device 4
select s, (select sum(id * (n % 13)) from (select id, row_number() over () as n from (select id from tied where id <= 3000 * s order by few collate "C", k, id offset 0) o) q) from generate_series(1, 4) s order by s;
-- groups of every size, behind 8, 16, 32 and 64 bytes
-- @exact
-- @device 8
select format('select %s as bytes, count(*), sum(id * (n %% 1009)) from (select id, row_number() over () as n from (select id from tied where id <= 20000 order by (repeat(''b'', %1$s) || k %% %s) collate "C", id) o) q', bytes, numbers)
from unnest(array[8, 16, 32, 64]) bytes, unnest(array[3, 5000]) numbers
\gexec
do $$
declare
	r record;
	n int4 := 0;
begin
	for r in select id, k from tied order by one collate "C", k, id loop
		n := n + 1;
		exit when n = 90000;
	end loop;
	raise notice '%', r;
end $$;
-- not in order, in the order, and against it
-- @device
select count(*), sum(id * (n % 1009)) from (select id, row_number() over () as n from (select * from (select id, lpad(id::text, 60, '0') as padded from tied where id <= 40000 offset 0) t order by padded collate "C") o) q;
-- @device
select count(*), sum(id * (n % 1009)) from (select id, row_number() over () as n from (select * from (select id, lpad(id::text, 60, '0') as padded from tied where id <= 40000 offset 0) t order by padded collate "C" desc) o) q;
