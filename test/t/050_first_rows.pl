# The device is lost while the first rows of a sort, which the backend has kept until then, go to it, and later:
# the query ends with a clean error, nothing is left, and the next one is right.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('first_rows', "work_mem = '256MB'", "gpusort.buffer_memory = '64MB'",
	"gpusort.device_memory = '32MB'");
wait_for_state($node, 'serving');
make_tables($node);
# few are expected
$node->safe_psql('postgres', q{
	create sequence scans;
	create function rows_once(n int4, width int4) returns table(i int4, k int4, filler text) rows 10 volatile language plpgsql as $$
	begin
		perform nextval('scans');
		return query select s, s * 7919 % 100003, repeat(chr(97 + s % 26), width) from generate_series(1, n) s;
	end $$;});

sub counter
{
	my ($name) = @_;

	return $node->safe_psql('postgres', "select $name from gpusort_stats");
}

sub query
{
	my ($columns, $n, $width) = @_;

	return "select count(*), md5(string_agg(hash_record_extended(s, 0)::text, ' ')) from (select $columns from rows_once($n, $width) order by k, i offset 0) s";
}

my $lost = qr/ERROR:  58000: the sort device failed during a sort/;
my $session = GpuSortTest::Session->new($node);

# rows that are all kept, or the first of more; of types that take no text, too
for my $case ([ 'the first of them', 'k, i, filler', 25000, 1000 ], [ 'all but one', 'k, i, filler', 20001, 1000 ], [ 'a text first', 'filler, k, i', 25000, 1000 ],
	[ 'without a header', 'k, i, k::int8 * i as a, k / 7.0::float8 as b, i::int8 as c, k::int8 as d, i % 7 as e, k % 9 as f, k::int8 as g', 200000, 0 ])
{
	my ($name, $columns, $n, $width) = @$case;
	my $query = query($columns, $n, $width);

	$session->query('set gpusort.min_rows = ' . ($width == 0 ? 190000 : 20000));
	my $right = $session->query("set gpusort.enabled = off; $query");
	my $count = counter('native_no_device');
	my $scans = $session->query("reset gpusort.enabled; select last_value from scans");
	my $service = stop_service($node);

	$session->send($query);
	ok($session->wait_until_waiting, "$name: they wait to go to the device");
	kill 'TERM', $service;
	continue_service($service);
	is($session->finish, $right, "$name: none has been sent, they are sorted natively");
	is($session->error, '', "$name: without an error");
	is($session->query('select last_value from scans'), $scans + 1, "$name: they were given once");
	is(counter('native_no_device'), $count + 1, "$name: and it is counted");
	ok(wait_for_state($node, 'serving'), "$name: the service serves");
	is($session->query($query), $right, "$name: the device sorts again");
	nothing_left_over($node, $name);
}

# lost at one call after the other, while rows are fed, runs are spilled, rows are read
my $query = query('k, i, filler', 110000, 1000);
my $right = $session->query("set gpusort.enabled = off; set gpusort.min_rows = 40000; $query");
my ($rows, $spilled, $failed, $wrong) = (0, 0, 0, '');

$session->query('reset gpusort.enabled');
for (my $call = 1; $call < 300; $call += 1 + int($call / 3))
{
	my $runs = counter('runs_spilled');

	$node->safe_psql('postgres', "alter system set gpusort.debug_fail_at = $call; select pg_reload_conf()");
	$node->poll_query_until('postgres', "select coalesce(detail like 'device call or allocation $call fails,%', false) from gpusort_devices");
	my $got = $session->query($query);
	if ($session->error =~ $lost)
	{
		$failed++;
		$spilled++ if counter('runs_spilled') > $runs;
	}
	elsif ($session->error ne '' || $got ne $right) { $wrong .= "call $call: $got " . $session->error }
	else { $rows++ }
	$node->safe_psql('postgres', "alter system set gpusort.debug_fail_at = 0; select pg_reload_conf()");
	$node->poll_query_until('postgres', "select state = 'serving' and detail is null from gpusort_devices");
}
is($wrong, '', "call after call: the rows $rows times, a clean error $failed times, of these $spilled times after a run was spilled");
cmp_ok($failed, '>', 2, 'an error some times');
cmp_ok($spilled, '>', 0, 'after a run was spilled too');
is(temporary_files($node), '', 'no file is left');
nothing_left_over($node, 'call after call');

$session->close;
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|leak|terminated by signal/, 'no word of trouble in the log');
done_testing();
