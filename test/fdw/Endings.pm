# Endings.pm
#	  A query that several servers work at is ended in the middle: by a cancel, a killed session or server
#	  on either side, a service, or a link that is lost.
#
# In:  the server that is asked (home) and those that it asks; the query in several plans.
# Out: for each plan and ending a few tests: the query fails with PostgreSQL's error or gives all rows, what
#	   it should have written is there as a whole or not at all, and nothing is left over on any server.
package Endings;

use strict;
use warnings;

use Exporter 'import';
use GpuSortTest;
use Nodes;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(try_endings);

# For each plan three endings come while the sort stands still, and two while it runs: which ones is drawn (all, with ROUNDS=all).
# try_endings(home => node, far => [node, ...], link => the Link to the first of these, application => how the remote sessions' names begin, plans => [...],
#   settle => code that runs when all servers serve again, and is told what happened; may be none)
#
# A plan: { name, settings => statements before it, query, right => its rows, halted => the server whose service is halted
#   if the sort is to stand still, fetched => 1 if home has all rows by then }.  Of a query that writes also read => a
#   query of what it has written, whose rows are right; none, if it has not; and clear => a statement that takes it away.
sub try_endings
{
	my (%of) = @_;
	my $seed = $ENV{SEED} // int(time);

	srand $seed;
	note "seed $seed";
	for my $plan (@{ $of{plans} })
	{
		my %halted = map { ($_->{name} => 1) } draw(3, grep { !$_->{kills} } endings());
		my %running = map { ($_->{name} => 1) } draw(1, grep { !$_->{kills} } endings()), draw(1, grep { $_->{kills} } endings());

		for my $ending (endings())
		{
			for my $phase (qw(halted running))
			{
				# whose process is killed while it is halted would be halted for good
				next unless $phase eq 'halted' ? $halted{ $ending->{name} } : $running{ $ending->{name} };
				next if $phase eq 'halted' && $plan->{fetched} && $ending->{remote};	# none is under way
				try_ending(\%of, $plan, $ending, $phase);
			}
		}
	}
	begin(\%of, $_, "$_->{name}, afterwards")->close for @{ $of{plans} };
}

# The event, and the errors that the query may raise: event is given all servers and the query's session.
# must: it cannot end well, if the query is under way.
sub endings
{
	# of a worker that ends Citus passes on its FATAL too, and whoever wanted its intermediate results may be the first who notices
	my $lost = qr/(?:ERROR|FATAL): .*(?:server closed the connection|terminating connection|connection to (?:the remote node|server)|could not receive data|SSL|no connection|cannot connect to|could not open file "base\/pgsql_job_cache)/s;
	my $cancelled = qr/canceling statement due to user request/;
	my $failed = qr/ERROR: .*the sort device failed/s;
	my $to_remote = sub {
		my ($function, $of) = @_;

		return split /\n/, $of->{far}[0]->safe_psql('postgres', "select $function(pid) from pg_stat_activity where application_name like '$of->{application}%' and backend_type = 'client backend'");
	};

	# the server has no process then, for a moment
	my $kill_remote = sub {
		my ($of) = @_;
		my ($pid) = $to_remote->('', $of);

		return unless defined $pid;
		kill 'KILL', $pid;
		wait_for_restart($of->{far}[0], $pid);
	};

	return (
		{ name => 'cancelled', says => $cancelled, must => 1, event => sub { $_[0]{home}->safe_psql('postgres', "select pg_cancel_backend($_[1]{pid})") } },
		{ name => 'the remote sessions cancelled', says => $cancelled, remote => 1, event => sub { $to_remote->('pg_cancel_backend', $_[0]) } },
		{ name => 'the remote sessions ended', says => $lost, must => 1, remote => 1, event => sub { $to_remote->('pg_terminate_backend', $_[0]) } },
		{ name => 'the link cut', says => $lost, must => 1, remote => 1, event => sub { $_[0]{link}->cut } },
		{ name => 'a remote session killed', says => $lost, kills => 1, event => $kill_remote },
		{ name => 'the service of the remote server ended', says => $failed, event => sub { kill 'TERM', service_pid($_[0]{far}[0]) } },
		{ name => 'the service at home ended', says => $failed, event => sub { kill 'TERM', service_pid($_[0]{home}) } },
		{ name => 'the remote server stopped', says => $lost, kills => 1, event => sub { my $node = $_[0]{far}[0]; $node->stop('immediate'); $node->start } });
}

# Too many rows to be shown.
sub is_whole
{
	my ($got, $right, $what) = @_;

	return ok($got eq $right, $what) || diag(substr($got, 0, 500));
}

# A session in which the query was right, in so many seconds.
sub begin
{
	my ($of, $plan, $what) = @_;
	my $session = GpuSortTest::Session->new($of->{home});

	$session->query($plan->{settings});
	my $start = time;
	my $rows = $session->query($plan->{query});
	my $seconds = time - $start;

	$rows = $session->query($plan->{read}) if defined $plan->{read};
	is_whole($rows, $plan->{right}, "$what: right");
	clear($of, $plan);
	return wantarray ? ($session, $seconds) : $session;
}

# Takes away what has been written.
sub clear
{
	my ($of, $plan) = @_;

	$of->{home}->safe_psql('postgres', $plan->{clear}) if defined $plan->{clear};
}

# A session that stands still, or runs, in a phase of the query; then something happens to it.
sub try_ending
{
	my ($of, $plan, $ending, $phase) = @_;
	my $what = "$plan->{name}, $phase, $ending->{name}";
	my @nodes = ($of->{home}, @{ $of->{far} });
	my ($session, $seconds) = begin($of, $plan, "$what, before");
	my $service = $phase eq 'halted' ? stop_service($plan->{halted}) : undef;

	$session->send($plan->{query});
	if ($phase eq 'halted')
	{
		# all its buffers are full, or all its rows are there
		ok($plan->{halted}->poll_query_until('postgres', "select count(*) > 0 from pg_stat_activity where state = 'active' and wait_event_type = 'Extension'"), "$what: it is under way");
	}
	else
	{
		# it takes a moment until something happens
		sleep rand 0.7 * $seconds;
	}
	$ending->{event}->($of, $session);
	continue_service($service) if defined $service;
	my $got = $session->finish;
	my $error = $session->error;
	my $must_fail = $phase eq 'halted' && $ending->{must};
	my $ended = $error =~ /(?:ERROR|FATAL):/;

	wait_for_all(\@nodes);
	$of->{settle}->($what) if defined $of->{settle};
	if (defined $plan->{read})
	{
		# as a whole, or not at all
		$got = $of->{home}->safe_psql('postgres', $plan->{read});
		is_whole($got, $ended ? $plan->{none} : $plan->{right}, "$what: " . ($ended ? 'nothing' : 'all') . ' is written');
	}
	ok($error =~ $ending->{says} || (!$must_fail && $got eq $plan->{right}), "$what: PostgreSQL's error" . ($must_fail ? '' : ', or all rows'))
	  or diag('got: ', substr($got, 0, 500), "\nerror: $error");
	note "$what: " . ($ended ? $error =~ s/^.*?((?:ERROR|FATAL):.*?)\n.*/$1/sr : 'all rows');
	$session->close;
	clear($of, $plan);
	nothing_left_on(\@nodes, $what);
}

1;
