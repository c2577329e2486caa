# Reports on index builds: a line in the log for each build, on request; and the answer of gpusort_why to CREATE INDEX, which
# the build then confirms.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('build_reports', 'gpusort.debug_force = off', 'gpusort.min_rows = 2000', 'timezone = UTC');
wait_for_state($node, 'serving');
$node->safe_psql('postgres', q{
	create table t as select i as id, md5(i::text) as s, array[i] as a, (i % 100)::int8 as k from generate_series(1, 30000) i;
	create table small as select * from t limit 500;
	analyze});

# The log of the statements.
sub logged
{
	my ($sql) = @_;
	my $at = -s $node->logfile;

	$node->safe_psql('postgres', "set gpusort.index_builds = on; set gpusort.log_index_builds = on; $sql");
	return substr(slurp_file($node->logfile), $at);
}

# --- the log

my $times = qr/\d+ kB, scan \d+\.\d+ ms, sort \d+\.\d+ ms, load \d+\.\d+ ms/;
my $log = logged('create index t_k on t (k)');
like($log, qr/LOG:  gpusort built index "t_k" of table "t": 30000 rows, $times\n/, 'a build on the device');
like($log, qr/DETAIL:  Sort Method: (?:host|gpu)\n\tDevice Rows: 30000\n.*\tKey Words: 2\n.*\tFeed Time: \d+\.\d+ ms\n\tSort Time: /s, 'and its sort');
like(logged('create index on small (k)'), qr/gpusort left index "small_k_idx" of table "small" to PostgreSQL: fewer rows are expected than five times gpusort\.min_rows\n/, 'few rows');
like(logged('create index t_few on t (k) where id < 500'), qr/gpusort built index "t_few" of table "t": 499 rows, $times\n.*DETAIL:  Sort Method: in backend\n/, 'a build in the session');
like(logged('create index on t (k) where false'), qr/gpusort built index "t_k_idx" of table "t": 0 rows, 8 kB,/, 'no rows');
like(logged('reindex table t'), qr/built index "t_k" .*built index "t_k_idx" /s, 'REINDEX');
like(logged('create index t_a on t (a)'), qr/LOG:  gpusort left index "t_a" of table "t" to PostgreSQL: a key of the index cannot be sorted on a device\n/, q{PostgreSQL's build});
like(logged('set gpusort.enabled = off; create index t_off on t (k)'), qr/gpusort left index "t_off" of table "t" to PostgreSQL: gpusort\.enabled is off\n/, 'gpusort.enabled = off');
# 8 bytes of TID, 8 of the key, and the bitmap of NULLs; a minimal tuple would have 32, and all rows 938 kB
like(logged('create index t_narrow on t (k)'), qr/\tDevice Rows: 30000\n.*\tReceived: 70[34] kB\n/s, 'rows of columns that are passed by value are narrow');
unlike(logged('set gpusort.log_index_builds = off; create index t_quiet on t (k); create index on t (a)'), qr/gpusort (?:built|left) index/, 'nothing by default');
unlike(logged('set gpusort.index_builds = off; create index t_native on t (k)'), qr/gpusort (?:built|left) index/, 'nothing of builds that are none of gpusort\'s');

# --- gpusort_why

sub why
{
	my ($statement, $columns, $settings) = @_;

	return $node->safe_psql('postgres', "set gpusort.index_builds = on; @{[ $settings // '' ]}; select " . ($columns // 'node, sort_key, runs_on, code') . " from gpusort_why(\$why\$$statement\$why\$)");
}

# Who builds the index in fact, by the counters: few rows of many stay in the session.
sub built_by
{
	my ($statement, $settings) = @_;
	my $counted = $node->safe_psql('postgres', "set gpusort.index_builds = on; @{[ $settings // '' ]}; begin; select 1 from gpusort_stats_reset(); $statement; rollback; select index_builds, in_backend, jobs from gpusort_stats");

	return { "1\n1|0|1" => 'device', "1\n1|1|0" => 'backend', "1\n0|0|0" => 'native' }->{$counted} // $counted;
}

$node->safe_psql('postgres', q{
	create table p (a int4, b text) partition by range (a);
	create table p1 partition of p for values from (0) to (20000);
	create table p2 partition of p for values from (20000) to (40000);
	insert into p select i, i from generate_series(0, 20100) i;
	create materialized view mv as select * from t;
	create role stranger;
	create view v as select * from t;
	create table w with (parallel_workers = 2) as select * from t limit 5000;
	create table in_order as select i as id from generate_series(1, 50000) i;
	analyze w, in_order});
my $count = $node->safe_psql('postgres', 'select count(*) from pg_class');

is(why('create index on t (k)', '*', 'set gpusort.debug_force = on'), 'Index Build on t|k bigint|30000|240000|device||30000 rows are expected|', 'on the device');
is(why('create unique index concurrently i on t (lower(s) collate "C" text_ops desc, id nulls first) include (k) where id > 5'), 'Index Build on t|lower(s) text COLLATE "C" text_ops DESC, id integer NULLS FIRST|device|', 'keys');
is(why('create index on p (b, a)', 'node, runs_on, code'), "Index Build on p1|device|\nIndex Build on p2|native|few_rows", 'partitions');
is(why('create index on only p (b, a)'), '', 'a partitioned table alone');
is(why('create index on only p1 (b)', 'node, runs_on'), 'Index Build on p1|device', 'a partition alone');
is(built_by('create index on only p (b, a)'), 'native', 'and no build');
is(why('create index on mv (s)'), 'Index Build on mv|s text|device|', 'a materialized view');
is(why('create index on small (k)', 'reason'), 'fewer rows are expected than five times gpusort.min_rows', 'few rows');
is(why('create index on small (k)', 'runs_on, reason', 'set gpusort.debug_force = on'), 'device|500 rows are expected', 'but for a setting');

my %cases = (
	'on t (k)' => [ 'device', '' ],
	'on small (k)' => [ 'native', 'few_rows' ],
	'on t (s)' => [ 'device', '' ],
	'on t (s collate "en-x-icu", a)' => [ 'device', '' ],
	'on t ((k + 1) desc) where id % 2 = 0' => [ 'device', '' ],
	'on t (a)' => [ 'native', 'index_key' ],
	'on t (s text_pattern_ops)' => [ 'device', '' ],
	'on t ((s::name))' => [ 'device', '' ],
	'on t (a, k)' => [ 'native', 'index_key' ],
	'on t using hash (k)' => [ 'native', 'access_method' ],
	'on t using brin (k)' => [ 'native', 'access_method' ]);
for my $index (sort keys %cases)
{
	is(why("create index $index", 'runs_on, code'), join('|', @{ $cases{$index} }), "$index: foretold");
	is(built_by("create index $index"), $cases{$index}[0], "$index: and so");
}
is(built_by('create index on t (k) where id < 500'), 'backend', 'few rows of many');
# with workers, as without
for my $case ([ 'on w (k)', 'native' ], [ 'on t (k)', 'device' ], [ 'on t (k) where id < 500', 'device' ])
{
	my ($index, $by) = @$case;

	is(built_by("create index $index", 'set max_parallel_maintenance_workers = 2; set min_parallel_table_scan_size = 0; alter table t set (parallel_workers = 2)'), $by, "$index, with workers: $by");
}
$node->safe_psql('postgres', 'alter table t reset (parallel_workers)');
# a sample decides
is(why('create index on in_order (id)', 'runs_on'), 'device', 'rows in order: foretold');
like(why('create index on in_order (id)', 'reason'), qr/^50000 rows are expected; if no parallel workers start, a sample of the rows decides, and PostgreSQL builds the index where it is cheaper, as for rows in order$/, 'with what a sample may change');
is(built_by('create index on in_order (id)'), 'native', 'rows in order: PostgreSQL builds the index');
is(built_by('create index on in_order (id desc)'), 'device', 'in another order: the device');
my %settings = (
	'set gpusort.index_builds = off' => [ 'index_builds', 'gpusort.index_builds is off', 'SET gpusort.index_builds = on' ],
	'set gpusort.enabled = off' => [ 'disabled', 'gpusort.enabled is off', 'SET gpusort.enabled = on' ],
	'set max_parallel_maintenance_workers = 0' => [ 'not_asked', 'max_parallel_maintenance_workers is 0, and then PostgreSQL offers no build to extensions', 'SET max_parallel_maintenance_workers = 1, or more' ]);
for my $settings (sort keys %settings)
{
	is(why('create index on t (k)', 'runs_on, code, reason, remedy', $settings), join('|', 'native', @{ $settings{$settings} }), "$settings: foretold");
	is(built_by('create index on t (k)', $settings), 'native', "$settings: and so");
	my $remedy = $settings{$settings}[2] =~ s/, or more//r;
	is(built_by('create index on t (k)', "$settings; $remedy"), 'device', "$remedy: a remedy");
}
is(why('create index on pg_class (relpages)', 'runs_on, code'), 'native|system_table', 'a system catalog');

my %errors = (
	'create index on v (k)' => 'cannot create index on relation "v"',
	'create index concurrently on p (a)' => 'cannot create index on partitioned table "p" concurrently',
	'create index on t (nothing)' => 'column "nothing" does not exist',
	'create index on nothing (k)' => 'relation "nothing" does not exist',
	'create index on t (k nothing_ops)' => 'operator class "nothing_ops" does not exist for access method "btree"',
	'create index on t (k); select 1' => 'gpusort_why accepts one statement, not 2',
	'reindex table t' => 'gpusort_why does not support REINDEX');
for my $statement (sort keys %errors)
{
	my ($status, $out, $err) = $node->psql('postgres', "select * from gpusort_why('$statement')");

	like($err, qr/ERROR:  \Q$errors{$statement}/, "$statement: an error");
}
my ($status, $out, $err) = $node->psql('postgres', "set role stranger; select * from gpusort_why('create index on t (k)')");
like($err, qr/ERROR:  must be owner of table t/, 'owners alone may ask');
is($node->safe_psql('postgres', 'select count(*) from pg_class'), $count, 'no index was made');
reload_with($node, 'gpusort.device' => 'off');
wait_for_state($node, 'off');
is(why('create index on t (k)', 'runs_on, code, reason'), 'native|no_device|no device serves', 'no device');

$node->stop;
done_testing();
