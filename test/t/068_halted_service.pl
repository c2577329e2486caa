# A service whose process is halted is noticed: its sorts fail, new ones are native or go to another
# service, the view and the log say so, and when the process goes on it serves again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
BEGIN { $ENV{GPUSORT_TEST_DEVICE} = 'host'; }
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

# a machine that does other work may keep a service that runs from answering for some seconds
my $seconds = 5;
my $node = new_server('halted_service', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);
$node->safe_psql('postgres', 'alter table big set (parallel_workers = 2)');

my $query = 'select k, id, filler from big order by k, id';
my $right = digest($node, $query, 'set gpusort.enabled = off;');

sub counter { return $node->safe_psql('postgres', "select $_[0] from gpusort_stats"); }

# Also in sessions that are there already, from their next statement on.
sub set_timeout
{
	my ($timeout) = @_;

	$node->safe_psql('postgres', "alter system set gpusort.service_timeout = $timeout");
	$node->safe_psql('postgres', 'select pg_reload_conf()');
	$node->poll_query_until('postgres', "select setting::int4 = $timeout from pg_settings where name = 'gpusort.service_timeout'")
	  or die 'gpusort.service_timeout is not set';
}

sub count_in_log
{
	my ($mark, $text) = @_;
	my @found = slurp_file($node->logfile, $mark) =~ /$text/g;

	return scalar @found;
}

my $silence = qr/LOG: .*gpusort: service \d does not respond.*\n.*DETAIL: .*woken \d+ s ago.*gpusort\.service_timeout is $seconds s.*\n.*HINT: .*kill -CONT \d+/;

my $silent = qr/ERROR:  58000: the sort device failed during a sort.*DETAIL:  The sort service has not responded for \d+ s\.  gpusort\.service_timeout is $seconds s\..*HINT: /s;

# While it is halted: the view and one line of the log say so.
sub is_noticed
{
	my ($what, $mark, $service) = @_;

	is($node->safe_psql('postgres', "select state || ', ' || (detail ~ 'woken \\d+ s ago')::text from gpusort_devices where service_pid = $service"), 'unresponsive, true', "$what: the view says so");
	is(count_in_log($mark, $silence), 1, "$what: the log says so once");
}

# It serves again.  Nobody asks any more whether it does: that depends on how busy the machine is.
sub go_on
{
	my ($what, $mark, $service) = @_;

	set_timeout(0);
	continue_service($service);
	wait_for_state($node, 'serving');
	# it writes that behind what the view shows
	$node->wait_for_log(qr/gpusort: service \d responds again/, $mark);
	is(count_in_log($mark, qr/gpusort: service \d responds again/), 1, "$what: the log says that it is over");
	is(service_pid($node), $service, "$what: it is the same process");
	nothing_left_over($node, $what);
	is(digest($node, $query), $right, "$what: then the rows are right");
}

# --- halted while nobody sorts
my $session = GpuSortTest::Session->new($node);
my $mark = -s $node->logfile;
my $before = counter('native_no_device');
set_timeout($seconds);
$session->query("set plan_cache_mode = force_generic_plan; prepare sorted as $query");
like($session->query('explain (costs off) execute sorted'), qr/GpuSort/, 'planned for the device');
my $service = stop_service($node);
like($session->query("explain (analyze, costs off, timing off) execute sorted"), qr/GpuSort.*Sort Method: native \(no device serves\)/s,
	'halted while nobody sorts: the next sort is native');
is(counter('native_no_device'), $before + 1, 'and counted');
is_noticed('while nobody sorts', $mark, $service);
like($session->query("explain (analyze, costs off, timing off) execute sorted"), qr/Sort Method: native \(no device serves\)/, 'a plan that is kept: native at once');
unlike($node->safe_psql('postgres', "explain (costs off) $query"), qr/GpuSort/, 'a new plan has no GpuSort');
is(digest($node, $query), $right, 'and gives the rows');
go_on('while nobody sorts', $mark, $service);
like($session->query("explain (analyze, costs off, timing off) execute sorted"), qr/Sort Method: host/, 'the kept plan is for the device again');

# --- and nobody comes, but who looks at the view
$mark = -s $node->logfile;
set_timeout($seconds);
$service = stop_service($node);
ok(wait_for_state($node, 'unresponsive'), 'the view alone notices it');
is_noticed('the view alone', $mark, $service);
go_on('the view alone', $mark, $service);

# --- halted while rows are fed
for my $workers (0, 2)
{
	my $what = "while rows are fed, $workers workers";
	my $gated = $query =~ s/big/big where gate(id, 150000, 'gate_$workers') > 0/r;

	$mark = -s $node->logfile;
	$before = counter('failed');
	set_timeout($seconds);
	$session->query("set max_parallel_workers_per_gather = $workers");
	is($session->query("explain $gated") =~ /GpuSortFeed/ ? 1 : 0, $workers ? 1 : 0, "$what: planned");
	$session->send("select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($gated) q");
	$node->poll_query_until('postgres', "select count(*) = $workers + 1 from pg_stat_activity where $session->{pid} in (pid, leader_pid) and wait_event = 'PgSleep'")
	  or die "$what: not all come to the gate";
	$node->poll_query_until('postgres', 'select reserved_bytes > 0 from gpusort_devices') or die "$what: the job is not open";
	$service = stop_service($node);
	append_to_file($node->data_dir . "/gate_$workers", '');
	is($session->finish, '', "$what: no row");
	like($session->error, $silent, "$what: but an error");
	is(counter('failed'), $before + 1, "$what: counted");
	is_noticed($what, $mark, $service);
	is($node->safe_psql('postgres', 'select open_jobs from gpusort_devices'), '1', "$what: the service still has the job");
	go_on($what, $mark, $service);
}
$session->query('set max_parallel_workers_per_gather = 0');

# --- halted while rows go out
$mark = -s $node->logfile;
$before = counter('failed');
$session->query("begin; declare c cursor for $query; fetch 1 from c");
set_timeout($seconds);
$service = stop_service($node);
$session->query('fetch all from c');
like($session->error, $silent, 'while rows go out: an error');
is(counter('failed'), $before + 1, 'and counted');
is_noticed('while rows go out', $mark, $service);
$session->query('rollback');
is(digest($node, $query), $right, 'the next sort gives the rows');
go_on('while rows go out', $mark, $service);

# --- it is in a call that blocks: the host device is opened
$mark = -s $node->logfile;
set_timeout(9);
$node->safe_psql('postgres', q{alter system set gpusort.debug_call_delay = '15s'});
$node->safe_psql('postgres', q{alter system set gpusort.host_threads = 3});
$node->safe_psql('postgres', 'select pg_reload_conf()');
# and the view asks all the time
ok($node->poll_query_until('postgres', q{select name like '%3 threads%' from gpusort_devices}), 'the service is in a call that blocks for 15 s');
is(count_in_log($mark, qr/gpusort: service \d does not respond/), 0, 'it has answered meanwhile');
$node->safe_psql('postgres', q{alter system reset gpusort.debug_call_delay});
set_timeout(0);

# --- of two services one is halted: sorts go to the other
$mark = -s $node->logfile;
$node->safe_psql('postgres', q{alter system set gpusort.device = 'host,host'});
$node->safe_psql('postgres', 'select pg_reload_conf()');
$node->poll_query_until('postgres', q{select count(*) = 2 and bool_and(state = 'serving') from gpusort_devices}) or die 'no second service';
set_timeout($seconds);
$service = $node->safe_psql('postgres', 'select service_pid from gpusort_devices where service = 0');
stop_service($node, $service);
ok($node->poll_query_until('postgres', q{select state = 'unresponsive' from gpusort_devices where service = 0}), 'one of two is halted');
set_timeout(0);
ok(sorts_on_device($node, $query), 'the other one sorts');
is(digest($node, $query), $right, 'the rows are right');
is($node->safe_psql('postgres', q{select string_agg(state, ' ' order by service) from gpusort_devices}), 'unresponsive serving', 'the first one is still halted');
continue_service($service);
ok($node->poll_query_until('postgres', q{select count(*) = 2 and bool_and(state = 'serving') from gpusort_devices}), 'both serve again');

$session->close;
$node->stop;
quiet_log($node);

done_testing();
