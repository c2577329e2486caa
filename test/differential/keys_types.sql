-- A key of every type, up and down, NULLs first and last: extremes, few values, all kinds of
-- others; one value alone; NULL alone.  setup/keys.sql has the tables and order_queries.
-- @device-sorts 180

-- @exact
-- @device 4
select order_queries('c_char', shown => 'c_char::int4') \gexec
-- @exact
-- @device 4
select order_queries('c_bool') \gexec
-- @exact
-- @device 4
select order_queries('c_int2') \gexec
-- @exact
-- @device 4
select order_queries('c_int4') \gexec
-- @exact
-- @device 4
select order_queries('c_int8') \gexec
-- @exact
-- @device 4
select order_queries('c_oid') \gexec
-- @exact
-- @device 4
select order_queries('c_date') \gexec
-- @exact
-- @device 4
select order_queries('c_time') \gexec
-- @exact
-- @device 4
select order_queries('c_timetz') \gexec
-- @exact
-- @device 4
select order_queries('c_timestamp') \gexec
-- @exact
-- @device 4
select order_queries('c_timestamptz') \gexec
-- @exact
-- @device 4
select order_queries('c_interval') \gexec
-- @exact
-- @device 4
select order_queries('c_money') \gexec
-- @exact
-- @device 4
select order_queries('c_float4') \gexec
-- @exact
-- @device 4
select order_queries('c_float8') \gexec
-- @exact
-- @device 4
select order_queries('c_numeric') \gexec
-- @exact
-- @device 4
select order_queries('c_numeric_15_2') \gexec
-- @exact
-- @device 4
select order_queries('c_numeric_18') \gexec
-- @exact
-- @device 4
select order_queries('c_numeric_19_2') \gexec
-- @exact
-- @device 4
select order_queries('c_numeric_18_18') \gexec
-- @exact
-- @device 4
select order_queries('c_uuid') \gexec
-- @exact
-- @device 4
select order_queries('c_enum') \gexec
-- @exact
-- @device 4
select order_queries('c_inet') \gexec
-- @exact
-- @device 4
select order_queries('c_cidr') \gexec
-- @exact
-- @device 4
select order_queries('c_macaddr') \gexec
-- @exact
-- @device 4
select order_queries('c_macaddr8') \gexec
-- @exact
-- @device 4
select order_queries('c_bit') \gexec
-- @exact
-- @device 4
select order_queries('c_varbit') \gexec
-- @exact
-- @device 4
select order_queries('c_bytea') \gexec
-- @exact
-- @device 4
select order_queries('c_pg_lsn') \gexec
-- @exact
-- @device 4
select order_queries('c_xid8') \gexec
-- domains, and domains over them
-- @exact
-- @device 4
select order_queries('d_word') \gexec
-- @exact
-- @device 4
select order_queries('d_price') \gexec
-- @exact
-- @device 4
select order_queries('d_shade') \gexec
-- expressions, whose type modifiers are not those of a column
-- @exact
-- @device 4
select order_queries('c_numeric_15_2 * 1') \gexec
-- @exact
-- @device 4
select order_queries('c_numeric_15_2::numeric(20,4)') \gexec
-- @exact
-- @device 4
select order_queries('(c_int8 / 1000000)::numeric(15,2)') \gexec
-- @exact
-- @device 4
select order_queries('c_float4::float8') \gexec
-- @exact
-- @device 4
select order_queries('nullif(c_numeric::text, ''NaN'')::numeric') \gexec
-- @exact
-- @device 4
select order_queries('c_uuid::text::uuid') \gexec
-- @exact
-- @device 4
select order_queries('array_position(array[''p'', ''m'', ''z'']::mark[], c_enum)') \gexec
-- one value, and NULL
-- @exact
-- @device 60
select order_hashes(attname, 'typed_same') from pg_attribute where attrelid = 'typed_same'::regclass and attnum > 1 and attname <> 'row' order by attnum \gexec
-- @exact
-- @device 60
select order_hashes(attname, 'typed_null') from pg_attribute where attrelid = 'typed_null'::regclass and attnum > 1 order by attnum \gexec
-- rows of all columns
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from typed order by c_numeric, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from typed order by c_float8 desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from typed order by c_uuid, id desc) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from typed order by c_bytea desc nulls last, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from typed order by c_interval nulls first, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from typed order by few, c_inet desc, id) q;
-- ties, as they come
-- @device
select c_bool from typed order by c_bool;
-- @device
select c_enum from typed order by c_enum;
-- @device
select c_time from typed order by c_time desc;
-- @device
select c_uuid from typed order by c_uuid desc nulls last;
-- @device
select c_macaddr from typed order by c_macaddr nulls first;
-- @device
select c_bit from typed order by c_bit;
