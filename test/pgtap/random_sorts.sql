-- The random oracle: tables of random shape, sorted by GpuSort and by PostgreSQL.
--
-- For each round the seed chooses the number of rows, the width, one to four key
-- columns and for each of them type, spread of values, share of NULLs, direction
-- and place of NULLs; rows of fixed-width columns only, the narrow ones, are among them.
-- Four things must hold: the plan has the GpuSort node, the counter of device sorts
-- moved, the keys come in the order of PostgreSQL's sort, and the rows are the same.
-- A fifth too: rows with equal keys stay in the order of the table.
--
-- In parallel rounds workers feed the sort; the seed also chooses their number, whether
-- the leader takes part, whether workers can be had at all, and whether PostgreSQL
-- forces parallel mode where it can.  There ties may come in any order.
--
-- psql -v seed=N, or PGOPTIONS='-c gpusort_test.seed=N', repeats a run; rounds=N and
-- parallel_rounds=N set its length.
\set ECHO none
\ir ../include/pgtap.sql
\if :{?rounds}
\else
	\set rounds 120
\endif
\if :{?parallel_rounds}
\else
	\set parallel_rounds 42
\endif
set work_mem = '64MB';

create type pg_temp.key_choice as (type text, expression text, descending bool, nulls_first bool);

-- A number from 0 to n - 1.
create function pg_temp.below(n int8) returns int8 language sql volatile as 'select least(floor(random() * n)::int8, n - 1)';
create function pg_temp.pick(choices text[]) returns text language sql volatile as
	'select choices[1 + pg_temp.below(cardinality(choices))]';

-- An expression over the row number i, for a column of this type.
create function pg_temp.values_of(type text) returns text language plpgsql volatile as $$
declare
	extremes text[] := case type
		when 'int2' then array['-32768', '32767', '-1', '0', '1']
		when 'int4' then array['-2147483648', '2147483647', '-1', '0', '1']
		when 'int8' then array['-9223372036854775808', '9223372036854775807', '-1', '0', '1']
		when 'oid' then array['0', '1', '2147483647', '2147483648', '4294967295']
		when 'date' then array['infinity', '-infinity', '4714-11-24 BC', '5874897-12-31', '2000-01-01', '1999-12-31']
		else array['infinity', '-infinity', '4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999', '2000-01-01', '1999-12-31 23:59:59.999999']
	end;
	wide text := case type
		when 'int2' then '(random() * 65535 - 32768)::int4::int2'
		when 'int4' then '(random() * 4294967294 - 2147483647)::int8::int4'
		when 'int8' then '((random() * 4294967295)::int8 << 32 | (random() * 4294967295)::int8)'
		when 'oid' then '(random() * 4294967295)::int8::oid'
		when 'date' then 'date ''2000-01-01'' + (random() * 4000000 - 2000000)::int4'
		when 'timestamp' then 'timestamp ''2000-01-01'' + (random() * 2e9 - 1e9) * interval ''1 second'''
		else 'timestamptz ''2000-01-01'' + (random() * 2e9 - 1e9) * interval ''1 second'''
	end;
	narrow text := case type
		when 'oid' then '(random() * %s)::int8::oid'
		when 'date' then 'date ''2020-02-28'' + (random() * %s)::int4'
		when 'timestamp' then 'timestamp ''1999-12-31 23:59:59.9'' + (random() * %s)::int4 * interval ''1 microsecond'''
		when 'timestamptz' then 'timestamptz ''1999-12-31 23:59:59.9'' + (random() * %s)::int4 * interval ''1 microsecond'''
		when 'int2' then '(random() * %s - 3)::int4::int2'
		else '(random() * %s - 3)::int8::' || type
	end;
	rising text := case type
		when 'date' then 'date ''1970-01-01'' + i'
		when 'timestamp' then 'timestamp ''1970-01-01'' + i * interval ''1 day'''
		when 'timestamptz' then 'timestamptz ''1970-01-01'' + i * interval ''1 minute'''
		when 'int2' then '(i % 30000)::int2'
		when 'oid' then 'i::oid'
		else format('i::%s', type)
	end;
	at_random text := format('((array[%s])[1 + pg_temp.below(%s)])::%s',
							 (select string_agg(quote_literal(e), ',') from unnest(extremes) e), cardinality(extremes), type);
begin
	return case pg_temp.below(7)
		when 0 then at_random
		when 1 then wide
		when 2 then format('case when random() < 0.1 then %s else %s end', at_random, wide)
		when 3 then format(narrow, 0)
		when 4 then format(narrow, 3 + pg_temp.below(20))
		when 5 then format(narrow, 20000)
		else rising
	end;
end $$;

create function pg_temp.choose_key(type text) returns pg_temp.key_choice language plpgsql volatile as $$
declare
	nulls float8 := (array[0, 0, 0.01, 0.5, 1])[1 + pg_temp.below(5)];
	expression text := pg_temp.values_of(type);
begin
	if nulls > 0 then
		expression := format('case when random() >= %s then %s end', nulls, expression);
	end if;
	return (type, expression, random() < 0.5, random() < 0.5)::pg_temp.key_choice;
end $$;

-- Keys, rows and stable order of a query, as hashes.
create function pg_temp.hashes(query text, key_list text, out keys text, out rows numeric, out places text, out n int8)
language plpgsql as $$
begin
	execute format('select md5(string_agg(hash_record_extended(row(%s), 0)::text, '' '')), sum(hash_record_extended(q, 0)), '
				   'md5(string_agg(id::text, '' '')), count(*) from (%s) q', key_list, query)
	into keys, rows, places, n;
end $$;

-- The GpuSort nodes of a query's plan.
create function pg_temp.gpusort_nodes(query text) returns text language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (format json) ' || query into plan;
	return concat_ws(' over ', plan#>>'{0,Plan,Custom Plan Provider}',
					 plan#>>'{0,Plan,Plans,0,Plans,0,Custom Plan Provider}');
end $$;

-- Runs one table's query both ways; returns what is wrong, or NULL.  place: the order of
-- ties; NULL: any.
create function pg_temp.judge(query text, order_by text, key_list text, place text, nodes text default 'GpuSort')
returns text language plpgsql as $$
declare
	ours record;
	native record;
	planned text := pg_temp.gpusort_nodes(query || order_by);
	wrong text[] := '{}';
begin
	if planned <> nodes then
		wrong := wrong || format('the plan has "%s"', planned);
	end if;
	perform pg_temp.new_jobs();
	ours := pg_temp.hashes(query || order_by, key_list);
	if pg_temp.new_jobs() <> 1 then
		wrong := wrong || 'the device did not sort'::text;
	end if;
	perform set_config('gpusort.enabled', 'off', false);
	native := pg_temp.hashes(query || order_by || coalesce(place, ''), key_list);
	perform set_config('gpusort.enabled', 'on', false);
	if ours.keys is distinct from native.keys then wrong := wrong || 'keys out of order'::text; end if;
	if ours.rows is distinct from native.rows or ours.n <> native.n then wrong := wrong || 'not the same rows'::text; end if;
	if place is not null and ours.places is distinct from native.places then wrong := wrong || 'ties changed places'::text; end if;
	return nullif(array_to_string(wrong, ', '), '');
end $$;

-- The workers' part in the parallel rounds.
create table pg_temp.fed(wanted int4, launched int4, by_workers numeric);

-- Chooses how the table shape is scanned; returns that in words.
create function pg_temp.choose_workers(out words text, out wanted int4) language plpgsql volatile as $$
declare
	workers int4 := 1 + pg_temp.below(4);
	-- without the leader one worker costs as much as none
	leader bool := workers = 1 or random() < 0.5;
	forced bool := random() < 0.3;
begin
	wanted := case when random() < 0.2 then 0 else workers end;
	execute format('alter table shape set (parallel_workers = %s)', workers);
	perform set_config('parallel_leader_participation', leader::text, false),
		set_config('max_parallel_workers', wanted::text, false),
		set_config(name, case when forced then 'regress' else 'off' end, false)
		from pg_settings where name in ('force_parallel_mode', 'debug_parallel_query');
	words := format(', %s of %s workers%s%s', wanted, workers, case when leader then '' else ', no leader' end,
					case when forced then ', forced' else '' end);
end $$;

create function pg_temp.note_feeders(query text, wanted int4) returns void language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, verbose, timing off, format json) ' || query into plan;
	insert into pg_temp.fed
		select wanted, (plan#>>'{0,Plan,Plans,0,Workers Launched}')::int4,
			coalesce(sum((worker->>'Actual Rows')::numeric), 0)
		from json_array_elements(plan#>'{0,Plan,Plans,0,Plans,0,Workers}') worker;
end $$;

create function pg_temp.random_round(round int4, first_type text, parallel bool) returns setof text language plpgsql as $$
declare
	types text[] := array['int2', 'int4', 'int8', 'oid', 'date', 'timestamp', 'timestamptz'];
	n_keys int4 := 1 + pg_temp.below(4);
	n_rows int4 := case pg_temp.below(8)
		when 0 then pg_temp.below(4)
		when 1 then 1 + pg_temp.below(100)
		when 2 then 8000 + pg_temp.below(8000)
		when 3 then 30000 + pg_temp.below(30000)
		else 1 + pg_temp.below(6000)
	end;
	width int4 := case pg_temp.below(5)
		when 0 then 0
		when 1 then pg_temp.below(10)
		when 2 then pg_temp.below(200)
		when 3 then pg_temp.below(1500)
		else 30
	end;
	not_null bool := random() < 0.3;
	k pg_temp.key_choice;
	columns text := '';
	expressions text := '';
	orders text[] := '{}';
	names text[] := '{}';
	order_by text;
	how record;
	wrong text;
begin
	if width > 200 then
		n_rows := n_rows % 4000;
	end if;
	for c in 1 .. n_keys loop
		k := pg_temp.choose_key(case when c = 1 then first_type else pg_temp.pick(types) end);
		if not_null then
			k.expression := format('coalesce(%s, %L)', k.expression, case when k.type ~ 'int|oid' then '7' else '2001-01-01' end);
		end if;
		columns := columns || format('k%s %s %s, ', c, k.type, case when not_null then 'not null' else '' end);
		expressions := expressions || k.expression || ', ';
		orders := orders || format('k%s %s nulls %s', c, case when k.descending then 'desc' else 'asc' end,
								   case when k.nulls_first then 'first' else 'last' end);
		names := names || format('k%s', c);
	end loop;
	if width = 0 then
		columns := columns || 'b bool, c "char", f float4, d float8, id int4';
		expressions := expressions || 'nullif(i % 3, 0) = 1, nullif(i % 128, 7)::"char", case when random() < 0.9 then random()::float4 end, '
			'case when random() < 0.5 then random() end, i';
	else
		columns := columns || 'id int4, filler text';
		expressions := expressions || format('i, repeat(chr(97 + i %% 26), pg_temp.below(%s)::int4)', width + 1);
	end if;
	execute format('create %s table shape (%s)', case when parallel then 'unlogged' else 'temp' end, columns);
	execute format('insert into shape select %s from generate_series(1, %s) i', expressions, n_rows);
	order_by := ' order by ' || array_to_string(orders, ', ');
	if parallel then
		how := pg_temp.choose_workers();
		wrong := pg_temp.judge('select * from shape', order_by, array_to_string(names, ', '), null, 'GpuSort over GpuSortFeed');
		perform pg_temp.note_feeders('select * from shape' || order_by, how.wanted);
	else
		select '' as words into how;
		wrong := pg_temp.judge('select * from shape', order_by, array_to_string(names, ', '), ', ctid');
	end if;
	return next ok(wrong is null, format('round %s: %s rows of up to %s bytes%s%s', round, n_rows, width, how.words, order_by));
	if wrong is not null then
		return next diag(format('%s; columns %svalues %s', wrong, columns, expressions));
	end if;
	drop table shape;
end $$;

-- Sizes around those where a chunk or an output block is full, for rows of 1 KiB.
create function pg_temp.boundary_round(n int4, descending bool) returns text language plpgsql as $$
declare
	wrong text := pg_temp.judge(format('select * from (select (i * 7919) %% 1009 as k, i as id, repeat(''b'', 980) from generate_series(1, %s) i offset 0) s', n),
								case when descending then ' order by k desc' else ' order by k' end, 'k', ', id');
begin
	return ok(wrong is null, format('%s rows of 1 KiB%s %s', n, case when descending then ', descending' else '' end, wrong));
end $$;

select plan(7 * (:rounds / 7) + 7 * (:parallel_rounds / 7) + 29);
select diag('seed ' || :'seed' || ' (to repeat: PGOPTIONS=''-c gpusort_test.seed=' || :'seed' || ''')');
select setseed((:seed % 1000000) / 1000000.0) \g /dev/null

select lines from generate_series(1, :rounds / 7) r,
	unnest(array['int2', 'int4', 'int8', 'oid', 'date', 'timestamp', 'timestamptz']) with ordinality t(first_type, place),
	lateral pg_temp.random_round((r * 7 + place - 7)::int4, first_type, false) lines;
select pg_temp.boundary_round(n, n % 2 = 0)
	from unnest(array[0, 1, 2, 3, 990, 995, 996, 997, 998, 999, 1000, 1001, 1022, 1023, 1024, 1025, 1026,
					  2046, 2047, 2048, 2049, 3072, 6000, 6143, 6144]) n;

set max_parallel_workers_per_gather = 4;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select lines from generate_series(1, :parallel_rounds / 7) r,
	unnest(array['int2', 'int4', 'int8', 'oid', 'date', 'timestamp', 'timestamptz']) with ordinality t(first_type, place),
	lateral pg_temp.random_round((r * 7 + place - 7)::int4, first_type, true) lines;
select is((select count(*) from pg_temp.fed where launched > wanted), 0::int8, 'no more workers than there may be');
select cmp_ok((select sum(launched) from pg_temp.fed), '>=', (select sum(wanted) from pg_temp.fed) / 2, 'workers came');
select cmp_ok((select sum(by_workers) from pg_temp.fed), '>', 0::numeric, 'workers fed rows');
select is(pg_temp.left_over(), '0 jobs, 0 bytes of buffers, 0 bytes reserved', 'nothing is left over');
select * from finish();
