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

# What a session that has read half of the sorted rows has written and holds, in kB.
sub cost_of
{
	my ($settings) = @_;
	my $session = GpuSortTest::Session->new($node);

	$session->query("set log_temp_files = -1; $settings; begin; declare c cursor for $query; move 150000 in c");
	my $held = $session->query("select sum(used_bytes)::int8 / 1024 from pg_backend_memory_contexts");
	my $written = $session->query('select coalesce(sum(size), 0)::int8 / 1024 from pg_ls_tmpdir()');
	$session->query('rollback');
	$session->close;
	return ($written, $held);
}

my ($native_written, $native_held) = cost_of('set gpusort.enabled = off');
my ($written, $held) = cost_of('set gpusort.enabled = on');
ok(sorts_on_device($node, $query), 'the device sorts');
cmp_ok($native_written, '>', 10000, "PostgreSQL's sort has $native_written kB in temporary files");
is($written, '0', "the device's has none");
cmp_ok($held, '<', $native_held + 2048, "it holds $held kB of memory, PostgreSQL's $native_held kB");
is(digest($node, $query), digest($node, $query, 'set gpusort.enabled = off;'), 'the rows are right');
nothing_left_over($node, 'work_mem');
$node->stop;

done_testing();
