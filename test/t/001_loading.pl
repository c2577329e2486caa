# Starting without the library, without a GPU, and without a service.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# No GPU, whatever this machine has.
$ENV{CUDA_VISIBLE_DEVICES} = '';

my $node = PostgreSQL::Test::Cluster->new('loading');
$node->init;
$node->start;

# --- not preloaded
for my $statement ('create extension gpusort', "load 'gpusort'")
{
	my ($code, $out, $err) = $node->psql('postgres', $statement);
	isnt($code, 0, "$statement fails when the library is not preloaded");
	like($err, qr/ERROR:  gpusort must be loaded via shared_preload_libraries/, "$statement: message");
	like($err, qr/HINT:  Append gpusort to shared_preload_libraries in postgresql.conf and restart the server\./, "$statement: hint");
}
is($node->safe_psql('postgres', 'select 1'), '1', 'the server works without it');

# --- preloaded, no GPU
$node->append_conf('postgresql.conf', <<'Y');
shared_preload_libraries = 'gpusort'
gpusort.min_rows = 0
gpusort.debug_force = on
max_parallel_workers_per_gather = 0
Y
for my $device ('auto', 'cuda')
{
	$node->append_conf('postgresql.conf', "gpusort.device = '$device'\n");
	my $log_from = -s $node->logfile;
	$node->restart;
	$node->safe_psql('postgres', 'create extension if not exists gpusort');
	ok(wait_for_state($node, 'unavailable'), "$device: the service says that it has no device");
	my $detail = $node->safe_psql('postgres', 'select detail from gpusort_devices');
	like($detail, qr/\w{3}/, "$device: and why: $detail");
	my $log = substr(slurp_file($node->logfile), $log_from);
	my @lines = $log =~ /(LOG:  gpusort: no device serves, all sorts are left to PostgreSQL: .+)/g;
	is(scalar @lines, 1, "$device: one line in the log");
	like($log, qr/HINT:  Set gpusort.device to "host"/, "$device: with a hint");
	unlike($node->safe_psql('postgres', 'explain select * from generate_series(1, 10) g order by g'),
		qr/GpuSort/, "$device: planned natively");
	is($node->safe_psql('postgres', 'select string_agg(g::text, \',\') from (select * from generate_series(1, 4) g order by -g) s'),
		'4,3,2,1', "$device: sorted");
}

# --- the device is a matter of a reload
my $prepared = GpuSortTest::Session->new($node);
for my $device ('host', 'off', 'host')
{
	my $state = $device eq 'off' ? 'off' : 'serving';
	$node->append_conf('postgresql.conf', "gpusort.device = '$device'\n");
	$node->reload;
	ok(wait_for_state($node, $state), "a reload changes the device to $device");
	my $plan = $node->safe_psql('postgres', 'explain select * from generate_series(1, 10) g order by g');
	is($plan =~ /GpuSort/ ? 'GpuSort' : 'Sort', $device eq 'off' ? 'Sort' : 'GpuSort', "$device: planned");
	is($node->safe_psql('postgres', 'select detail from gpusort_devices'),
		$device eq 'off' ? 'gpusort.device is off' : '', "$device: detail");

	# a plan that was made while a device served
	if ($device eq 'host')
	{
		$prepared->query('set plan_cache_mode = force_generic_plan; deallocate all; '
			. 'prepare p as select * from generate_series(1, 5) g order by -g');
		like($prepared->query('explain (analyze, timing off) execute p'), qr/Sort Method: host/, 'prepared with a device');
	}
	else
	{
		my $before = $node->safe_psql('postgres', 'select native_no_device from gpusort_stats');
		like($prepared->query('explain (analyze, timing off) execute p'),
			qr/GpuSort.*Sort Method: native \(no device serves\)/s, 'executed without: native, and why');
		is($prepared->query('execute p'), "5\n4\n3\n2\n1", 'same rows');
		is($node->safe_psql('postgres', 'select native_no_device from gpusort_stats'), $before + 2, 'counted');
	}
}
$prepared->close;

# --- the service can be seen
is($node->safe_psql('postgres', "select count(*) from pg_stat_activity where backend_type = 'gpusort service' and pid = (select service_pid from gpusort_devices)"),
	'1', 'pg_stat_activity shows the service');

# --- the extension's objects come and go, sorts stay
$node->safe_psql('postgres', 'drop extension gpusort');
like($node->safe_psql('postgres', 'explain (analyze, timing off) select * from generate_series(1, 10) g order by g'),
	qr/Sort Method: (host|gpu)/, 'sorted by the device without the extension\'s views');
$node->safe_psql('postgres', 'create extension gpusort');
cmp_ok($node->safe_psql('postgres', 'select jobs from gpusort_stats'), '>', 0, 'made again, the counters are still there');
is($node->safe_psql('postgres', "select count(*) from pg_depend d join pg_extension e on d.refobjid = e.oid where e.extname = 'gpusort' and deptype = 'e' and classid <> 'pg_type'::regclass"),
	'9', 'six functions and three views belong to it');

# --- a server that starts with the device off takes no shared memory for it
$node->append_conf('postgresql.conf', "gpusort.device = 'off'\n");
$node->restart;
ok(wait_for_state($node, 'off'), 'started with the device off');
is($node->safe_psql('postgres', 'select buffer_bytes, free_buffer_bytes from gpusort_devices'), '0|0', 'it has no buffers');
cmp_ok($node->safe_psql('postgres', "select size from pg_shmem_allocations where name = 'gpusort buffer pool'"), '<', 65536, 'nor the memory for them');
$node->append_conf('postgresql.conf', "gpusort.device = 'host'\n");
$node->reload;
ok(wait_for_state($node, 'unavailable'), 'a reload cannot give it any');
like($node->safe_psql('postgres', 'select detail from gpusort_devices'), qr/started with gpusort.device = off.*restart/, 'which the detail says');
unlike($node->safe_psql('postgres', 'explain select * from generate_series(1, 10) g order by g'), qr/GpuSort/, 'sorts are native');
# the postmaster makes the shared memory anew, as large as it was
my $crashing = GpuSortTest::Session->new($node);
$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
$node->reload;
kill 'KILL', $crashing->{pid};
$crashing->query('select 1');
$crashing->close;
ok(wait_for_restart($node, $crashing->{pid}), 'the server comes back after a crash');
ok(wait_for_state($node, 'unavailable'), 'as it was');
$node->restart;
ok(wait_for_state($node, 'serving'), 'a restart gives it buffers');
like($node->safe_psql('postgres', 'explain (analyze, timing off) select * from generate_series(1, 10) g order by g'), qr/Sort Method: host/, 'and it sorts');

# --- no place for the service
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$node->restart;
is($node->safe_psql('postgres', 'select state, service_pid is null from gpusort_devices'), 'unavailable|t', 'no worker process: no service');
unlike($node->safe_psql('postgres', 'explain select * from generate_series(1, 10) g order by g'), qr/GpuSort/, 'and native plans');
$node->stop;

# --- one user, without a postmaster: there are no workers at all
$node->append_conf('postgresql.conf', "max_worker_processes = 8\n");
my $alone = "select state from gpusort_devices\nselect array_agg(i) from (select i from generate_series(1, 3) i order by -i) q\n";
my ($said, $logged);
IPC::Run::run([ $node->config_data('--bindir') . '/postgres', '--single', '-D', $node->data_dir, 'postgres' ], '<', \$alone, '>', \$said, '2>', \$logged);
like($said, qr/state = "starting".*array_agg = "\{3,2,1\}"/s, 'in single-user mode sorts are native');
unlike($logged, qr/LOG:  gpusort|ERROR/, 'without a word');

done_testing();
