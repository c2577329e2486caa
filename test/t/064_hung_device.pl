# A device that hangs without an error: sorts on it end, the service starts again, and a shutdown does not wait
# for it.
#
# gpusort.device_timeout = 1ms makes any operation that takes longer than the service's look at its device, 0.1 s,
# that of a hung one.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
BEGIN { $ENV{GPUSORT_TEST_DEVICE} = 'host'; }
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('hung_device', 'gpusort.host_threads = 1', "gpusort.device_memory = '2GB'");
wait_for_state($node, 'serving');
$node->safe_psql('postgres', q{create unlogged table rows as select i * 7919::int8 % 4000037 as k, i * 104729::int8 % 4000037 as l, i as id from generate_series(1, 4000000) i});

my $query = 'select k, l, id from rows order by k, l, id';

my $hash = "select sum(hash_record_extended(q, n)), max(n) from (select q, row_number() over () as n from ($query) q) r";

sub hash_of
{
	my ($settings) = @_;

	return $node->safe_psql('postgres', "$settings $hash");
}

my $right = hash_of('set gpusort.enabled = off;');
my $service = service_pid($node);
is(hash_of(''), $right, 'a device that answers: the rows are right');
is(service_pid($node), $service, 'and it goes on');

reload_with($node, 'gpusort.device_timeout' => '1ms');
# the service reads its settings before its next request
my $log = -s $node->logfile;
# the service may look at its device just when an operation has ended
my $seen = 0;
my $wrong = 0;
for (1 .. 30)
{
	my ($status, $rows, $error) = $node->psql('postgres', $hash);

	$wrong++ if $status == 0 ? $rows ne $right : $error !~ /ERROR:  the sort device failed during a sort\n.*HINT: /s;
	$seen = slurp_file($node->logfile, $log) =~ /gpusort: the device does not respond, the service restarts.*completed no operation/s;
	last if $seen;
}
is($wrong, 0, 'a device that does not answer in time: the rows, or an error');
ok($seen, 'and the log says it');
is($node->safe_psql('postgres', 'select failed > 0 from gpusort_stats'), 't', 'the sort failed, and is counted');
$node->safe_psql('postgres', q{alter system reset gpusort.device_timeout});
$node->safe_psql('postgres', 'select pg_reload_conf()');
ok($node->poll_query_until('postgres', "select state = 'serving' and service_pid <> $service from gpusort_devices"), 'another service has come');
$service = service_pid($node);
is(hash_of(''), $right, 'the rows are right again');
is(service_pid($node), $service, 'by the device');

# --- a call that never returns
reload_with($node, 'gpusort.debug_call_delay' => '1h');
reload_with($node, 'gpusort.host_threads' => 2);
# before PostgreSQL 17 all its waits have one name, and the old service is in state starting too while it waits
$node->poll_query_until('postgres', "select count(*) = 1 from pg_stat_activity a join gpusort_devices d on d.service_pid = a.pid where d.state = 'starting' and d.service_pid <> $service and a.wait_event in ('GpusortServiceCall', 'Extension')")
  or die 'the service does not come to its call';
$log = -s $node->logfile;
$node->stop('fast');
like(slurp_file($node->logfile, $log), qr/a call of the device does not end, the service leaves without it.*database system is shut down/s,
	'a fast shutdown ends while the device is opened');
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|was terminated by signal/, 'no process was brought down');

done_testing();
