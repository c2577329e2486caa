# The device is lost below a sort: what else the session sees of it, rows and errors apart.  modules/stand_in_gpus has
# a host device that cannot be opened while there is a file.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
BEGIN { $ENV{GPUSORT_TEST_DEVICE} = 'host'; }
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SortWalks;
use Test::More;

use_stand_ins();
my $node = new_server('lost_device', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);
my $gone = $node->data_dir . '/host_is_gone';
$node->safe_psql('postgres', 'alter table big set (parallel_workers = 2)');
my $lost = qr/ERROR:  58000: the sort device failed during a sort\n.*HINT:  Retry the query\.  If no device serves, PostgreSQL sorts the rows\./s;

# Ends the service while it stands still, and waits until another one serves.
sub lose_device
{
	my ($service) = @_;

	kill 'TERM', $service;
	continue_service($service);
	$node->poll_query_until('postgres', "select state = 'serving' and service_pid <> $service from gpusort_devices")
	  or die 'the service is not back';
}

# --- after a step back to no row: the end of the rows would be a lie
my $session = GpuSortTest::Session->new($node);
walk_on($node, $session);
$session->send("select step_through('select k, id from big order by k, id', 'bgf')");
ok($node->poll_query_until('postgres', "select phase = 'output' from gpusort_progress"), 'a step back: the device has the rows');
lose_device(stop_service($node));
append_to_file($node->data_dir . '/gate', '');
is($session->finish, '', 'then the device is lost: no row');
like($session->error, $lost, 'but an error');

# --- while rows are sorted that workers have fed; and until the device is back sorts are native
my $sorted = 'select k, id, filler from big order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');
my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($sorted) q";
my $explain = 'explain (analyze, costs off, timing off, summary off) execute sorted';
$session->query('set max_parallel_workers_per_gather = 2; set plan_cache_mode = force_generic_plan');
$session->query("prepare sorted as $sorted; prepare hash as $hash");
like($session->query($explain), qr/Sort Method: (?:host|gpu).*Rows Fed: [1-9].*GpuSortFeed/s, 'workers feed a sort');
append_to_file($gone, '');
$session->send($hash =~ s/from big/from big where gate(id, 150000, 'fed') > 0/r);
$node->poll_query_until('postgres', "select count(*) = 3 from pg_stat_activity where $session->{pid} in (pid, leader_pid) and wait_event = 'PgSleep'") or die 'not all came to their gate';
my $failed = $node->safe_psql('postgres', 'select failed from gpusort_stats');
my $service = stop_service($node);
append_to_file($node->data_dir . '/fed', '');
$node->poll_query_until('postgres', "select count(*) > 0 from pg_stat_activity where $session->{pid} in (pid, leader_pid) and wait_event_type = 'Extension'") or fail('nobody came to wait');
kill 'TERM', $service;
continue_service($service);
is($session->finish, '', 'the device is lost: no row');
like($session->error, $lost, 'but an error');
is($node->safe_psql('postgres', "select failed - $failed from gpusort_stats"), '1', 'which counts once, though all processes that fed the sort have it');
ok($node->poll_query_until('postgres', "select state = 'unavailable' from gpusort_devices"), 'the device is not back');
is($session->query('execute hash'), $right, 'the next one gives the rows');
my $plan = $session->query($explain);
like($plan, qr/Sort Method: native \(no device serves\)/, 'natively');
unlike($plan, qr/Rows Fed:/, 'nothing is said to have been fed');
unlink $gone or die "$gone: $!";
$node->safe_psql('postgres', 'select pg_reload_conf()');
$node->poll_query_until('postgres', "select state = 'serving' from gpusort_devices") or die 'the service is not back';

# --- while it serves no new sorts, as the settings have changed and a sort is open: it is looked for again as one that served
$session->query('begin; declare c cursor for select k, id from big order by k, id; fetch 10 from c');
is($session->error, '', 'a cursor is open');
$node->safe_psql('postgres', 'alter system set gpusort.host_threads = 1');
append_to_file($gone, '');
$node->safe_psql('postgres', 'select pg_reload_conf()');
ok($node->poll_query_until('postgres', "select (state, detail) = ('starting', 'waiting for open sorts to end') from gpusort_devices"), 'the new settings wait for it');
kill 'TERM', service_pid($node);
ok($node->poll_query_until('postgres', "select (state, detail) = ('unavailable', 'the host device is gone') from gpusort_devices"), 'the device is lost meanwhile, and known to be missing');
# the session still holds its failed sort
unlink $gone or die "$gone: $!";
ok($node->poll_query_until('postgres', "select state = 'serving' from gpusort_devices"), 'it is found again without a reload, though a session holds a failed sort');
$session->query('rollback');
$node->safe_psql('postgres', 'alter system reset all');
$node->safe_psql('postgres', 'select pg_reload_conf()');

$session->close;
nothing_left_over($node, 'lost devices');
$node->stop;
quiet_log($node);

done_testing();
