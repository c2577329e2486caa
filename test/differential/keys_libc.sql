-- Keys of text under collations of the C library.
-- @requires there_are('libc')
-- @device-sorts 50

-- @exact
-- @device 38
select keys_of_texts('en_us', '{de_de,sv_se,ja_jp}') \gexec
-- @exact
-- @device 4
select order_queries('t_us', 'texts') \gexec
-- equal, empty, NULL, and all of one long beginning
-- @exact
-- @device 10
select keys_alike('en_us') \gexec
-- several keys
-- @device 3
select several_keys_of_texts('en_us') \gexec
-- Few values, which the first rows tell, or not.  Rows begin as a sort of PostgreSQL's own, up to this number
set gpusort.min_rows = 1000;
-- @exact
-- @device 34
select keys_of_ranked('en_us', '{de_de,sv_se}') \gexec
-- @device 3
select several_keys_of_ranked('en_us', 'de_de') \gexec
-- the same with statistics
analyze ranked;
-- @device 3
select several_keys_of_ranked('en_us', 'de_de') \gexec
