-- Key types: integers and times up and down, NULLs first and last, alone and together;
-- extremes; others shortly (keys_*.sql have more of them); and those that must be left to
-- PostgreSQL.
-- @device-sorts 80

-- one key of each type
select k2, id from events where id <= 2000 order by k2, id;
select k4, id from events where id <= 2000 order by k4;
select k8, id from events where id <= 2000 order by k8;
select o, id from events where id <= 2000 order by o;
select d, id from events where id <= 2000 order by d;
select ts, id from events where id <= 2000 order by ts;
select tz, id from events where id <= 2000 order by tz;
select k2, id from events where id <= 2000 order by k2 desc;
select k4, id from events where id <= 2000 order by k4 desc;
select k8, id from events where id <= 2000 order by k8 desc;
select o, id from events where id <= 2000 order by o desc;
select d, id from events where id <= 2000 order by d desc;
select ts, id from events where id <= 2000 order by ts desc;
select tz, id from events where id <= 2000 order by tz desc;

-- all rows, wide and narrow, with the whole order in one hash
select md5(string_agg(q::text, ' ')) from (select * from events order by k2, id) q;
select md5(string_agg(q::text, ' ')) from (select * from events order by k4, id) q;
select md5(string_agg(q::text, ' ')) from (select * from events order by k8 desc) q;
select md5(string_agg(q::text, ' ')) from (select * from events order by o, id desc) q;
select md5(string_agg(q::text, ' ')) from (select * from events order by d desc, id) q;
select md5(string_agg(q::text, ' ')) from (select * from events order by ts, id) q;
select md5(string_agg(q::text, ' ')) from (select * from events order by tz desc, id desc) q;
select md5(string_agg(q::text, ' ')) from (select * from narrow order by a, b) q;
select md5(string_agg(q::text, ' ')) from (select * from narrow order by b desc) q;
select md5(string_agg(q::text, ' ')) from (select * from narrow order by c, a desc, b) q;
select md5(string_agg(q::text, ' ')) from (select b, a from narrow order by c desc, b) q;
select md5(string_agg(q::text, ' ')) from (select a from narrow order by a) q;

-- NULLs
select maybe, id from events where id <= 1500 order by maybe, id;
select maybe, id from events where id <= 1500 order by maybe nulls first, id;
select maybe, id from events where id <= 1500 order by maybe desc, id;
select maybe, id from events where id <= 1500 order by maybe desc nulls last, id;
select maybe from events order by maybe nulls first limit 2600;
select md5(string_agg(q::text, ' ')) from (select maybe, id, filler from events order by maybe nulls first, id) q;
select md5(string_agg(q::text, ' ')) from (select maybe, id, filler from events order by maybe desc nulls last, id desc) q;
select md5(string_agg(q::text, ' ')) from (select nullif(k2, 5) as k, d, id from events order by 1 nulls first, 2 desc, 3) q;
select md5(string_agg(q::text, ' ')) from (select nullif(few, 7) as a, nullif(few % 5, 2) as b, id from events order by 1 desc, 2 nulls first, 3 desc) q;
select k, id from only_nulls order by k, id;
select k, id from only_nulls order by k nulls first, id desc;
select md5(string_agg(k::text, ' ')) from (select k from only_nulls order by k desc) q;
select case when id % 2 = 0 then null::int8 end as k, id from events where id < 500 order by 1, 2;
select case when id % 2 = 0 then null::int8 end as k, id from events where id < 500 order by 1 nulls first, 2;
select case when id % 2 = 0 then null::oid else 0 end as k, id from events where id < 500 order by 1 nulls first, 2;
select case when id % 2 = 0 then null::oid else 4294967295 end as k, id from events where id < 500 order by 1 desc, 2;

-- two to five keys
select few, k2, id from events where id <= 1000 order by few, k2, id;
select few, d, k4 from events where id <= 1000 order by few desc, d, k4;
select md5(string_agg(q::text, ' ')) from (select few, d, ts, id from events order by few, d desc, ts, id desc) q;
select md5(string_agg(q::text, ' ')) from (select o, tz, k8, id from events order by few % 2, d, k8, id) q;
select md5(string_agg(q::text, ' ')) from (select maybe, k2, k4, id from events order by maybe desc nulls last, k2, k4 desc, id) q;
-- @device
select few, k2, d, k4, id from events where id <= 1000 order by few, k2, d, k4, id;
-- keys that repeat or say nothing
select id, few from events where id <= 300 order by few, id, few desc, id;
select id from events where id <= 300 and few = 7 order by few, id desc;
select id, id + 0 as same from events where id <= 300 order by 2, 1;
select id from events where id <= 300 order by id, 'constant'::text;

-- extremes of each type, several times each
create table extremes(id serial, k2 int2, k4 int4, k8 int8, o oid, d date, ts timestamp, tz timestamptz);
insert into extremes(k2, k4, k8, o, d, ts, tz)
select k2::int2, k4::int4, k8::int8, o::oid, d::date, ts::timestamp, tz::timestamptz
from generate_series(1, 30),
	(values ('-32768', '-2147483648', '-9223372036854775808', '0', '-infinity', '-infinity', '-infinity'),
		('32767', '2147483647', '9223372036854775807', '4294967295', 'infinity', 'infinity', 'infinity'),
		('-1', '-1', '-1', '2147483648', '4714-11-24 BC', '4714-11-24 00:00:00 BC', '4714-11-24 00:00:00+00 BC'),
		('0', '0', '0', '2147483647', '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00'),
		('1', '1', '1', '1', '1999-12-31', '1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00'),
		('256', '65536', '4294967296', '65536', '2000-01-01', '2000-01-01', '2000-01-01 00:00:00+00'),
		(null, null, null, null, null, null, null)) v(k2, k4, k8, o, d, ts, tz);
analyze extremes;
select k2, id from extremes order by k2, id;
select k2, id from extremes order by k2 desc, id;
select k4, id from extremes order by k4 nulls first, id;
select k4, id from extremes order by k4 desc nulls last, id desc;
select k8, id from extremes order by k8, id;
select k8, id from extremes order by k8 desc, id;
select o, id from extremes order by o nulls first, id;
select o, id from extremes order by o desc nulls last, id;
select d, id from extremes order by d, id;
select d, id from extremes order by d desc nulls last, id;
select ts, id from extremes order by ts nulls first, id;
select ts, id from extremes order by ts desc, id desc;
select tz, id from extremes order by tz, id;
select tz, id from extremes order by tz desc, id;
select k8, o, d, id from extremes order by k8 desc, o, d nulls first, id;
select k2, k8, ts, id from extremes order by k2 nulls first, k8 desc, ts, id;

-- types that only look like others, or are read through others
select id::int2 as k, id from events where id <= 1000 order by id::int2 desc;
select e, id from odd order by e, id;
select day, id from odd order by day desc, id;
select e + 1 as k, id from odd where id < 20000 order by 1 desc, 2;
select id, oid from (select 'pg_class'::regclass as oid, id from one_row) q order by oid, id;
select id, (id % 3)::regtype::oid as o from events where id <= 100 order by (id % 3)::oid, id;
-- sorted by the operators of oid
-- @device
select id, (id * 7919::int8 % 3001 + 4294960000)::oid::regclass as c from events where id <= 3000 order by c desc, id;
-- @device
select id, nullif(id * 7919::int8 % 3001, 5)::oid::regtype as t from events where id <= 3000 order by t nulls first, id;
set timezone = 'America/New_York';
select tz, id from events where id <= 200 order by tz, id;
select tz::timestamp as local, id from events where id <= 200 order by 1, 2;
reset timezone;

-- other types; arrays and records are PostgreSQL's own, unless another key precedes them
-- @device
select t, id from events where id <= 1000 order by t, id;
-- @device
select n, id from events where id <= 1000 order by n, id;
-- @device
select f, id from events where id <= 1000 order by f desc, id;
-- @device
select f::float4 as f, id from events where id <= 1000 order by 1, 2;
-- @device
select m, id from odd where id <= 20000 order by m, id;
-- @device
select flag, id from odd where id <= 20000 order by flag desc, id;
-- @native
select p, id from odd where id <= 20000 order by p, id;
-- @native
select l, id from odd where id <= 20000 order by l, id;
-- @device
select ts::time as k, id from events where id <= 1000 order by 1, 2;
-- @device
select id * interval '1 minute' as k from events where id <= 1000 order by 1 desc;
-- @device
select md5(id::text)::uuid as k from events where id <= 1000 order by 1;
-- @device
select '10.0.0.0'::inet + id as k from events where id <= 1000 order by 1 desc;
-- @device
select t collate "C" as t, few, id from events where id <= 1000 order by few, t collate "C", id;
-- @native
select row(few, id) as r from events where id <= 1000 order by row(few, id);
-- @device
select id::text::bytea as k from events where id <= 1000 order by 1;
-- an operator of another order
select id from events where id <= 200 order by id using >;
select id, few from events where id <= 200 order by few using <, id using >;
create function backwards_cmp(int4, int4) returns int4 language sql immutable as 'select btint4cmp($2, $1)';
create operator <~ (leftarg = int4, rightarg = int4, function = int4gt);
create operator class backwards for type int4 using btree as operator 1 <~, operator 3 =, function 1 backwards_cmp(int4, int4);
-- @native
select id from events where id <= 200 order by id using <~;
