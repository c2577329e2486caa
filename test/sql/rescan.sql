-- The node executed again: below nested loops and in LATERAL, with the same and
-- with changed parameters, and prepared statements.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

create table driving(n int4) with (autovacuum_enabled = off);
insert into driving select generate_series(1, 5);
create table rescanned(id int4, k int8) with (autovacuum_enabled = off);
insert into rescanned select i, (i * 7919) % 4001 from generate_series(1, 4000) i;
analyze driving;
analyze rescanned;
set enable_hashjoin = off;
set enable_mergejoin = off;
set enable_material = off;
set enable_memoize = off;
select pg_temp.new_jobs();

-- changed parameters: one sort for each, and one for each aggregate where those are presorted
select pg_temp.do_explain('select n, s.* from driving, lateral (select id, k from rescanned where id > n * 700 order by k offset 0) s');
select n, count(*), md5(string_agg(k::text, ',')) = (select md5(string_agg(k::text, ',' order by k)) from rescanned where id > n * 700) as right_order
	from driving, lateral (select k from rescanned where id > n * 700 order by k offset 0) s group by n order by n::text;
select pg_temp.new_jobs();
-- the parameter is part of the sort key
select n, array(select k from rescanned where id < 8 order by (k + n) % 5, k offset 0) from driving;
select pg_temp.new_jobs();

-- the same parameters: one sort for all
select pg_temp.do_explain('select n, s.* from driving left join (select id, k from rescanned order by k offset 0) s on s.id = n');
select n, s.* from driving left join (select id, k from rescanned order by k offset 0) s on s.id = n;
select pg_temp.new_jobs();
-- left before its last row
select n, (select k from rescanned where id > n order by k offset 3 limit all) is null as none from driving where n > 100;
select n, exists (select from (select k from rescanned order by k offset 5) s where k > n) from driving;
select n, (select min(k) from (select k from rescanned order by k desc offset n) s) from driving;

-- a semijoin and a limit above
select n, s.k from driving, lateral (select k from rescanned where k > n order by k offset 1) s where s.k < n + 4;
select * from driving, lateral (select k from rescanned where k % driving.n = 0 order by k offset 0) s limit 3;

-- recursion reads it in each round
with recursive r(n, k) as (
	select 0, 0::int8
	union all
	select n + 1, s.k from r, lateral (select k from rescanned where k > r.k order by k desc offset 3990 - r.n * 5) s where n < 4)
	select n, count(*) from r group by n order by n::text;
select pg_temp.new_jobs() > 5;

-- a rescan of what was sorted in the backend, and natively
set gpusort.min_rows = 1000000000;
prepare small_part as select n, s.* from driving left join (select id, k from rescanned order by k offset 0) s on s.id = n;
set gpusort.min_rows = 0;
prepare lateral_part as select n, count(*), max(k) from driving, lateral (select k from rescanned where id > n * 700 order by k offset 0) s group by n order by n::text;
set plan_cache_mode = force_generic_plan;
execute lateral_part;
select pg_temp.new_jobs();
set gpusort.min_rows = 1000000000;
execute lateral_part;
select pg_temp.do_explain('execute lateral_part', 'analyze, costs off, timing off, summary off, buffers off');
select pg_temp.new_jobs();
set gpusort.min_rows = 0;
set gpusort.enabled = off;
execute lateral_part;
select pg_temp.do_explain('execute lateral_part', 'analyze, costs off, timing off, summary off, buffers off');
select pg_temp.new_jobs();
set gpusort.enabled = on;
execute lateral_part;
select pg_temp.new_jobs();
deallocate all;

-- prepared once, settings changed between the executions
prepare ordered(int4) as select id, k from rescanned where id > $1 order by k;
explain (costs off) execute ordered(3995);
execute ordered(3995);
select pg_temp.new_jobs();
set gpusort.enabled = off;
explain (costs off) execute ordered(3995);
execute ordered(3995);
select pg_temp.new_jobs();
set gpusort.enabled = on;
set gpusort.min_rows = 10;
execute ordered(3995);
select pg_temp.new_jobs();
execute ordered(3980) \g /dev/null
select pg_temp.new_jobs();
set gpusort.min_rows = 0;
set work_mem = '64kB';
execute ordered(3995);
select pg_temp.new_jobs();
reset work_mem;

-- the cursor of a prepared statement: scroll, in the backend and natively
create function pg_temp.both_ways() returns text language plpgsql as $$
declare
	c scroll cursor for select id, k from rescanned order by k, id;
	r record;
	forward text := '';
	backward text := '';
begin
	open c;
	loop
		fetch next from c into r;
		exit when not found;
		forward := forward || ' ' || r.k;
	end loop;
	loop
		fetch prior from c into r;
		exit when not found;
		backward := r.k || ' ' || backward;
	end loop;
	return case when trim(forward) = trim(backward) then 'equal' else 'DIFFERENT' end;
end $$;
select pg_temp.both_ways(), pg_temp.new_jobs();
set gpusort.min_rows = 1000000;
select pg_temp.both_ways(), pg_temp.new_jobs();
set gpusort.min_rows = 0;
set gpusort.enabled = off;
select pg_temp.both_ways(), pg_temp.new_jobs();
set gpusort.enabled = on;
select pg_temp.both_ways(), pg_temp.new_jobs();

drop table driving;
drop table rescanned;
