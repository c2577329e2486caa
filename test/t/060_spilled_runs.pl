# A sort that is larger than its device, and the loss of that device.  Runs are in files, and a second device beside it,
# which is idle, has no part in it.  Two host devices stand for them.  While rows are fed or runs are written a loss is an
# error; when all runs are in files they are read to their end without the device.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

$GpuSortTest::device = 'host,host';
my $node = new_server('spilled', "gpusort.device_memory = '64MB'", "gpusort.buffer_memory = '256MB'", "work_mem = '4MB'",
	'enable_gathermerge = off', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
my $watch = GpuSortTest::Session->new($node);
my $session = GpuSortTest::Session->new($node);
my $lost = qr/ERROR:  58000: the sort device failed during a sort\n.*HINT:  Retry the query\.  If no device serves, PostgreSQL sorts the rows\./s;

$node->safe_psql('postgres', q{
	create table t as select (i::int8 * 7919) % 650011 as k, i as id, repeat('f', 40) as filler from generate_series(1, 650000) i;
	create table parallel as select * from t;
	alter table parallel set (parallel_workers = 2);
	create function gate(i int, at int) returns int language plpgsql volatile as
		$$ begin while i = at and pg_stat_file('gate', true) is null loop perform pg_sleep(0.01); end loop; return i; end $$;
	vacuum analyze});

sub until_true
{
	my ($condition) = @_;

	for (1 .. 9000)
	{
		return 1 if $watch->query("select $condition") eq 't';
		sleep 0.01;
	}
	return 0;
}

sub all_serve { return until_true("count(*) = 2 and bool_and(state = 'serving') from gpusort_devices"); }

sub nothing_left
{
	my ($after) = @_;

	ok(until_true("sum(open_jobs) = 0 and sum(reserved_bytes) = 0 and min(free_buffer_bytes) = max(buffer_bytes) from gpusort_devices"),
		"$after: nothing is left over") or diag($watch->query('select d from gpusort_devices d'));
	is(temporary_files($node), '', "$after: nor files");
	return;
}

sub sorter { return $watch->query("select service_pid from gpusort_devices where service = (select service from gpusort_progress)"); }

ok(all_serve(), 'two services serve');
my $sorted = 'select * from t order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');

is(digest($node, $sorted), $right, 'the rows are right');
is(digest($node, 'select * from parallel order by k, id', 'set max_parallel_workers_per_gather = 2;'), $right, 'fed by workers too');
like($node->safe_psql('postgres', "explain (analyze, costs off, timing off, summary off) $sorted"),
	qr/^ *Sort Method: host external merge\n *Runs: \d+\n *Merge Order: device\n *Disk: [1-9]\d* kB$/m, 'runs are in files');
$session->query("begin; declare c cursor for $sorted");
$session->query('fetch 10 from c');
is($watch->query("select string_agg(open_jobs::text, ', ' order by open_jobs) from gpusort_devices"), '0, 1', 'the other device is idle');
$session->query('rollback');
nothing_left('two devices');

# --- lost while rows are fed, and between the last row fed and the first one returned

# The gate is at a row: before it runs are spilled.  $lose loses the device, as far as the sort then comes.
sub lose_at_gate
{
	my ($what, $at, $lose) = @_;
	my $gate = $node->data_dir . '/gate';

	unlink $gate;
	my $failed = $watch->query('select failed from gpusort_stats');
	$session->send("select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select k, gate(id, $at) as id, filler from t order by k, 2) q");
	ok(until_true("count(*) = 1 from pg_stat_activity where pid = $session->{pid} and wait_event = 'PgSleep'"), "$what: the gate is reached");
	is($watch->query('select phase, runs_spilled > 0 from gpusort_progress'), 'feeding|t', "$what: runs are spilled");
	$lose->(sorter(), sub { append_to_file($gate, 'open') });
	is($session->finish, '', "$what: no row");
	like($session->error, $lost, "$what: but an error");
	is($watch->query('select failed from gpusort_stats') - $failed, 1, "$what: counted");
	ok(all_serve(), "$what: the device is back");
	nothing_left($what);
	is(digest($node, $sorted), $right, "$what: the rows are right again");
	return;
}

sub lose_while_feeding
{
	my ($sorter, $open_gate) = @_;

	kill 'TERM', $sorter;
	ok(until_true("count(*) = 0 from gpusort_devices where service_pid = $sorter"), 'the device is lost');
	$open_gate->();
	return;
}

# Halted, it goes while the last run is sorted.
sub lose_while_sorting
{
	my ($sorter, $open_gate) = @_;

	stop_service($node, $sorter);
	$open_gate->();
	ok(until_true("phase = 'sorting' from gpusort_progress"), 'the last run is sorted');
	kill 'TERM', $sorter;
	continue_service($sorter);
	return;
}

lose_at_gate('lost while rows are fed', 640000, \&lose_while_feeding);
lose_at_gate('lost while the last run is sorted', 650000, \&lose_while_sorting);

# --- lost while the merge is read: the order of the runs' rows is gone with the device, and keys tell it

$session->query("begin; declare c cursor for $sorted");
my $rows = $session->query('fetch 10 from c');

my $lost_service = $watch->query('select service_pid from gpusort_devices where open_jobs = 1');
kill 'TERM', $lost_service;
ok(until_true("count(*) = 0 from gpusort_devices where service_pid = $lost_service"), 'the device is lost while rows are read');
$rows .= "\n" . $session->query('fetch all from c');
is($session->error, '', 'the rows are read to their end');
$session->query("rollback; set gpusort.enabled = off; begin; declare c cursor for $sorted");
ok($rows eq $session->query('fetch all from c'), 'and are right');
$session->query('rollback; reset gpusort.enabled');
ok(all_serve(), 'the device is back');
nothing_left('lost while rows are read');

# --- rows of 4 MB, some of them in each run: the buffers do not stay as long as these
my $runs_spilled = $watch->query('select runs_spilled from gpusort_stats');

$session->query(q{begin; declare c cursor for
	select k, id, case when id % 2500 = 0 then repeat('x', 4000000) end as filler from t where id <= 100000 order by k, id; move 99900 in c});
my $held = $session->query('select sum(used_bytes)::int8 / 1024 from pg_backend_memory_contexts');
$session->query('rollback');
my $runs = $watch->query('select runs_spilled from gpusort_stats') - $runs_spilled;
cmp_ok($runs, '>=', 4, "long rows: $runs runs");
cmp_ok($held, '<', 12 * 1024, "long rows: the session holds $held kB behind them");
nothing_left('long rows');
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|was terminated by signal/, 'no process crashed');
$session->close;
$watch->close;
$node->stop;
done_testing();
