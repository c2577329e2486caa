# The number and the nice value of the host device's threads: at the start, by a reload, and while sorts are open.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
BEGIN { $ENV{GPUSORT_TEST_DEVICE} = 'host'; }
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('host_threads', "gpusort.host_threads = 3", "gpusort.host_nice = 7");
make_tables($node);

sub device_name
{
	return $node->safe_psql('postgres', 'select name from gpusort_devices');
}

sub is_named
{
	my ($name) = @_;

	return $node->poll_query_until('postgres', "select state = 'serving' and name = '$name' from gpusort_devices");
}

# The nice values of the service's threads, as "value x number", the process's own one among them.
sub nice_values
{
	my $pid = service_pid($node);
	my %threads;

	for my $stat (glob "/proc/$pid/task/*/stat")
	{
		open my $file, '<', $stat or next;
		my ($fields) = <$file> =~ /\) (.*)/;

		$threads{ (split / /, $fields)[16] }++;
	}
	return join ', ', map { "$_ x $threads{$_}" } sort { $a <=> $b } keys %threads;
}

# A thread sets its nice value when it first runs.
sub come_to
{
	my ($wanted, $name) = @_;

	for (1 .. 9000)
	{
		last if nice_values() eq $wanted;
		sleep 0.02;
	}
	is(nice_values(), $wanted, $name);
}

# The time of one sort.
sub cost
{
	my ($cost) = $node->safe_psql('postgres', 'set gpusort.debug_force = off; explain select * from big order by k') =~ /GpuSort.*?\.\.([\d.]+)/;

	return $cost;
}

# As taskset takes them.
sub allowed_processors
{
	my ($pid) = @_;
	my ($list) = slurp_file("/proc/$pid/status") =~ /^Cpus_allowed_list:\s*(\S+)/m;

	return $list;
}

my $is_there = is_named('host (3 threads)');
my ($nice) = nice_values() =~ /^(-?\d+)/;

plan skip_all => "the server runs at nice value $nice" if $nice > 0;

my $sorted = 'select * from big order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');

# --- at the start
ok($is_there, 'as many threads as the configuration says');
come_to("$nice x 1, " . ($nice + 7) . ' x 3', 'they are as nice as it says, the event loop is not');
is(digest($node, $sorted), $right, 'they sort');

# --- by a reload
for my $threads (1, 2, 5, 64)
{
	my $started = $threads < 2 ? 2 : $threads;

	reload_with($node, 'gpusort.host_threads' => $threads);
	ok(is_named("host ($started threads)"), "$threads threads: a reload is enough");
	come_to("$nice x 1, " . ($nice + 7) . " x $started", "$threads threads: so many are there");
	is(digest($node, $sorted), $right, "$threads threads: they sort");
}
reload_with($node, 'gpusort.host_nice' => 0, 'gpusort.host_threads' => 2);
ok(is_named('host (2 threads)'), 'both settings change');
come_to("$nice x 3", 'threads of no nice value of their own');
reload_with($node, 'gpusort.host_nice' => 19);
come_to("$nice x 1, 19 x 2", 'and the nicest, by a reload of that alone');
reload_with($node, 'gpusort.host_threads' => 64, 'gpusort.host_nice' => 0);
ok(is_named('host (64 threads)'), 'many');
my $cost_of_many = cost();
reload_with($node, 'gpusort.host_threads' => 0);
ok($node->poll_query_until('postgres', "select state = 'serving' and name <> 'host (64 threads)' from gpusort_devices"), 'as many as processors');
chomp(my $processors = `nproc`);
my ($threads) = device_name() =~ /^host \((\d+) threads\)$/;
cmp_ok($threads, '>=', 2, "two at least: $threads");
cmp_ok($threads, '<=', $processors < 2 ? 2 : $processors, 'no more than this process may run on');

# --- what the planner makes of it
is(cost(), $cost_of_many, 'threads for which there is no processor sort nothing faster');
# the service inherits it
my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
my $allowed = allowed_processors($postmaster);
system_or_bail('taskset', '-acp', $allowed =~ /^(\d+)/, $postmaster);
reload_with($node, 'gpusort.host_threads' => 4);
ok(is_named('host (4 threads)'), 'a device that is opened when the server may run on one processor');
my $cost_of_one = cost();
if ($processors > 1)
{
	cmp_ok($cost_of_one, '>', $cost_of_many, "a sort costs more: $cost_of_one and $cost_of_many");
}
else
{
	is($cost_of_one, $cost_of_many, 'a sort costs the same');
}
reload_with($node, 'gpusort.host_threads' => 0);
ok(is_named('host (2 threads)'), 'no more threads than are needed');
system_or_bail('taskset', '-acp', $allowed, $postmaster);

# --- while a sort is open: it ends on the threads that it began on
reload_with($node, 'gpusort.host_threads' => 3);
ok(is_named('host (3 threads)'), 'three again');
my $reading = GpuSortTest::Session->new($node);
$reading->query("begin; declare c cursor for $sorted");
my $first = $reading->query('fetch 10 from c');
my $jobs = $node->safe_psql('postgres', 'select open_jobs from gpusort_devices');
is($jobs, '1', 'a cursor is open');
my $log_end = -s $node->logfile;
reload_with($node, 'gpusort.host_threads' => 4);
ok(wait_for_state($node, 'starting'), 'a reload waits for it');
is($node->safe_psql('postgres', 'select detail from gpusort_devices'), 'waiting for open sorts to end', 'which the view says');
ok($node->wait_for_log(qr/new settings wait for 1 open sorts to end.*\n.*The view gpusort_progress lists the open sorts of service 0/, $log_end), 'and the log says where to look whose');
is(digest($node, $sorted), $right, 'new sorts are native meanwhile');
is($reading->query('move forward 299980 in c; fetch 10 from c'), $node->safe_psql('postgres', "set gpusort.enabled = off; select * from ($sorted) q offset 299990"), 'the open one goes on');
is($reading->error, '', 'without an error');
$reading->query('commit');
ok(is_named('host (4 threads)'), 'then the threads change');

# --- a change that is taken back while a sort is open
$reading->query("begin; declare c cursor for $sorted");
$reading->query('fetch 10 from c');
reload_with($node, 'gpusort.host_threads' => 5);
ok(wait_for_state($node, 'starting'), 'a reload waits for it');
reload_with($node, 'gpusort.host_threads' => 4);
ok(is_named('host (4 threads)'), 'taken back: the device serves again at once');
$reading->query('commit');
$reading->close;

# --- more than the machine lets a process have
reload_with($node, 'gpusort.host_threads' => 1024);
ok($node->poll_query_until('postgres', "select state in ('serving', 'unavailable') and name is distinct from 'host (4 threads)' from gpusort_devices"),
	'1024 threads: they are there, or the view says why not: ' . $node->safe_psql('postgres', "select coalesce(name, detail) from gpusort_devices"));
is(digest($node, $sorted), $right, '1024 threads: the rows are right');
reload_with($node, 'gpusort.host_threads' => 2);
ok(is_named('host (2 threads)'), 'back to two');
nothing_left_over($node, 'at the end');
$node->stop;

done_testing();
