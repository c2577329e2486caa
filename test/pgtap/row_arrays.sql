-- Few rows: sorted in the backend by GpuSort, and by PostgreSQL's own sort.
--
-- For each type of the first key, and each number of rows around which an array is sorted in another
-- way, the seed chooses the share of NULLs, direction and place of NULLs, whether keys follow, and
-- whether rows are wide, narrow or a value alone.  Rows come in the order of PostgreSQL's sort: the last
-- key tells all apart, or rows that tie are the same.
--
-- psql -v seed=N, or PGOPTIONS='-c gpusort_test.seed=N', repeats a run; rounds=N sets its length.
\set ECHO none
\ir ../include/pgtap.sql
\if :{?rounds}
\else
	\set rounds 3
\endif
set gpusort.min_rows = 100000;
set work_mem = '64MB';
create type pg_temp.mood as enum ('low', 'middle', 'high');

-- How the first key is made of i, a number as it comes.
create temp table keys (type text, expression text);
insert into keys values
	('bool', 'hashint4(i) > 0'),
	('"char"', 'chr(33 + (hashint4(i) & 63))::"char"'),
	('int2', '(hashint4(i) >> 16)::int2'),
	('int4', '(array[-2147483648, 2147483647, -1, 0, 1, hashint4(i), hashint4(-i)])[1 + (hashint4(i) & 7)]'),
	('int8', 'hashint8extended(i, 0)'),
	('int8, a few', '(hashint4(i) & 3)::int8'),
	('oid', '(hashint4(i)::int8 & 4294967295)::oid'),
	('float4', '(array[''NaN'', ''-Infinity'', ''Infinity'', ''-0'', ''0'', hashint4(i)::text])[1 + (i % 6)]::float4'),
	('float8', '(array[''NaN'', ''-Infinity'', ''Infinity'', ''-0'', ''0'', hashint4(i)::text])[1 + (i % 6)]::float8'),
	('date', 'date ''2000-01-01'' + (hashint4(i) >> 12)'),
	('timestamptz', 'timestamptz ''2000-01-01 00:00:00Z'' + hashint4(i) * interval ''1 second'''),
	('an enum', '(enum_range(null::pg_temp.mood))[1 + (hashint4(i) & 1) + (hashint4(i) >> 1 & 1)]'),
	('numeric', '(array[''NaN'', ''0.00'', ''0'', ''-0.5'', repeat(''9'', 40) || (i % 3), ''1e-30'', hashint4(i)::text, (hashint4(i) / 1000.0)::text])[1 + (hashint4(-i) & 7)]::numeric'),
	('uuid', 'md5((i % 50)::text)::uuid'),
	('uuid, alike', '(''00000000-0000-0000-0000-'' || left(md5(i::text), 12))::uuid'),
	('interval', 'hashint4(i) * interval ''1 second'' + (i % 3) * interval ''1 month'''),
	('bytea', 'decode(left(md5(i::text), 2 * (i % 12)), ''hex'')'),
	('text, C', 'left(md5(i::text), i % 20) collate "C"'),
	('text, C, alike', '(''https://www.example.org/'' || hashint4(i)) collate "C"'),
	('text, C, a few', '(''value '' || (hashint4(i) & 3)) collate "C"'),
	('text, C, alike at first', 'case when i < 20 then ''one and the same'' else md5(i::text) end collate "C"'),
	('text, long', 'repeat(md5((i % 9)::text), 200) collate "C"'),
	('text, the database''s', 'md5((i % 200)::text)'),
	('bpchar', 'rpad(left(md5(i::text), i % 9), 12)::char(12) collate "C"'),
	('name', 'left(md5(i::text), 10)::name');
insert into keys select 'text, ICU''s', 'md5((i % 200)::text) collate "en-x-icu"' from pg_collation where collname = 'en-x-icu';

create function pg_temp.below(n int4) returns int4 language sql volatile as 'select least(floor(random() * n)::int4, n - 1)';
create function pg_temp.pick(choices text[]) returns text language sql volatile as
	'select choices[1 + pg_temp.below(cardinality(choices))]';

-- A query with a sort.
create function pg_temp.choose_query(expression text, rows int4) returns text language plpgsql volatile as $$
declare
	orders text[] := '{"", desc, "nulls first", "desc nulls last"}';
	key text := expression;
	columns text;
	order_by text := 'k ' || pg_temp.pick(orders);
	nulls float8 := (array[0, 0.05, 0.5, 1])[1 + pg_temp.below(4)];
begin
	if random() < 0.6 then
		key := format('case when (hashint4(i + 7) & 1023) / 1024.0 >= %s then %s end', nulls, expression);
	end if;
	columns := pg_temp.pick(array['', ', i as id, (hashint4(i + 1) & 7)::int2 as few', ', repeat(''filler'', i % 5) as filler, (hashint4(i + 1) & 7)::text as few, i as id']);
	if columns <> '' then
		if random() < 0.5 then
			order_by := order_by || ', few ' || pg_temp.pick(orders);
		end if;
		order_by := order_by || ', id ' || pg_temp.pick(orders);
	end if;
	return format('select * from (select %s as k%s from (select (n * 7919) %% 99991 as i from generate_series(1, %s) n offset 0) i offset 0) r order by %s',
				  key, columns, rows, order_by);
end $$;

-- Values that are equal may be written in several ways.
create function pg_temp.rows_of(query text, side text) returns text language plpgsql as $$
declare
	result text;
begin
	perform set_config('gpusort.enabled', side, false);
	execute format('select coalesce(string_agg(regexp_replace(q::text, ''^\((-0|0\.00)([,)])'', ''(0\2''), E''\n''), '''') from (%s) q', query) into result;
	return result;
end $$;

create function pg_temp.check_rows(type text, expression text, rows int4) returns text language plpgsql volatile as $$
declare
	query text := pg_temp.choose_query(expression, rows);
	line text;
begin
	if pg_temp.rows_of(query, 'on') is distinct from pg_temp.rows_of(query, 'off') then
		return 'other rows: ' || query;
	end if;
	set gpusort.enabled = on;
	for line in execute 'explain (analyze, costs off, timing off, summary off) ' || query loop
		if line ~ 'Sort Method: in backend' then
			return null;
		end if;
	end loop;
	return 'not in the backend: ' || query;
end $$;

select setseed(:seed / 1000000.0) \g /dev/null
select plan(count(*)::int4) from keys;
select is(string_agg(pg_temp.check_rows(type, expression, rows), E'\n'), null, format('%s, seed %s', type, :seed))
from keys, unnest('{0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 129, 700, 3000}'::int4[]) rows, generate_series(1, :rounds)
group by type order by type;
select finish();
