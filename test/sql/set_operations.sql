-- INTERSECT and EXCEPT: before PostgreSQL 18 over one sort of both inputs, which may be a
-- grouping; from 18 on over a sort of each.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

create table facts with (autovacuum_enabled = off) as
	select i as id, hashint4(i) as k, i % 50 as few, hashint4(i + 1000000) % 20000 as many,
		md5((i / 3)::text) as t, (i % 1000)::numeric(8, 2) as n
	from generate_series(1, 20000) i;
analyze facts;
set enable_hashagg = off;

select pg_temp.do_explain('select t, few, n, many from facts intersect select t, few, n, many from facts where id % 2 = 0');
select pg_temp.do_explain('select jsonb_build_object(''few'', few) from facts except all select jsonb_build_object(''few'', many) from facts');
select pg_temp.do_explain('(select t, n from facts union select t, n + 1 from facts) except select t, n from facts');
select pg_temp.compare('select * from (select t, few, n, many from facts intersect all select t, few, n, many from facts where id % 2 = 0) s order by 1, 2, 3, 4');
select pg_temp.compare('select * from (select jsonb_build_object(''few'', few) as j from facts except all select jsonb_build_object(''few'', many) from facts) s order by j');
select pg_temp.compare('select * from (select n / 2 as m from facts union select few from facts except select 1.50) s order by m');
select pg_temp.compare('select k from facts intersect select k from facts where id > 10000 order by 1');
select pg_temp.compare('select k from facts except select k from facts where id > 3000 order by 1 desc');

select pg_temp.left_over();
drop table facts;
