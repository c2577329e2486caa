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
