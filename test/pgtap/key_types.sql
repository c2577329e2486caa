-- The order of every type at its boundaries, written down here by hand: least, greatest, zero of
-- both signs, NaN, empty, NULL; texts that end within a key's words, at their border and behind.
--
-- Each value comes many times, in no order.  Up and down, NULLs first and last, three things must
-- hold: the plan has the GpuSort node, the counter of device sorts moved, and the values come
-- in the order of the list; with NULLs last equal ones in the order of a second key, which shows
-- that they are equal.
\set ECHO none
\ir ../include/pgtap.sql
create type pg_temp.mark as enum ('m', 'z');
alter type pg_temp.mark add value 'd' before 'm';
alter type pg_temp.mark add value 'p' after 'm';
alter type pg_temp.mark add value 'b' before 'd';
create domain pg_temp.price as numeric(10,2);

-- Sorts by a query's order and compares the places of its rows; returns what is wrong, or NULL.
create function pg_temp.judge(order_by text, wanted_order text) returns text language plpgsql as $$
declare
	plan json;
	found text;
	wanted text;
	ids text;
	wanted_ids text;
	wrong text[] := '{}';
begin
	execute 'explain (format json) select place, id from boundaries order by ' || order_by into plan;
	if plan#>>'{0,Plan,Custom Plan Provider}' is distinct from 'GpuSort' then
		wrong := wrong || 'the plan has no GpuSort'::text;
	end if;
	perform pg_temp.new_jobs();
	execute format('select string_agg(coalesce(place::text, ''NULL''), '' ''), string_agg(id::text, '' '') from (select place, id from boundaries order by %s offset 0) q', order_by) into found, ids;
	if pg_temp.new_jobs() <> 1 then
		wrong := wrong || 'the device did not sort'::text;
	end if;
	perform set_config('gpusort.enabled', 'off', false);
	execute format('select string_agg(coalesce(place::text, ''NULL''), '' ''), string_agg(id::text, '' '') from (select place, id from boundaries order by %s offset 0) q', wanted_order) into wanted, wanted_ids;
	perform set_config('gpusort.enabled', 'on', false);
	if found is distinct from wanted then
		wrong := wrong || format('places %s', left(regexp_replace(found, '\m(\w+)( \1\M)+', '\1', 'g'), 200));
	elsif wanted_order ~ ' id$' and ids is distinct from wanted_ids then
		wrong := wrong || 'equal values are told apart'::text;
	end if;
	return nullif(array_to_string(wrong, ', '), '');
end $$;

-- Values from the least to the greatest; one that begins with '=' equals the one before it.
create function pg_temp.check_type(type text, ascending text[], key text default 'k') returns setof text language plpgsql as $$
declare
	direction text;
	nulls text;
	second text;
	wrong text;
begin
	execute format('create temp table boundaries as select k, place, (row_number() over ())::int4 as id from
		(select ltrim(v, ''='')::%s as k, (count(*) filter (where v not like ''=%%'') over (order by n))::int4 as place, n from unnest($1) with ordinality u(v, n)
			union all select null, null, 0) v,
		generate_series(1, 25) i order by hashint8extended(n * 1000 + i, 1)', type) using ascending;
	analyze boundaries;
	foreach direction in array array['asc', 'desc'] loop
		foreach nulls in array array['nulls first', 'nulls last'] loop
			second := case when nulls = 'nulls last' then ', id' else '' end;
			wrong := pg_temp.judge(concat_ws(' ', key, direction, nulls || second), concat_ws(' ', 'place', direction, nulls || second));
			return next ok(wrong is null, concat_ws(' ', type, nullif(key, 'k'), direction, nulls || coalesce(': ' || wrong, '')));
		end loop;
	end loop;
	drop table boundaries;
end $$;

-- The same where the C library or PostgreSQL may lack the collation.
create function pg_temp.check_collation(collation_name text, provider text, locale text, ascending text[]) returns setof text language plpgsql as $$
begin
	begin
		execute format('create collation pg_temp.%I (provider = %s, locale = %L)', collation_name, provider, locale);
	exception when others then
		return next skip(format('no collation %s of %s: %s', locale, provider, sqlerrm), 4);
		return;
	end;
	return query select * from pg_temp.check_type('text', ascending, format('k collate pg_temp.%I', collation_name));
end $$;

select no_plan();

select pg_temp.check_type('bool', '{f,t}');
select pg_temp.check_type('int4::"char"', '{0,1,97,127,-128,-1}');
select pg_temp.check_type('int2', '{-32768,-1,0,1,32767}');
select pg_temp.check_type('int4', '{-2147483648,-1,0,1,2147483647}');
select pg_temp.check_type('int8', '{-9223372036854775808,-4294967296,-1,0,1,4294967296,9223372036854775807}');
select pg_temp.check_type('oid', '{0,1,2147483647,2147483648,4294967295}');
select pg_temp.check_type('xid8', '{0,1,9223372036854775807,9223372036854775808,18446744073709551615}');
select pg_temp.check_type('pg_lsn', '{0/0,0/1,0/FFFFFFFF,1/0,7FFFFFFF/FFFFFFFF,80000000/0,FFFFFFFF/FFFFFFFF}');
select pg_temp.check_type('money', '{-92233720368547758.08,-0.01,0,0.01,92233720368547758.07}');
select pg_temp.check_type('date', '{-infinity,4714-11-24 BC,0001-12-31 BC,0001-01-01,1999-12-31,2000-01-01,5874897-12-31,infinity}');
select pg_temp.check_type('time', '{00:00,00:00:00.000001,23:59:59.999999,24:00}');
-- the instant, then the zone, the eastern one first
select pg_temp.check_type('timetz', '{00:00+15:59,11:00+01,11:59:59.999999+00,13:00+01,12:00+00,11:00-01,24:00+00,24:00-15:59}');
select pg_temp.check_type('timestamp', '{-infinity,4714-11-24 00:00 BC,1999-12-31 23:59:59.999999,2000-01-01,294276-12-31 23:59:59.999999,infinity}');
select pg_temp.check_type('timestamptz', '{-infinity,4714-11-24 00:00+00 BC,1999-12-31 23:59:59.999999+00,2000-01-01 00:00+00,=2000-01-01 01:00+01,294276-12-31 23:59:59.999999+00,infinity}');
select pg_temp.check_type('interval', '{-178956970 years -8 mons -2147483648 days -2562047788:00:54.775807,-1 mon,=-30 days,-1 day,=-24 hours,-1 microsecond,0,=1 mon -30 days,1 microsecond,24 hours,=1 day,30 days,=1 mon,=720 hours,178956970 years 7 mons 2147483647 days 2562047788:00:54.775807}');
select pg_temp.check_type('float4', '{-infinity,-3.4028235e38,-1,-1e-45,-0,=0,1e-45,1.1754944e-38,1,3.4028235e38,infinity,NaN}');
select pg_temp.check_type('float8', '{-infinity,-1.7976931348623157e308,-1,-4.9e-324,0,=-0,4.9e-324,2.2250738585072014e-308,1,1.0000000000000002,1.7976931348623157e308,infinity,NaN}');
select pg_temp.check_type('numeric', array['-Infinity', '-1e1000', '-10000.0001', '-10000', '-9999.9999', '-1', '=-1.000', '-1e-1000', '0', '=0.000', '=-0.0', '1e-1000', '0.00009999', '0.0001', '0.9999', '1', '=1.00', '=1.0', '9999', '9999.9999', '10000', '10000.0001',
	'12345678901234567890123456789012345678.1', '12345678901234567890123456789012345678.2', repeat('1234567890', 100), repeat('1234567890', 99) || '1234567891', '1e1000', 'Infinity', 'NaN']);
select pg_temp.check_type('numeric(15,2)', '{-9999999999999.99,-0.01,0,0.01,0.1,9999999999999.99,NaN}');
select pg_temp.check_type('numeric(18,0)', '{-999999999999999999,-1,0,1,999999999999999999,NaN}');
select pg_temp.check_type('numeric(18,18)', '{-0.999999999999999999,-0.000000000000000001,0,0.000000000000000001,0.999999999999999999,NaN}');
select pg_temp.check_type('numeric(19,2)', '{-99999999999999999.99,-0.01,0,0.01,99999999999999999.99,NaN}');
select pg_temp.check_type('pg_temp.price', '{-99999999.99,0,99999999.99,NaN}');
select pg_temp.check_type('pg_temp.mark', '{b,d,m,p,z}');
select pg_temp.check_type('uuid', '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000001,00000000-0000-0001-0000-000000000000,7fffffff-ffff-ffff-ffff-ffffffffffff,80000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}');
select pg_temp.check_type('macaddr', '{00:00:00:00:00:00,00:00:00:00:00:01,7f:ff:ff:ff:ff:ff,80:00:00:00:00:00,ff:ff:ff:ff:ff:ff}');
select pg_temp.check_type('macaddr8', '{00:00:00:00:00:00:00:00,00:00:00:00:00:00:00:01,7f:ff:ff:ff:ff:ff:ff:ff,80:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff}');
select pg_temp.check_type('inet', '{0.0.0.0/0,0.0.0.0,10.0.0.0/8,10.0.0.1/8,10.0.0.0/9,10.0.0.0,10.0.0.1,255.255.255.255,::/0,::,::1,::ffff:1.2.3.4,fe80::/10,fe80::1/10,fe80::1/64,fe80::1,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff}');
select pg_temp.check_type('cidr', '{0.0.0.0/0,0.0.0.0/32,10.0.0.0/8,10.0.0.0/9,10.128.0.0/9,255.255.255.255/32,::/0,::/128,fe80::/10,fe80::/128}');
select pg_temp.check_type('bit(70)', array[repeat('0', 70), repeat('0', 69) || '1', repeat('0', 63) || '1' || repeat('0', 6), '0' || repeat('1', 69), '1' || repeat('0', 69), repeat('1', 70)]);
select pg_temp.check_type('varbit', array['', '0', '00', repeat('0', 64), repeat('0', 65), repeat('0', 64) || '1', '01', '1', '10', repeat('1', 64), repeat('1', 64) || '0', repeat('1', 65)]);
select pg_temp.check_type('bytea', array['\x', '\x00', '\x0000', '\x0001', '\x01', '\x61626364656667', '\x6162636465666700', '\x616263646566670000', '\x6162636465666768', '\x7f', '\x80', '\xff', '\xff' || repeat('00', 300), '\xff' || repeat('00', 299) || '01', '\xffff']);

-- text whose end lies before, at and behind each border of a word of eight bytes
create function pg_temp.around_words() returns text[] language sql as $$
	select array_agg(v order by v collate "C") from (select n, repeat('x', n) || e as v from unnest(array[0, 6, 7, 8, 9, 14, 15, 16, 17, 23, 24, 31, 32, 63, 64, 300]) n, unnest(array['', U&'\0001', 'a', 'aa']) e) t
$$;
select pg_temp.check_type('text', pg_temp.around_words(), 'k collate "C"');
select pg_temp.check_type('text', array['', U&'\0001', U&'\0001\0001', ' ', 'A', 'B', 'Z', 'a', 'a ', 'aa', 'b', U&'\007F', U&'\0080', 'ß', 'ä', U&'\07FF', U&'\0800', '日', '日本', U&'\FFFF', U&'\+010000', '😀', U&'\+10FFFF'], 'k collate "C"');
select pg_temp.check_type('text', array['', 'A', 'B', 'a', 'b', 'ä', '日', '😀'], 'k collate "POSIX"');
select pg_temp.check_type('bpchar', array['', '=   ', 'A', '=A ', 'B', 'a', '=a      ', 'a b', 'ab', 'ab' || U&'\0001']::text[], 'k collate "C"');
select pg_temp.check_type('varchar(9)', '{"",A,B,a,aaaaaaa,aaaaaaaa,aaaaaaaaa,b}', 'k collate "C"');
select pg_temp.check_type('name', '{"",A,B,a,aaaaaaa,aaaaaaaa,aaaaaaaaa,b}');
select pg_temp.check_collation('utf8', 'libc', 'C.UTF-8', array['', 'A', 'B', 'a', 'b', 'ß', 'ä', '日', '😀']);
select pg_temp.check_collation('us', 'libc', 'en_US.UTF-8', array['', 'a', 'A', 'ä', 'Ä', 'b', 'B', 'co-op', 'coop', 'resume', 'résumé', 'Résumé', 'z', 'Z']);
select pg_temp.check_collation('swedish', 'libc', 'sv_SE.UTF-8', array['', 'a', 'A', 'b', 'z', 'Z', 'å', 'ä', 'ö']);
select pg_temp.check_collation('icu_en', 'icu', 'en', array['', 'a', 'A', 'ä', 'Ä', 'b', 'B', 'co-op', 'coop', 'resume', 'résumé', 'Résumé', 'z', 'Z']);
select pg_temp.check_collation('icu_sv', 'icu', 'sv', array['', 'a', 'A', 'b', 'z', 'Z', 'å', 'ä', 'ö']);
select pg_temp.check_collation('icu_numbers', 'icu', 'en-u-kn-true', '{"",1,2,9,10,11,100,a1,a2,a10}');

select is(pg_temp.left_over(), '0 jobs, 0 bytes of buffers, 0 bytes reserved', 'nothing is left over');
select * from finish();
