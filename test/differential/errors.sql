-- Errors in the middle: in the scan, at the n-th row, above the sort, in subtransactions;
-- what follows must work as if nothing had been.
-- @device-sorts 70

select id, 1 / (id - 6000) as q from events order by k8;
select id, 1 / (id - 6000) as q from events order by 2, 1;
select id from events order by 100 / (few - 20), id;
select md5(string_agg((1 / (id - 11999))::text, ' ')) from (select id from events order by k8) q;
select id::int2 as k, few from (select id * 3 as id, few from events) e order by 1;
select k8 * 4 as k from events order by k;
select date '5874897-12-31' + (id - 11990) as k from events order by k;
select left(t, 4)::int4 as k from events order by k;
select sum(k8::int4) over (order by k8) from events order by id;
select id from events order by (select id from tree t where t.weight = events.few), id;
select id, (select k from one_key where one_key.id < events.id) from events where id < 50 order by k8;
insert into one_row select id, k8 + 9223372036854775807 - id from events order by k8;
select count(*) from one_row;
create table bad as select id, 10 / (id % 10000) as q from events order by k8;
select * from bad;
copy (select id, 1 / (id - 7) as q from events order by q, id) to stdout;
select id, k8 from events where id <= 20 order by k8;

-- the error comes after some rows were fetched
begin;
declare c scroll cursor for select id, k8 from events where 1 / (id - 12001) = 0 order by k8;
fetch 3 from c;
fetch last from c;
commit;
begin;
declare c cursor for select 1000 / (few - 25) as x, id from (select few, id from events order by few, id) q;
move 100 in c;
fetch 2 from c;
fetch all from c;
fetch 1 from c;
rollback;

-- savepoints
begin;
select count(*) from (select id from events order by k8) q;
savepoint a;
select id, 1 / (id - 600) from events order by k4;
select id from events order by k8 limit 1;
rollback to a;
select id from events order by k8 limit 3000;
savepoint b;
select id, 1 / (id - 600) from events order by k4;
rollback to b;
release b;
select md5(string_agg(id::text, ' ')) from (select id from events order by k8) q;
commit;

create function fails_at(wanted int4, id int4) returns int4 language plpgsql as $$
begin
	if id = wanted then raise exception 'row %', id using errcode = 'P0042', hint = 'as asked'; end if;
	return id;
end $$;
select fails_at(7000, id) from events order by k8;
select fails_at(-1, id) from events order by k8;
select id from events order by fails_at(7000, id), k8;
select id from events where fails_at(7000, id) > 0 order by k8;
select md5(string_agg(q::text, ' ')) from (select id from events where fails_at(0, id) > 0 order by k8) q;

create function attempt(statement text) returns text language plpgsql as $$
declare
	n int8;
begin
	execute 'select count(*) from (' || statement || ') q' into n;
	return n || ' rows';
exception when others then
	return sqlstate || ' ' || sqlerrm;
end $$;
select n, attempt(s) from (values
	(1, 'select 1 / (id - 5) from events order by k8'),
	(2, 'select id from events order by k8'),
	(3, 'select id from events order by 1 / (id - 5), k8'),
	(4, 'select fails_at(9000, id) from events order by k8'),
	(5, 'select id from events where fails_at(9000, id) > 0 order by k8'),
	(6, 'select id from events order by few, id'),
	(7, 'select id from missing order by id'),
	(8, 'select k8::int4 from events order by 1'),
	(9, 'select id, filler from events order by ts, id')) v(n, s) order by n;
-- many failures in one transaction leave nothing behind that the next one misses
select count(*), min(a), max(a) from (select attempt('select fails_at(' || i * 37 || ', id) from events order by k8') as a from generate_series(1, 40) i) q;
do $$
begin
	for i in 1 .. 20 loop
		begin
			perform fails_at(i * 500, id) from (select id from events order by k8) q;
			raise exception 'no error';
		exception when sqlstate 'P0042' then
			null;
		end;
	end loop;
	raise notice 'twenty';
end $$;
select id, few from events where id <= 2000 order by few, id;
-- constraints
create table checked(id int4 primary key, few int4 check (few <> 13));
insert into checked select id, few from events order by k8;
insert into checked select few, few from events order by few, k8;
insert into checked select id, few from events where few <> 13 order by k8;
select count(*), md5(string_agg(c::text, ' ')) from (select * from checked order by few, id) c;
set statement_timeout = '60s';
select set_config('work_mem', '64kB', false);
select md5(string_agg(q::text, ' ')) from (select * from events order by k8) q;
