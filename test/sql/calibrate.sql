-- gpusort_calibrate(): the shape of what it says, what it refuses, what it leaves.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on
set client_min_messages = warning;

-- the crossover: between sizes, before the first, beyond the last, with one disturbed
-- measurement at a large and at a small size, and without measurements.  The function exists
-- during a call alone: here it is taken out of gpusort_calibrate().
create schema gpusort_calibration;
\set ECHO none
select substring(prosrc from 'CREATE FUNCTION gpusort_calibration.crossover.*?\$crossover\$.*?\$crossover\$')
	from pg_proc where proname = 'gpusort_calibrate' \gexec
\set ECHO all
select round(gpusort_calibration.crossover('{1000,4000,16000}', '{1,2,16}', '{2,4,8}')::numeric, 6);
select round(gpusort_calibration.crossover('{1000,4000,16000}', '{1,4,16}', '{2,4,8}')::numeric, 6);
select round(gpusort_calibration.crossover('{1000,2000}', '{3,4}', '{2,3}')::numeric, 6);
select gpusort_calibration.crossover('{1000,2000}', '{1,2}', '{2,3}') is null;
select round(gpusort_calibration.crossover('{1000,2000,4000,8000,16000}', '{1,2,8,16,30}', '{2,4,4,17,10}')::numeric, 6);
select round(gpusort_calibration.crossover('{1000,2000,4000,8000,16000}', '{2.1,1,2,16,32}', '{2,4,4,8,10}')::numeric, 6);
select round(gpusort_calibration.crossover('{1000,2000,4000}', '{2,2.0002,8}', '{4,4,4}')::numeric, 6);
select round(gpusort_calibration.crossover('{1000}', '{2}', '{2}')::numeric, 6);
select gpusort_calibration.crossover(null, null, null) is null;
drop schema gpusort_calibration cascade;

-- what it returns
create table calibrated as select * from gpusort_calibrate(max_rows => 10000, runs => 3, workers => 2);
select name, unit from calibrated;
select count(*) from calibrated where unit = 'ns/row' and value is null;
select count(*) from calibrated where name like 'crossover%' and value not between 1000 and 10000;
select value from calibrated where name = 'min_rows_now';
select case when value is null then comment like 'no advice:%'
		else comment = format('ALTER SYSTEM SET gpusort.min_rows = %s; SELECT pg_reload_conf();', value) end
	from calibrated where name = 'min_rows';
select name, comment from gpusort_calibrate(10000, 3) where name like '%parallel%';
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'calibrated'::regclass and attnum > 0;

-- what it leaves: settings, statements and schemas are as before
show enable_sort;
show gpusort.debug_force;
show gpusort.min_rows;
show gpusort.enabled;
show max_parallel_workers_per_gather;
select count(*) from pg_prepared_statements;
select count(*) from pg_namespace where nspname = 'gpusort_calibration';
set statement_timeout = '300ms';
\set VERBOSITY sqlstate
select * from gpusort_calibrate(1000000, 100, 0);
reset statement_timeout;
select count(*) from pg_prepared_statements;
select count(*) from pg_namespace where nspname = 'gpusort_calibration';
begin;
set local gpusort.debug_force = off;
\set VERBOSITY default
select count(*) from gpusort_calibrate(10000, 3, 0);
show gpusort.debug_force;
show gpusort.min_rows;
rollback;
select proname from pg_proc where proname like 'gpusort_calibrate%';

-- what it refuses
\set VERBOSITY terse
select * from gpusort_calibrate(9999);
select * from gpusort_calibrate(100000001);
select * from gpusort_calibrate(null);
select * from gpusort_calibrate(runs => 2);
select * from gpusort_calibrate(runs => null);
select * from gpusort_calibrate(workers => -1);
select * from gpusort_calibrate(workers => 64);
select * from gpusort_calibrate(workers => null);
set max_parallel_workers = 1;
select * from gpusort_calibrate(workers => 2);
reset max_parallel_workers;
begin;
create schema gpusort_calibration;
select * from gpusort_calibrate(10000, 3);
rollback;
begin read only;
select * from gpusort_calibrate(10000, 3);
rollback;

-- who may call it, from any schema and with any search_path
create role gpusort_calibrator;
set role gpusort_calibrator;
select * from gpusort_calibrate(10000, 3);
reset role;
grant execute on function gpusort_calibrate(integer, integer, integer) to gpusort_calibrator;
set role gpusort_calibrator;
select * from gpusort_calibrate(10000, 3);
reset role;
select format('grant create on database %I to gpusort_calibrator', current_database()) \gexec
set role gpusort_calibrator;
select * from gpusort_calibrate(10000, 3);
reset role;
grant set on parameter gpusort.debug_force to gpusort_calibrator;
create schema "Else where";
alter extension gpusort set schema "Else where";
grant usage on schema "Else where" to gpusort_calibrator;
set role gpusort_calibrator;
set search_path = '';
select count(*) from "Else where".gpusort_calibrate(10000, 3, 2);
reset search_path;
reset role;
alter extension gpusort set schema public;
drop schema "Else where";
drop owned by gpusort_calibrator;
drop role gpusort_calibrator;
drop table calibrated;
