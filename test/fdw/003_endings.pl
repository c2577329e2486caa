# Sorts of rows from foreign servers, and sorts on these for a query elsewhere, that are ended in the
# middle: by a cancel, a killed session or server on either side, or a service.  The query fails with
# PostgreSQL's error or succeeds, and nothing is left over on any server.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use GpuSortTest;
use Nodes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my @lines = ('gpusort.debug_force = off', 'gpusort.min_rows = 10000', "work_mem = '4MB'");
my $home = new_node('home', @lines);
my @far = map { new_node("far$_", @lines) } 1, 2;
my @nodes = ($home, @far);
wait_for_all(\@nodes);
make_foreign_partitions($home, \@far, 100000);

# Sorted on the remote servers; at home, of rows from one server after the other; from both at once.
my %plans = (
	'sorted remotely' => 'set gpusort.debug_force = off',
	'sorted at home' => 'set gpusort.debug_force = on; set gpusort.min_rows = 0; set enable_async_append = off',
	'sorted at home, async' => 'set gpusort.debug_force = on; set gpusort.min_rows = 0; set enable_async_append = on');
my $all = 'select count(*), bool_and(right_order) from (select (k, id) > lag((k, id)) over () is not false as right_order from (select k, id from parts order by k, id offset 0) q) s';
my $right = '400000|t';

sub remote_pids
{
	my ($node) = @_;

	return split /\n/, $node->safe_psql('postgres', "select pid from pg_stat_activity where application_name = 'postgres_fdw' and backend_type = 'client backend'");
}

# A session that stands still, or runs, in a phase of the query; then something happens to it.
sub try_ending
{
	my ($plan, $phase, $name, $expected, $event) = @_;
	my $what = "$plan, $phase, $name";
	my $session = GpuSortTest::Session->new($home);
	my $halted = $phase eq 'halted' ? ($plan eq 'sorted remotely' ? $far[0] : $home) : undef;
	my $service;

	$session->query($plans{$plan});
	is($session->query($all), $right, "$what: right before");
	$service = stop_service($halted) if defined $halted;
	$session->send($all);
	if (defined $halted)
	{
		# all its buffers are full
		$halted->poll_query_until('postgres', "select count(*) > 0 from pg_stat_activity where state = 'active' and wait_event_type = 'Extension'");
	}
	else
	{
		sleep 0.05 + rand 0.4;
	}
	$event->($session, $service);
	continue_service($service) if defined $service;
	my $got = $session->finish;
	my $error = $session->error;
	# a halted query is under way
	my $must_fail = defined $halted && $what =~ /, (cancelled|the remote sessions ended)$/;
	ok($error =~ $expected || (!$must_fail && $got eq $right), "$what: PostgreSQL's error" . ($must_fail ? '' : ', or all rows')) or diag("got: $got\nerror: $error");
	note "$what: " . ($error ne '' ? $error =~ s/\n.*//sr : 'all rows');
	$session->close;
	wait_for_all(\@nodes);
	nothing_left_on(\@nodes, $what);
}

my $fdw_error = qr/ERROR: .*(server closed the connection|terminating connection|connection to server|could not receive data|SSL|no connection)/s;
my %events = (
	'cancelled' => [ qr/canceling statement due to user request/, sub { $home->safe_psql('postgres', "select pg_cancel_backend($_[0]{pid})") } ],
	'the remote sessions cancelled' => [ qr/canceling statement due to user request/, sub { my $n = $far[0]; $n->safe_psql('postgres', "select pg_cancel_backend($_)") for remote_pids($n) } ],
	'the remote sessions ended' => [ $fdw_error, sub { my $n = $far[0]; $n->safe_psql('postgres', "select pg_terminate_backend($_)") for remote_pids($n) } ],
	'a remote session killed' => [ $fdw_error, sub { my ($pid) = remote_pids($far[0]); kill 'KILL', $pid if defined $pid } ],
	'the service of the remote server ended' => [ qr/ERROR: .*the sort device failed/s, sub { kill 'TERM', service_pid_now($far[0]) } ],
	'the service at home ended' => [ qr/ERROR: .*the sort device failed/s, sub { kill 'TERM', service_pid_now($home) } ],
	'the remote server stopped' => [ $fdw_error, sub { $far[0]->stop('immediate'); $far[0]->start } ]);

# A halted service is stopped, but its pid can be asked for.
sub service_pid_now { return $_[0]->safe_psql('postgres', 'select service_pid from gpusort_devices') }

for my $plan (sort keys %plans)
{
	for my $name (sort keys %events)
	{
		my ($expected, $event) = @{ $events{$name} };

		for my $phase (qw(halted running))
		{
			next if $phase eq 'halted' && $name =~ /stopped|killed/;	# it would be halted for good
			try_ending($plan, $phase, $name, $expected, $event);
		}
	}
}
is(GpuSortTest::Session->new($home)->query($all), $right, 'right afterwards');
done_testing();
