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
