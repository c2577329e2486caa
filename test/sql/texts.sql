-- Text keys: text, varchar, char and name, under C, POSIX and ICU's collations.  Collations
-- of the C library are in test/t/043_collations.pl, since not all machines have any.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

-- lengths around words' ends, few and many bytes in common, equal ones, blanks at the end,
-- NULLs, empty strings, and long ones: compressed, and in a table of their own
create table strings(id int4, t text, v varchar(70), b char(40), n name, plain text, filler text);
alter table strings alter plain set storage external;
insert into strings
select i, t, t, left(t, 38) || repeat(' ', i % 3), t, case when i % 50 = 0 then repeat(t, 3000 / greatest(length(t), 1)) else t end, repeat('f', 30)
from generate_series(1, 6000) i,
	 lateral (select case i % 8
		when 0 then left('abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz', i / 8 % 45)
		when 1 then md5(i::text)
		when 2 then (array['', ' ', 'a', 'A', 'ä', 'Äb', 'a-b', 'ab', 'a b', E'a\tb', 'é', 'e', 'É', 'E', 'z', 'ß', 'ss', '10', '9', '-9'])[1 + i / 8 % 20]
		when 3 then null
		when 4 then 'https://www.' || i % 16 || '.example/' || i / 8
		when 5 then repeat('ü', i / 8 % 30)
		when 6 then 'AAAAAAAA' || chr(65 + i / 8 % 26) || 'AAAAAAA'
		else repeat(' ', i / 8 % 10) || i % 7 end) s(t);
update strings set t = repeat(t, 2500 / greatest(length(t), 1)) where id % 400 = 1;
analyze strings;
do $$ begin
	if exists (select from pg_collation where collname = 'en-x-icu') then
		create collation ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		create collation by_number (provider = icu, locale = 'en-u-kn');
	end if;
end $$;

-- every type under every collation, in both directions, with NULLs on both sides, alone and
-- beside another key: what differs is said, and what was not on the device
create function pg_temp.check_texts(collations text[]) returns setof text language plpgsql as $$
declare
	collation_name text;
	col text;
	sort_order text;
	outcome text;
begin
	foreach collation_name in array collations loop
		if not exists (select from pg_collation where collname = collation_name) then
			raise log 'collation % is skipped: it is not here', collation_name;
			continue;
		end if;
		foreach col in array array['t', 'v', 'b', 'n', 'plain'] loop
			foreach sort_order in array array['asc', 'desc', 'asc nulls first', 'desc nulls last'] loop
				outcome := pg_temp.compare(format('select id, %1$I, filler from strings order by %1$I collate %2$I %3$s, id', col, collation_name, sort_order));
				if outcome <> '6000 rows agree, 1 on the device' then
					return next format('%s %s %s: %s', col, collation_name, sort_order, outcome);
				end if;
			end loop;
			outcome := pg_temp.compare(format('select id, %1$I from strings order by id %% 3, %1$I collate %2$I desc, plain collate %2$I, id', col, collation_name));
			if outcome <> '6000 rows agree, 1 on the device' then
				return next format('%s %s, second key: %s', col, collation_name, outcome);
			end if;
		end loop;
	end loop;
	return next 'checked';
end $$;
select pg_temp.check_texts('{C,POSIX,ucs_basic}');
select pg_temp.check_texts('{en-x-icu,sv-x-icu,ignoring_case,by_number}');
-- without statistics, and with those of other values
create table unknown with (autovacuum_enabled = off) as select * from strings;
select pg_temp.compare('select id, t from unknown order by t, id'), pg_temp.compare('select id, t from unknown order by t collate "C" desc, b, id');
begin;
update strings set t = 'https://www.' || t, v = 'https://www.' || left(v, 50);
analyze strings;
update strings set t = substr(t, 10), v = substr(v, 13) where id % 2 = 0;
select pg_temp.check_texts('{C,en-x-icu}');
rollback;

-- as many words as tell values apart, behind what all of them begin with; of repeated values
-- under C words hold all, so that equal ones are known to be
create function pg_temp.words(query text) returns text language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, format json) ' || query into plan;
	return format('%s words, %s rows in tie runs', plan#>>'{0,Plan,Key Words}', plan#>>'{0,Plan,Rows in Tie Runs}');
end $$;
create table alike with (autovacuum_enabled = off) as
select i, 'AAAAAAAA' || chr(65 + i % 16) || chr(65 + i / 16 % 16) || chr(65 + i / 256 % 16) || chr(65 + i / 4096) || 'AAAA' as id,
	'https://www.' || md5(i::text) || '/' || i as url, (i * 7919 % 100)::text as few, 'a colour of ' || (array['red', 'green', 'blue'])[1 + i % 3] as colour,
	('n' || i)::name as name, md5(i::text) as md
from generate_series(1, 20000) i;
select pg_temp.words('select * from alike order by id');
analyze alike;
select pg_temp.words('select * from alike order by id');
select pg_temp.words('select * from alike order by url');
select pg_temp.words('select * from alike order by few');
select pg_temp.words('select * from alike order by colour');
select pg_temp.words('select * from alike order by name');
select pg_temp.words('select * from alike order by md');
-- through a subquery, and as another type
select pg_temp.words('select * from (select url as x, i from alike offset 0) s order by x::varchar');
-- the first keys first
select pg_temp.words('select * from alike order by few, colour, url, id');
select pg_temp.words('select * from alike order by id, url, few');
-- a set operation's columns have those of its first query's; expressions have no statistics
select pg_temp.words('select id from alike union all select url from alike order by id');
select pg_temp.words('select * from alike order by lower(id)');
-- laid out by the first rows, which begin as the others do not
begin;
set local gpusort.debug_force = off;
set local gpusort.min_rows = 10000;
set local max_parallel_workers_per_gather = 0;
select pg_temp.words($$ select * from (select case when i <= 4000 then 'https://www.example.com/a/' else '' end || md as x from alike where i % 1 = 0 order by i offset 0) s order by x $$);
-- comparisons would cost less
set local gpusort.debug_force = on;
select pg_temp.words($$ select * from (select md as x from alike where i % 1 = 0 order by md desc offset 0) s order by x, x || '' $$);
rollback;
-- rows that a policy hides have no part in the encoding
create role text_reader;
grant select on alike to text_reader;
set role text_reader;
select pg_temp.words('select i, url from alike order by url');
reset role;
alter table alike enable row level security;
create policy readers on alike for select to text_reader using (i > 0);
set role text_reader;
select pg_temp.words('select i, url from alike order by url');
reset role;
-- rights on the column do too; behind a view none of the owner's count, whoever has planned
create view urls as select i, url from alike where i > 0;
set plan_cache_mode = force_generic_plan;
prepare by_view as select i, url from urls order by url;
select pg_temp.words('execute by_view');
alter table alike disable row level security;
revoke select on alike from text_reader;
grant select (i, url) on alike to text_reader;
set role text_reader;
select pg_temp.words('select i, url from alike order by url') as by_column;
reset role;
revoke select (i, url) on alike from text_reader;
grant select on urls to text_reader;
set role text_reader;
select pg_temp.words('select i, url from urls order by url') as by_view;
select pg_temp.words('execute by_view') as by_the_owners_plan;
reset role;
reset plan_cache_mode;
deallocate by_view;
drop view urls;
drop table strings, unknown, alike;
drop role text_reader;
drop collation if exists ignoring_case, by_number;

-- keys are laid out by the statistics of the day, and in a session that has planned with others before too
create temp table addresses as select 'https://www.example.com/a/path/' || i as t from generate_series(1, 3000) i;
analyze addresses;
select pg_temp.words('select * from addresses order by t collate "C"');
begin;
update addresses set t = 'ftp://elsewhere.example/' || substr(t, 25);
select pg_temp.words('select * from addresses order by t collate "C"') as by_old_statistics;
analyze addresses;
select pg_temp.words('select * from addresses order by t collate "C"') as by_new_ones;
rollback;
select pg_temp.words('select * from addresses order by t collate "C"') as by_old_ones_again;
-- the same column's values under another collation, whose words are others
do $$ begin
	if exists (select from pg_collation where collname = 'en-x-icu') and
		pg_temp.words('select * from addresses order by t collate "en-x-icu"') !~ '^\d+ words, 0 rows in tie runs$' then
		raise 'laid out by the samples of another collation';
	end if;
end $$;
-- ICU's sort keys are as long as statistics and the first rows need
create function pg_temp.check_icu(what text, expected_words text, tied int) returns void language plpgsql as $$
declare
	query text := 'select t from titles order by t collate "en-x-icu", i';
	in_order text := format('select md5(string_agg(t, '','')) from (%s) s', query);
	plan json;
	ours text;
	natively text;
begin
	execute 'explain (analyze, format json) ' || query into plan;
	if coalesce(plan#>>'{0,Plan,Key Words}' !~ expected_words, true) or (plan#>>'{0,Plan,Rows in Tie Runs}')::int > tied or
		plan#>>'{0,Plan,Dictionary Keys}' is not null then
		raise '%: %', what, plan;
	end if;
	execute 'explain (format json) ' || in_order into plan;
	if plan::text !~ 'GpuSort' then
		raise '%: sorted natively: %', what, plan;
	end if;
	execute in_order into ours;
	set local gpusort.enabled = off;
	execute in_order into natively;
	set local gpusort.enabled = on;
	if ours <> natively then
		raise '%: another order', what;
	end if;
end $$;
do $$
begin
	if not exists (select from pg_collation where collname = 'en-x-icu') then
		return;
	end if;
	set local gpusort.debug_force = off;
	set local gpusort.min_rows = 1000;
	set local max_parallel_workers_per_gather = 0;
	set local enable_indexscan = off;
	create temp table titles as select i, md5(i::text) as t from generate_series(1, 40000) i;
	analyze titles;
	perform pg_temp.check_icu('values that differ early', '^2$', 200);
	update titles set t = 'A part of ' || i % 5 || ' kinds, number ' || t;
	analyze titles;
	perform pg_temp.check_icu('values that differ late', '^[45]$', 200);
	-- the first rows would do with one word, the others, which statistics have seen, not
	update titles set t = case when i <= 4000 then md5(i::text) else t end;
	analyze titles;
	perform pg_temp.check_icu('rows that begin as others do not', '^[45]$', 200);
	-- what statistics leave out no row has any more
	truncate titles;
	insert into titles select i, 'https://www.example.com/a/long/path/' || md5(i::text) from generate_series(1, 40000) i;
	analyze titles;
	update titles set t = 'http://cdn.example.com/elsewhere/' || md5(i::text);
	perform pg_temp.check_icu('old statistics', '^5$', 40000);
	-- backward as the table has them, a few values come again and again, of many
	truncate titles;
	insert into titles select i, 'order number ' || to_char(i / 4, '000000') || ' of a shop that has a long name' from generate_series(1, 40000) i order by i desc;
	analyze titles;
	perform pg_temp.check_icu('values that lie together', '^[23]$', 40000);
	drop table titles;
end $$;
