-- Rows of any width: from a byte to longer than a piece of the buffers, toasted or not.
\set ECHO none
\getenv tests PG_ABS_SRCDIR
\set force_gpusort :tests '/include/force_gpusort.sql'
\i :force_gpusort
\set ECHO all
\pset format unaligned
\pset tuples_only on

-- Native sorts must not spill here: they would take most of the time.
set work_mem = '256MB';

-- no column at all beside the key; and short rows
select pg_temp.compare('select from (select i from generate_series(1, 5000) i order by i % 7) s');
select pg_temp.compare('select i::int2 from generate_series(1, 30000) i order by -i');
select pg_temp.compare('select i, ''x''::"char" from generate_series(1, 100000) i order by i % 1000 desc, i');

-- rows of exactly 1024 bytes: 1024 of them fill a window, and some fewer a chunk
select n, pg_temp.compare(format('select i, repeat(chr(97 + i %% 26), 991) from generate_series(1, %s) i order by -i', n))
	from unnest(array[1000, 1007, 1008, 1009, 1023, 1024, 1025, 2047, 2048, 2049]) n;

-- rows of all lengths around the longest that a chunk, and a window, holds
select pg_temp.compare('select i, repeat(chr(97 + i % 26), 1048576 - 320 + 8 * i) from generate_series(1, 45) i order by i % 5, i');

-- 3 MB and 20 MB in a row, between short ones; none but the long ones
select pg_temp.compare($$
	select i, repeat(chr(97 + i % 26), case i when 7 then 3000000 when 40 then 20000000 when 41 then 1048576 else i end)
	from generate_series(1, 80) i order by i % 9, i desc $$);
select pg_temp.compare('select i, repeat(''y'', 3000000 + i) from generate_series(1, 6) i order by -i');
select pg_temp.compare('select repeat(''z'', 20000000) from generate_series(1, 1) i order by i');

-- a long row as the first, as the last, and NULL keys beside it
select pg_temp.compare('select nullif(i, 3) as k, repeat(''q'', case when i in (1, 3, 2000) then 2500000 else 100 end) from generate_series(1, 2000) i order by k desc nulls last');

-- toasted columns: the pointer travels; compressed; inline
create table toasted(id int4, k int4, packed text, plain text);
alter table toasted alter column plain set storage external;
insert into toasted
	select i, (i * 37) % 101, repeat('compress me ', 1000 * (i % 5)), repeat(md5(i::text), i % 400)
	from generate_series(1, 400) i;
analyze toasted;
select pg_temp.compare('select * from toasted order by k, id');
select pg_temp.compare('select id, packed || plain from toasted order by k desc, id');
select pg_temp.compare('select toasted from toasted order by k % 3, id desc');

-- long rows read backward and again
begin;
declare wide scroll cursor for
	select i, repeat(chr(97 + i % 26), case when i % 4 = 0 then 2100000 else 200 * i end) as filler
	from generate_series(1, 12) i order by -i;
create function pg_temp.widths(direction text) returns text language plpgsql as $$
declare
	wide refcursor := 'wide';
	r record;
	seen text := '';
begin
	loop
		if direction = 'prior' then
			fetch prior from wide into r;
		else
			fetch next from wide into r;
		end if;
		exit when not found;
		if r.filler <> repeat(chr(97 + r.i % 26), length(r.filler)) then
			return 'broken row ' || r.i;
		end if;
		seen := seen || format('%s:%s ', r.i, length(r.filler));
	end loop;
	return seen;
end $$;
select pg_temp.widths('next');
select pg_temp.widths('prior');
select pg_temp.widths('next');
commit;

drop table toasted;
