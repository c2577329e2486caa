-- Parallel plans: workers feed by the encodings and dictionaries that the leader has chosen by the first rows.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set gpusort.min_rows = 1500;

-- few: of four values, whose later rows have 400 more; alike: with a beginning that later rows lack; the first 3,000 rows of
-- flat are equal, those of void NULL, those of rising in order
create domain short as text check (length(value) < 30);
create table laid_out as
select i as id, (array['open', 'Paid', 'shipped', 'returned'])[1 + i % 4] || case when i > 60000 and i % 5 = 0 then ' ' || i % 400 else '' end as few,
	case when i <= 30000 then 'https://www.example.com/a/path/' else 'ftp://b/' end || md5(i::text) as alike,
	case when i <= 3000 then 'flat' else md5(i::text) end as flat,
	case when i > 3000 then 'v' || (i * 7919) % 60013 end as void,
	lpad(i::text, 12, '0') as rising
from generate_series(1, 120000) i;
alter table laid_out add padded char(20), add named name, add domained short;
update laid_out set padded = few, named = few, domained = few;
-- once with statistics, once without
create table unknown with (autovacuum_enabled = off) as select * from laid_out;
vacuum analyze laid_out;

-- Compares with PostgreSQL's own sort; there are to be feeders, and so many keys with dictionaries; NULL: as the rows that
-- happen to come first have it.
create function pg_temp.check_fed(query text, dictionaries int) returns void language plpgsql as $$
declare
	native text;
	ours text;
	plan text;
begin
	set local gpusort.enabled = off;
	select f::text into native from pg_temp.fingerprint(query) f;
	set local gpusort.enabled = on;
	select f::text into ours from pg_temp.fingerprint(query) f;
	execute 'explain (analyze, format json) ' || query into plan;
	if ours <> native then
		raise '%: other rows, or another order', query;
	elsif plan !~ '"Rows Fed": [1-9].*GpuSortFeed' then
		raise '%: not fed: %', query, plan;
	elsif coalesce(substring(plan from '"Dictionary Keys": (\d+)')::int, 0) <> dictionaries then
		raise '%: % keys with dictionaries, not %', query, coalesce(substring(plan from '"Dictionary Keys": (\d+)'), 'no'), dictionaries;
	end if;
end $$;
do $$
declare
	source text;
	key text;
begin
	foreach source in array array['laid_out', 'unknown'] loop
		foreach key in array array['alike collate "C"', 'alike collate "C" desc', 'flat collate "C"', 'void collate "C" nulls first', 'rising collate "C"', 'few collate "C"', 'id % 7'] loop
			perform pg_temp.check_fed(format('select id, few from %s order by %s, id', source, key), null);
		end loop;
	end loop;
end $$;
-- no worker can be had; the leader does not take part
set max_parallel_workers = 0;
select pg_temp.check_fed('select id, few from unknown order by alike collate "C", id', null);
reset max_parallel_workers;
set parallel_leader_participation = off;
select pg_temp.check_fed('select id, few from unknown order by alike collate "C", id', null);
reset parallel_leader_participation;
-- texts under ICU, by dictionaries
do $$
declare
	key text;
begin
	if not exists (select from pg_collation where collname = 'en-x-icu') then
		return;
	end if;
	create collation no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	foreach key in array array['few collate "en-x-icu"', 'few collate "en-x-icu" desc', 'padded collate "en-x-icu"', 'named collate "en-x-icu"',
			'domained collate "en-x-icu" desc nulls first'] loop
		perform pg_temp.check_fed(format('select id, few from unknown order by %s, id', key), 1);
		-- statistics have seen more values, of which a dictionary may be too
		perform pg_temp.check_fed(format('select id, few from laid_out order by %s, id', key), 1);
	end loop;
	perform pg_temp.check_fed('select id, few from unknown order by few collate no_case, padded collate "en-x-icu" desc, id', 2);
	perform pg_temp.check_fed('select id, alike from unknown order by alike collate "en-x-icu", id', 0);
	set local parallel_leader_participation = off;
	perform pg_temp.check_fed('select id, few from unknown order by few collate "en-x-icu", id', 1);
end $$;
-- a scan of other rows each time
select pg_temp.compare('select low, s.* from (values (1), (20000), (119990)) v(low), lateral (select few, id from unknown where id >= low order by few collate "C", id offset 0) s');
-- fewer rows than the device is worth
select pg_temp.compare('select id, few from unknown where id <= 1000 order by few collate "C", id');
drop table laid_out, unknown;
drop domain short;
drop collation if exists no_case;
