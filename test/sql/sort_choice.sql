-- Serial sorts by their first rows: rows that come in order stay in the backend, keys behind one that decides get no words, and
-- what costs more by words than by comparisons stays too, or is PostgreSQL's own.
\set ECHO all
\pset format unaligned
\pset tuples_only on
set max_parallel_workers_per_gather = 0;
set gpusort.min_rows = 1000;
create function pg_temp.how(query text) returns text language plpgsql as $$
declare
	hash text := 'select md5(string_agg(hash_record_extended(q, 0)::text, '' '')) from (%s) q';
	plan json;
	ours text;
	natively text;
begin
	execute 'explain (analyze, format json) ' || query into plan;
	execute format(hash, query) into ours;
	set local gpusort.enabled = off;
	execute format(hash, query) into natively;
	set local gpusort.enabled = on;
	return regexp_replace(plan#>>'{0,Plan,Sort Method}', '^(host|gpu)$', 'device') || coalesce(', ' || (plan#>>'{0,Plan,Key Words}') || ' words', '') ||
		case when ours = natively then '' else ', OTHER ROWS' end;
end $$;
create type color as enum ('red', 'green', 'blue', 'white');
create table inputs with (autovacuum_enabled = off) as
	select i::int8 as id, md5(i::text) as md, lpad(i::text, 12, '0') as padded, repeat(chr(97 + i % 3), 60) || md5(i::text) as alike, 1 as one, null::text as nothing
	from generate_series(1, 20000) i;
analyze inputs;

-- in order, as long as work_mem has room
set work_mem = '64MB';
select pg_temp.how('select id, md from inputs order by id');
select pg_temp.how('select id, md from inputs order by id desc');
select pg_temp.how('select one, id, md from inputs order by one desc, id');
select pg_temp.how('select one, id, md from inputs order by one, id desc');
select pg_temp.how('select padded, id from inputs order by padded collate "C"');
select pg_temp.how('select id, nothing from inputs order by nothing, id');
select pg_temp.how('select id, md from (select * from inputs order by id) s order by case when id > 20 then id end nulls first');
-- but for one of the last rows, or of the first ones, which is no reason to send the others away
select pg_temp.how('select id, md from inputs order by case when id = 19990 then 3 else id end, md collate "C"');
select pg_temp.how('select id, md from inputs order by case when id = 20 then 3 else id end, md collate "C"');
-- nearly in order, or few values to compare
create table cheap with (autovacuum_enabled = off) as
	select i as id, md5(i::text) as md, case when hashint8(i) % 10 = 0 then hashint8(i) end as mostly_null, hashint8(i) % 10 < 3 as yes,
		(enum_range(null::color))[1 + (hashint8(i) & 3)] as color, ('state ' || (hashint8(i) & 3)) collate "C" as state,
		(lpad(to_hex(1700000000000 + i / 3), 12, '0') || '7' || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid as u7,
		4 * i + (hashint8(i) & 15) as swapped_3, 4 * i + abs(hashint8(i) % 400) as swapped_100, hashint8(i) as random
	from generate_series(1, 20000) i;
analyze cheap;
select pg_temp.how('select mostly_null, mostly_null::text as t from cheap order by mostly_null');
select pg_temp.how('select yes, yes::text as t from cheap order by yes desc');
select pg_temp.how('select color, color::text as t from cheap order by color');
select pg_temp.how('select state, state::text as t from cheap order by state');
select pg_temp.how('select u7, md from cheap order by u7, id');
select pg_temp.how('select swapped_3, md from cheap order by swapped_3 desc, md');
select pg_temp.how('select swapped_100, swapped_100::text as t from cheap order by swapped_100');
-- but for another key that has to compare many rows, and for rows in no order
select pg_temp.how('select yes, md from cheap order by yes, md');
select pg_temp.how('select random, random::text as t from cheap order by random');
drop table cheap;
-- fewer rows may be in order by chance, unless ANALYZE has seen all in order
set gpusort.min_rows = 900;
select pg_temp.how('select id, md from inputs order by id');
set gpusort.min_rows = 1000;
set work_mem = '256kB';
select pg_temp.how('select id, md from inputs order by id');

-- texts of three beginnings, which words hardly tell apart: either way costs about the same, and gives the same rows
select pg_temp.how('select id, alike from inputs order by alike collate "C"') ~ '^(device, 4 words|native [(]words.*)$';
-- NULLs and values that words hold are no ties
select pg_temp.how('select case when id % 5 > 0 then md end, id from inputs order by 1, 2');
select pg_temp.how('select (id % 50)::text::name, id from inputs order by (id % 50)::text::name, id');

-- sort keys of a collation: behind a key that decides, and behind one that does not; of texts in order
create function pg_temp.how_icu(query text, expected text) returns text language plpgsql as $$
begin
	return case when exists (select from pg_collation where collname = 'en-x-icu') then pg_temp.how(query) else expected end;
end $$;
select pg_temp.how_icu('select id, md from inputs order by id desc, md collate "en-x-icu"', 'device, 1 words');
select pg_temp.how_icu('select id, md from inputs order by id % 100 desc, md collate "en-x-icu"', 'device, 3 words');
select pg_temp.how_icu('select id, md from inputs order by md collate "en-x-icu"', 'device, 2 words');
select pg_temp.how_icu('select padded, id from inputs order by padded collate "en-x-icu"', 'native (making key words costs more than comparisons)');
set gpusort.debug_force = on;
select pg_temp.how_icu('select padded, id from inputs order by padded collate "en-x-icu"', 'device, 1 words');
reset gpusort.debug_force;
-- the other way round too; but rows to come are not expected in order where ANALYZE has not seen that they are
create table backward with (autovacuum_enabled = off) as select padded, id from inputs order by id desc;
create table unseen with (autovacuum_enabled = off) as select padded, id from inputs order by id;
analyze backward;
select pg_temp.how_icu('select padded, id from backward order by padded collate "en-x-icu" desc', 'native (making key words costs more than comparisons)');
select pg_temp.how_icu('select padded, id from unseen order by padded collate "en-x-icu"', 'device, 1 words');
drop table backward, unseen;
select native_cost > 0 or not exists (select from pg_collation where collname = 'en-x-icu') from gpusort_stats;
drop table inputs;
drop type color;
