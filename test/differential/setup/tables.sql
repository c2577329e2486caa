-- The tables of the corpus; each file starts with a fresh copy.  Everything is computed
-- from row numbers, so that every run has the same rows.  Where a table's rows come in no
-- order, noise(i, salt) says why.
set client_min_messages = warning;

create function noise(i int8, salt int8) returns int8 language sql immutable parallel safe
	as 'select hashint8extended(i, salt)';
-- from 0 to n - 1
create function below(n int8, i int8, salt int8) returns int8 language sql immutable parallel safe
	as 'select (hashint8extended(i, salt) & 9223372036854775807) % n';
-- one column of each key type, unique and not, with NULLs and without; unsupported types;
-- rows of some 150 bytes
create table events(
	id int4 primary key, few int4, k2 int2, k4 int4, k8 int8, o oid,
	d date, ts timestamp, tz timestamptz, maybe int4,
	t text, n numeric, f float8, filler text);
insert into events
select i, below(50, i, 1), below(65536, i, 2) - 32768, (noise(i, 3) % 2147483647)::int4, noise(i, 4), below(4294967296, i, 5)::oid,
	date '2000-01-01' + below(9000, i, 6)::int4 - 4000,
	timestamp '2000-01-01' + (noise(i, 7) % 1000000000000000) * interval '1 microsecond',
	timestamptz '2000-01-01 00:00:00+00' + (noise(i, 8) % 1000000) * interval '1 minute',
	case when below(10, i, 9) > 1 then below(3000, i, 10)::int4 end,
	'text ' || below(5000, i, 11), below(100000, i, 12) / 100.0, below(70000, i, 13) / 7.0,
	repeat(chr(97 + (i % 26)), 20 + i % 60)
from (select i from generate_series(1, 12000) i order by noise(i, 0)) r;

-- narrow: rows of fixed-width columns only
create table narrow(a int4, b int8, c int2);
insert into narrow select below(1000000, i, 20), noise(i, 21), below(7, i, 22) from generate_series(1, 20000) i;

create table customers(id int4 primary key, name text not null, since date, parent int4);
insert into customers
select i, 'customer ' || noise(i, 30), date '2010-01-01' + below(3000, i, 31)::int4, case when i > 10 then 1 + below(i - 1, i, 32) end
from generate_series(1, 1500) i;

create table orders(
	id int8 primary key, customer int4 not null references customers, amount int4,
	placed timestamp not null, status text, note text);
insert into orders
select i, 1 + below(1500, i, 40), nullif(below(1000, i, 41), 0), timestamp '2020-01-01' + below(1000000, i, 42) * interval '1 second',
	(array['new', 'paid', 'sent', 'lost'])[1 + below(4, i, 43)], case when i % 3 = 0 then 'note ' || i end
from generate_series(1, 15000) i;
create index on orders(customer);
create index on orders(placed);

create table measures(at date not null, sensor int2, value int4, id int4) partition by range (at);
create table measures_1 partition of measures for values from ('2020-01-01') to ('2020-04-01');
create table measures_2 partition of measures for values from ('2020-04-01') to ('2020-07-01');
-- the same columns in another order, and one dropped
create table measures_3(gone text, value int4, id int4, sensor int2, at date not null);
alter table measures_3 drop column gone;
alter table measures attach partition measures_3 for values from ('2020-07-01') to ('2020-10-01');
create table measures_rest partition of measures default partition by list (sensor);
create table measures_rest_a partition of measures_rest for values in (0, 1, 2, 3);
create table measures_rest_b partition of measures_rest default;
insert into measures
select date '2020-01-01' + below(450, i, 50)::int4, below(8, i, 51), below(100000, i, 52) - 50000, i
from generate_series(1, 8000) i;

create table animals(id int4, name text, weight int4);
create table cats(lives int2) inherits (animals);
create table dogs(tricks int4, name text) inherits (animals);
insert into animals select i, 'animal ' || i, below(500, i, 60) from generate_series(1, 2000, 3) i;
insert into cats select i, 'cat ' || i, below(10, i, 61), below(9, i, 62) from generate_series(2, 2000, 3) i;
insert into dogs select i, 'dog ' || i, below(60, i, 63), below(1000, i, 64) from generate_series(3, 2000, 3) i;

create table tree(id int4 primary key, parent int4, weight int4);
insert into tree select i, case when i > 1 then 1 + below(i - 1, i, 70) end, below(100, i, 71) from generate_series(1, 1500) i;
create index on tree(parent);

-- values out of line, compressed and not, and short ones
create table documents(id int4, k int4, body text, raw text);
alter table documents alter column raw set storage external;
insert into documents
select i, below(100000, i, 80), repeat(md5(i::text), 1 + below(300, i, 81)::int4), repeat(chr(65 + i % 26), (array[0, 10, 3000, 40000])[1 + i % 4])
from generate_series(1, 250) i;

create domain even as int8 check (value % 2 = 0);
create domain day as date;
create type pair as (x int4, y text);
create type mood as enum ('bad', 'fair', 'good');
create table odd(
	gone1 int4, id int4, gone2 text, e even, p pair, gone3 int8, day day, m mood, l int4[],
	doubled int8 generated always as (id * 2) stored, flag bool);
insert into odd(gone1, id, gone2, e, p, gone3, day, m, l, flag)
select i, i * 37 % 100003, 'gone', below(1000, i, 91) * 2, row((i % 100)::int4, 'y' || i)::pair, i, date '2021-01-01' + below(400, i, 92)::int4,
	(array['bad', 'fair', 'good'])[1 + i % 3]::mood, array[i, i % 10], i % 2 = 0
from generate_series(1, 3000) i;
alter table odd drop column gone1, drop column gone2, drop column gone3;
-- added after the rows: absent from them
alter table odd add column later int4 default 77;
alter table odd add column latest text;

create table no_rows(id int4, k int8);
create table one_row as select 1 as id, 7::int8 as k;
create table one_key as select i as id, 5 as k from generate_series(1, 3000) i;
create table only_nulls as select i as id, null::int4 as k from generate_series(1, 2000) i;
create table ordered as select i as id, i as up, -i as down from generate_series(1, 8000) i;

create function twice(int4) returns int4 language plpgsql immutable parallel safe as 'begin return $1 * 2; end';
vacuum analyze;
