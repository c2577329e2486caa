# GpuSortTest.pm
#	  Servers and sessions for the tests of what happens between processes.
#
# new_server gives a cluster of its own, whose settings make the planner take GpuSort
# for inputs of any size.  A session is a psql that runs beside the test: send a
# statement, do something to it, then finish it.
package GpuSortTest;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use File::Copy;
use File::Path;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

our @EXPORT = qw(new_server copy_of_installation use_stand_ins use_neighbours wait_for_state wait_for_restart service_pid end_service wait_for_end stop_service continue_service service_stands_still nobody_sorts draw
  seconds make_tables make_gate hold_buffers release_buffers digest sorts_on_device nothing_left_over quiet_log milliseconds
  open_files temporary_files seed reload_with digest_query);

my @forced = (
	"gpusort.min_rows = 0",
	"gpusort.debug_force = on",
	"max_parallel_workers_per_gather = 0",
	# statistics change when a test says so
	"autovacuum = off",
	# a gate stands at a row of a table, and scans begin with its first one
	"synchronize_seqscans = off",
	# many tests halt the service, for longer than a user would wait
	"gpusort.service_timeout = 0",
	# with each line's SQLSTATE, for quiet_log
	"log_line_prefix = '%m [%p] %e %q%a '",
	"jit = off");

# The device under test.
our $device = $ENV{GPUSORT_TEST_DEVICE} // 'host';

# Some tests draw a part of their cases, by the seed that they print.  With ROUNDS=all they run all of them.
our $all_cases = ($ENV{ROUNDS} // '') eq 'all';

# A test that draws prints its seed.  SEED=N makes it draw the same again.
sub seed
{
	my $seed = $ENV{SEED} // time;

	srand $seed;
	note "seed $seed";
	return $seed;
}

# Draws n of the cases and keeps their order.
sub draw
{
	my ($n, @cases) = @_;
	my @left = (0 .. $#cases);

	splice @left, int rand @left, 1 while @left > $n && !$all_cases;
	return @cases[@left];
}

# Before PostgreSQL 17 its module makes each cluster by initdb, which takes a second of a processor; test/tools/tap has one to copy.
{
	no warnings 'redefine';
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;

	*PostgreSQL::Test::Utils::system_or_bail = sub {
		@_ = ('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $_[2]) if $_[0] eq 'initdb' && $_[1] eq '-D' && @_ == 6 && defined $ENV{INITDB_TEMPLATE};
		goto &$run;
	};
}

# A started server with the extension, serving with that device, unless lines say
# otherwise.
sub new_server
{
	my ($name, @lines) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', join("\n",
		"shared_preload_libraries = 'gpusort'", "gpusort.device = '$device'",
		"restart_after_crash = on", "max_connections = 50", @forced, @lines, ''));
	$node->start;
	$node->safe_psql('postgres', 'create extension gpusort');
	return $node;
}

# Creates gate(i, at, name): it passes i on, and from at on it waits until the file name is in the data directory.  And gate(), which
# waits for the file gate.  Workers may call both.
sub make_gate
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		create function gate(i int4, at int4, name text) returns int4 volatile parallel safe language plpgsql as $$
			begin
				if i >= at then
					while pg_stat_file(name, true) is null loop
						perform pg_sleep(0.01);
					end loop;
				end if;
				return i;
			end $$;
		create function gate() returns bool volatile parallel safe language plpgsql as $$
			begin
				while pg_stat_file('gate', true) is null loop
					perform pg_sleep(0.01);
				end loop;
				return true;
			end $$});
	return;
}

# Four sorts that stop before their last rows, at the gate of that name: they have all 16 buffers of a server with
# gpusort.buffer_memory = '16MB', until release_buffers.
sub hold_buffers
{
	my ($node, $gate) = @_;
	my @sorts = map { GpuSortTest::Session->new($node) } 1 .. 4;

	for (@sorts)
	{
		$_->send("select count(*) from (select * from big where gate(id, 250000, '$gate') > 0 order by k, id offset 0) s");
		$node->poll_query_until('postgres', "select wait_event = 'PgSleep' from pg_stat_activity where pid = $_->{pid}") or die 'a sort did not come to its gate';
	}
	ok($node->poll_query_until('postgres', 'select free_buffer_bytes = 0 from gpusort_devices'), "$gate: four sorts have all buffers");
	return @sorts;
}

sub release_buffers
{
	my ($node, $gate, @sorts) = @_;

	append_to_file($node->data_dir . "/$gate", '');
	is($_->finish, '300000', "$gate: those that had the buffers go on") for @sorts;
	$_->close for @sorts;
	return;
}

# A copy of the installation, for a test to change: where its bindir, sharedir and pkglibdir are.  PostgreSQL
# finds its files by the place of its programs, so these are copied, and all else is linked.
sub copy_of_installation
{
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my (%place, %copy);

	for my $what ('bindir', 'sharedir', 'pkglibdir')
	{
		chomp($place{$what} = `pg_config --$what`);
		$copy{$what} = $folder . $place{$what};
		mkpath($copy{$what});
	}
	for my $program (glob "$place{bindir}/*")
	{
		copy($program, "$copy{bindir}/") or die "copy of $program: $!";
		chmod 0755, "$copy{bindir}/" . basename($program);
	}
	mkpath("$copy{sharedir}/extension");
	for my $file (glob("$place{sharedir}/*"), glob("$place{sharedir}/extension/*"), glob("$place{pkglibdir}/*"))
	{
		my $link = $folder . $file;

		symlink $file, $link or die "link to $file: $!" unless $file eq "$place{sharedir}/extension";
	}
	return \%copy;
}

# Servers begun from here on have a gpusort.so in which host devices stand in for GPUs (modules/stand_in_gpus).
sub use_stand_ins
{
	my $copy = copy_of_installation();

	unlink "$copy->{pkglibdir}/gpusort.so" or die "gpusort.so: $!";
	symlink "$FindBin::RealBin/../modules/stand_in_gpus/gpusort.so", "$copy->{pkglibdir}/gpusort.so" or die "gpusort.so: $!";
	$ENV{PATH} = "$copy->{bindir}:$ENV{PATH}";
	return;
}

# Lets servers that are started from now on, and this test's programs, have the modules and programs of other packages
# that test/run has put beside the tests (test/get-neighbours): in a copy of the installation.  Returns where modules are.
sub use_neighbours
{
	my $folder = "$ENV{TESTDIR}/neighbours";
	my $copy = copy_of_installation();

	for my $place ([ "$folder/usr/lib/postgresql/*/lib/*.so", $copy->{pkglibdir} ],
		[ "$folder/usr/lib/postgresql/*/bin/*", $copy->{bindir} ],
		[ "$folder/usr/share/postgresql/*/extension/*", "$copy->{sharedir}/extension" ])
	{
		my ($files, $to) = @$place;

		for my $file (glob $files)
		{
			my $link = "$to/" . basename($file);

			-e $link || symlink $file, $link or die "link to $file: $!";
		}
	}
	$ENV{PATH} = "$copy->{bindir}:$folder/usr/sbin:$ENV{PATH}";
	$ENV{LD_LIBRARY_PATH} = join ':', glob("$folder/usr/lib/*-linux-*"), $ENV{LD_LIBRARY_PATH} // ();
	return $copy->{pkglibdir};
}

# Waits until gpusort_devices shows the state.
sub wait_for_state
{
	my ($node, $state) = @_;

	return $node->poll_query_until('postgres',
		"select state = '$state' from gpusort_devices");
}

# After a SIGKILL of one of these processes: waits until the server is back.  Until it has noticed it may still
# answer, and serve: a process that has a GPU takes some 100 ms to end.
sub wait_for_restart
{
	my ($node, @pids) = @_;

	my $gone = 'select count(*) = 0 from pg_stat_activity where pid in (' . join(', ', @pids) . ')';
	my $back;

	# a psql that finds no server may end before it was told the query, of which IPC::Run dies
	until (defined $back)
	{
		$back = eval { $node->poll_query_until('postgres', $gone) };
		die $@ unless defined $back || $@ =~ /Broken pipe/;
	}
	return $back;
}

sub service_pid
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'select service_pid from gpusort_devices');
}

# Waits until the service with this pid takes no more sorts: until it has noticed that it is to end it still serves.
sub wait_for_end
{
	my ($node, $pid) = @_;

	return $node->poll_query_until('postgres', "select count(*) = 0 from gpusort_devices where service_pid = $pid");
}

# Ends the service, if there is one now.
sub end_service
{
	my ($node) = @_;
	my $pid = $node->safe_psql('postgres', 'select service_pid from gpusort_devices where pg_terminate_backend(service_pid)');

	wait_for_end($node, $pid) or die 'the service does not end' if $pid ne '';
	return;
}

# Halts the service, of several the one with this pid, where it holds no lock: sorts then stand still in the
# phase they are in, until continue_service.
sub stop_service
{
	my ($node, $pid) = @_;

	$pid //= service_pid($node);

	for (1 .. 100)
	{
		my $timed_out = 0;

		kill 'STOP', $pid;
		$node->psql('postgres', 'select * from gpusort_devices',
			timeout => 10, timed_out => \$timed_out);
		return $pid unless $timed_out;
		kill 'CONT', $pid;
		sleep 0.05;
	}
	die "the service could not be halted";
}

sub continue_service
{
	my ($pid) = @_;

	kill 'CONT', $pid;
}

# big: too large for the buffers of one job; small: all of it fits them.
sub make_tables
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		create table big as select (i::int8 * 7919) % 300007 as k, i as id, repeat('f', 40) as filler from generate_series(1, 300000) i;
		create table small as select (i * 7919) % 10007 as k, i as id from generate_series(1, 10000) i;
		analyze big;
		analyze small;});
}

# The service frees a sort's memory a moment after the query has ended.  A test that needs this memory at once first waits here
# until no sort is open.
sub nobody_sorts
{
	my ($node) = @_;

	return $node->poll_query_until('postgres', 'select sum(open_jobs) = 0 and sum(reserved_bytes) = 0 from gpusort_devices');
}

# Changes settings of the server and reloads them.
sub reload_with
{
	my ($node, %settings) = @_;

	$node->safe_psql('postgres', join '', map({ "alter system set $_ = '$settings{$_}'; " } sort keys %settings), 'select pg_reload_conf()');
	return;
}

# The query of digest.
sub digest_query
{
	my ($query) = @_;

	return "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($query) q";
}

# A hash of a query's rows in their order.
sub digest
{
	my ($node, $query, $settings) = @_;

	return $node->safe_psql('postgres', join ' ', $settings // (), digest_query($query));
}

# True if the query, as planned now, is done by the device.
sub sorts_on_device
{
	my ($node, $query) = @_;
	my $plan = $node->safe_psql('postgres', "explain (analyze, timing off, costs off) $query");

	return $plan =~ /Sort Method: (host|gpu)/;
}

# Jobs, buffers and device memory are all back, and a sort still works, whose memory is back too in the end.
sub nothing_left_over
{
	my ($node, $after) = @_;
	my $left = q{select open_jobs || ' jobs, ' || buffer_bytes - free_buffer_bytes
		|| ' bytes of buffers, ' || reserved_bytes || ' bytes reserved, '
		|| case when used_bytes <= 64 * 1024 * 1024 then 'little' else used_bytes::text end
		|| ' used' from gpusort_devices};
	my $clean = '0 jobs, 0 bytes of buffers, 0 bytes reserved, little used';
	my $got = '';

	for (1 .. 9000)
	{
		$got = $node->safe_psql('postgres', $left);
		last if $got eq $clean;
		sleep 0.02;
	}
	is($got, $clean, "$after: nothing is left over");
	ok(sorts_on_device($node, 'select * from small order by k'), "$after: the device sorts again");
	nobody_sorts($node);
}

# The log of a server that was stopped: no leak, no internal error but one that the test means to cause, and no process has
# crashed but those that a test has killed.
sub quiet_log
{
	my ($node, $meant) = @_;

	$meant //= qr/(?!)/;
	unlike(slurp_file($node->logfile), qr/TRAP:|PANIC|leak|\bXX000\b.*(?:ERROR|FATAL):  (?!$meant)|terminated by signal (?!9:)/, 'no word of trouble in the log of ' . $node->name);
	return;
}

# The files that a process has open, with numbers that differ from one to the next left out.
# Tables' files come and go with the caches that hold them open, and WAL with hint bits,
# so they do not count.
sub open_files
{
	my ($pid) = @_;
	my @files;

	for my $link (glob "/proc/$pid/fd/*")
	{
		my $file = readlink $link // next;

		next if $file =~ m{/(base|global)/(\d+/)?\d+[^/]*$|/pg_wal/};
		$file =~ s/\d+/N/g;
		push @files, $file;
	}
	return join "\n", sort @files;
}

# Is the service still halted by stop_service?
sub service_stands_still
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/stat") =~ /\) T /;
}

# The names of the server's temporary files.
sub temporary_files
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'select name from pg_ls_tmpdir()');
}

# By a clock that nobody sets.
sub seconds { return clock_gettime(CLOCK_MONOTONIC) }

sub milliseconds
{
	my ($seconds) = @_;

	return sprintf('%.1f ms', $seconds * 1000);
}

package GpuSortTest::Session;

use Time::HiRes qw(time sleep);
use PostgreSQL::Test::Utils;

# The session is ended after four hours, plus this many seconds, whatever it waits for.
sub new
{
	my ($class, $node, $seconds) = @_;
	my $self = bless { node => $node, in => '', out => '', err => '', statements => 0 }, $class;

	$self->{psql} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres') ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err},
		IPC::Run::timeout(4 * 3600 + ($seconds // 0)));
	$self->{pid} = $self->query('select pg_backend_pid()');
	return $self;
}

# Starts a statement and returns at once.
sub send
{
	my ($self, $sql) = @_;
	my $mark = ++$self->{statements};

	$self->{out} = $self->{err} = '';
	$self->{in} .= "$sql;\n\\echo done $mark\n\\warn done $mark\n";
	$self->{psql}->pump_nb;
	$self->{psql}->pump while length $self->{in} && $self->{psql}->pumpable;
}

# Waits for the end of what was sent.  Returns its output, without errors; those are in
# error().
sub finish
{
	my ($self) = @_;
	my $mark = qr/^done $self->{statements}\n/m;

	# at the end: to search all of a long output after each of its pieces would take minutes
	while (substr($self->{out}, -1000) !~ $mark || substr($self->{err}, -1000) !~ $mark)
	{
		last unless $self->{psql}->pumpable;
		eval { $self->{psql}->pump; 1 } or last;
	}
	s/$mark// for $self->{out}, $self->{err};
	chomp $self->{out};
	return $self->{out};
}

sub query
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->finish;
}

sub error { return $_[0]->{err}; }

# True once the session stands still in one of our waits.
sub wait_until_waiting
{
	my ($self) = @_;

	for (1 .. 9000)
	{
		my $waits = $self->{node}->safe_psql('postgres',
			"select wait_event_type = 'Extension' and state = 'active' from pg_stat_activity where pid = $self->{pid}");
		return 1 if $waits eq 't';
		sleep 0.02;
	}
	return 0;
}

# Sends the backend a signal; returns the seconds until the statement has ended.
sub signal
{
	my ($self, $signal) = @_;
	my $start = time;

	kill $signal, $self->{pid};
	$self->finish;
	return time - $start;
}

sub close
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	eval { $self->{psql}->finish; };
}

1;
