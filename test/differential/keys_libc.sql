-- Keys of text under collations of the C library.
-- @requires there_are('libc')
-- @device-sorts 50

-- @exact
-- @device 4
select order_queries('c_short collate en_us', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate en_us', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate en_us', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate de_de', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate de_de', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate sv_se', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate sv_se', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate ja_jp', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate ja_jp', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('t_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_bpchar collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_varchar collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_name::text collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_external collate en_us', 'toasted') \gexec
-- @exact
-- @device 2
select order_hashes('c_compressed collate en_us', 'toasted') \gexec
-- equal, empty, NULL, and all of one long beginning
-- @exact
-- @device 2
select order_hashes('(''''::text) collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(null::text) collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''same'', 100)) collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''y'', 100) || id % 7) collate en_us', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''Aa'', 40) || chr(65 + id % 50)) collate en_us', 'texts') \gexec
-- several keys
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from texts order by c_short collate en_us, c_prefix collate "C" desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from texts order by few, c_short collate en_us desc, c_wide collate en_us, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from texts order by c_prefix collate en_us, c_short collate en_us nulls first, c_wide collate en_us desc, id) q;
-- few values, which the first rows tell: all of them; some, and others later; all different later.  Rows begin as a
-- sort of PostgreSQL's own, up to this number
set gpusort.min_rows = 1000;
create table ranked as
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
-- @exact
-- @device 4
select order_queries('k_few collate en_us', 'ranked') \gexec
-- @exact
-- @device 4
select order_queries('k_later collate en_us', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_few collate en_us', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_later collate en_us', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_others collate en_us', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_bpchar collate en_us', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_few collate de_de', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_later collate de_de', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_others collate de_de', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_bpchar collate de_de', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_few collate sv_se', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_later collate sv_se', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_others collate sv_se', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_bpchar collate sv_se', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_name collate en_us', 'ranked') \gexec
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate en_us, k_later collate en_us desc, k_others collate en_us, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate en_us desc, k_bpchar collate de_de nulls first, k_name, id % 7, k_later collate de_de desc nulls last, k_others collate "C" desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate de_de nulls first, k_later collate en_us, k_bpchar collate en_us desc, k_few collate en_us, k_later collate de_de, k_name collate en_us desc, id) q;
-- the same with statistics
analyze ranked;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate en_us, k_later collate en_us desc, k_others collate en_us, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate en_us desc, k_bpchar collate de_de nulls first, k_name, id % 7, k_later collate de_de desc nulls last, k_others collate "C" desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate de_de nulls first, k_later collate en_us, k_bpchar collate en_us desc, k_few collate en_us, k_later collate de_de, k_name collate en_us desc, id) q;
