-- Keys of text under collations of ICU, the non-deterministic ones among them.
-- @also one-worker, four-workers
-- @requires there_are('icu')
-- @device-sorts 50

-- @exact
-- @device 50
select keys_of_texts('icu_en', '{icu_de,icu_sv,icu_ja,icu_numeric,icu_shifted,icu_upper}') \gexec
-- @exact
-- @device 4
select order_queries('t_icu', 'texts') \gexec
-- texts that are equal and differ
-- @exact
-- @device 32
select order_queries(key || ' collate ' || other, 'texts')
from unnest('{icu_no_case,icu_no_accent}'::text[]) other, unnest('{c_short,c_prefix,c_behind,c_wide}'::text[]) key \gexec
-- @exact
-- @device 4
select order_queries('t_no_case', 'texts') \gexec
-- @rows
-- @device
select few, count(*) from (select few, c_short collate icu_no_case as k from texts order by k, few) q group by few;
-- equal, empty, NULL, and all of one long beginning
-- @exact
-- @device 10
select keys_alike('icu_en') \gexec
-- several keys
-- @device 3
select several_keys_of_texts('icu_en') \gexec
-- Few values, which the first rows tell, or not.  Rows begin as a sort of PostgreSQL's own, up to this number
set gpusort.min_rows = 1000;
-- @exact
-- @device 34
select keys_of_ranked('icu_en', '{icu_no_case,icu_no_accent}') \gexec
-- @device 3
select several_keys_of_ranked('icu_en', 'icu_no_case') \gexec
-- the same with statistics
analyze ranked;
-- @device 3
select several_keys_of_ranked('icu_en', 'icu_no_case') \gexec
