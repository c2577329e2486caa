# A sort far larger than work_mem: while its rows fit the device's budget they are in no
# temporary file, and not in the session's memory either.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('work_mem', "work_mem = '64kB'");
wait_for_state($node, 'serving');
make_tables($node);

my $query = 'select * from big order by k, id';

# The kB that a session has written and holds, after it has read some of the sorted rows.
sub cost_of
{
	my ($settings, $query, $read, $how) = @_;
	my $session = GpuSortTest::Session->new($node);

	$session->query("set log_temp_files = -1; $settings; begin; declare c @{[ $how // '' ]} cursor for $query; move $read in c");
	my $held = $session->query("select sum(used_bytes)::int8 / 1024 from pg_backend_memory_contexts");
	my $written = $session->query('select coalesce(sum(size), 0)::int8 / 1024 from pg_ls_tmpdir()');
	$session->query('rollback');
	$session->close;
	return ($written, $held);
}

my ($native_written, $native_held) = cost_of('set gpusort.enabled = off', $query, 150000);
my ($written, $held) = cost_of('set gpusort.enabled = on', $query, 150000);
ok(sorts_on_device($node, $query), 'the device sorts');
cmp_ok($native_written, '>', 10000, "PostgreSQL's sort has $native_written kB in temporary files");
is($written, '0', "the device's has none");
cmp_ok($held, '<', $native_held + 2048, "it holds $held kB of memory, PostgreSQL's $native_held kB");
is(digest($node, $query), digest($node, $query, 'set gpusort.enabled = off;'), 'the rows are right');

# a tie run: their copies and the list of them count as what they take, not as their bytes
$node->safe_psql('postgres', q{
	create table tied as
	select 0 as c1, 1 as c2, 2 as c3, 3 as c4, 4 as c5, 5 as c6, 6 as c7, 7 as c8, hashint4(i) as c9, i as id from generate_series(1, 30000) i;
	analyze tied});
my $tied = 'select * from tied order by c1, c2, c3, c4, c5, c6, c7, c8, c9, id';
# counted by their bytes, rows and list are 2109 kB
my (undef, $none_held) = cost_of("set work_mem = '64kB'; set gpusort.enabled = off", $tied, 1);
my (undef, $tied_held) = cost_of("set work_mem = '2200kB'", $tied, 1);
like($node->safe_psql('postgres', "explain (analyze, costs off, timing off) $tied"), qr/Tie Runs: 1\n/, 'a tie run: the device sorts');
cmp_ok($tied_held, '<', $none_held + 2200, "it holds $tied_held kB of memory, PostgreSQL's sort $none_held kB with little work_mem");
is(digest($node, $tied, "set work_mem = '2200kB';"), digest($node, $tied, 'set gpusort.enabled = off;'), 'its rows are right');

# ranks of a tie run's values: with them, rows, list and copies would be 66 MB and more.  A session that gets no more memory than
# work_mem and a little sorts without ranks.
$node->safe_psql('postgres', q{
	create table ranked as
	select 0 as c1, 1 as c2, 2 as c3, 3 as c4, 4 as c5, 5 as c6, 6 as c7, 7 as c8, hashint4(i % 190000) as c9 from generate_series(1, 400000) i;
	analyze ranked});
my $ranked = 'select * from ranked order by c1, c2, c3, c4, c5, c6, c7, c8, c9';
my $limited = GpuSortTest::Session->new($node);
like($limited->query("set work_mem = '64MB'; explain (analyze, costs off, timing off) select * from tied order by c1, c2, c3, c4, c5, c6, c7, c8, c9"), qr/Tie Runs: 1\n/, 'the session has sorted before');
my ($data) = slurp_file("/proc/$limited->{pid}/status") =~ /VmData:\s+(\d+) kB/;
system_or_bail('prlimit', "--pid=$limited->{pid}", '--data=' . ($data + 64 * 1024 + 3 * 1024) * 1024);
like($limited->query("explain (analyze, costs off, timing off) $ranked"), qr/Tie Runs: 1\n/, 'a tie run is sorted in work_mem');
is($limited->error, '', 'and no more');
is(digest($node, $ranked, "set work_mem = '64MB';"), digest($node, $ranked, 'set gpusort.enabled = off;'), 'the order is right');
$limited->close;

# --- few wide rows: they stay in the backend as long as work_mem has room for them
$node->safe_psql('postgres', q{
	create table wide(k int4, filler text);
	alter table wide alter filler set storage plain;
	insert into wide select (i * 7919) % 1101, repeat('w', 4800) from generate_series(1, 1100) i;
	analyze wide});
like($node->safe_psql('postgres', "set work_mem = '6MB'; set gpusort.min_rows = 100000; explain (analyze, costs off, timing off) select * from wide order by k"),
	qr/Sort Method: in backend\n/, 'wide rows stay in the backend');

# --- a spilled sort: all runs' buffers, and what a cursor that may scroll keeps, are in work_mem
reload_with($node, 'gpusort.device_memory' => '32MB');
$node->poll_query_until('postgres', "select budget_bytes = 32 * 1048576 from gpusort_devices") or die 'gpusort.device_memory is not followed';
$node->safe_psql('postgres', 'create table large as select (i::int8 * 7919) % 1000003 as k, i as id, repeat(chr(97 + i % 26), 60) as filler from generate_series(1, 1000000) i; analyze large');
my $spilled = 'select * from large order by k, id';
my ($runs) = $node->safe_psql('postgres', "explain (analyze, costs off, timing off) $spilled") =~ /external merge\n\s+Runs: (\d+)\n/;
cmp_ok($runs, '>=', 6, "a sort spills $runs runs");
(undef, $none_held) = cost_of("set work_mem = '64kB'; set gpusort.enabled = off", $spilled, 1);
(undef, $held) = cost_of("set work_mem = '64kB'", $spilled, 1000);
cmp_ok($held, '<', $none_held + 64 + $runs * 8 + 100, "with 64 kB it holds $held kB, PostgreSQL's $none_held kB");
(undef, $held) = cost_of("set work_mem = '4MB'", "$spilled", 900000, 'scroll');
cmp_ok($held, '<', $none_held + 4096 + 100, "a cursor that may scroll holds $held kB with 4 MB");
nothing_left_over($node, 'work_mem');
$node->stop;

done_testing();
