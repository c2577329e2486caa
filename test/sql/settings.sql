-- Settings, views and who may use them.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

-- defaults, bounds, units, context
select name, unit, context, vartype, min_val, max_val, enumvals from pg_settings where name like 'gpusort.%' order by name;
reset gpusort.min_rows;
show gpusort.min_rows;
show gpusort.enabled;
set gpusort.min_rows = -1;
set gpusort.min_rows = -2;
set gpusort.min_rows = 2147483648;
set gpusort.min_rows = 'many';
set gpusort.min_rows = 2147483647;
set gpusort.min_rows = 0;
set gpusort.enabled = 'perhaps';
set gpusort.algorithm = 'partition';
show gpusort.algorithm;
set gpusort.algorithm = 'bubble';
reset gpusort.algorithm;
set gpusort.device = 'host';
alter system set gpusort.device = 'tpu';
alter system set gpusort.device = 'host,auto';
alter system set gpusort.device = 'cuda,host';
alter system set gpusort.device = 'auto,tpu';
alter system set gpusort.device = 'auto,auto';
alter system set gpusort.device = 'auto,host,host';
alter system set gpusort.device = 'auto,off';
alter system set gpusort.device = 'auto,,host';
alter system set gpusort.device = 'auto host';
-- GPUs by their numbers, each once; these are not set, as there may be none
alter system set gpusort.device = 'cuda:0,cuda:0';
alter system set gpusort.device = 'cuda:0,1,1';
alter system set gpusort.device = 'cuda,1';
alter system set gpusort.device = 'cuda:0,host';
alter system set gpusort.device = 'cuda:';
alter system set gpusort.device = 'cuda:x';
alter system set gpusort.device = '';
set gpusort.host_threads = 4;
set gpusort.host_nice = 10;
set gpusort.buffer_memory = '32MB';
-- 17 says the range with its units
\set VERBOSITY sqlstate
alter system set gpusort.buffer_memory = '15MB';
alter system set gpusort.buffer_memory = '65GB';
alter system set gpusort.device = 'host,cuda';
alter system set gpusort.host_nice = -1;
alter system set gpusort.host_nice = 20;
alter system set gpusort.host_threads = -1;
alter system set gpusort.host_threads = 1025;
\set VERBOSITY default
select min_val, max_val, unit from pg_settings where name = 'gpusort.buffer_memory';
alter system set gpusort.buffer_memory = '1 parsec';
alter system set gpusort.device_memory = '31MB';
alter system set gpusort.device_memory = '1024';
alter system set gpusort.device_memory = '1024 ';
alter system set gpusort.device_memory = ' 1024';
alter system set gpusort.device_memory = '1024.0';
alter system set gpusort.device_memory = '1e3';
alter system set gpusort.device_memory = '0x400';
alter system set gpusort.device_memory = '0x40B';
alter system set gpusort.device_memory = '0%';
alter system set gpusort.device_memory = '101%';
alter system set gpusort.device_memory = '50 percent';
alter system set gpusort.device_memory = '';
alter system set gpusort.device_memory = '-5GB';
set gpusort.device_memory = 'auto';
set gpusort.no_such_setting = 1;
set gpusort.debug_providers_off = 'order, Window';
set gpusort.debug_providers_off = 'order,sort';
set gpusort.debug_providers_off = 'convert';
set gpusort.debug_providers_off = 'order,,window';
show gpusort.debug_providers_off;
reset gpusort.debug_providers_off;

-- right values are taken; nothing is reloaded here
alter system set gpusort.buffer_memory = '1GB';
alter system set gpusort.device_memory = '32MB';
alter system set gpusort.device_memory = '50%';
alter system set gpusort.device_memory = '8GB';
alter system set gpusort.device_memory = '16TB';
alter system set gpusort.device_memory = 'Auto';
alter system set gpusort.device_memory = 'auto';
alter system reset gpusort.device_memory;
select current_setting('gpusort.device') as device \gset
alter system set gpusort.device = 'auto,host';
alter system set gpusort.device = auto, host;
alter system set gpusort.device = ' AUTO , "host"';
alter system set gpusort.device = 'CUDA';
alter system set gpusort.device = 'off';
alter system set gpusort.device = 'auto';
alter system set gpusort.device = :'device';
alter system set gpusort.host_nice = 19;
alter system set gpusort.host_threads = 1024;
alter system reset gpusort.host_nice;
alter system reset gpusort.host_threads;
alter system reset gpusort.buffer_memory;

-- the views
\pset tuples_only off
select attname, format_type(atttypid, atttypmod) from pg_attribute
	where attrelid = 'gpusort_stats'::regclass and attnum > 0 order by attnum::text::int8;
select attname, format_type(atttypid, atttypmod) from pg_attribute
	where attrelid = 'gpusort_devices'::regclass and attnum > 0 order by attnum::text::int8;
-- other tests' last sorts may still be closing
do $$ begin for i in 1 .. 18000 loop exit when (select open_jobs from gpusort_devices) = 0; perform pg_sleep(0.01); end loop; end $$;
select kind, ordinal, state, detail, budget_bytes <= memory_bytes as within_memory, open_jobs, driver, runtime from gpusort_devices;
select backend_type, datname from pg_stat_activity where pid = (select service_pid from gpusort_devices);

-- what gpusort.min_rows means on a device
select min_rows from gpusort_devices;
begin;
set local gpusort.min_rows = -1;
select min_rows = case kind when 'host' then 20000 else 10000 end as by_device from gpusort_devices;
rollback;

-- each column has its counter
select string_agg(c.key, ', ') as without_counter from gpusort_stats s, json_each_text(row_to_json(s)) c where c.value is null;

-- an SQL definition of another version: columns go by their names
create function stats_of_old(out rows bigint, out gone bigint, out jobs bigint, out feed_ms double precision)
	language c as '$libdir/gpusort', 'gpusort_stats';
select o.rows = s.rows as rows, o.gone, o.jobs = s.jobs as jobs, o.feed_ms = s.feed_ms as feed_ms from stats_of_old() o, gpusort_stats s;
drop function stats_of_old();
create function stats_of_old(out jobs bigint, out feed_ms bigint) language c as '$libdir/gpusort', 'gpusort_stats';
select * from stats_of_old();
drop function stats_of_old();

-- counters move, and are reset by who may
create table counted as select i, 1000 - i as k from generate_series(1, 1000) i;
select gpusort_stats_reset();
select i from counted order by k \g /dev/null
select jobs, rows, bytes_to_device >= 16000 as sent, bytes_from_device >= 16000 as received,
	feed_ms > 0 as fed, sort_ms > 0 as sorted, output_ms > 0 as put_out,
	in_backend, native_disabled, native_no_device, native_no_slot, native_no_buffers,
	native_device_memory, failed, stats_reset <= clock_timestamp() as reset_before
	from gpusort_stats;
select gpusort_stats_reset();
select jobs, rows, bytes_to_device, bytes_from_device, feed_ms, sort_ms, output_ms, in_backend from gpusort_stats;

set client_min_messages = error;
create role gpusort_reader;
reset client_min_messages;
grant select on counted to gpusort_reader;
set role gpusort_reader;
select count(*) from gpusort_stats;
select count(*) from gpusort_devices;
select count(*) from (select i from counted order by k) s;
select gpusort_stats_reset();
set gpusort.min_rows = 5;
set gpusort.device = 'off';
reset role;
grant execute on function gpusort_stats_reset() to gpusort_reader;
set role gpusort_reader;
select gpusort_stats_reset();
reset role;
drop table counted;
drop owned by gpusort_reader;
drop role gpusort_reader;

-- dropped and made again, in any schema
drop extension gpusort;
select i from generate_series(3, 1, -1) i order by i;
create schema elsewhere;
create extension gpusort schema elsewhere;
select count(*) from elsewhere.gpusort_stats;
alter extension gpusort set schema public;
select count(*) from gpusort_stats;
drop schema elsewhere;
