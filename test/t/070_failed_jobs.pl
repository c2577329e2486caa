# A job that has failed holds nothing that others need, although its session does not come back: an idle cursor.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('failed_jobs', "gpusort.buffer_memory = '16MB'", "gpusort.wait_timeout = 0", "work_mem = '1MB'");
wait_for_state($node, 'serving');
make_tables($node);

my $query = 'select * from big order by k, id';
my $right = digest($node, $query, 'set gpusort.enabled = off;');
my $holder = GpuSortTest::Session->new($node);

# --- buffers: cursors have too many for one more sort, and their jobs fail with their service
my $buffers = 'select open_jobs > 1 and free_buffer_bytes < 4 * 1048576 from gpusort_devices';
my $cursors = 0;
$holder->query('begin');
while ($cursors < 30 && $node->safe_psql('postgres', $buffers) eq 'f')
{
	$holder->query('declare c' . ++$cursors . " scroll cursor for $query; fetch 1 from c$cursors");
}
is($node->safe_psql('postgres', $buffers), 't', "$cursors cursors have all buffers but a few");
end_service($node);
wait_for_state($node, 'serving');
ok(sorts_on_device($node, $query), 'their service has ended, and another session still gets buffers');
is(digest($node, $query), $right, 'its rows are right');
$holder->query("fetch all from c1");
like($holder->error, qr/58000: the sort device failed during a sort/, 'the cursors are over');
$holder->query('rollback');
nothing_left_over($node, 'the service has ended');

# --- device memory: the device refuses the blocks that a cursor fetches ahead, until the job fails
$holder->query("begin; declare c scroll cursor for $query; fetch 1 from c");
$node->poll_query_until('postgres', 'select reserved_bytes > 0 from gpusort_devices') or die 'the cursor is not on the device';
reload_with($node, 'gpusort.debug_fail_at' => -1);
$node->poll_query_until('postgres', "select detail like '%debug_fail_at%' from gpusort_devices") or die 'gpusort.debug_fail_at is not followed';
$holder->query('move 20000 in c');
is($holder->error, '', 'the cursor stands within the rows that it has');
ok(nobody_reserves($node), 'the job has failed, and its device memory is back');
$holder->query('fetch all from c');
like($holder->error, qr/53200: the sort device ran out of memory during a sort/, 'the cursor is over');
reload_with($node, 'gpusort.debug_fail_at' => 0);
$node->poll_query_until('postgres', 'select detail is null from gpusort_devices') or die 'gpusort.debug_fail_at is not followed';
$holder->query('rollback');
nothing_left_over($node, 'a failed cursor');

# Waits until no job has device memory, though it may be open.
sub nobody_reserves
{
	my ($node) = @_;

	return $node->poll_query_until('postgres', 'select reserved_bytes = 0 from gpusort_devices');
}

$holder->close;
$node->stop;
quiet_log($node);

done_testing();
