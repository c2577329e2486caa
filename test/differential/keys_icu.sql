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
