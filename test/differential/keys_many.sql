-- Five to twenty keys; keys that stand for other values one after the other; keys of types that
-- only a comparator can order, behind the first.
-- @device-sorts 40

-- numbers of keys
-- @device
select few, c_bool, c_int2, c_date, id from typed order by few, c_bool, c_int2, c_date, id;
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed order by few, c_bool, c_enum, c_char, c_time, c_macaddr, c_numeric_18, id) q;
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed order by few, c_bool desc, c_enum, c_char desc, c_time nulls first, c_macaddr, c_numeric_18, c_money desc nulls last, id) q;
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed order by few, c_bool, c_enum, c_uuid desc, c_interval, c_bytea, c_numeric desc, c_inet, c_float8, c_bit nulls first, c_varbit, id) q;
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed order by few, c_bool desc, c_enum, c_char, c_numeric_18, c_cidr, c_macaddr8, c_timetz, c_money, c_pg_lsn, c_xid8, c_date, c_timestamp, c_timestamptz, c_float4, c_oid, c_int2, c_int4, c_int8, id) q;
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed_same order by c_bool, c_char, c_int2, c_int4, c_int8, c_oid, c_date, c_time, c_timetz, c_timestamp, c_interval, c_money, c_float4, c_float8, c_numeric, c_uuid, c_enum, c_inet, c_bytea, row desc) q;
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed_same order by c_uuid, c_numeric, c_bytea, c_interval, row) q;
-- every prefix of the same keys, the first deciding little
-- @exact
-- @device 11
select format('select %s as keys, md5(string_agg(id::text, '' '')) from (select * from typed order by %s, id) q', n, array_to_string((array['few', 'c_bool', 'c_enum desc', 'c_char', 'c_varbit', 'c_bytea desc', 'c_numeric', 'd_word', 'c_inet nulls first', 'c_uuid', 'c_int4 desc'])[:n], ', '))
from generate_series(1, 11) n \gexec

-- two and more keys that may stand for other values, in a row and apart
-- @exact
-- @device 16
select format('select %L as keys, md5(string_agg(id::text, '' '')) from (select * from texts order by %s, id) q', keys, keys)
from unnest(array['c_behind collate "C", c_prefix collate "C"', 'c_behind collate "C" desc, c_prefix collate "C"', 'c_prefix collate "C" nulls first, c_behind collate "C" desc nulls last',
	'c_behind collate "C", c_behind collate "POSIX" desc', 'c_behind collate "C" desc, few, c_prefix collate "C" desc', 'few, c_behind collate "C", c_wide collate "C", c_prefix collate "C"',
	'few desc, c_prefix collate "C", few, c_behind collate "C", id % 5, c_wide collate "C" desc', 'left(c_behind, 40) collate "C", c_short collate "C"',
	'c_prefix collate "C", c_behind collate "C" desc, c_wide collate "C", c_short collate "C" desc', 't_c, c_name, c_bpchar collate "C"', 'few, t_c desc, t_posix', 't_c nulls first, few desc, t_posix',
	'repeat(''same'', 30) collate "C", c_prefix collate "C"', '(repeat(''same'', 30) || few) collate "C", c_behind collate "C" desc',
	'(repeat(''same'', 30) || few) collate "C" desc, (repeat(''again'', 30) || id % 4) collate "C", (repeat(''and again'', 30) || id % 5) collate "C" desc',
	'c_behind::bytea, c_prefix::bytea desc']) keys
\gexec
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed order by c_numeric, c_bytea desc, c_inet, c_varbit, id) q;
-- @device
select count(*), md5(string_agg(id::text, ' ')) from (select * from typed order by c_inet desc, c_numeric nulls first, c_uuid, id) q;
-- ties of them, as they come
-- @device
select c_bpchar, c_name from texts order by c_bpchar, c_name;
-- @device
select c_behind, few from texts order by c_behind collate "C" desc, few;

-- keys that only a comparator can order
create table composed as
select id, few, array[few, id % 5] as a, array[c_short, c_behind] as b, row(few, c_short)::pair as r, int4range(few, few + (id % 7)) as i4, nummultirange(numrange(few, few + id % 9)) as m,
	case id % 4 when 0 then to_jsonb(few) when 1 then to_jsonb(c_short) when 2 then jsonb_build_object('k', few, 'l', id % 3) end as j, to_tsvector('simple', c_prefix) as v, c_prefix
from texts;
analyze composed;
-- @exact
-- @device 18
select format('select %L as keys, md5(string_agg(id::text, '' '')) from (select * from composed order by %s, id) q', keys, keys)
from unnest(array['few, a', 'few desc, a desc', 'few, b nulls first', 'few, r', 'few, r desc', 'few, i4', 'few, m desc nulls last', 'few, j', 'few, j desc', 'few, v', 'few, a, b', 'few, j, a desc, r', 'c_prefix collate "C", a', 'c_prefix collate "C" desc, j nulls first', 'few, c_prefix collate "C", i4', 'few, a, c_prefix collate "C"',
	'few, j, c_prefix collate "C" desc, a', 'few, row(few, c_prefix collate "C")']) keys
\gexec
-- as the first key: PostgreSQL's own sort, and the reason names the type
-- @native (integer\[\]|_int4)
select id, a from composed order by a, id;
-- @native (text\[\]|_text)
select id, b from composed order by b desc, id;
-- @native pair
select id, r from composed order by r, id;
-- @native record
select id from composed order by row(few, c_prefix), id;
-- @native int4range
select id, i4 from composed order by i4 desc nulls last, id;
-- @native nummultirange
select id, m from composed order by m, id;
-- @native jsonb
select id, j from composed order by j, id;
-- @native tsvector
select id, v from composed order by v, id;

-- grouping and windows
-- @device
select c_short collate "C" as k, count(*) from texts group by c_short collate "C" order by 1 desc;
-- @device
select id, rank() over (partition by few order by c_behind collate "C" desc) from texts order by c_wide collate "C", id;
select distinct c_numeric_15_2 from typed order by 1 desc;
-- @device
select few, percentile_disc(0.5) within group (order by c_float8) + 0 as m from typed group by few order by m, few;
