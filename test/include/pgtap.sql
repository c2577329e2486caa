-- Read at the start of each pgTAP test: psql prints what the test says and nothing else, GpuSort is
-- forced, and the variable seed is set, by the caller or by chance, for tests that draw.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
\ir force_gpusort.sql
\if :{?seed}
\else
	select coalesce(nullif(current_setting('gpusort_test.seed', true), ''), (random() * 1000000)::int4::text) as seed \gset
\endif
set client_min_messages = warning;
create extension if not exists pgtap;
