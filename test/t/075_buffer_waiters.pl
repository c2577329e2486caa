# Sorts that wait for buffers: they give up when their service takes no more jobs; and one whose process is halted, so that it
# cannot give up when its time is over, does not keep the others waiting.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# no sort waits for longer than twice what the native sort is estimated to take: with these settings, for minutes
my $node = new_server('buffer_waiters', "gpusort.buffer_memory = '16MB'", "work_mem = '64kB'", 'seq_page_cost = 1000000',
	"gpusort.wait_timeout = '5min'", "gpusort.max_wait_timeout = '5min'");
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);

my $sort = 'explain (analyze, timing off, costs off) select * from small order by k, id';

# A session with a sort that waits for buffers.
sub begin_to_wait
{
	my ($what, $timeout) = @_;
	my $session = GpuSortTest::Session->new($node);
	my $waited = $node->safe_psql('postgres', 'select waited from gpusort_stats');

	$session->query("set gpusort.wait_timeout = '$timeout'");
	$session->send($sort);
	ok($node->poll_query_until('postgres', "select waited > $waited from gpusort_stats"), "$what: it waits");
	return $session;
}

# --- the service takes no more jobs, as new settings wait for open sorts to end
my @sorts = hold_buffers($node, 'settings');
my $waiter = begin_to_wait('new settings', '5min');
# a GPU serves on when the host's threads change
$node->safe_psql('postgres', 'alter system set ' . ($GpuSortTest::device eq 'host' ? 'gpusort.host_threads = 1' : "gpusort.device = 'host'"));
$node->safe_psql('postgres', 'select pg_reload_conf()');
like($waiter->finish, qr/Sort Method: native \(no device serves\)/, 'new settings: it gives up');
$waiter->close;
release_buffers($node, 'settings', @sorts);
wait_for_state($node, 'serving');
nothing_left_over($node, 'new settings');

# --- a process that is halted before its time is over
@sorts = hold_buffers($node, 'halted');
my $halted = begin_to_wait('halted', '5s');
stop_service($node, $halted->{pid});
release_buffers($node, 'halted', @sorts);
# it came first, and may have its buffers for as long as it may wait and a second more
like($node->safe_psql('postgres', $sort), qr/Sort Method: (?:host|gpu)/, 'the next sort gets buffers');
ok(service_stands_still($halted->{pid}), 'while that process is halted');
continue_service($halted->{pid});
like($halted->finish, qr/Sort Method: /, 'which goes on');
$halted->close;
nothing_left_over($node, 'halted');

is($node->safe_psql('postgres', 'select failed from gpusort_stats'), '0', 'no job failed');
$node->stop;

done_testing();
