-- Sorts below windows, groups and joins of more rows than the smallest device memory holds
-- (32 MB): spilled, read in order, marked and restored, rewound, and left in the middle.
-- @device-sorts 18
-- @spilled-runs 80
-- @below WindowAgg 6, Unique 2, GroupAggregate 2, Merge Join 3, Merge Join inner 3
set enable_hashagg = off;
set enable_hashjoin = off;
set enable_nestloop = off;
set enable_material = off;
set work_mem = '4MB';

create unlogged table large as
	select i as id, below(1000000, i, 1)::int4 as k, case when i % 9 > 0 then below(300, i, 2)::int4 end as few, repeat(chr(65 + i % 26), 900) as filler
	from generate_series(1, 45000) i;
-- of all rows, not of some by chance
set default_statistics_target = 150;
vacuum analyze large;
reset default_statistics_target;
select count(*), sum(n * id), md5(string_agg(left(filler, 1), '')) from (select id, filler, row_number() over (order by k, id) as n from large) q;
select count(*), sum(n * id), sum(length(filler)) from (select id, filler, rank() over (partition by few order by k desc, id) as n from large) q;
select id, n, left(filler, 2) from (select id, filler, row_number() over (partition by few order by k, id) as n from large) q where n <= 3;
select few, count(*), min(filler), max(k) from large group by few;
select few, md5(string_agg(left(filler, 1) || id, ',' order by id)) from large group by few;
select count(*), sum(length(filler)) from (select distinct k, filler from large) q;
select few, id, left(filler, 3) from (select distinct on (few) few, id, filler from large order by few, k, id) q;
select count(*) from (select k, filler from large union select k, filler from large where id % 2 = 0) q;
select count(*), sum(length(filler)) from (select k, filler from large intersect select k, filler from large where id % 3 = 0) q;
-- each side, and the inner side's equal rows again and again
select count(*), sum(a.id), sum(length(a.filler || b.filler)) from large a join large b on a.k = b.k;
select count(*), sum(a.id), sum(b.id * length(b.filler)) from (select few, id from large where id % 1000 = 0) a join large b on a.few = b.few;
select count(*), sum(a.id), sum(b.id) from large a full join (select * from large where few < 150) b on a.k = b.k and a.id = b.id;
-- rewound, and with parameters
select c.id, (select count(*) from (select id, filler, row_number() over (order by k, id) as n from large) q where q.n % 5000 = c.id and length(filler) > 0) from customers c where c.id < 4;
select c.id, (select sum(n * id) from (select id, filler, row_number() over (order by k, id) as n from large where id > c.id * 5000) q where length(filler) > 0) from customers c where c.id < 4;
-- read to and fro, and left in the middle
begin;
declare c scroll cursor for select id, row_number() over (order by k, id) as n, left(filler, 3) as start from large;
fetch 3 from c;
fetch absolute 30000 from c;
fetch backward 3 from c;
fetch last from c;
fetch first from c;
savepoint s;
select id, 1 / (n - 20000) from (select id, row_number() over (order by k, id) as n, filler from large) q where length(filler) > 0;
rollback to s;
fetch absolute 22222 from c;
commit;
select id, n from (select id, row_number() over (order by k, id) as n, filler from large) q where length(filler) > 0 limit 5;
