-- Keys of types that are not PostgreSQL's: their sort support abbreviates with one of the three
-- comparators that PostgreSQL exports (test/modules/abbreviating).
-- @requires :'modules' <> ''
-- @device-sorts 16

\set library :modules '/abbreviating'
select :'library' as library \gset
create function create_pair(type text, library text, is_signed bool) returns void language plpgsql as $$
declare
	suffix text := case when is_signed then '' else '_unsigned' end;
	name text;
begin
	execute format('create type %s', type);
	execute format('create function %1$s_in(cstring) returns %1$s as %2$L, ''pair_in'' language c immutable strict parallel safe', type, library);
	execute format('create function %1$s_out(%1$s) returns cstring as %2$L, ''pair_out'' language c immutable strict parallel safe', type, library);
	execute format('create type %1$s (input = %1$s_in, output = %1$s_out, internallength = 16, alignment = double)', type);
	execute format('create function %1$s_cmp(%1$s, %1$s) returns int4 as %2$L, ''pair_cmp%3$s'' language c immutable strict parallel safe', type, library, suffix);
	execute format('create function %1$s_lt(%1$s, %1$s) returns bool as %2$L, ''pair_lt%3$s'' language c immutable strict parallel safe', type, library, suffix);
	execute format('create function %1$s_eq(%1$s, %1$s) returns bool as %2$L, ''pair_eq'' language c immutable strict parallel safe', type, library);
	execute format('create function %1$s_gt(%1$s, %1$s) returns bool as %2$L, ''pair_gt%3$s'' language c immutable strict parallel safe', type, library, suffix);
	foreach name in array array['lt <', 'eq =', 'gt >'] loop
		execute format('create operator %1$s (leftarg = %2$s, rightarg = %2$s, function = %2$s_%3$s)', split_part(name, ' ', 2), type, split_part(name, ' ', 1));
	end loop;
	execute format('create function %1$s_support(internal) returns void as %2$L, ''pair_support_%3$s'' language c immutable strict', type, library, replace(type, 'pair_', ''));
	execute format('create operator class %1$s_ops default for type %1$s using btree as operator 1 <, operator 3 =, operator 5 >, function 1 %1$s_cmp(%1$s, %1$s), function 2 %1$s_support(internal)', type);
end $$;
set client_min_messages = warning;
select create_pair(type, :'library', type <> 'pair_unsigned')
from unnest(array['pair_unsigned', 'pair_signed', 'pair_int32', 'pair_own', 'pair_full']) type;
reset client_min_messages;
create table pairs as
select i as id, u, u::text::pair_signed as s, u::text::pair_int32 as h, u::text::pair_own as o, u::text::pair_full as f, i % 3 as few
from (select i, mixed(i, 900, '{"9223372036854775807,1","-9223372036854775808,1","0,0","0,1","0,-1","-1,0","-1,-1","1,0","4294967295,3","4294967296,3","-4294967296,3","-9223372036854775808,-9223372036854775808"}',
	one_of(array[noise(i, 901)::text, (noise(i, 902) % 40)::text], i, 903) || ',' || noise(i, 904))::pair_unsigned as u from generate_series(1, 2000) i) r;
analyze pairs;
-- @exact
-- @device 4
select order_queries('u', 'pairs') \gexec
-- @exact
-- @device 4
select order_queries('s', 'pairs') \gexec
-- @exact
-- @device 4
select order_queries('h', 'pairs') \gexec
-- behind others, and each other
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from pairs order by few, u desc, s, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from pairs order by h nulls first, s desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from pairs order by few desc, o, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from pairs order by few, f desc, id) q;
-- abbreviations with a comparator of their own, or none: nothing that could order the first key
-- @native pair_own
select o, id from pairs order by o, id;
-- @native pair_full
select f, id from pairs order by f desc, id;
-- a sort in the backend sees a cancel before the next value
set gpusort.min_rows = 1000000;
select s from (select ((i * 7 % 1000) || ',' || case i when 10 then 57014 else i end)::pair_signed as s from generate_series(1, 1000) i) q order by s;
reset gpusort.min_rows;
