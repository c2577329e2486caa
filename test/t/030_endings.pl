# Every way a sort can end before its time, in every phase of a sort, and what others
# do meanwhile: afterwards slots, buffers, device memory, temporary files and open
# files are what they were.
#
# Two tables, phases and endings.  Each ending that leaves the server up is tried in each phase, with workers or without
# them, as is drawn.  Each phase leaves out one of those that take it down, and two of the things that others do are drawn
# (SEED=N says which; ROUNDS=all: all of them, with workers and without).  A phase is
# held by halting the service.  002_cancel.pl times the answers to signals, and
# 003_crash.pl and 006_parallel.pl end services and workers; here it is the whole
# table, through SQL where SQL can do it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

seed();

my $node = new_server('endings', 'client_connection_check_interval = 20ms', "gpusort.device_memory = '64MB'");
wait_for_state($node, 'serving');
# big is too large for the buffers of a job, and large is beyond the budget.  Their rows are few and wide, since it
# is the bytes that matter.  gate() passes a row on when there is a file of that name in the data directory.
$node->safe_psql('postgres', q{
	create table big as select (i::int8 * 7919) % 85009 as k, i as id, repeat('f', 300) as filler from generate_series(1, 85000) i;
	create table small as select (i * 7919) % 10007 as k, i as id from generate_series(1, 10000) i;
	create table large as select (i::int8 * 7919) % 230003 as k, i as id, repeat('f', 300) as filler from generate_series(1, 230000) i;
	alter table big set (parallel_workers = 2);
	alter table small set (parallel_workers = 2);
	alter table large set (parallel_workers = 2);
	analyze big, small, large});
make_gate($node);
my $gate = $node->data_dir . '/gate';

my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select * from big order by k, id) q";
my $right = $node->safe_psql('postgres', "set gpusort.enabled = off; $hash");
# whether sorts go on: of rows that are more than eight buffers
my $brief = $hash =~ s/from big/from big where id <= 25000/r;
my $right_brief = $node->safe_psql('postgres', "set gpusort.enabled = off; $brief");

# --- the phases
# before: brings a session there; statement: waits in the phase while the service is
# halted, and gives rows when it goes on; gate: it comes to the gate before that, and the
# gate is opened when the service is halted, or together with it.
my @phases = (
	{ name => 'feed', statement => $hash, rows => $right },
	{
		name => 'sort',
		statement => 'select count(*) from (select * from small order by k) s',
		rows => '10000'
	},
	{
		name => 'output',
		before => 'begin; declare c cursor for select id, filler from big order by id; fetch 1 from c',
		statement => 'move 84990 in c; fetch all in c',
		rows => join("\n", map { "$_|" . 'f' x 300 } 84992 .. 85000),
		after => 'rollback'
	},
	{
		# a run is in its file, the next one is being fed
		name => 'spill',
		gate => 'opened',
		statement => 'select count(filler), sum(row_number * k) from (select k, filler, row_number() over () from (select * from large where id < 200000 or gate() order by k offset 0) s) s',
		rows => $node->safe_psql('postgres', 'select count(*), sum(row_number * k) from (select k, row_number() over (order by k) from large) s')
	},
	{
		# the runs' files are being read; one row alone asks for the gate's file
		name => 'merge',
		gate => 'closed',
		statement => 'select count(filler) filter (where row_number <> 115000 or gate()) from (select filler, row_number() over () from (select * from large order by k offset 0) s) s',
		rows => '230000'
	});

sub new_session
{
	my ($workers) = @_;
	my $session = GpuSortTest::Session->new($node);

	$session->query("set max_parallel_workers_per_gather = $workers; set parallel_setup_cost = 0; "
		. 'set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0');
	return $session;
}

# Brings a session into a phase; returns the service, which is halted.  setting: for the
# statement, made when all else is ready.
sub enter
{
	my ($session, $phase, $what, $setting) = @_;

	unlink $gate;
	$session->query($phase->{before}) if $phase->{before};
	if ($phase->{gate})
	{
		$session->query($setting) if $setting;
		$session->send($phase->{statement});
		$node->poll_query_until('postgres', "select wait_event = 'PgSleep' or (state <> 'active' and query like '%gate()%') from pg_stat_activity where pid = $session->{pid}")
		  or fail("$what: the session did not come to the gate");
		isnt(temporary_files($node), '', "$what: there are temporary files") unless $setting;
	}
	my $service = stop_service($node);
	if (!$phase->{gate})
	{
		$session->query($setting) if $setting;
		$session->send($phase->{statement});
	}
	if (($phase->{gate} // '') eq 'opened')
	{
		open_gate();
		return $service if $setting;
		# its worker may be the one that waits
		$node->poll_query_until('postgres', "select count(*) > 0 from pg_stat_activity where $session->{pid} in (pid, leader_pid) and wait_event_type = 'Extension'")
		  or fail("$what: nobody came to wait");
	}
	elsif (!$phase->{gate} && !$setting)
	{
		$session->wait_until_waiting or fail("$what: the session did not come to wait");
	}
	return $service;
}

sub open_gate { append_to_file($gate, '') }

sub go_on
{
	my ($service) = @_;

	open_gate();
	continue_service($service);
}

# Lets the service go on only when the session is gone, while the test waits for something else.
sub continue_service_without
{
	my ($session, $service) = @_;
	my $child = fork;

	if ($child == 0)
	{
		sleep 0.01 while kill 0, $session->{pid};
		open_gate();
		kill 'CONT', $service;
		POSIX::_exit(0);
	}
	return $child;
}

# --- endings that leave the server up
# act: what ends the statement; error: what the session is told; survives: whether the
# session goes on.
my @endings = (
	{
		name => 'pg_cancel_backend',
		act => sub { $node->safe_psql('postgres', "select pg_cancel_backend($_[0]{pid})") },
		error => qr/ERROR:  57014: canceling statement due to user request/,
		survives => 1
	},
	{
		name => 'statement_timeout',
		setting => "set statement_timeout = '100ms'",
		act => sub { },
		error => qr/ERROR:  57014: canceling statement due to statement timeout/,
		after => 'reset statement_timeout',
		survives => 1
	},
	{
		name => 'pg_terminate_backend',
		act => sub { $node->safe_psql('postgres', "select pg_terminate_backend($_[0]{pid})") },
		error => qr/FATAL:  57P01: terminating connection/
	},
	{
		name => 'the client killed',
		act => sub { $_[0]{psql}->signal('KILL') },
		error => qr/^$/
	});

sub backend_is_gone
{
	my ($pid) = @_;

	return $node->poll_query_until('postgres',
		"select count(*) = 0 from pg_stat_activity where $pid in (pid, leader_pid)");
}

my $files_of_service = open_files(service_pid($node));
for my $phase (@phases)
{
	# each ending without workers or with them, half of them either way
	my %alone = map { $_->{name} => 1 } draw(2, @endings);

	for my $workers (0, 2)
	{
		# one session as long as it survives
		my $session;
		my $files;

		for my $ending (grep { $GpuSortTest::all_cases || ($workers == 0) == ($alone{ $_->{name} } // 0) } @endings)
		{
			my $what = "$phase->{name}, $workers workers, $ending->{name}";

			if (!$session)
			{
				$session = new_session($workers);
				# what its first sort opens stays open
				$session->query("$brief; $phases[1]{statement}; select pg_sleep(0)") if $ending->{survives};
				$files = open_files($session->{pid});
			}
			my $setting = $ending->{setting};

			# it takes time to come to the gate
			$setting =~ s/100ms/3s/ if $setting && $phase->{gate};
			my $service = enter($session, $phase, $what, $setting);
			$ending->{act}->($session);
			$session->finish;
			like($session->error, $ending->{error}, "$what: the error");
			if ($ending->{survives})
			{
				$session->query("rollback; $ending->{after}") if $ending->{after};
				$session->query('rollback');
			}
			else
			{
				ok(backend_is_gone($session->{pid}), "$what: the backend and its workers have left while the service stood still");
			}
			go_on($service);
			if ($ending->{survives})
			{
				is($session->query($brief), $right_brief, "$what: the session sorts again");
				is(open_files($session->{pid}), $files, "$what: the session has the same files open");
			}
			else
			{
				$session->close;
				undef $session;
			}
			nothing_left_over($node, $what);
			is(temporary_files($node), '', "$what: no temporary file");
		}
		# a server that is started later would inherit its pipes
		$session->close if $session;
	}
}
is(open_files(service_pid($node)), $files_of_service, 'the service has the same files open');
is($node->safe_psql('postgres', 'select failed from gpusort_stats'), '0', 'no job failed');

# a cursor that nobody reads, ended by a timeout
my $idle = new_session(0);
$idle->query("set idle_in_transaction_session_timeout = '100ms'; $phases[2]{before}");
ok(backend_is_gone($idle->{pid}), 'an idle cursor, idle_in_transaction_session_timeout: the backend has left');
$idle->close;
nothing_left_over($node, 'an idle cursor timed out');

# --- what others do while a sort is under way: it goes on, and its rows are right
my @meanwhile = (
	[ 'DROP EXTENSION', sub { $node->safe_psql('postgres', 'drop extension gpusort') },
		sub { $node->safe_psql('postgres', 'create extension gpusort') } ],
	[ 'a reload of gpusort.device_memory', sub { reload_with($node, 'gpusort.device_memory' => '32MB') },
		sub { reload_with($node, 'gpusort.device_memory' => '64MB') } ],
	[ 'a reload of gpusort.device', sub { reload_with($node, 'gpusort.device' => 'off') },
		sub { reload_with($node, 'gpusort.device' => $GpuSortTest::device); wait_for_state($node, 'serving') } ],
	[ 'a reload of gpusort.enabled and min_rows', sub { reload_with($node, 'gpusort.enabled' => 'off', 'gpusort.min_rows' => 1000000) },
		sub { reload_with($node, 'gpusort.enabled' => 'on', 'gpusort.min_rows' => 0) } ],
	[ 'ANALYZE and CREATE INDEX', sub { $node->safe_psql('postgres', 'analyze big, small; create index on small(id)') },
		sub { } ]);
for my $phase (@phases)
{
	for my $event (draw(2, @meanwhile))
	{
		my ($name, $act, $undo) = @$event;
		my $what = "$phase->{name}, $name meanwhile";
		my $session = new_session(2);
		my $service = enter($session, $phase, $what);

		$act->();
		go_on($service);
		is($session->finish, $phase->{rows}, "$what: the rows are right");
		is($session->error, '', "$what: no error");
		$session->query($phase->{after}) if $phase->{after};
		$session->close;
		$undo->();
		nothing_left_over($node, $what);
	}
}
is(open_files(service_pid($node)), $files_of_service, 'the service has the same files open');

# what waits for every process of the server does not wait for an idle service
$node->safe_psql('postgres', 'create database brief');
$node->safe_psql('postgres', 'drop database brief');

# --- endings that take the server down
my $lost = qr/WARNING:  57P02: terminating connection because of crash of another server process|connection to server was lost/;

sub worker_of
{
	my ($session) = @_;

	$node->poll_query_until('postgres',
		"select count(*) > 0 from pg_stat_activity where leader_pid = $session->{pid} and wait_event = 'PgSleep'");
	return $node->safe_psql('postgres', "select min(pid) from pg_stat_activity where leader_pid = $session->{pid}");
}

my @crashes = (
	{
		name => 'SIGKILL of the backend',
		act => sub { kill 'KILL', $_[0]{pid}; go_on($_[1]) }
	},
	{
		# behind the open gate, workers end before the service goes on
		name => 'SIGKILL of a parallel worker',
		phases => qr/spill/,
		gate => 'closed',
		workers => 2,
		act => sub { kill 'KILL', worker_of($_[0]); go_on($_[1]) }
	},
	{
		name => 'SIGKILL of the service',
		act => sub { kill 'KILL', $_[1]; open_gate() }
	},
	{
		name => 'an immediate shutdown',
		act => sub {
			my $child = continue_service_without(@_);

			$node->stop('immediate');
			waitpid $child, 0;
		},
		is_down => 1
	});

# rows not yet on disk, for the recovery to bring back
$node->safe_psql('postgres', 'create table written(n int4)');
my $written = 0;
my @everywhere = grep { !$_->{phases} } @crashes;
my $turn = int rand @everywhere;
for my $phase (@phases)
{
	# the next phase leaves out the next one, so that each is tried in three phases or more
	my $left_out = $GpuSortTest::all_cases ? '' : $everywhere[ $turn++ % @everywhere ]{name};

	for my $crash (grep { $_->{name} ne $left_out && (!$_->{phases} || $phase->{name} =~ $_->{phases}) } @crashes)
	{
		my $what = "$phase->{name}, $crash->{name}";
		my $session = new_session($crash->{workers} // 0);

		$node->safe_psql('postgres', 'insert into written values (1)');
		$written++;
		my $service = enter($session, { %$phase, gate => $crash->{gate} // $phase->{gate} }, $what);
		$crash->{act}->($session, $service);
		$session->finish;
		like($session->error, $lost, "$what: the session is told");
		$session->close;
		# a server inherits what the test has open, the session's pipes for one
		$node->start if $crash->{is_down};
		wait_for_restart($node, $session->{pid}, $service) or fail("$what: the server is not back");
		ok(wait_for_state($node, 'serving'), "$what: the service serves again");
		is($node->safe_psql('postgres', $brief), $right_brief, "$what: the rows are right");
		is($node->safe_psql('postgres', 'select count(*) from written'), $written, "$what: what was written is there");
		nothing_left_over($node, $what);
		is(temporary_files($node), '', "$what: no temporary file");
		is(open_files(service_pid($node)), $files_of_service, "$what: the new service has open what the old one had");
	}
}
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|leak|signal 11|signal 6/, 'no word of trouble in the log');

done_testing();
