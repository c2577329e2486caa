# Btree indexes built through the device are those that PostgreSQL builds, page by page but for LSNs and checksums,
# whatever their definition; each build is counted, here or by the reason why it is PostgreSQL's.  Everything that
# builds indexes is tried, and errors, dead rows, spilling, an order that is wrong, a standby, a crash.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IndexBuilds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('index_builds', "gpusort.device_memory = '32MB'", 'shared_buffers = 128MB', "maintenance_work_mem = '16MB'");
wait_for_state($node, 'serving');
make_tables($node);
make_index_checks($node);
make_index_tables($node);
$node->safe_psql('postgres', q{
	create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	create type mood as enum ('sad', 'ok', 'happy');
	create domain posint as int check (value > 0);
	create table d as select
	  hashint8extended(i, 1) as k8, (abs(hashint4(i)) % 100)::int4 as few, (abs(hashint4(i)) % 12000)::int4 as dup,
	  case when i % 7 <> 0 then hashint4(i) end as withnull,
	  md5(i::text) collate "C" as tc, md5(i::text) collate "en-x-icu" as ti, md5(i::text)::varchar(40) as vc,
	  ('customer name ' || (abs(hashint4(i)) % 50000)) collate "en-x-icu" as tp, md5(i::text)::uuid as u,
	  (abs(hashint4(i)) % 100000)::numeric / 100 as n, (abs(hashint4(i)) % 1000 / 10.0)::float8 as f8,
	  timestamptz '2026-01-01' + (hashint4(i) || ' s')::interval as ts, date '2020-01-01' + abs(hashint4(i)) % 3000 as dt,
	  ((array['sad','ok','happy'])[abs(hashint4(i)) % 3 + 1])::mood as m, ((abs(hashint4(i)) % 1000) + 1)::posint as dom,
	  ('10.' || abs(hashint4(i)) % 256 || '.' || abs(hashint4(i + 1)) % 256 || '.1')::inet as ip, decode(md5(i::text), 'hex') as bya,
	  (i % 2 = 0) as b, (abs(hashint4(i)) % 500)::oid as o, ('n' || abs(hashint4(i)))::name as nm,
	  repeat(md5(i::text), i % 60) as long, array[i % 10, abs(hashint4(i)) % 10] as arr, int4range(abs(hashint4(i)) % 1000, 2000) as rg,
	  ('{"a":' || i % 1000 || '}')::jsonb as js, md5(i::text)::char(20) as bp, i as id
	  from generate_series(1, 30000) i;
	-- some values lie outside
	create table outside (t text, id int);
	alter table outside alter t set storage external;
	insert into outside select (select string_agg(md5((i * 100 + j)::text), '') from generate_series(1, 100) j), i from generate_series(1, 700) i;
	create table longest as select string_agg(md5(j::text), '') as t from generate_series(1, 300) j;
	create function color_of(i int4) returns text immutable parallel safe language sql as $$ select (array['red', 'green', 'Blue', 'blue'])[i % 4 + 1] || repeat(' ', 30) $$;
	create table empty (like d);
	vacuum analyze d, outside;

	-- builds the index natively and through gpusort
	create function build_both(uniq text, rel text, def text) returns text language plpgsql as $$
	declare
		counted jsonb;
	begin
		perform set_config('gpusort.index_builds', 'off', true);
		execute format('create %s index ix_native on %s %s', uniq, rel, def);
		perform set_config('gpusort.index_builds', 'on', true);
		perform gpusort_stats_reset();
		execute format('create %s index ix_ours on %s %s', uniq, rel, def);
		counted := built();
		perform bt_index_parent_check('ix_ours', true, true);
		if (select count(distinct reltuples) from pg_class where relname in ('ix_native', 'ix_ours')) <> 1 then
			return 'reltuples differ';
		end if;
		return same_pages('ix_native', 'ix_ours') || ' ' || counted;
	end $$;
});

my $ours = 'same {"index_builds": 1}';
my $native = 'same {"native_index_key": 1}';

# The outcome of build_both, with the settings and what else must be in its transaction before.
sub build_both
{
	my ($uniq, $table, $definition, $settings) = @_;
	my ($status, $out, $err) = $node->psql('postgres',
		($settings // '') . "begin; select build_both('$uniq', '$table', \$def\$$definition\$def\$); rollback");

	return $status == 0 ? $out : $err;
}

# --- definitions
my @definitions = (
	'(k8)', '(k8 desc)', '(k8 desc nulls last)', '(few)', '(dup)', '(withnull)', '(withnull nulls first)', '(withnull desc)',
	'(tc)', '(ti)', '(vc)', '(tp)', '(u)', '(n)', '(f8)', '(ts)', '(dt)', '(m)', '(dom)', '(ip)', '(bya)', '(b)', '(o)', '(bp)',
	'(few, k8)', '(few, tc desc, u)', '(few, ti, n, dt, m, withnull)', '(tc, ti, vc, tp, u, n, f8, ts)',
	'(tp, few) include (n, bya)', '(dup) include (long) where length(long) < 1000',
	'(withnull, n) include (withnull, tp)', '(lower(tc))', '(upper(tp), (few + 1))', '((n * 2)) where few < 50', '(k8) where b', '(k8) where false',
	'(tp collate "C")', '(k8) with (fillfactor = 50)', '(dup) with (deduplicate_items = off)', '(few) with (fillfactor = 100)',
	'(few, arr)', '(few, nm)', '((substr(long, 1, 600))) where length(long) < 1900', '((null::int))', '((1))', '(b, few)',
	'(k8) include (nm, js, arr)', '(withnull) include (nm)',
	# C's order
	'(nm)', '(nm desc, few)', '(nm collate "en-x-icu")', "((left(tc, 2)::name), id)", '(tc text_pattern_ops)', '(ti text_pattern_ops desc)', '(tp text_pattern_ops, id)',
	'(vc varchar_pattern_ops)', '(bp bpchar_pattern_ops)', '((case when id % 2 = 0 then bp end) bpchar_pattern_ops desc nulls last)', '(color_of(id) text_pattern_ops)',
	# equal, with other bytes
	'((case when id % 2 = 0 then upper(tc) else tc end) collate ci)', "((case when id % 2 = 0 then interval '1 day' else interval '24 hours' end))",
	"((case when id % 2 = 0 then 1.0 else 1.00 end), few)", "((case when id % 3 = 0 then float8 '-0' when id % 3 = 1 then 0 else 'NaN' end))",
	# some releases of PostgreSQL, 18.6 among them, let an index of such keys merge those of equal bytes
	"((case id % 3 when 0 then 'a '::bpchar when 1 then 'a'::bpchar else 'a  '::bpchar end))",
	'(ti collate "de-x-icu")', '((ti::text) collate "und-x-icu", k8 desc)', '((id / 1000), js)',
	'(k8, withnull, few, dup, id, o, b, dom, dt, ts, f8, n, u, tc, ti, tp, vc, m, ip, bya)');
my @definitions_without_words = ('(arr)', '(rg)', '(js)', '(arr, few)', '(rg, id)');
my @unique_definitions = ('(id)', '(id desc)', '(tc)', '(ti)', '(tp, id)', '(few, id) include (n)', '(withnull, id)', '(u)', '(k8) where few = 3');

is(build_both('', 'd', $_), $ours, "index $_") for @definitions;
is(build_both('', 'd', $_), $native, "index $_") for @definitions_without_words;
is(build_both('unique', 'd', $_), $ours, "unique index $_") for @unique_definitions;
is(build_both('', 'outside', "(substr(t, 1, 300), id)"), $ours, 'values that lie outside');
is(build_both('', 'outside', "((t || '') collate \"C\") where length(t) < 10"), $ours, 'no row');
is(build_both('', 'empty', "(k8)"), $ours, 'an empty table');
is(build_both('unique', 'empty', "(few, tc)"), $ours, 'an empty table, unique');
is(build_both('', 'hot', $_), $ours, "HOT chains $_") for '(id)', '(k)', '(v)', '(k, v)';
is(build_both('unique', 'hot', '(id)'), $ours, 'HOT chains, unique');

# sorts in the backend, by PostgreSQL's tuplesort, and in files
is(build_both('', 'd', $_, 'set gpusort.min_rows = 1000000;'), $ours, "index $_ in the backend") for '(k8)', '(ti)', '(few, tc desc, u)', '(withnull)';
is(build_both('', 'd', $_, 'set gpusort.min_rows = 5000; set gpusort.debug_force = off;'), $ours, "index $_, by its first rows") for '(tc)', '(tp)', '(dup)';
like(build_both('', 'd', $_, 'set gpusort.min_rows = 5000; set gpusort.debug_force = off; set gpusort.wait_timeout = 0;'), qr/^same .*"index_builds": 1/, "index $_ with any sort") for '(ti)', '(few, ti, long) where length(long) < 200';

is(build_both('', 'd', '(k8)', 'set gpusort.enabled = off;'), 'same {"native_disabled": 1}', 'gpusort.enabled = off');
my $spilled = $node->safe_psql('postgres', q{
	set gpusort.index_builds = on;
	select gpusort_stats_reset();
	create index large_ours on large (t, k);
	select runs_spilled > 0, built() from gpusort_stats});
is($spilled, "\nt|{\"index_builds\": 1}", 'a large index spills');
$node->safe_psql('postgres', 'create index large_native on large (t, k)');
is($node->safe_psql('postgres', "select same_pages('large_native', 'large_ours')"), 'same', 'a large index is the same');

my (undef, undef, $no_file) = $node->psql('postgres', q{set gpusort.index_builds = on; set temp_file_limit = '5MB'; create index no_file on large (t, k)});
like($no_file, qr/ERROR:  temporary file size exceeds "?temp_file_limit/, 'no room for its temporary files');
nothing_left_over($node, 'no room for temporary files');

# --- dead rows, and those of this transaction
my $old = make_dead_rows($node);
is(build_both('unique', 'dead', '(id)'), $ours, 'rows that are dead to some need not be unique');
is(build_both('', 'dead', '(t)'), $ours, 'rows that are dead to some');
is(build_both('', 'dead', '(id, t)', 'begin; delete from dead where id < 100; insert into dead select 5, i::text from generate_series(1, 100) i; update dead set t = t || 1 where id < 200;'), $ours, "this transaction's rows");
$old->query('commit');
$old->close;

# --- errors are PostgreSQL's own
sub errors_of
{
	my ($on, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nset gpusort.index_builds = $on; $sql");

	return $err =~ s/^psql:\S* //mgr =~ s/^LOCATION: .*\n?//mgr;
}
$node->safe_psql('postgres', q{
	create table twice as select i, md5(i::text) as t, nullif(i % 10000, 7) as withnull from generate_series(1, 20000) i;
	insert into twice values (12345, md5('12345'), null);
	create table spelled (s text collate ci);
	insert into spelled values ('abc'), ('def'), ('ABC'), ('ghi')});
my %errors = (
	'create unique index tw on twice (i)' => 'Key (i)=(12345) is duplicated',
	'create unique index tw on twice (t, i)' => 'is duplicated',
	'alter table twice add constraint tw unique (i)' => 'is duplicated',
	'alter table twice add constraint tw unique (i) deferrable initially deferred' => 'is duplicated',
	'alter table twice add constraint tw primary key (i)' => 'is duplicated',
	'create unique index tw on twice (withnull) nulls not distinct where withnull is null' => 'is duplicated',
	'create unique index tw on spelled (s)' => 'Key (s)=(abc) is duplicated',
	'create index tw on outside (t)' => 'exceeds btree version 4 maximum',
	'create index tw on longest (t)' => 'index row requires ',
	'create index tw on twice ((1 / (i - 10000)))' => 'division by zero');
for my $sql (sort keys %errors)
{
	my $error = errors_of('off', $sql);

	like($error, qr/\Q$errors{$sql}/, "$sql: PostgreSQL's error");
	is(errors_of('on', $sql), $error, "$sql: the same");
}
is(errors_of('on', 'create unique index tw on twice (withnull) where withnull is null'), '', 'NULLs are distinct');

# --- whatever builds indexes
# The counters after the statements; the indexes are checked.
sub builds
{
	my ($sql, @indexes) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "set client_min_messages = warning; set gpusort.index_builds = on; select 1 from gpusort_stats_reset(); $sql");

	return $err if $status != 0;
	$node->safe_psql('postgres', "set client_min_messages = warning; select bt_index_parent_check('$_', true, true)") for @indexes;
	return $node->safe_psql('postgres', 'select built()');
}
sub n { return qq({"index_builds": $_[0]}) }

$node->safe_psql('postgres', q{
	create table t (id int primary key, k int8, s text);
	insert into t select i, hashint8extended(i, 1), md5(i::text) from generate_series(1, 20000) i;
	create index tk on t (k); create index ts on t (s)});
is(builds('reindex index tk', 'tk'), n(1), 'REINDEX INDEX');
is(builds('reindex table t', 't_pkey', 'tk', 'ts'), n(3), 'REINDEX TABLE');
is(builds('reindex index concurrently tk', 'tk'), n(1), 'REINDEX INDEX CONCURRENTLY');
is(builds('reindex table concurrently t', 't_pkey', 'tk', 'ts'), n(3), 'REINDEX TABLE CONCURRENTLY');
is(builds('create index concurrently tc on t (s, k)', 'tc'), n(1), 'CREATE INDEX CONCURRENTLY');
is(builds('create unique index concurrently tu on t (s)', 'tu'), n(1), 'CREATE UNIQUE INDEX CONCURRENTLY');
is(builds('cluster t using tk', 't_pkey', 'tk', 'ts', 'tc', 'tu'), n(5), 'CLUSTER');
is(builds('vacuum full t', 't_pkey', 'tk', 'ts', 'tc', 'tu'), n(5), 'VACUUM FULL');
is(builds('alter table t alter k type numeric', 't_pkey', 'tk', 'ts', 'tc', 'tu'), n(5), 'ALTER TYPE');
is(builds('truncate t', 't_pkey', 'tk'), n(5), 'TRUNCATE');
is(builds('alter table d add constraint dp primary key (id); alter table d add constraint du unique (u) deferrable; alter table d add constraint de exclude using btree (tc with =)', 'dp', 'du', 'de'), n(3), 'constraints');
is(builds('create materialized view mv as select k8, tc from d; create unique index mvk on mv (k8); refresh materialized view mv', 'mvk'), n(2), 'REFRESH');
is(builds('create table p (a int, b int) partition by range (a); create table p1 partition of p for values from (0) to (10000); create table p2 partition of p for values from (10000) to (20000); insert into p select i, -i from generate_series(0, 19999) i; create index pb on p (b)', 'p1_b_idx', 'p2_b_idx'), n(2), 'a partitioned table');
is(builds('create unlogged table ul as select k8, tc from d; create index ulk on ul (k8)', 'ulk'), n(1), 'an unlogged table');
is(builds(q{create temp table tt as select k8, tc from d; create index ttk on tt (k8); select bt_index_parent_check('ttk', true, true)}), n(1), 'a temporary table');
is(builds(q{create function many() returns void language plpgsql as $$ begin for i in 1 .. 3 loop create index again on d (k8); perform bt_index_parent_check('again', true, true); drop index again; end loop; end $$; select many()}), n(3), 'in a function');
is(builds('reindex index tk; set gpusort.index_builds = off; reindex index tk; reindex table t', 'tk'), n(1), 'set off, an index that was built here is not built here again');
is(builds('set max_parallel_maintenance_workers = 0; reindex index tk', 'tk'), '{}', 'where the planner is not asked, builds are native');
is(builds('create index gin_index on d using gin (arr); create index hash_index on d using hash (k8); create index brin_index on d using brin (k8)'), '{}', 'other access methods');
is(builds('reindex table pg_class; reindex table pg_toast.pg_toast_' . $node->safe_psql('postgres', q{select 'outside'::regclass::oid})), '{}', 'system tables');

# a build beside changes
unlike(build_beside_writer($node, 0), qr/ERROR/, 'a build beside changes');

# --- a cancel
my ($status, $out, $err) = $node->psql('postgres', q{
	set gpusort.index_builds = on;
	create function slow(k int8) returns int8 immutable language plpgsql as $$ begin if k % 100 = 0 then perform pg_sleep(0.001); end if; return k; end $$;
	set statement_timeout = '300ms';
	create index canceled on large (slow(k))});
like($err, qr/canceling statement due to statement timeout/, 'a build is cancelled');
nothing_left_over($node, 'a cancelled build');

# --- words in a wrong order
SKIP:
{
	skip 'the locale en_US.UTF-8 is not installed', 2
	  if $node->psql('postgres', q{create collation us (locale = 'en_US.UTF-8')}) != 0;
	$node->safe_psql('postgres', q{create table words as select substr(md5(i::text), 1, 9 + i % 2) collate us as t from generate_series(1, 20000) i});
	is(builds("set gpusort.libc_collations = verify; create index w_verified on words (t)", 'w_verified'), n(1), 'under the C library');
	my ($status, $out, $err) = $node->psql('postgres', "set gpusort.index_builds = on; set gpusort.libc_collations = trust; set gpusort.debug_collation_fault = 10; create index w_wrong on words (t)");
	like($err, qr/device returned rows for index "w_wrong" out of order/, 'rows out of order are an error, and no index');
}

# --- operator classes that contradict themselves
# wins: rock, paper and scissors are no order.  after: of two rows, each comes after the other.
$node->safe_psql('postgres', q{
	create function wins(a int4, b int4) returns int4 immutable parallel safe language sql as $$ select case (a - b) % 3 when 0 then 0 when 1 then 1 when -2 then 1 else -1 end $$;
	create function after(a int4, b int4) returns int4 immutable parallel safe language sql as $$ select case when a = b then 0 else 1 end $$;
	create operator class reversed for type int4 using btree as operator 1 >, operator 2 >=, operator 3 =, operator 4 <=, operator 5 <, function 1 btint4cmp(int4, int4);
	create operator class winning for type int4 using btree as operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 wins(int4, int4)});
make_operator_class($node, 'own_winning', 'wins');
make_operator_class($node, 'mutual', 'after');
is(build_both('', 'd', $_), $native, "index $_") for '(id reversed)', '(id reversed desc)', '(few, id reversed)';
is(builds("create index confused on d $_; drop index confused"), '{"native_index_key": 1}', "index $_") for '(dup winning)', '(few, dup winning)';
is(builds('create index confused on d ((few % 5), id own_winning); drop index confused'), n(1), 'a class with operators of its own, which no order can be seen to break');
like(errors_of('on', 'create index confused on d ((few % 5), id mutual)'),
	qr/ERROR:  42P17: operator class (?:public\.)?mutual gives the rows of index "confused" no order\nDETAIL:  Its comparison function contradicts itself about the rows \(\d+,\d+\) and \(\d+,\d+\)\.\nHINT: /, 'another is the error');

# --- a standby, and a crash right after builds
# a checkpoint must not remove what the standby lacks
$node->safe_psql('postgres', q{select pg_create_physical_replication_slot('standby', true)});
$node->backup('before');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'before', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'");
$standby->start;
$node->safe_psql('postgres', q{
	checkpoint;
	set gpusort.index_builds = on;
	create index crash_large on large (t);
	create index crash_few on d (few);
	create unique index crash_unique on d (id);
	set gpusort.index_builds = off;
	create index native_large on large (t)});
my $new = q{unnest(array['crash_large', 'crash_few', 'crash_unique']::regclass[]) i};
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', "select count(bt_index_check(i, true)) from $new"), '3', 'a standby has the indexes');
# both came by WAL, which leaves out what a page does not use
is($standby->safe_psql('postgres', "select same_pages('native_large', 'crash_large')"), 'same', "as it has PostgreSQL's own");
$standby->stop;
$node->stop('immediate');
$node->start;
wait_for_state($node, 'serving');
is($node->safe_psql('postgres', "select count(bt_index_parent_check(i, true, true)) from unnest(array['crash_large', 'crash_few', 'crash_unique', 'dp', 'ulk']::regclass[]) i"), '5', 'indexes survive a crash');
nothing_left_over($node, 'index builds');

# --- REINDEX is a repair: an index is built though others of its table cannot be opened
$node->safe_psql('postgres', q{
	create extension bloom;
	create table repaired as select i as id, hashint4(i) as k from generate_series(1, 20000) i;
	create index r_id on repaired (id);
	create index r_damaged on repaired (k);
	create index r_bloom on repaired using bloom (k);
	update pg_proc set probin = '$libdir/is_missing' where proname = 'blhandler';
	delete from pg_attribute where attrelid = 'r_damaged'::regclass and attnum = 1});
for my $case ([ 'reindex index r_id', 'r_id' ], [ 'reindex index concurrently r_id', 'r_id' ], [ 'create index r_k on repaired (k)', 'r_k' ],
	[ 'create index concurrently r_both on repaired (k, id)', 'r_both' ])
{
	is(builds(@$case), n(1), "beside damaged indexes: $case->[0]");
}
$node->stop;
done_testing();
