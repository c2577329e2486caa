-- PL/pgSQL: loops, cursors, exceptions with subtransactions, recursion.
-- @device-sorts 130

create function first_ids(n int4) returns int4[] language plpgsql as $$
declare
	r record;
	result int4[] := '{}';
begin
	for r in select id from events order by k8 loop
		exit when cardinality(result) = n;
		result := result || r.id;
	end loop;
	return result;
end $$;
select first_ids(5);
select first_ids(60);
select first_ids(0);

-- a running sum that depends on the order
create function weave() returns text language plpgsql as $$
declare
	r record;
	state int8 := 0;
	n int4 := 0;
begin
	for r in select id, maybe from events order by maybe nulls first, id loop
		state := (state * 31 + r.id + coalesce(r.maybe, -1)) % 1000000007;
		n := n + 1;
	end loop;
	return n || ' ' || state;
end $$;
select weave();

-- loops in loops: a sort for each outer row
create function nested() returns setof text language plpgsql as $$
declare
	c record;
	o record;
	line text;
begin
	for c in select id from customers order by since desc, id limit 8 loop
		line := c.id || ':';
		for o in select id, amount from orders where customer = c.id order by amount desc nulls last, id loop
			line := line || ' ' || o.id;
		end loop;
		return next line;
	end loop;
end $$;
-- @exact
select * from nested();

-- explicit cursors, scrolled
create function scrolled() returns setof text language plpgsql as $$
declare
	c scroll cursor(wanted int4) for select id, k4 from events where few = wanted order by k4, id;
	r record;
begin
	open c(5);
	fetch last from c into r;
	return next 'last ' || r::text;
	fetch first from c into r;
	return next 'first ' || r::text;
	fetch absolute 100 from c into r;
	return next '100 ' || r::text;
	fetch relative -50 from c into r;
	return next '50 ' || r::text;
	move forward 20 from c;
	fetch prior from c into r;
	return next '69 ' || r::text;
	move backward all from c;
	fetch next from c into r;
	return next '1 ' || r::text;
	close c;
	open c(6);
	fetch c into r;
	return next 'first of 6 ' || r::text;
	move last from c;
	fetch c into r;
	return next 'beyond ' || coalesce(r::text, 'null') || ' ' || found;
	close c;
end $$;
-- @exact
select * from scrolled();

-- dynamic statements
create function dynamic(order_by text) returns text language plpgsql as $$
declare
	r record;
	h text := '';
begin
	for r in execute 'select id from events where id <= 2500 order by ' || order_by loop
		h := md5(h || r.id);
	end loop;
	return h;
end $$;
select o, dynamic(o) from unnest(array['k8', 'k8 desc', 'few, id', 'd desc, id', 'maybe nulls first, id desc', 'tz, ts, id', 't, id', 'n desc, id']) o;
create function dynamic_using(low int4, high int4) returns setof int4 language plpgsql as $$
begin
	return query execute 'select id from events where k2 between $1 and $2 order by k2, id' using low, high;
end $$;
select dynamic_using(-2000, 2000);
select * from dynamic_using(5, 4);

-- RETURN QUERY, one after the other
create function several() returns table(source text, k int8) language plpgsql as $$
begin
	return query select 'few', few::int8 from events where id <= 100 order by few, id;
	return query select 'k8', k8 from events where id <= 100 order by k8 desc;
	return next;
	return query select 'a', a::int8 from narrow where c = 3 and a < 20000 order by a, b;
end $$;
-- @exact
select * from several();
select * from several() order by k, source;

-- exceptions: the sort is cut short in a subtransaction, then another begins
create function divide(wanted int4) returns text language plpgsql as $$
declare
	r record;
	seen int4 := 0;
begin
	begin
		for r in select id, few, 100 / (few - 20) as q from events order by few, id loop
			seen := seen + 1;
		end loop;
	exception when division_by_zero then
		for r in select id, few from events order by few, id loop
			exit when r.few = 20;
			seen := seen + 1;
		end loop;
		return 'caught, ' || seen;
	end;
	return 'no error, ' || seen;
end $$;
select divide(1);

create function raise_at(n int4) returns text language plpgsql as $$
declare
	r record;
	i int4 := 0;
	last_id int4;
begin
	for r in select id from events order by k4 desc loop
		begin
			i := i + 1;
			last_id := r.id;
			if i % 1000 = 0 then
				raise exception 'row %', i;
			end if;
		exception when others then
			if i >= n then
				raise notice '% at %', sqlerrm, last_id;
				raise;
			end if;
		end;
	end loop;
	return i || ' rows, last ' || last_id;
exception when raise_exception then
	return 'stopped after ' || i || ' at ' || last_id;
end $$;
select raise_at(1000);
select raise_at(5000);
select raise_at(100000);

-- leaving a loop by RETURN, EXIT of an outer loop, and an error
create function leave_by_return() returns int4 language plpgsql as $$
declare
	r record;
begin
	for r in select id, few from events order by few desc, id loop
		if r.few < 40 then return r.id; end if;
	end loop;
end $$;
select leave_by_return() from generate_series(1, 5);
create function leave_outer() returns text language plpgsql as $$
declare
	a record;
	b record;
begin
	<<outermost>>
	for a in select id, d from events order by d, id loop
		for b in select o.id from orders o where o.customer = a.id % 1500 + 1 order by o.placed, o.id loop
			exit outermost when b.id > 14900;
		end loop;
	end loop;
	return a.id || ' ' || b.id;
end $$;
select leave_outer();
do $$
declare
	r record;
begin
	for r in select id, few from events order by few, id loop
		if r.few = 10 then
			raise exception 'ten at %', r.id;
		end if;
	end loop;
end $$;
do $$
declare
	r record;
begin
	for r in select id, few from events where id <= 600 order by few, id loop
		raise notice '% %', r.few, r.id;
	end loop;
end $$;

-- FOREACH over an ordered array, and SELECT INTO
do $$
declare
	x int4;
	total int8 := 0;
	place int8 := 0;
begin
	foreach x in array array(select id from events order by k8) loop
		place := place + 1;
		total := (total + x * place) % 1000003;
	end loop;
	raise notice '% %', place, total;
	select id into x from events order by o desc, id;
	raise notice 'first by o: %', x;
	select id into strict x from events where id = 17 order by k8;
	raise notice 'strict: %', x;
	begin
		select id into strict x from events order by k8;
	exception when too_many_rows then
		raise notice 'too many rows';
	end;
	perform id from events where false order by k8;
	raise notice 'found %', found;
	perform id from events order by k8;
	raise notice 'found %', found;
end $$;

-- recursion: a sort open at each level
create function walk(node int4, depth int4) returns setof text language plpgsql as $$
declare
	r record;
begin
	return next repeat(' ', depth) || node;
	if depth < 6 then
		for r in select id from tree where parent = node order by weight desc, id limit all loop
			return query select * from walk(r.id, depth + 1);
			exit when r.id % 3 = 0;
		end loop;
	end if;
end $$;
-- @exact
select * from walk(1, 0);

-- procedures that commit in the middle of an ordered loop
create table progress(id serial, event int4, few int4);
create procedure in_steps() language plpgsql as $$
declare
	r record;
	i int4 := 0;
begin
	for r in select id, few from events where id <= 3000 order by few desc, id loop
		insert into progress(event, few) values (r.id, r.few);
		i := i + 1;
		if i % 700 = 0 then commit; end if;
		if i % 1000 = 999 then rollback; end if;
	end loop;
end $$;
call in_steps();
select count(*), min(id), max(id), md5(string_agg(p::text, ' ')) from (select * from progress order by id) p;
truncate progress;

-- sorts in functions that are called below and above a sort, in workers too
create function rank_of(wanted int4) returns int4 language plpgsql stable parallel safe as $$
declare
	r record;
	n int4 := 0;
begin
	for r in select id from narrow n join customers c on c.id = n.a % 1500 + 1 where n.c = 3 and n.a % 100 = wanted order by n.b loop
		n := n + r.id;
	end loop;
	return n;
end $$;
select id, rank_of(id) from customers where id <= 60 order by since, id;
select id, rank_of(id) as r from customers where id <= 60 order by r desc, id;
select id from customers where id <= 60 and rank_of(id) > 2000 order by since, id;

-- SQL functions: inlined, run one row at a time, and returning one row
create function inlined(wanted int4) returns table(id int4, k8 int8) language sql stable as
	$$ select id, k8 from events where few = wanted order by k8 $$;
-- @exact
select * from inlined(7);
select i, (select array_agg(q.id) from inlined(i) q) from generate_series(1, 5) i order by i;
create function not_inlined(wanted int4) returns setof int4 language sql volatile as
	$$ select id from events where few = wanted order by k8 desc $$;
-- @exact
select not_inlined(8);
select * from not_inlined(9) limit 3;
select not_inlined(few) from events where id in (3, 4) limit 5;
create function first_of(wanted int4) returns int4 language sql stable as
	$$ select id from events where few = wanted order by k8 $$;
select i, first_of(i) from generate_series(1, 40) i order by i;
create function atomic_body(wanted int4) returns int4 begin atomic
	select id from events where few = wanted order by k4 desc, id;
end;
select i, atomic_body(i) from generate_series(1, 10) i order by i;
