-- Keys of text under the collations that compare bytes: C, POSIX and C.UTF-8.  setup/keys.sql
-- tells what texts there are.
-- @also one-worker, four-workers
-- @device-sorts 60

-- @exact
-- @device 4
select order_queries('c_short collate "C"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate "C"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate "C"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate "C"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_short collate "POSIX"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate "POSIX"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate "POSIX"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate "POSIX"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_short collate ' || or_c('c_utf8'), 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate ' || or_c('c_utf8'), 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate ' || or_c('c_utf8'), 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate ' || or_c('c_utf8'), 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_short collate ' || or_c('builtin_utf8'), 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_prefix collate ' || or_c('builtin_utf8'), 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_behind collate ' || or_c('builtin_utf8'), 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_wide collate ' || or_c('builtin_utf8'), 'texts') \gexec
-- other types of text, and columns with collations of their own
-- @exact
-- @device 4
select order_queries('c_bpchar', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_varchar', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_name', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_bpchar collate "C"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_varchar collate "C"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_name::text', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('c_short::bpchar(5) collate "C"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('left(c_behind, 9) collate "POSIX"', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('t_c', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('t_posix', 'texts') \gexec
-- @exact
-- @device 4
select order_queries('t_utf8', 'texts') \gexec
-- out of line and compressed
-- @exact
-- @device 4
select order_queries('c_external', 'toasted', 'md5(c_external)') \gexec
-- @exact
-- @device 4
select order_queries('c_compressed', 'toasted', 'md5(c_compressed)') \gexec
-- @exact
-- @device 4
select order_queries('c_bytes', 'toasted', 'md5(c_bytes)') \gexec
-- @exact
-- @device 4
select order_queries('c_number', 'toasted', 'md5(c_number::text)') \gexec
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from toasted order by c_external, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from toasted order by c_compressed desc, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from toasted order by c_bytes nulls first, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from toasted order by c_number, id) q;
-- @device
select count(*), md5(string_agg(q::text, ' ')) from (select * from toasted order by c_compressed, c_external desc, id) q;
-- equal, empty, NULL, and all of one long beginning
-- @exact
-- @device 2
select order_hashes('(''''::text) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(null::text) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''same'', 100)) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''y'', 100) || id % 7) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(lpad((id % 300)::text, 300, ''z'')) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(case when id % 3 > 0 then '''' end) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(''x'', id % 40)) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(repeat(chr(1), id % 20)) collate "C"', 'texts') \gexec
-- @exact
-- @device 2
select order_hashes('(chr(1 + id % 127) || id % 9) collate "C"', 'texts') \gexec
-- the operators of text_pattern_ops and bpchar_pattern_ops, under collations of the same order
-- @exact
-- @device
select id, left(c_wide, 70) from texts order by c_wide collate "C" using ~<~, id;
-- @exact
-- @device
select id, left(c_short, 70) from texts order by c_short collate "C" using ~>~ nulls last, id;
-- @exact
-- @device
select id, left(c_bpchar, 70) from texts order by c_bpchar collate "C" using ~<~, id;
-- @exact
-- @device
select id from texts order by left(c_wide, 60)::name, id desc;
-- @exact
-- @native
select id from texts order by c_short collate "en-x-icu" using ~<~, id;
