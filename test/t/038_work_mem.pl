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
	my ($settings, $query, $read) = @_;
	my $session = GpuSortTest::Session->new($node);

	$session->query("set log_temp_files = -1; $settings; begin; declare c cursor for $query; move $read in c");
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
nothing_left_over($node, 'work_mem');
$node->stop;

done_testing();
