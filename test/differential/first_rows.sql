-- Rows of which the first ones, by which keys are laid out, are unlike all others: equal, NULL, alike to a prefix, in order, of few
-- values to which later rows add one, some, or nothing but new ones.
-- @device-sorts 130
-- @also one-worker, four-workers

set gpusort.min_rows = 1000;
set work_mem = '64MB';

create table skewed as
select i::int4 as id,
	case when i <= 4000 then 'the same' else md5(i::text) end as same,
	case when i > 4000 then 'value ' || below(9000, i, 1) end as void,
	case when i <= 4000 then 'https://www.example.com/a/long/path/' when i % 3 = 0 then 'https://www.example.org/' when i % 3 = 1 then '' else 'zz' end || md5(i::text) as alike,
	to_char(i, '000000000000') as rising, to_char(20000 - i, '000000000000') as falling,
	case when i <= 4000 then 'one' else one_of('{one,two,three,ONE}', i, 2) end as one,
	case when i = 7000 then 'unknown' else one_of('{open,Paid,shipped,returned}', i, 3) end as meets_1,
	one_of('{open,Paid,shipped,returned}', i, 3) || case when i > 4000 and i % 5 = 0 then ' ' || below(100, i, 4) else '' end as meets_100,
	case when i <= 4000 then one_of('{open,Paid,shipped,returned}', i, 3) else left(one_of('{open,Paid,shipped,a,é}', i, 5) || md5(i::text), 12) end as meets_all,
	case when i <= 4000 then left(md5(i::text), 4) else repeat(one_of('{long,longer}', i, 6), 20) || i end as grows,
	case when i <= 4000 then 7 else noise(i, 7) end as c_int8,
	case when i <= 4000 then 1 else noise(i, 8) * 10::numeric ^ (below(40, i, 9) - 20) end as c_numeric,
	case when i <= 4000 then null else decode(md5(i::text), 'hex') end as c_bytea,
	timestamp '2020-01-01' + i * interval '1 minute' + case when i > 4000 then noise(i, 10) % 1000000 * interval '1 second' else interval '0' end as c_timestamp
from generate_series(1, 9000) i;
alter table skewed set (autovacuum_enabled = off);
create table unknown as select * from skewed;
alter table unknown set (autovacuum_enabled = off);
vacuum analyze skewed;

-- every column under each kind of collation, with statistics and without
create function orders_of(source text, collated text) returns setof text language sql stable as
	$$select order_hashes(format('%I collate %s', name, collated), format('(select id, %I from %I) s', name, source))
		from unnest('{same,void,alike,rising,falling,one,meets_1,meets_100,meets_all,grows}'::text[]) name$$;
-- @exact
-- @device 18
select orders_of('skewed', '"C"') \gexec
-- @exact
-- @device 18
select orders_of('unknown', '"C"') \gexec
-- @exact
-- @device 18
select orders_of('skewed', or_c('icu_en')) \gexec
-- @exact
-- @device 18
select orders_of('unknown', or_c('icu_en')) \gexec
-- @exact
-- @device 18
select orders_of('unknown', or_c('en_us')) \gexec
-- values that are equal but for their bytes, of which the dictionary knows some
-- @exact
-- @device 8
select order_hashes(format('%s collate %s', key, or_c('icu_no_case')), '(select id, one, meets_1, meets_100, meets_all from unknown) s') from unnest('{one,meets_100,"upper(meets_1)",meets_all}'::text[]) key \gexec
-- types without dictionaries, and expressions that nothing is known of
-- @exact
-- @device 18
select order_hashes(key, '(select id, alike, meets_100, c_int8, c_numeric, c_bytea, c_timestamp from unknown) s') from unnest(array['c_int8', 'c_numeric', 'c_bytea', 'c_timestamp', 'lower(alike) collate "C"', 'upper(meets_100) collate "C"', 'id % 7', 'c_int8 % 10',
	'date_trunc(''month'', c_timestamp)', 'least(c_numeric, 5)']) key \gexec
-- several keys, of which the first ones are skewed
-- @exact
-- @device 12
select order_hashes(format(keys, or_c('icu_en')), 'unknown') from unnest(array['one collate %1$s desc nulls last, meets_100 collate %1$s', 'void collate %1$s nulls first, same collate "C"', 'meets_all collate "C" desc, one collate %1$s',
	'c_int8 desc, meets_1 collate %1$s', 'meets_1 collate %1$s, rising collate "C"', 'same collate %1$s, void collate %1$s, meets_100 collate "C"']) keys \gexec

-- above windows, groups and distinct rows
-- @exact
select count(*), md5(string_agg(q::text, ' ')) from (select id, lag(id) over (partition by meets_100 order by rising, id) as before from unknown order by id) q;
-- @exact
select count(*), md5(string_agg(q::text, ' ')) from (select id, rank() over (partition by one, meets_1 order by void nulls first, id) as place from skewed order by id) q;
-- @exact
select count(*), md5(string_agg(q::text, ' ')) from (select distinct on (meets_100, one) meets_100, one, id from unknown order by meets_100, one, id desc) q;
set enable_hashagg = off;
-- @exact
select count(*), md5(string_agg(q::text, ' ')) from (select meets_all, count(*), min(id) from unknown group by meets_all order by meets_all) q;
-- @exact
select count(*), md5(string_agg(q::text, ' ')) from (select meets_100, one, count(*) from skewed group by meets_100, one order by 1 desc, 2) q;
-- @exact
select count(*), md5(string_agg(q::text, ' ')) from (select distinct lower(meets_100) as l from unknown order by l) q;
reset enable_hashagg;
set enable_hashjoin = off;
set enable_nestloop = off;
-- @exact
select count(*), md5(string_agg(q::text, ' ')) from (select a.id, b.id as other from unknown a join skewed b on a.alike = b.alike and a.meets_1 = b.meets_1 order by a.meets_100, a.id) q;
reset enable_hashjoin;
reset enable_nestloop;

-- fewer rows than the device is worth, as many, and one more
-- @exact
select count(*), md5(string_agg(id::text, ' ')) from (select id from unknown where id <= 999 order by meets_100, id) q;
-- @exact
select count(*), md5(string_agg(id::text, ' ')) from (select id from unknown where id <= 1000 order by meets_100, id) q;
-- @exact
select count(*), md5(string_agg(id::text, ' ')) from (select id from unknown where id <= 1001 order by meets_100, id) q;
-- one row for some of the feeders, and none for others
-- @exact
select count(*), md5(string_agg(id::text, ' ')) from (select id from unknown where id > 8900 order by meets_100, id) q;
