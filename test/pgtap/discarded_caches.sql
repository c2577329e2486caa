-- Index builds on a server with assertions whose caches are discarded whenever they may be
-- (debug_discard_caches = 1): what a build holds of the catalogs must not be of a cache.  The pages are those of
-- PostgreSQL's own build, and amcheck finds nothing.
--
-- Needs assertions, amcheck and pageinspect; else all is skipped.
\set ECHO none
\ir ../include/pgtap.sql

select current_setting('debug_assertions')::bool
	and (select count(*) = 2 from pg_available_extensions where name in ('amcheck', 'pageinspect')) as can_test \gset
\if :can_test
\else
select plan(1);
select skip('the server has no assertions, or no amcheck and pageinspect', 1);
select * from finish();
\q
\endif
create extension if not exists amcheck;
create extension if not exists pageinspect;

create type mood as enum ('sad', 'ok', 'happy');
create table cached as select
	i as id, hashint4(i) as k, i % 7 as few, md5(i::text) as t, md5(i::text) collate "C" as c, (i % 1000)::numeric / 8 as n,
	((array['sad', 'ok', 'happy'])[i % 3 + 1])::mood as m, case when i % 5 <> 0 then i end as withnull
	from generate_series(1, 600) i;
analyze cached;
set min_parallel_table_scan_size = 0;
set max_parallel_maintenance_workers = 2;

create function pages_of(index regclass) returns text language sql as $$
	select string_agg(md5(substr(get_raw_page(index::text, i::int4), 11)), ' ' order by i)
		from generate_series(0, pg_relation_size(index) / current_setting('block_size')::int4 - 1) i $$;

-- Builds the index natively, then through gpusort, the caches being discarded.
create function same_build(uniq text, definition text, workers int4) returns text language plpgsql as $$
declare
	native text;
	ours text;
	built int8;
begin
	execute format('alter table cached set (parallel_workers = %s)', workers);
	perform set_config('gpusort.index_builds', 'off', true);
	execute format('create %s index ix_cached on cached %s', uniq, definition);
	native := pages_of('ix_cached');
	drop index ix_cached;
	select index_builds into built from gpusort_stats;
	perform set_config('gpusort.index_builds', 'on', true);
	perform set_config('debug_discard_caches', '1', true);
	execute format('create %s index ix_cached on cached %s', uniq, definition);
	perform set_config('debug_discard_caches', '0', true);
	ours := pages_of('ix_cached');
	perform bt_index_parent_check('ix_cached', true, true);
	drop index ix_cached;
	return case when ours is distinct from native then 'other pages' else 'same pages' end || ', '
		|| (select index_builds - built from gpusort_stats) || ' builds';
end $$;

create table definitions (uniq text, definition text);
insert into definitions values
	('unique', '(id)'), ('', '(t, few desc)'), ('', '(m, n)'), ('', '(lower(t), (id / 3)) include (c)'), ('', '(withnull nulls first) where few < 5');

select plan(10);
select is(same_build(uniq, definition, workers), 'same pages, 1 builds', format('%s %s, %s workers', uniq, definition, workers))
	from definitions, unnest(array[0, 2]) as workers;
select * from finish();
