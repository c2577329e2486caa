-- Keys of text under collations of ICU, the non-deterministic ones among them.
-- @requires there_are('icu')
-- @device-sorts 50

-- @exact
-- @device 4
select order_queries('c_short collate icu_en', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate icu_en', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate icu_en', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate icu_de', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate icu_de', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate icu_sv', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate icu_sv', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate icu_ja', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate icu_ja', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate icu_numeric', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate icu_numeric', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate icu_shifted', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate icu_shifted', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_short collate icu_upper', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_wide collate icu_upper', 'texts') \gexec
-- texts that are equal and differ
-- @exact
-- @device 4
select order_queries('c_short collate icu_no_case', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate icu_no_case', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate icu_no_case', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate icu_no_case', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_short collate icu_no_accent', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate icu_no_accent', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate icu_no_accent', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate icu_no_accent', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('t_icu', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('t_no_case', 'texts') \gexec
-- @rows
-- @device
select few, count(*) from (select few, c_short collate icu_no_case as k from texts order by k, few) q group by few;
-- @exact
-- @device 2
select order_hashes('c_bpchar collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_varchar collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_name::text collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('c_external collate icu_en', 'toasted') \gexec
-- @exact
-- @device 2
select order_hashes('c_compressed collate icu_en', 'toasted') \gexec
-- equal, empty, NULL, and all of one long beginning
-- @exact
-- @device 2
select order_hashes('(''''::text) collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(null::text) collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''same'', 100)) collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''y'', 100) || id % 7) collate icu_en', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''Aa'', 40) || chr(65 + id % 50)) collate icu_en', 'texts') \gexec
-- several keys
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from texts order by c_short collate icu_en, c_prefix collate "C" desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from texts order by few, c_short collate icu_en desc, c_wide collate icu_en, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from texts order by c_prefix collate icu_en, c_short collate icu_en nulls first, c_wide collate icu_en desc, id) q;
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
select order_queries('k_few collate icu_en', 'ranked') \gexec
-- @exact
-- @device 4
select order_queries('k_later collate icu_en', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_few collate icu_en', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_later collate icu_en', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_others collate icu_en', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_bpchar collate icu_en', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_few collate icu_no_case', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_later collate icu_no_case', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_others collate icu_no_case', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_bpchar collate icu_no_case', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_few collate icu_no_accent', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_later collate icu_no_accent', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_others collate icu_no_accent', 'ranked') \gexec
-- @exact
-- @device 2
select order_hashes('k_bpchar collate icu_no_accent', 'ranked') \gexec
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate icu_en, k_later collate icu_en desc, k_others collate icu_en, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate icu_en desc, k_bpchar collate icu_no_case nulls first, k_name, id % 7, k_later collate icu_no_case desc nulls last, k_others collate "C" desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate icu_no_case nulls first, k_later collate icu_en, k_bpchar collate icu_en desc, k_few collate icu_en, k_later collate icu_no_case, k_name collate icu_en desc, id) q;
-- the same with statistics
analyze ranked;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate icu_en, k_later collate icu_en desc, k_others collate icu_en, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate icu_en desc, k_bpchar collate icu_no_case nulls first, k_name, id % 7, k_later collate icu_no_case desc nulls last, k_others collate "C" desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from ranked order by k_few collate icu_no_case nulls first, k_later collate icu_en, k_bpchar collate icu_en desc, k_few collate icu_en, k_later collate icu_no_case, k_name collate icu_en desc, id) q;
