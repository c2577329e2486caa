# Many sessions at once: 64 that sort a large table each, and 100 that share a budget of
# device memory that is too small for them.  All rows are right, nobody waits for
# ever, the budget holds, and nothing is left over.
#
#   GPUSORT_LOAD        sessions or budget: only that
#   GPUSORT_LOAD_ROWS   each session's (40000 here; test/load/sessions takes 1000000)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $rows = $ENV{GPUSORT_LOAD_ROWS} || 40000;
my @loads = (
	{
		name => 'sessions',
		sessions => 64,
		rows => $rows,
		# eight pieces and some 160 bytes a row for each
		buffers => '520MB',
		memory => int(64 * (28 + $rows * 160 / 1048576)) . 'MB',
		all_on_device => 1
	},
	{
		name => 'budget',
		sessions => 100,
		rows => 20000,
		buffers => '810MB',
		memory => '1GB'
	});
@loads = grep { $_->{name} eq $ENV{GPUSORT_LOAD} } @loads if $ENV{GPUSORT_LOAD};

for my $load (@loads)
{
	my $node = new_server($load->{name}, "gpusort.buffer_memory = '$load->{buffers}'",
		"gpusort.device_memory = '$load->{memory}'", 'max_connections = 130');
	wait_for_state($node, 'serving');
	make_tables($node);
	$node->safe_psql('postgres', qq{
		create table load as select (i::int8 * 7919) % 3000017 as k, i as id, repeat('f', 20) as filler from generate_series(1, $load->{rows}) i;
		create table results(session int4, digest int8);
		analyze load});

	# each row's hash depends on its place
	my $digest = 'select bit_xor(h) from (select hash_record_extended(q, row_number() over ()) as h from (select * from load order by k, id) q) s';
	my $right = $node->safe_psql('postgres', "set gpusort.enabled = off; $digest");
	my $script = $node->basedir . '/sort.sql';
	append_to_file($script, "insert into results select :client_id, ($digest);\n");

	my ($out, $err) = ('', '');
	my ($most_jobs, $most_used) = (0, 0);
	my $start = time;
	my $pgbench = IPC::Run::start([ 'pgbench', '-n', '-c', $load->{sessions}, '-j', 2, '-t', 1, '-f', $script,
			'-h', $node->host, '-p', $node->port, '-U', 'postgres', 'postgres' ], '>', \$out, '2>', \$err);
	while ($pgbench->pumpable)
	{
		my ($jobs, $used) = split /\|/, $node->safe_psql('postgres', 'select open_jobs, used_bytes from gpusort_devices');

		$most_jobs = $jobs if $jobs > $most_jobs;
		$most_used = $used if $used > $most_used;
		$pgbench->pump_nb;
		sleep 0.1;
	}
	$pgbench->finish;
	my $took = time - $start;
	my ($latency) = $out =~ /latency average = ([\d.]+) ms/;

	unlike($err, qr/error|ERROR|aborted/, "$load->{name}: no error");
	is($node->safe_psql('postgres', 'set gpusort.enabled = off; select count(distinct session), count(*) filter (where digest = ' . $right . ') from results'),
		"$load->{sessions}|$load->{sessions}", "$load->{name}: $load->{sessions} sessions have their rows, all right");
	my ($device, $memory, $buffers, $failed) = split /\|/,
	  $node->safe_psql('postgres', 'select jobs, native_device_memory, native_no_buffers, failed from gpusort_stats');
	is($device + $memory + $buffers, $load->{sessions}, "$load->{name}: $device on the device, $memory native for want of device memory, $buffers of buffers");
	is($memory + $buffers, 0, "$load->{name}: the device sorted for all") if $load->{all_on_device};
	is($failed, '0', "$load->{name}: no job failed");
	is($node->safe_psql('postgres', "select $most_used <= budget_bytes from gpusort_devices"), 't', "$load->{name}: the budget held: $most_used bytes used at most");
	nothing_left_over($node, $load->{name});
	# how long the service was busy at a stretch
	my $turn = $node->safe_psql('postgres', 'select longest_turn_ms from gpusort_devices');
	cmp_ok($turn, '>', 0, "$load->{name}: the longest turn is known");
	note sprintf('SUMMARY %s: the longest turn of the service took %.2f ms', $load->{name}, $turn);
	note sprintf('SUMMARY %s: %d sessions sorted %d rows each in %.1f s, %.0f ms on average; %d on the device, %d native; at most %d jobs at once, %.0f MB of %s used',
		$load->{name}, $load->{sessions}, $load->{rows}, $took, $latency, $device, $memory + $buffers, $most_jobs, $most_used / 1048576, $load->{memory});
	$node->stop;
}

done_testing();
