# gpusort.device = 'auto,host': the GPU if there is one, else the CPU's threads.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $has_gpu = ($ENV{GPUSORT_TEST_DEVICE} // 'host') eq 'cuda';
my $visible = $ENV{CUDA_VISIBLE_DEVICES};

# No GPU at first, whatever this machine has.
$ENV{CUDA_VISIBLE_DEVICES} = '';
$GpuSortTest::device = 'auto,host';
my $node = new_server('auto_host');
make_tables($node);
my $sorted = 'select * from big order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');

sub device_is
{
	my ($kind) = @_;

	return $node->poll_query_until('postgres', "select state = 'serving' and kind = '$kind' from gpusort_devices");
}

# Loses the device in the midst of a sort; some of the points at which it is tried fail as if
# there were no memory.
sub lose_device
{
	my ($server) = @_;
	my $pid = service_pid($server);
	my $gone = "select coalesce(service_pid, 0) <> $pid from gpusort_devices";

	for my $point (40 .. 80)
	{
		last if $server->safe_psql('postgres', $gone) eq 't';
		reload_with($server, 'gpusort.debug_fail_at' => $point);
		$server->poll_query_until('postgres', "select service_pid is distinct from $pid or detail like 'device call or allocation $point fails%' from gpusort_devices");
		$server->psql('postgres', "select md5(string_agg(q::text, ' ')) from ($sorted) q");
	}
	$server->safe_psql('postgres', 'alter system reset gpusort.debug_fail_at');
	$server->safe_psql('postgres', 'select pg_reload_conf()');
	return $server->poll_query_until('postgres', "select service_pid <> $pid and state = 'serving' from gpusort_devices");
}

sub detail
{
	return $node->safe_psql('postgres', 'select detail from gpusort_devices');
}

# --- it is the default
is($node->safe_psql('postgres', q{select boot_val from pg_settings where name = 'gpusort.device'}), 'auto,host', 'the default');
$node->adjust_conf('postgresql.conf', 'gpusort.device', undef);
$node->restart;

# --- no GPU: the host device, and why
ok(device_is('host'), 'no GPU: the host device serves');
like(detail(), qr/^no GPU: \w.{5}/, 'the view says why it is not the GPU: ' . detail());
my $why = detail() =~ s/^no GPU: //r;
my $log = slurp_file($node->logfile);
like($log, qr/LOG:  gpusort: serving with the CPU, host \(\d+ threads\).*\n.*DETAIL:  The host device serves because there is no GPU: \Q$why\E/, 'so does the log');
unlike($log, qr/no device serves, all sorts are left to PostgreSQL/, 'nor does it say that there is no device');
ok(sorts_on_device($node, $sorted), 'it sorts');
is(digest($node, $sorted), $right, 'the rows are right');

# --- 'auto' stays the GPU only
reload_with($node, 'gpusort.device' => 'auto');
ok(wait_for_state($node, 'unavailable'), 'auto: no device');
is(detail(), $why, 'auto: for the same reason');
unlike($node->safe_psql('postgres', "explain $sorted"), qr/GpuSort/, 'auto: planned natively');
reload_with($node, 'gpusort.device' => 'host');
ok(device_is('host'), 'host: serves');
is(detail(), '', 'host: nobody asked for a GPU');
reload_with($node, 'gpusort.device' => 'off');
ok(wait_for_state($node, 'off'), 'off: none serves');
reload_with($node, 'gpusort.device' => 'AUTO , host');
ok(device_is('host'), 'auto,host in other words');
is(detail(), "no GPU: $why", 'and why once more');

# --- its threads follow their setting
reload_with($node, 'gpusort.host_threads' => '3');
ok($node->poll_query_until('postgres', "select name = 'host (3 threads)' and state = 'serving' from gpusort_devices"), 'three threads');
is(detail(), "no GPU: $why", 'the detail stays');

# --- a reload leaves the host device and open sorts alone
my $reading = GpuSortTest::Session->new($node);
$reading->query("begin; declare c cursor for $sorted");
$reading->query('fetch 10 from c');
my $opened = () = slurp_file($node->logfile) =~ /gpusort: serving with/g;
$node->safe_psql('postgres', 'select pg_reload_conf()');
is(digest($node, $sorted), $right, 'a reload: sorted');
ok(device_is('host'), 'a reload: the host device goes on');
ok(sorts_on_device($node, 'select * from small order by k'), 'for new sorts too');
like($reading->query('fetch 10 from c'), qr/^\d+\|\d+\|f/, 'and for the open one');
is($reading->error, '', 'without an error');
my $opened_since = () = slurp_file($node->logfile) =~ /gpusort: serving with/g;
is($opened_since, $opened, 'it was not opened again');
$reading->query('commit');

# --- a lost device: the service begins again as at its start
ok(lose_device($node), 'a lost device: a new service serves');
ok(device_is('host'), 'with the host device');
is(detail(), "no GPU: $why", 'as at the start');
is(digest($node, $sorted), $right, 'the rows are right');

# --- while open sorts hold up a change the detail says so, and the reason comes back
$reading->query("begin; declare c cursor for $sorted");
$reading->query('fetch 10 from c');
reload_with($node, 'gpusort.device' => 'off');
ok(wait_for_state($node, 'starting'), 'a reload waits for an open sort');
is(detail(), 'waiting for open sorts to end', 'and says so');
reload_with($node, 'gpusort.device' => 'auto,host');
ok(device_is('host'), 'taken back');
is(detail(), "no GPU: $why", 'the reason is there again');
$reading->query('commit');
$reading->close;
nothing_left_over($node, 'without a GPU');

# --- none at all
reload_with($node, 'gpusort.device' => 'auto');
ok(wait_for_state($node, 'unavailable'), 'auto again');
like(slurp_file($node->logfile), qr/HINT:  Set gpusort.device to "host".* or to "auto,host"/, 'the log names what else there is');

# --- a value that is wrong in the file: the server goes on with the last one
my $log_from = -s $node->logfile;
$node->safe_psql('postgres', 'alter system reset gpusort.device');
$node->append_conf('postgresql.conf', "gpusort.device = 'host,cuda'\n");
$node->reload;
$node->wait_for_log(qr/invalid value for parameter "gpusort.device": "host,cuda"/, $log_from);
like(substr(slurp_file($node->logfile), $log_from), qr/"cuda" cannot follow the devices named before it\./, 'a wrong list in the file: the log says what is wrong');
is($node->safe_psql('postgres', 'show gpusort.device'), 'auto', 'a wrong list in the file: the last one stays');
isnt($node->safe_psql('postgres', "select error from pg_file_settings where name = 'gpusort.device' and error is not null limit 1"), '', 'pg_file_settings says so too');
$node->stop;

# --- with a GPU, where the tests have one
SKIP:
{
	skip 'no GPU under test', 4 unless $has_gpu;

	delete $ENV{CUDA_VISIBLE_DEVICES};
	$ENV{CUDA_VISIBLE_DEVICES} = $visible if defined $visible;
	my $with_gpu = new_server('auto_gpu');
	is($with_gpu->safe_psql('postgres', 'select kind, detail from gpusort_devices'), 'cuda|', 'a GPU: it serves')
	  if wait_for_state($with_gpu, 'serving');
	make_tables($with_gpu);
	reload_with($with_gpu, 'gpusort.host_threads' => 3);
	is(digest($with_gpu, $sorted), $right, 'it sorts');
	ok(lose_device($with_gpu), 'a lost GPU: a new service serves');
	is($with_gpu->safe_psql('postgres', 'select kind, detail from gpusort_devices'), 'cuda|', 'with the GPU, which is tried first');
	$with_gpu->stop;
}

done_testing();
