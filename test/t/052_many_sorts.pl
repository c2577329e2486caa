# 64 sorts of 50,000 to 500,000 rows at once, with the usual buffers: all are the device's, and nothing is left over.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# rows => sessions
my %loads = (50000 => 32, 100000 => 16, 200000 => 8, 500000 => 8);
my $node = new_server('many', "gpusort.buffer_memory = '256MB'", "gpusort.device_memory = '2GB'", 'max_connections = 120',
	"gpusort.min_rows = 10000", "gpusort.wait_timeout = '1h'", "gpusort.max_wait_timeout = '1h'",
	# no sort waits for much longer than the native one is estimated to take: with these, minutes
	"work_mem = '64kB'", 'seq_page_cost = 1000000');
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', q{
	create table rows as select (i::int8 * 7919) % 3000017 as k, i as id, repeat('f', 10) as filler from generate_series(1, 500000) i;
	create table results(n int4, digest int8, began timestamptz, ended timestamptz default clock_timestamp());
	analyze rows});

sub counters { return $node->safe_psql('postgres', 'select jobs, native_no_buffers, native_device_memory, native_no_slot, failed, runs_spilled from gpusort_stats') }

# A sort by itself holds no more than it needs.
my $one = GpuSortTest::Session->new($node);
$one->query('begin; declare c cursor for select * from rows where id <= 50000 order by k, id; fetch 1 from c');
ok($node->poll_query_until('postgres', 'select (buffer_bytes - free_buffer_bytes) / 1048576 <= 4 from gpusort_devices'),
	'a sort of 2 MB that is read holds 4 MB of buffers at most');
$one->query('rollback');
$one->close;

my %right = map { $_ => $node->safe_psql('postgres', 'set gpusort.enabled = off; ' . digest_of($_)) } keys %loads;
my @before = split /\|/, counters();
my @sessions = map { my $n = $_; map { [ $n, GpuSortTest::Session->new($node) ] } 1 .. $loads{$n} } sort { $b <=> $a } keys %loads;
my $start = time;

$_->[1]->send("insert into results select $_->[0], (" . digest_of($_->[0]) . '), clock_timestamp()') for @sessions;
$_->[1]->finish for @sessions;
my $took = time - $start;
is(join('', map { $_->[1]->error } @sessions), '', 'no error');
$_->[1]->close for @sessions;
my @after = split /\|/, counters();

for my $n (sort { $a <=> $b } keys %loads)
{
	is($node->safe_psql('postgres', "select count(*) from results where n = $n and digest = $right{$n}"), $loads{$n}, "$loads{$n} sorts of $n rows: all right");
}
# each opens with 4 MB: 64 of them are all that there is, and a few that came early have more
is($after[0] - $before[0], scalar @sessions, 'all on the device');
is($after[$_] - $before[$_], 0, 'none is native for want of ' . (qw(buffers memory slots))[ $_ - 1 ]) for 1 .. 3;
is($after[4] - $before[4], 0, 'none failed');
note sprintf('SUMMARY %d sorts in %.1f s, %d runs spilled, %s times waited', scalar @sessions, $took, $after[5] - $before[5], $node->safe_psql('postgres', 'select waited from gpusort_stats'));
nothing_left_over($node, '64 sorts at once');
$node->stop;
done_testing();

# Each row's hash depends on its place.
sub digest_of
{
	my ($n) = @_;

	return "select bit_xor(h) from (select hash_record_extended(q, row_number() over ()) as h from (select * from rows where id <= $n order by k, id) q) s";
}
