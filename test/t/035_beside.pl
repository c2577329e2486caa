# Short queries beside large sorts: what eight sorts at once cost pgbench -S, when the
# device does them and when PostgreSQL does.
#
#   GPUSORT_LOAD_ROWS      of each sort (50000 here; test/load/beside takes 1000000)
#   GPUSORT_LOAD_SECONDS   of each measurement (2 here; test/load/beside takes 30)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $rows = $ENV{GPUSORT_LOAD_ROWS} || 50000;
my $seconds = $ENV{GPUSORT_LOAD_SECONDS} || 2;

my $node = new_server('beside', "gpusort.device_memory = '" . int(8 * (28 + $rows * 160 / 1048576)) . "MB'", "work_mem = '64MB'");
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', qq{
	create table load as select (i::int8 * 7919) % 3000017 as k, i as id, repeat('f', 20) as filler from generate_series(1, $rows) i;
	analyze load});
my @connection = ('-h', $node->host, '-p', $node->port, '-U', 'postgres', 'postgres');
command_ok([ 'pgbench', '-i', '-q', '-s', 2, @connection ], 'pgbench has its tables');

for my $how ('device', 'native')
{
	append_to_file($node->basedir . "/$how.sql", ($how eq 'native' ? "set gpusort.enabled = off;\n" : '')
		. "select count(*) from (select * from load order by k, id offset 0) s;\n");
}

# Runs pgbench -S, with eight clients of a script beside it: its latency, and how many
# sorts they did a second.
sub measure
{
	my ($how) = @_;
	my ($out, $err, $sorts_out, $sorts_err) = ('', '', '', '');
	my $sorts;

	if ($how)
	{
		$sorts = IPC::Run::start([ 'pgbench', '-n', '-c', 8, '-T', $seconds + 1, '-f', $node->basedir . "/$how.sql", @connection ],
			'>', \$sorts_out, '2>', \$sorts_err);
		sleep 0.5;
	}
	IPC::Run::run([ 'pgbench', '-n', '-S', '-c', 2, '-T', $seconds, @connection ], '>', \$out, '2>', \$err);
	$sorts->finish if $sorts;
	unlike("$err$sorts_err", qr/error|ERROR|aborted/, ($how // 'alone') . ': no error');
	my ($latency) = $out =~ /latency average = ([\d.]+) ms/;
	my ($rate) = $sorts_out =~ /tps = ([\d.]+)/;
	return ($latency, $rate // 0);
}

my ($alone) = measure();
my ($native, $native_rate) = measure('native');
my $jobs = $node->safe_psql('postgres', 'select jobs from gpusort_stats');
my ($device, $device_rate) = measure('device');
cmp_ok($node->safe_psql('postgres', 'select jobs from gpusort_stats') - $jobs, '>', 0, 'the device sorted');
is($node->safe_psql('postgres', 'select failed from gpusort_stats'), '0', 'no job failed');
nothing_left_over($node, 'pgbench');
$node->stop;
note sprintf('SUMMARY pgbench -S, 2 clients: %.3f ms alone; %.3f ms (x%.1f) beside 8 sessions of native sorts of %d rows, %.2f sorts/s; %.3f ms (x%.1f) beside 8 of device sorts, %.2f sorts/s',
	$alone, $native, $native / $alone, $rows, $native_rate, $device, $device / $alone, $device_rate);

done_testing();
