# What a DBA sees of index builds: a line in the log for each, if he asks for it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('build_reports', 'autovacuum = off', 'gpusort.debug_force = off', 'gpusort.min_rows = 10000', 'timezone = UTC');
wait_for_state($node, 'serving');
$node->safe_psql('postgres', q{
	create table t as select i as id, md5(i::text) as s, array[i] as a, (i % 100)::int8 as k from generate_series(1, 30000) i;
	create table small as select * from t limit 500;
	analyze});

# What the statements log.
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
like(logged('create index on small (k)'), qr/gpusort built index "small_k_idx" of table "small": 500 rows, $times\n.*DETAIL:  Sort Method: in backend\n/, 'a build in the session');
like(logged('create index on t (k) where false'), qr/gpusort built index "t_k_idx" of table "t": 0 rows, 8 kB,/, 'no rows');
like(logged('reindex table t'), qr/built index "t_k" .*built index "t_k_idx" /s, 'REINDEX');
like(logged('create index t_a on t (a)'), qr/LOG:  PostgreSQL builds index "t_a" of table "t", not gpusort: the index's first key has no words\n/, q{PostgreSQL's build});
like(logged('set gpusort.enabled = off; create index t_off on t (k)'), qr/PostgreSQL builds index "t_off" of table "t", not gpusort: gpusort\.enabled is off\n/, 'gpusort.enabled = off');
unlike(logged('set gpusort.log_index_builds = off; create index t_quiet on t (k); create index on t (a)'), qr/(?:gpusort built|PostgreSQL builds) index/, 'nothing by default');
unlike(logged('set gpusort.index_builds = off; create index t_native on t (k)'), qr/(?:gpusort built|PostgreSQL builds) index/, 'nothing of builds that are none of gpusort\'s');

$node->stop;
done_testing();
