-- Cursors of every kind over many windows.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

create table scrolled(id int4, k int4, filler text);
insert into scrolled select i, 30001 - i, repeat('f', 150) from generate_series(1, 30000) i;
analyze scrolled;
select pg_temp.new_jobs();

-- forward only
begin;
declare c no scroll cursor for select k from scrolled order by k;
fetch 3 from c;
move 29990 in c;
fetch 10 from c;
fetch 1 from c;
fetch prior from c;
rollback;

-- scroll: forward, backward, absolute and relative, near and far, past both ends
begin;
declare c scroll cursor for select k from scrolled order by k;
fetch first from c;
fetch last from c;
fetch prior from c;
fetch next from c;
fetch next from c;
fetch prior from c;
fetch prior from c;
fetch absolute 15000 from c;
fetch relative -1 from c;
fetch relative 2 from c;
fetch backward 3 from c;
fetch absolute -1 from c;
fetch absolute -30000 from c;
fetch prior from c;
fetch prior from c;
fetch next from c;
fetch relative 29999 from c;
fetch relative 0 from c;
fetch absolute 7 from c;
fetch relative 0 from c;
fetch absolute 0 from c;
fetch next from c;
fetch absolute 30001 from c;
fetch relative 0 from c;
fetch backward 2 from c;
move backward all in c;
fetch forward 2 from c;
move forward all in c;
fetch backward 2 from c;
commit;
select pg_temp.new_jobs();

-- every row, from both ends, and at places chosen without order
begin;
declare c scroll cursor for select k from scrolled order by k;
create function pg_temp.walk() returns text language plpgsql as $$
declare
	c refcursor := 'c';
	got int4;
	place int4;
begin
	for i in 1 .. 30000 loop
		fetch next from c into got;
		if got is distinct from i then return format('forward: %s at %s', got, i); end if;
	end loop;
	fetch next from c into got;
	if found then return 'a row behind the last'; end if;
	for i in reverse 30000 .. 1 loop
		fetch prior from c into got;
		if got is distinct from i then return format('backward: %s at %s', got, i); end if;
	end loop;
	fetch prior from c into got;
	if found then return 'a row before the first'; end if;
	for i in 1 .. 500 loop
		place := 1 + (i::int8 * 7919 * i) % 30000;
		fetch absolute place from c into got;
		if got is distinct from place then return format('absolute: %s at %s', got, place); end if;
		if i % 3 = 0 and place > 40 then
			fetch relative -40 from c into got;
			if got is distinct from place - 40 then return format('relative: %s at %s', got, place - 40); end if;
		end if;
	end loop;
	return 'all right';
end $$;
select pg_temp.walk();
commit;

-- a subquery's cursor that goes on after a savepoint is rolled back, more than once
begin;
declare c cursor for select k from scrolled order by k;
fetch 2 from c;
savepoint s;
fetch 2 from c;
select 1 / 0;
rollback to savepoint s;
fetch 2 from c;
savepoint s2;
move 20000 in c;
rollback to savepoint s2;
fetch 2 from c;
commit;

-- opened inside the savepoint: gone with it
begin;
savepoint s;
declare c cursor for select k from scrolled order by k;
fetch 1 from c;
rollback to savepoint s;
fetch 1 from c;
rollback;

-- with hold, read and unread before commit
begin;
declare held scroll cursor with hold for select k from scrolled order by k;
fetch 2 from held;
declare held_unread cursor with hold for select k from scrolled order by k desc;
commit;
fetch 2 from held;
fetch absolute 29999 from held;
fetch prior from held;
fetch 2 from held_unread;
close held;
close held_unread;

-- several at once
begin;
declare a cursor for select k from scrolled order by k;
declare b scroll cursor for select -k from scrolled order by -k;
fetch 2 from a;
fetch 2 from b;
move 10000 in a;
fetch last from b;
fetch 2 from a;
fetch first from b;
close a;
fetch 2 from b;
commit;
select pg_temp.left_over();

-- PL/pgSQL loops, left early and nested
do $$
declare
	outer_row record;
	inner_row record;
	n int4 := 0;
begin
	for outer_row in select k from scrolled order by k loop
		if outer_row.k <> n + 1 then
			raise exception 'got % after %', outer_row.k, n;
		end if;
		n := n + 1;
		if n % 10000 = 0 then
			for inner_row in select id from scrolled order by id desc loop
				exit when inner_row.id < 29998;
			end loop;
			raise info 'at %, inner loop left at %', n, inner_row.id;
		end if;
	end loop;
	raise info '% rows', n;
end $$;

-- a block that fails in the middle of a loop
do $$
declare
	r record;
	n int4 := 0;
begin
	for r in select k from scrolled order by k loop
		n := n + 1;
		begin
			if n % 10000 = 0 then
				perform 1 / 0;
			end if;
		exception when division_by_zero then
			raise info 'caught at %', r.k;
		end;
	end loop;
	raise info '% rows', n;
end $$;

-- commits in the middle of a loop
create procedure pg_temp.commit_between() language plpgsql as $$
declare
	r record;
	n int8 := 0;
begin
	for r in select k from scrolled order by k loop
		n := n + 1;
		if r.k <> n then
			raise exception 'got % at %', r.k, n;
		end if;
		if n % 15000 = 0 then
			commit;
		end if;
	end loop;
	raise info '% rows', n;
end $$;
call pg_temp.commit_between();

-- current of
begin;
declare c cursor for select id, k from scrolled order by k for update;
fetch 2 from c;
update scrolled set filler = 'here' where current of c;
fetch 1 from c;
commit;
select id, k from scrolled where filler = 'here';

select pg_temp.left_over();
drop table scrolled;
