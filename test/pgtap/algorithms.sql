-- gpusort.algorithm: each gives PostgreSQL's order, and EXPLAIN ANALYZE names it.  The host
-- device sorts by radix whatever is asked for.
\set ECHO none
\ir ../include/pgtap.sql

create temp table pairs as
	select hashint8extended(i, 1) as wide, hashint8extended(i % 1000, 2) as repeated, hashint4(i) as narrow,
		(i % 16)::int2 as few, nullif(i % 500, 3) as n, i as id
	from generate_series(1, 40000) i;
analyze pairs;

create function pg_temp.algorithm(query text) returns text language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, format json) ' || query into plan;
	return plan->0->'Plan'->>'Sort Algorithm';
end $$;

create function pg_temp.check_algorithm(wanted text) returns setof text language plpgsql as $$
declare
	device text := (select kind from gpusort_devices limit 1);
	shown text := case when device = 'cuda' then wanted else 'radix' end;
	keys text;
	query text;
begin
	perform set_config('gpusort.algorithm', wanted, false);
	foreach keys in array array['wide', 'narrow, id', 'repeated desc, id', 'few, wide', 'n desc nulls first, repeated, narrow, id'] loop
		query := 'select * from pairs order by ' || keys;
		return next is(pg_temp.compare(query), '40000 rows agree, 1 on the device', wanted || ': ' || keys);
		if wanted <> 'auto' then
			return next is(pg_temp.algorithm(query), shown, wanted || ' is shown: ' || keys);
		end if;
	end loop;
end $$;

select no_plan();
select pg_temp.check_algorithm('auto');
select pg_temp.check_algorithm('radix');
select pg_temp.check_algorithm('partition');
select pg_temp.check_algorithm('merge');
select pg_temp.check_algorithm('cub_radix');
set gpusort.algorithm = 'partition';
select is(pg_temp.algorithm('select * from (select 5::int8 as k from generate_series(1, 100)) s order by k + 0 * random()::int8'),
		  null, 'keys that are all equal need none');
select is(pg_temp.left_over(), '0 jobs, 0 bytes of buffers, 0 bytes reserved', 'nothing is left over');
select * from finish();
