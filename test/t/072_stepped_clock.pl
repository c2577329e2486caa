# A clock that is set back by an hour makes no wait longer: for buffers, for device memory, for idle readers.
#
# modules/stepped_clock sets back the clock of the server's processes while there is a file.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $step = PostgreSQL::Test::Utils::tempdir() . '/step';
my $node;
{
	local $ENV{LD_PRELOAD} = "$FindBin::RealBin/../modules/stepped_clock/stepped_clock.so";
	local $ENV{GPUSORT_TEST_CLOCK_FILE} = $step;
	$node = new_server('clock', "gpusort.buffer_memory = '16MB'", "gpusort.device_memory = '32MB'");
}
wait_for_state($node, 'serving');
make_tables($node);

# no sort waits for much longer than the native sort is estimated to take
my $patient = "set gpusort.wait_timeout = '5min'; set gpusort.max_wait_timeout = '5min'; set work_mem = '64kB'; set seq_page_cost = 1e6";
my $sort = 'explain (analyze, timing off, costs off) select * from small order by k, id';

sub step_back
{
	my ($what) = @_;

	append_to_file($step, '');
	is($node->safe_psql('postgres', 'select clock_timestamp() < to_timestamp(' . time . ") - interval '30 min'"), 't', "$what: the server's clock is set back");
	return;
}

# Sends a sort that may wait for five seconds, and sets the clock back while it waits.
sub native_though_stepped
{
	my ($reason, $what) = @_;
	my $waited = $node->safe_psql('postgres', 'select waited from gpusort_stats');
	my $waiter = GpuSortTest::Session->new($node);

	$waiter->query("$patient; set gpusort.wait_timeout = '5s'");
	$waiter->send($sort);
	ok($node->poll_query_until('postgres', "select waited > $waited from gpusort_stats"), "$what: it waits");
	step_back($what);
	like($waiter->finish, qr/native \(\Q$reason\E\)/, "$what: a clock that was set back does not make it wait longer");
	unlink $step;
	# pg_sleep, at a gate, has taken the clock that was set back for the time: it is to look again
	$node->reload;
	$waiter->close;
}

# --- device memory, which open cursors hold
my $holder = GpuSortTest::Session->new($node);
$holder->query('begin; set local gpusort.wait_timeout = 0');
for my $n (1 .. 20)
{
	my $native = $node->safe_psql('postgres', 'select native_device_memory from gpusort_stats');

	$holder->query("declare h$n scroll cursor for select k from big where id <= 5000 order by k; fetch 1 from h$n");
	last if $node->safe_psql('postgres', "select native_device_memory > $native from gpusort_stats") eq 't';
}
native_though_stepped('gpusort.device_memory is in use', 'device memory');
$holder->query('rollback');
nothing_left_over($node, 'device memory');

# --- a reader that is idle for a second leaves all its buffers but one to others
my $reader = GpuSortTest::Session->new($node);
$reader->query('begin; declare c no scroll cursor for select * from big where id <= 50000 order by k, id; fetch 1 from c');
step_back('an idle reader');
# a sort with ten workers needs 15 of the 16 buffers, and does not wait for them
sleep 2;
$node->safe_psql('postgres', 'alter table small set (parallel_workers = 10)');
like($node->safe_psql('postgres', "$patient; set max_parallel_workers_per_gather = 10; set cpu_tuple_cost = 1e5; set parallel_setup_cost = 0;
	set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; $sort"), qr/Sort Method: (?:host|gpu).*GpuSortFeed/s, 'a reader is found idle though the clock was set back');
$node->safe_psql('postgres', 'alter table small reset (parallel_workers)');
unlink $step;
$reader->close;
nothing_left_over($node, 'an idle reader');

# --- buffers, which sorts hold that stand still
make_gate($node);
$node->append_conf('postgresql.conf', "gpusort.device_memory = '512MB'\n");
$node->reload;
$node->poll_query_until('postgres', 'select budget_bytes = 512 * 1048576 from gpusort_devices') or fail('the memory is not more');
my @sorts = hold_buffers($node, 'buffers');
native_though_stepped('gpusort.buffer_memory is in use', 'buffers');
release_buffers($node, 'buffers', @sorts);
nothing_left_over($node, 'buffers');

is($node->safe_psql('postgres', 'select failed from gpusort_stats'), '0', 'no job failed');
$node->stop;

done_testing();
