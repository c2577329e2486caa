-- A column of every type that can be sorted, in the table typed, and texts of all kinds in texts
-- and toasted.  A third of the values are a type's extremes, many of them several times.

-- one of these, by the row's number
create function one_of(choices text[], i int8, salt int8) returns text language sql immutable parallel safe
	as 'select choices[1 + below(cardinality(choices), i, salt)]';
-- NULL, an extreme, one of the first three extremes, or another value
create function mixed(i int8, salt int8, extremes text[], otherwise text) returns text language sql immutable parallel safe as
	'select case below(8, i, salt) when 0 then null when 1 then one_of(extremes, i, salt + 1) when 2 then one_of(extremes, i, salt + 2)
		when 3 then one_of(extremes[1:3], i, salt + 3) else otherwise end';
-- The ordered queries of one key: up, down, and with NULLs at the other end; all of them have
-- one order only.  For \gexec.  No column of the result may have the key's name: it would be the key.
create function order_queries(key text, source text default 'typed', shown text default null) returns setof text language sql stable as
	$$select format('select id, left((%s)::text, 70) as %I from %s order by %s%s, id', coalesce(shown, key), key || direction, source, key, direction)
		from unnest(array[' asc', ' desc', ' nulls first', ' desc nulls last']) direction$$;
-- The same up and down only, each as one hash of whole rows.
create function order_hashes(key text, source text) returns setof text language sql stable as
	$$select format('select %L as key, count(*), md5(string_agg(id::text, '' '')) from (select * from %s order by %s%s, id) q', key || direction, source, key, direction)
		from unnest(array[' asc', ' desc']) direction$$;

create type mark as enum ('m', 'z');
alter type mark add value 'd' before 'm';
alter type mark add value 'b' before 'd';
alter type mark add value 'p' after 'm';
alter type mark add value 'c' before 'd';
create domain word as text collate "C" check (value <> 'forbidden');
create domain price as numeric(10,2);
create domain second_price as price;
create domain shade as mark;

create table typed as
select i::int4 as id,
	mixed(i, 100, '{t,f}', (i % 2 = 0)::text)::bool as c_bool,
	mixed(i, 110, '{-128,127,-1,0,1,65,97}', (i % 256 - 128)::text)::int4::"char" as c_char,
	mixed(i, 120, '{-32768,32767,-1,0,1}', (noise(i, 121) % 32768)::text)::int2 as c_int2,
	mixed(i, 130, '{-2147483648,2147483647,-1,0,1}', (noise(i, 131) % 2147483648)::text)::int4 as c_int4,
	mixed(i, 140, '{-9223372036854775808,9223372036854775807,-1,0,1}', noise(i, 141)::text)::int8 as c_int8,
	mixed(i, 150, '{0,4294967295,2147483648,2147483647,1}', below(4294967296, i, 151)::text)::oid as c_oid,
	mixed(i, 160, '{-infinity,infinity,4714-11-24 BC,5874897-12-31,2000-01-01,1999-12-31,0001-12-31 BC,0001-01-01}', (date '2000-01-01' + below(800000, i, 161)::int4 - 400000)::text)::date as c_date,
	mixed(i, 170, '{00:00,24:00,12:34:56.789,23:59:59.999999,00:00:00.000001}', (time '00:00' + below(86400000000, i, 171) * interval '1 microsecond')::text)::time as c_time,
	mixed(i, 180, '{00:00+15:59,00:00-15:59,24:00+00,12:00+00,13:00+01,11:00-01,24:00-15:59,24:00+15:59}', (time '00:00' + below(86400, i, 181) * interval '1 second')::text || one_of('{+00,+01,-05,+05:30}', i, 182))::timetz as c_timetz,
	mixed(i, 190, '{-infinity,infinity,4714-11-24 00:00:00 BC,294276-12-31 23:59:59.999999,2000-01-01,1999-12-31 23:59:59.999999}', (timestamp '2000-01-01' + (noise(i, 191) % 1000000000000000) * interval '1 microsecond')::text)::timestamp as c_timestamp,
	mixed(i, 200, '{-infinity,infinity,4714-11-24 00:00:00+00 BC,294276-12-31 23:59:59.999999+00,2000-01-01 00:00+00,2000-01-01 01:00+01}', (timestamptz '2000-01-01 00:00+00' + (noise(i, 201) % 1000000000000000) * interval '1 microsecond')::text)::timestamptz as c_timestamptz,
	mixed(i, 210, '{0,1 day,24 hours,1 mon,30 days,720 hours,-1 mon,-30 days,1 mon -30 days,-1 mon 30 days,178956970 years 7 mons 2147483647 days 2562047788:00:54.775807,-178956970 years -8 mons -2147483648 days -2562047788:00:54.775807,1 microsecond,-1 microsecond}', (noise(i, 211) % 1000000) || ' hours ' || (noise(i, 212) % 50) || ' mons')::interval as c_interval,
	mixed(i, 220, '{-92233720368547758.08,92233720368547758.07,0,-0.01,0.01}', (noise(i, 221) / 100.0)::text)::money as c_money,
	mixed(i, 230, '{NaN,-infinity,infinity,-0,0,1e-45,-1e-45,3.4028235e38,-3.4028235e38,1.1754944e-38}', (noise(i, 231)::float4 / 1e9)::text)::float4 as c_float4,
	mixed(i, 240, '{NaN,-infinity,infinity,-0,0,4.9e-324,-4.9e-324,1.7976931348623157e308,-1.7976931348623157e308,2.2250738585072014e-308}', (noise(i, 241)::float8 / 1e9)::text)::float8 as c_float8,
	mixed(i, 250, array['NaN', 'Infinity', '-Infinity', '0', '0.000', '1', '1.0', '1.00', '-1', '-1.0', '0.0001', '0.00001', '1e-1000', '-1e-1000', '1e1000', '-1e1000', '9999', '10000', '9999.9999', '10000.0001',
		'99999999999999999999', '12345678901234567890123456789012345678901234567890.1', '12345678901234567890123456789012345678901234567890.2', '-12345678901234567890123456789012345678901234567890.1', '-12345678901234567890123456789012345678901234567890.2',
		repeat('1234567890', 100), repeat('1234567890', 99) || '1234567891', '-' || repeat('1234567890', 100), '-' || repeat('1234567890', 99) || '1234567891', '1234567890' || repeat('0', 990)],
		(noise(i, 251) * 10::numeric ^ (below(40, i, 252) - 30))::text)::numeric as c_numeric,
	mixed(i, 260, '{NaN,9999999999999.99,-9999999999999.99,9999999999999.98,-9999999999999.98,0,0.01,-0.01,0.1}', (noise(i, 261) % 1000000000000000 / 100.0)::text)::numeric(15,2) as c_numeric_15_2,
	mixed(i, 270, '{NaN,999999999999999999,-999999999999999999,999999999999999998,-999999999999999998,123456789012345678,123456789012345679,123456789012345680,0,1,-1}', (noise(i, 271) % 1000000000000000000)::text)::numeric(18,0) as c_numeric_18,
	mixed(i, 280, '{NaN,99999999999999999.99,-99999999999999999.99,99999999999999999.98,-99999999999999999.98,12345678901234567.89,12345678901234567.88,0,0.01}', (noise(i, 281) % 1000000000 / 100.0)::text)::numeric(19,2) as c_numeric_19_2,
	mixed(i, 290, '{NaN,0.999999999999999999,-0.999999999999999999,0.999999999999999998,-0.999999999999999998,0.123456789012345678,0.123456789012345679,0,0.000000000000000001,-0.000000000000000001}', (noise(i, 291) % 1000000000000000000 / 1000000000000000000.0)::text)::numeric(18,18) as c_numeric_18_18,
	mixed(i, 300, '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,00000000-0000-0000-0000-000000000001,00000000-0000-0001-0000-000000000000,7fffffff-ffff-ffff-ffff-ffffffffffff,80000000-0000-0000-0000-000000000000}', md5(i::text))::uuid as c_uuid,
	mixed(i, 310, '{m,z,d,b,p,c}', 'm')::mark as c_enum,
	mixed(i, 320, '{0.0.0.0,255.255.255.255,10.0.0.0/8,10.0.0.0/9,10.0.0.0,10.0.0.1/8,10.0.0.1,0.0.0.0/0,::,::/0,::1,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,::ffff:1.2.3.4,fe80::/10,fe80::1/64,fe80::1,fe80::1/10,fe80::2}', ('10.0.0.0'::inet + below(16777216, i, 321))::text)::inet as c_inet,
	mixed(i, 330, '{0.0.0.0/0,0.0.0.0/32,10.0.0.0/8,10.0.0.0/9,10.128.0.0/9,255.255.255.255/32,::/0,::/128,fe80::/10,fe80::/64,fe80::/128}', '10.0.' || i % 256 || '.0/24')::cidr as c_cidr,
	mixed(i, 340, '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff,00:00:00:00:00:01,80:00:00:00:00:00}', left(md5(i::text), 12))::macaddr as c_macaddr,
	mixed(i, 350, '{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff,00:00:00:00:00:00:00:01,80:00:00:00:00:00:00:00}', left(md5(i::text), 16))::macaddr8 as c_macaddr8,
	mixed(i, 360, array[repeat('0', 70), repeat('1', 70), repeat('0', 69) || '1', '1' || repeat('0', 69), repeat('0', 63) || '1000000'], noise(i, 361)::bit(64)::text || '010101')::bit(70) as c_bit,
	mixed(i, 370, array['', '0', '00', '1', '10', '0000000', '00000000', '000000000', repeat('1', 64), repeat('1', 65), repeat('1', 64) || '0', repeat('10', 150), repeat('10', 150) || '1', repeat('10', 150) || '0'], left(noise(i, 371)::bit(64)::text, below(65, i, 372)::int4))::varbit as c_varbit,
	mixed(i, 380, array['\x', '\x00', '\x0000', '\x00ff', '\xff', '\xffff', '\x61626364656667', '\x6162636465666700', '\x6162636465666701', '\x616263646566670000', '\x' || repeat('61', 300), '\x' || repeat('61', 300) || '00', '\x' || repeat('61', 299) || '60'], '\x' || left(md5(i::text), 2 * below(17, i, 381)::int4))::bytea as c_bytea,
	mixed(i, 390, '{0/0,FFFFFFFF/FFFFFFFF,0/1,1/0,7FFFFFFF/FFFFFFFF,80000000/0}', upper(to_hex(below(4294967296, i, 391))) || '/' || upper(to_hex(below(4294967296, i, 392))))::pg_lsn as c_pg_lsn,
	mixed(i, 400, '{0,18446744073709551615,1,9223372036854775807,9223372036854775808}', below(9223372036854775807, i, 401)::text)::xid8 as c_xid8,
	mixed(i, 410, '{"",a,b,word,a longer word,a longer wort}', left(md5((i % 40)::text), 9) || i)::word as d_word,
	mixed(i, 420, '{NaN,99999999.99,-99999999.99,0}', (noise(i, 421) % 1000000000 / 100.0)::text)::second_price as d_price,
	mixed(i, 430, '{m,z,d,b,p,c}', 'p')::shade as d_shade,
	below(3, i, 440)::int4 as few
from generate_series(1, 1500) i;

-- One value alone, and NULL alone, in every column.
create table typed_same as select r.*, i::int4 as row from (select * from typed where id = (select min(id) from typed where c_numeric is not null and c_uuid is not null and c_inet is not null)) r, generate_series(1, 1200) i;
create table typed_null as select t.* from generate_series(1, 1200) i left join typed t on false;

-- c_short: words of many languages, small and large letters, accents composed and not, characters
-- of one to four bytes, controls.  c_prefix: most begin alike.  c_behind: equal but for their ends,
-- after 7 to 300 bytes.  c_wide: characters of every width at random, 30 rows each beginning alike.
create table texts as
select i::int4 as id,
	mixed(i, 500, array['', ' ', 'a', 'A', 'b', 'B', 'aa', 'aA', 'Aa', 'AA', 'ab', 'ab ', ' ab', 'a b', 'a-b', 'a_b', 'á', 'Á', U&'a\0301', U&'A\0301', 'ä', 'Ä', 'ae', 'z', 'Z', 'ö', 'Ö', 'oe', 'ø', 'å', 'Å', U&'\212B', 'ß', 'ss', 'SS', 'ẞ',
		'coop', 'co-op', 'CO-OP', 'résumé', 'resume', 'Résumé', 'résume', 'cote', 'côte', 'coté', 'côté', 'あ', 'ア', 'ｱ', 'ぁ', '亜', '日本', '日本語', 'にほん', 'ニホン', '漢字', '😀', '😁', '𐍈', '𝒳', U&'\0001', U&'a\0001', U&'\0001a', e'\t', e'\n', e'a\nb', '1', '10', '2', '9', '007',
		U&'\FFFD', U&'\FFFF', U&'\+10FFFF', U&'\00A0', U&'\200B', U&'a\200B', U&'\0300', 'ǆ', 'dž', 'Ⅷ', 'VIII', '½', '1/2', U&'\AC00', U&'\1100\1161', 'ﬁ', 'fi', U&'\0130', 'ı', 'i', 'I'],
		one_of('{Anna,anna,Änne,Zoë,zoe,Öz,o''neil,O''Neil,müller,mueller,muller,Smith,smith}', i, 501) || one_of('{"", " ", -, a, B, 1, 22}', i, 502) || below(40, i, 503)) as c_short,
	mixed(i, 510, '{"",https://www.example.com/,https://www.example.com,http://www.example.com/,https://www.examplf.com/,ftp,zzz,https,https://www.example.com/a}', 'https://www.example.com/' || md5(below(900, i, 511)::text)) as c_prefix,
	mixed(i, 520, array['', 'x'], repeat('x', one_of('{7,8,9,15,16,17,23,24,25,31,32,33,63,64,65,300}', i, 521)::int4) || one_of(array['', 'a', 'b', 'x', 'é', U&'\0001', '😀', '日'], i, 522)) as c_behind,
	mixed(i, 530, array['', U&'\007F', U&'\0080', U&'\07FF', U&'\0800', U&'\+010000'],
		(select string_agg(chr((case below(4, seed, 531) when 0 then 33 + below(94, seed, 532) when 1 then 161 + below(1800, seed, 533) when 2 then 2309 + below(50000, seed, 534) else 65536 + below(100000, seed, 535) end)::int4), '' order by n)
			from (select n, n + 32 * (case when n <= below(20, i, 536) then i % 40 else i end) as seed from generate_series(1, below(21, i, 537)) n) s)) as c_wide,
	below(3, i, 540)::int4 as few
from generate_series(1, 1200) i;
alter table texts add c_bpchar bpchar(12), add c_varchar varchar(30), add c_name name;
update texts set c_bpchar = left(c_short, 12), c_varchar = left(c_behind, 30), c_name = left(c_wide, 15)::name;
-- columns with collations of their own
do $$
declare
	c record;
begin
	for c in select * from (values ('t_c', '"C"'), ('t_posix', '"POSIX"'), ('t_utf8', or_c('c_utf8')), ('t_us', or_c('en_us')), ('t_icu', or_c('icu_en')), ('t_no_case', or_c('icu_no_case'))) v(name, collated) loop
		execute format('alter table texts add %I text collate %s', c.name, c.collated);
		execute format('update texts set %I = case id %% 3 when 0 then c_short when 1 then c_prefix else c_behind end', c.name);
	end loop;
end $$;

-- Values out of line, and compressed: most differ in their last bytes only.
create table toasted(id int4, c_external text collate "C", c_compressed text collate "C", c_bytes bytea, c_number numeric);
alter table toasted alter c_external set storage external, alter c_bytes set storage external;
insert into toasted
select i, case when i % 17 > 0 then (select string_agg(md5((below(3, i, 550) * 1000 + n)::text), '') from generate_series(1, 90) n) || one_of('{a,b,"",aa}', i, 551) end,
	case when i % 19 > 0 then repeat(one_of('{long,longer,short}', i, 552), 3000) || one_of('{a,b,"",aa}', i, 553) end,
	case when i % 13 > 0 then decode(repeat('00ff', 2000) || one_of('{00,01,"",ff}', i, 554), 'hex') end,
	case when i % 11 > 0 then (repeat('9876543210', 400) || one_of('{1,2,"",11}', i, 555))::numeric * one_of('{1,-1}', i, 556)::numeric end
from generate_series(1, 400) i;
vacuum analyze;

-- Queries on texts under the collations of each provider, of which one is the main one.  For
-- \gexec, as above.
create function keys_of_texts(main text, others text[]) returns setof text language sql stable as $$
	select queries.* from unnest('{c_short,c_prefix,c_behind,c_wide}'::text[]) key, order_queries(key || ' collate ' || main, 'texts') queries
	union all
	select queries.* from unnest(others) other, unnest('{c_short,c_wide}'::text[]) key, order_hashes(key || ' collate ' || other, 'texts') queries
	union all
	select queries.* from unnest('{c_bpchar,c_varchar,c_name::text}'::text[]) key, order_hashes(key || ' collate ' || main, 'texts') queries
	union all
	select queries.* from unnest('{c_external,c_compressed}'::text[]) key, order_hashes(key || ' collate ' || main, 'toasted') queries
$$;
-- equal, empty, NULL, and all of one long beginning
create function keys_alike(main text) returns setof text language sql stable as $$
	select queries.*
	from unnest(array['(''''::text)', '(null::text)', '(repeat(''same'', 100))', '(repeat(''y'', 100) || id % 7)', '(repeat(''Aa'', 40) || chr(65 + id % 50))']) key,
		order_hashes(key || ' collate ' || main, 'texts') queries
$$;
-- a query's rows as one hash, by keys in which {main} and {other} stand for collations
create function by_several_keys(source text, keys text[], main text, other text) returns setof text language sql stable as $$
	select format('select count(*), md5(string_agg(q::text, '' '')) from (select * from %s order by %s, id) q', source,
		replace(replace(key, '{main}', main), '{other}', other))
	from unnest(keys) key
$$;
create function several_keys_of_texts(main text) returns setof text language sql stable as $$
	select by_several_keys('texts', array['c_short collate {main}, c_prefix collate "C" desc',
		'few, c_short collate {main} desc, c_wide collate {main}',
		'c_prefix collate {main}, c_short collate {main} nulls first, c_wide collate {main} desc'], main, '')
$$;
-- of the table ranked
create function keys_of_ranked(main text, others text[]) returns setof text language sql stable as $$
	select queries.* from unnest('{k_few,k_later}'::text[]) key, order_queries(key || ' collate ' || main, 'ranked') queries
	union all
	select queries.* from unnest(main || others) other, unnest('{k_few,k_later,k_others,k_bpchar}'::text[]) key, order_hashes(key || ' collate ' || other, 'ranked') queries
	union all
	select order_hashes('k_name collate ' || main, 'ranked')
$$;
create function several_keys_of_ranked(main text, other text) returns setof text language sql stable as $$
	select by_several_keys('ranked', array['k_few collate {main}, k_later collate {main} desc, k_others collate {main}',
		'k_few collate {main} desc, k_bpchar collate {other} nulls first, k_name, id % 7, k_later collate {other} desc nulls last, k_others collate "C" desc',
		'k_few collate {other} nulls first, k_later collate {main}, k_bpchar collate {main} desc, k_few collate {main}, k_later collate {other}, k_name collate {main} desc'],
		main, other)
$$;

-- Texts of few values, which the first rows tell: all of them; some, and others later; all different
-- later.  It has no statistics: nothing may analyze it.
create table ranked with (autovacuum_enabled = off) as
select i::int4 as id,
	case when i % 31 > 0 then one_of('{STANDARD,SMALL,small,Small,"","ECONOMY  ",a-b,ab,Á,á,a}', i, 601) end as k_few,
	case when i % 23 > 0 then one_of((case when i < 3000 then '{fine,Fine,good,better,"good  "}' else '{fine,Fine,FINE,fin,"fine ",fïne,good,better,best,"",zz}' end)::text[], i, 602) ||
		case when i > 4000 and i % 3 = 0 then below(50, i, 603)::text else '' end end as k_later,
	case when i < 3000 then 'first rows ' || i % 7 else repeat(one_of('{first,First,x}', i, 604), 1 + i % 9) || md5((i / 2)::text) end as k_others
from generate_series(1, 6000) i;
alter table ranked add k_bpchar bpchar(20), add k_name name;
update ranked set k_bpchar = k_later, k_name = k_few;
create index ranked_by_id on ranked(id);
-- an update moves rows
cluster ranked using ranked_by_id;
drop index ranked_by_id;
