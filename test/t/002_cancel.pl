# Cancel, timeout and termination in each phase of a sort: answered without the device, and
# nothing is left over.
#
# A phase is held by halting the service: the backend then waits in it until the
# service goes on.  The answer has to come while the service stands still.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = new_server('cancel');
wait_for_state($node, 'serving');
make_tables($node);
my $right = digest($node, 'select * from big order by k, id');
is($right, digest($node, 'select * from big order by k, id', 'set gpusort.enabled = off;'), 'the sort is right');
nothing_left_over($node, 'at first');

my %phases = (
	feed => { statement => 'select count(*) from (select * from big order by k) s' },
	sort => { statement => 'select count(*) from (select * from small order by k) s' },
	output => {
		before => 'begin; declare c cursor for select * from big order by k; fetch 1 from c',
		statement => 'move forward all in c'
	});

# Brings a session into a phase and holds it there.
sub enter
{
	my ($phase) = @_;
	my $session = GpuSortTest::Session->new($node);

	$session->query($phases{$phase}{before}) if $phases{$phase}{before};
	my $service = stop_service($node);
	$session->send($phases{$phase}{statement});
	ok(0, "$phase: the session did not come to wait") unless $session->wait_until_waiting;
	return ($session, $service);
}

sub interrupt
{
	my ($phase, $what, $signal, $expected) = @_;
	my ($session, $service) = enter($phase);
	my $seconds = $session->signal($signal);

	ok(service_stands_still($service), "$phase: $what, answered before the service goes on, in " . milliseconds($seconds));
	continue_service($service);
	like($session->error, $expected, "$phase: $what");
	$session->close;
	nothing_left_over($node, "$phase: $what");
}

for my $phase ('feed', 'sort', 'output')
{
	interrupt($phase, 'cancel', 'INT', qr/ERROR:  57014: canceling statement due to user request/);
	interrupt($phase, 'termination', 'TERM', qr/FATAL:  57P01: terminating connection/);
}

# --- statement_timeout
for my $phase ('feed', 'sort')
{
	my $session = GpuSortTest::Session->new($node);

	$session->query("set statement_timeout = '200ms'");
	my $service = stop_service($node);
	$session->query($phases{$phase}{statement});
	ok(service_stands_still($service), "$phase: timeout, answered before the service goes on");
	continue_service($service);
	like($session->error, qr/ERROR:  57014: canceling statement due to statement timeout/, "$phase: timeout");
	$session->close;
	nothing_left_over($node, "$phase: timeout");
}

# --- through SQL, and the session goes on
my ($session, $service) = enter('feed');
is($node->safe_psql('postgres', "select pg_cancel_backend($session->{pid})"), 't', 'pg_cancel_backend');
$session->finish;
continue_service($service);
like($session->error, qr/57014/, 'pg_cancel_backend is answered');
is($session->query('select count(*) from (select * from big order by k) s'), '300000', 'the session sorts again');

# --- termination through SQL
($session, $service) = enter('feed');
$node->safe_psql('postgres', "select pg_terminate_backend($session->{pid})");
continue_service($service);
$session->finish;
$session->close;
nothing_left_over($node, 'pg_terminate_backend');

# --- at any time while the service works, with and without workers that feed
my $statement = 'select count(*) from (select * from big order by k) s';
for my $workers (0, 2)
{
	my $what = $workers ? "$workers workers" : 'serial';

	$session = GpuSortTest::Session->new($node);
	$session->query("set max_parallel_workers_per_gather = $workers; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0");
	is($session->query("explain $statement") =~ /Gather/ ? 1 : 0, $workers ? 1 : 0, "$what: planned");
	my $start = time;
	$session->query($statement);
	my $whole = time - $start;
	my $within = $whole;
	my ($slowest, $sum, $cancelled) = (0, 0, 0);
	for my $i (1 .. 30)
	{
		my $timeout = int(1000 * $within * $i / 31) + 1;
		my $begin = seconds();

		# a cancel that comes before the statement begins is dropped, but its timeout is not
		$session->query("begin; set local statement_timeout = $timeout; $statement; commit");
		my $seconds = seconds() - $begin - $timeout / 1000;
		if ($session->error !~ /57014/)
		{
			# it had ended: it was timed while the machine had other things to do
			$within *= 0.5 if $session->error eq '';
			next;
		}
		$cancelled++;
		$sum += $seconds;
		$slowest = $seconds if $seconds > $slowest;
	}
	cmp_ok($cancelled, '>', 0, "$what: $cancelled of 30 sorts cancelled at work, within " . milliseconds($whole) . ' of their beginning');
	note "$what: answered in " . milliseconds($sum / ($cancelled || 1)) . ' on average, ' . milliseconds($slowest) . ' at most';
	nothing_left_over($node, "$what: 30 cancels");
	is($session->query("select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select * from big order by k, id) q"),
		$right, "$what: the rows are still right");
	$session->close;
}

is($node->safe_psql('postgres', 'select failed from gpusort_stats'), '0', 'no job failed');
$node->stop;

done_testing();
