# Runs of a sort that is larger than its device, kept in the memory of another one: two host devices stand for them.
# The rows are those of PostgreSQL's own sort and no file is written; where the other device has no room, or sorts
# something itself, there are files; a device that is lost with its runs costs time, or an error, and no row.
#
#   SEED   of the walks and of the calls that fail
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SortWalks;
use Test::More;
use Time::HiRes qw(sleep);

my $seed = $ENV{SEED} // int(time);
srand $seed;
note "seed $seed";

$GpuSortTest::device = 'host,host';
my @settings = ("gpusort.device_memory = '64MB'", "gpusort.buffer_memory = '256MB'", "work_mem = '4MB'",
	'autovacuum = off', 'enable_gathermerge = off', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
my $node = new_server('kept', @settings);
my $watch = GpuSortTest::Session->new($node, 1000);
my $session = GpuSortTest::Session->new($node, 1000);
my $lost = qr/ERROR:  58000: the sort device failed during a sort/;

$node->safe_psql('postgres', q{
	create table t as select (i::int8 * 7919) % 430007 as k, i as id, repeat('f', 40) as filler from generate_series(1, 430000) i;
	create table more as select (i::int8 * 7919) % 1500007 as k, i as id, repeat('f', 40) as filler from generate_series(1, 1500000) i;
	create table types as select i as id, nullif(i % 1000, 7) as n, case when i % 11 > 0 then 'a prefix that many words cannot hold ' || i % 5000 end as s,
		(i % 997)::numeric / 7 as num, case i % 5 when 0 then 'NaN' when 1 then -0.0 else i % 313 end::float8 as f,
		md5((i % 20000)::text)::uuid as u, timestamptz 'epoch' + (i % 4001) * interval '1 hour' as at, i % 2 = 0 as b
		from generate_series(1, 300000) i;
	create table parallel as select * from t;
	alter table parallel set (parallel_workers = 2);
	create function slow(i int, at int) returns int language plpgsql immutable parallel safe as
		$$ begin if i = at then perform pg_sleep(3); end if; return i; end $$;
	create function slow_volatile(i int, at int) returns int language plpgsql as
		$$ begin if i = at then perform pg_sleep(3); end if; return i; end $$;
	create function gate(i int, at int) returns int language plpgsql immutable parallel safe as
		$$ begin while i = at and pg_stat_file('gate', true) is null loop perform pg_sleep(0.01); end loop; return i; end $$;
	create function gate_volatile(i int, at int) returns int language plpgsql volatile as
		$$ begin return gate(i, at); end $$;
	vacuum analyze});

sub until_true
{
	my ($condition) = @_;

	for (1 .. 1500)
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

	ok(until_true("sum(open_jobs) = 0 and sum(granted_bytes) = 0 and min(free_buffer_bytes) = max(buffer_bytes) from gpusort_devices"),
		"$after: nothing is left over") or diag($watch->query('select d from gpusort_devices d'));
	is(temporary_files($node), '', "$after: nor files");
	return;
}

sub plan_of
{
	my ($query, $settings) = @_;

	return $node->safe_psql('postgres', ($settings // '') . " explain (analyze, costs off, timing off, summary off) $query");
}

sub counts
{
	return [ map { counter($_) } qw(runs_kept runs_spilled native_device_lost failed) ];
}

# The rows are native's, and of the runs so many are kept and spilled at least: none where that is 0, any where it is undef.
sub same_rows
{
	my ($what, $query, $least_kept, $least_spilled, $settings) = @_;
	my $before = counts();
	my $right = digest($node, $query, 'set gpusort.enabled = off;');

	is(digest($node, $query, $settings), $right, "$what: the rows are right");
	my $after = counts();

	for my $i (0, 1)
	{
		my ($least, $n, $name) = (($least_kept, $least_spilled)[$i], $after->[$i] - $before->[$i], ('kept', 'in files')[$i]);

		next unless defined $least;
		$least == 0 ? is($n, 0, "$what: no runs $name") : cmp_ok($n, '>=', $least, "$what: runs $name");
	}
	return;
}

ok(all_serve(), 'two services serve');
walk_on($node, $session);

# --- all runs find room
my $sorted = 'select * from t order by k, id';
my $plan = plan_of($sorted);
like($plan, qr/^ *Sort Method: host merge$/m, 'no external merge');
like($plan, qr/^ *Runs: (\d+)\n *Run Storage: \1 on host \(\d+ threads\), service [01]$/m, 'EXPLAIN says where the runs are');
like($plan, qr/^ *Memory of Other Devices: [1-9]\d+ kB$/m, 'and what they take');
unlike($plan, qr/Disk:/, 'no disk');
like($plan, qr/^ *Merge Order: device$/m, 'the device orders them');
like($node->safe_psql('postgres', "explain (analyze, costs off, timing off, summary off, format json) $sorted"), qr/"Runs": \d,\s+"Run Storage": "\d on host \(\d+ threads\), service [01]",/, 'in JSON too');
same_rows('words', $sorted, 2, 0);
same_rows('descending', 'select k, id, filler from t order by k desc, id desc', 2, 0);
same_rows('types', "select * from types order by $_", 2, 0) for ('n nulls first, f desc, id', 's, num desc, id', 'num, s, u, id', 'u desc nulls first, at, id', 'at, b desc, f, id');
same_rows('merged by keys', 'select * from types order by s desc nulls last, u, f, at, num, id', 2, 0);
same_rows('long rows', 'select i, repeat(chr(97 + i % 26), 2500000) as long from generate_series(1, 16) i order by i * 7 % 41', 1, undef);
same_rows('a window', 'select id, k, row_number() over (partition by k % 100 order by k, id) as r, filler from t', 1, undef);

my $parallel = 'select * from parallel order by k, id';
my $workers = 'set max_parallel_workers_per_gather = 2;';
like(plan_of($parallel, $workers), qr/GpuSort.*Run Storage: \d on .*Workers Launched: 2/s, 'fed by workers');
same_rows('fed by workers', $parallel, 2, 0, $workers);
same_rows('grouping', 'select k % 350003 as g, count(*), min(id), max(filler) from t group by 1 order by 1', 2, 0, 'set enable_hashagg = off;');
nothing_left('all runs find room');

# --- read to and fro
same_walk('a cursor', 'scroll cursor', $sorted, 2, walk(430000, 10));
same_walk('WITH HOLD', 'cursor with hold', $sorted, 2, walk(430000, 3));
same_walk('a cursor, by keys', 'cursor', 'select * from types order by s, num, f, u, id', 2, walk(300000, 6));
same_steps('mark and restore', $sorted, 'host merge');
nothing_left('read to and fro');

# --- not all runs find room
same_rows('some room', 'select * from more order by k, id', 1, 1);
like(plan_of('select * from more order by k, id'), qr/^ *Sort Method: host external merge\n *Runs: \d+\n *Run Storage: \d+ on host \(\d+ threads\), service [01]; \d+ in files\n *Merge Order: device\n *Disk: \d+ kB\n *Memory of Other Devices: \d+ kB$/m, 'EXPLAIN tells both');
nothing_left('some room');

# --- more devices, more room
sub reload_with
{
	my ($devices) = @_;

	$node->safe_psql('postgres', "alter system set gpusort.device = '$devices'");
	$node->safe_psql('postgres', 'select pg_reload_conf()');
	my $n = 1 + $devices =~ tr/,//;
	return until_true("count(*) = $n and bool_and(state = 'serving') from gpusort_devices");
}

# --- costs know it: files are charged for what no other device would keep
sub cost_of_sort
{
	my ($query) = @_;
	my $plan = $watch->query("set gpusort.debug_force = off; explain $query");

	return $plan =~ /Custom Scan \(GpuSort\)  \(cost=[\d.]+\.\.([\d.]+)/ ? $1 : die "no GpuSort: $plan";
}

my %cost;

for my $devices ('host', 'host,host', 'host,host,host,host')
{
	ok(reload_with($devices), "$devices serve");
	$cost{$devices} = cost_of_sort('select * from more order by k, id');
}
note join '; ', map { "$_: $cost{$_}" } sort keys %cost;
cmp_ok($cost{'host,host'}, '<', $cost{host}, 'a second device makes a large sort cheaper');
cmp_ok($cost{'host,host,host,host'}, '<', $cost{'host,host'}, 'and others more so');
my $most = 'select * from more where id <= 1300000 order by k, id';
same_rows('four devices', $most, 4, 0);
like(plan_of($most), qr/^ *Run Storage: \d on host \(\d+ threads\), service \d; \d on host \(\d+ threads\), service \d; \d on host[^;]*$/m, 'EXPLAIN names all that keep runs');
nothing_left('four devices');
ok(reload_with('host,host'), 'two services serve');

# --- the other device sorts something itself: it is left alone
$session->query('begin; declare c cursor for select k, id from t where id <= 20000 order by k, id');
$session->query('fetch 10 from c');
same_rows('a busy device', $sorted, 0, 2);
$session->query('rollback');
same_rows('idle again', $sorted, 2, 0);

# --- beside runs that are kept for long small sorts find room on both devices
$session->query("begin; declare c cursor for $sorted");
$session->query('fetch 10 from c');
is($watch->query('select count(*) from gpusort_devices where open_jobs > 0'), '2', 'a cursor holds both devices');
is(temporary_files($node), '', 'and no file');
my $jobs = counter('jobs');

ok(sorts_on_device($node, 'select id, k from t where id <= 20000 order by k'), "small sort $_ beside it") for 1 .. 4;
is(counter('jobs') - $jobs, 4, 'all on a device');
is($watch->query('select bool_and(granted_bytes <= budget_bytes) from gpusort_devices'), 't', 'within their budgets');
$session->query('fetch all from c');
is($session->error, '', 'the cursor is read to its end');
$session->query('rollback');
nothing_left('a cursor');

# --- a reader that leaves in the middle
$session->query("begin; declare c cursor for $sorted");
$session->query('fetch 100000 from c');
$session->query('rollback');
nothing_left('a rollback');
$session->send("select max(slow(id, 425000)), max(filler) from (select * from t order by k, id offset 0) q");
ok(until_true('sum(open_jobs) >= 3 from gpusort_devices'), 'runs are kept');
$session->signal('INT');
like($session->error, qr/canceling statement/, 'a cancel ends it');
nothing_left('a cancel');

# --- the device that keeps runs is lost

sub keeper
{
	return $watch->query("select service_pid from gpusort_devices where service = (select 1 - service from gpusort_progress)");
}

sub sorter
{
	return $watch->query("select service_pid from gpusort_devices where service = (select service from gpusort_progress)");
}

sub feed_slowly
{
	my ($function) = @_;

	$session->send("select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select k, $function(id, 420000) as id, filler from t order by k, 2) q");
	ok(until_true('runs_spilled >= 1 and (select sum(open_jobs) from gpusort_devices) >= 2 from gpusort_progress'), "$function: a run is kept");
	kill 'TERM', keeper();
	return $session->finish;
}

my $right = digest($node, 'select k, id, filler from t order by k, id', 'set gpusort.enabled = off;');
my $before = counts();
is(feed_slowly('slow'), $right, 'lost while rows are fed: the rows are right');
is(counter('native_device_lost'), $before->[2] + 1, 'the sort has started over');
ok(all_serve(), 'the device is back');
is(feed_slowly('slow_volatile'), '', 'rows that cannot be read again: no result');
like($session->error, $lost, 'but an error');
ok(all_serve(), 'the device is back');
nothing_left('lost while rows are fed');

# Between the last row fed and the first one returned.  The gate is at the last row: behind it the rest is sorted,
# its run is moved to the keeper, and the merge begins.  $lose loses the keeper, as far as the sort then comes.
sub lose_behind_gate
{
	my ($function, $lose) = @_;
	my $gate = $node->data_dir . '/gate';

	unlink $gate;
	$session->send("select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select k, $function(id, 430000) as id, filler from t order by k, 2) q");
	ok(until_true("count(*) = 1 from pg_stat_activity where pid = $session->{pid} and wait_event = 'PgSleep'"), "$function: the last row is read");
	is($watch->query('select phase, runs_spilled > 0 from gpusort_progress'), 'feeding|t', "$function: runs are kept");
	$lose->(keeper(), sorter(), sub { append_to_file($gate, 'open') });
	my $rows = $session->finish;

	ok(all_serve(), "$function: the device is back");
	return $rows;
}

# The device that sorts is halted: the keeper goes while the last run is sorted.
sub lose_while_sorting
{
	my ($keeper, $sorter, $open_gate) = @_;

	stop_service($node, $sorter);
	$open_gate->();
	ok(until_true("phase = 'sorting' from gpusort_progress"), 'the last run is sorted');
	kill 'TERM', $keeper;
	ok(until_true("count(*) = 0 from gpusort_devices where service_pid = $keeper"), 'the device that keeps runs is lost');
	continue_service($sorter);
	return;
}

# The keeper is halted, and goes while it is to take the last run.
sub lose_while_spilling
{
	my ($keeper, $sorter, $open_gate) = @_;

	stop_service($node, $keeper);
	$open_gate->();
	ok(until_true("phase = 'spilling' from gpusort_progress"), 'the last run is to be moved');
	kill 'TERM', $keeper;
	continue_service($keeper);
	return;
}

# Somewhere on the way, which takes some 10 ms.
sub lose_somewhere
{
	my ($keeper, $sorter, $open_gate) = @_;

	$open_gate->();
	sleep rand 0.03;
	kill 'TERM', $keeper;
	return;
}

for my $case ([ 'sorted', \&lose_while_sorting ], [ 'moved', \&lose_while_spilling ])
{
	my ($when, $lose) = @$case;

	$before = counts();
	is(lose_behind_gate('gate', $lose), $right, "lost while the last run is $when: the rows are right");
	is(counter('native_device_lost'), $before->[2] + 1, "lost while the last run is $when: the sort has started over");
	is(lose_behind_gate('gate_volatile', $lose), '', "lost while the last run is $when, rows that cannot be read again: no result");
	like($session->error, $lost, "lost while the last run is $when: but an error");
	nothing_left("lost while the last run is $when");
}
for (1 .. 6)
{
	my $rows = lose_behind_gate('gate', \&lose_somewhere);

	ok($rows eq $right || $session->error =~ $lost, 'lost somewhere on the way: the rows, or the error, and nothing else') or diag($rows, $session->error);
}
nothing_left('lost somewhere on the way');

$session->query("begin; declare c cursor for $sorted");
$session->query('fetch 10 from c');
my ($keeper, $sorter) = (keeper(), sorter());
kill 'TERM', $keeper;
ok(until_true("count(*) = 0 from gpusort_devices where service_pid = $keeper"), 'lost while rows are read');
$session->query('fetch all from c');
like($session->error, $lost, 'an error');
is($watch->query("select count(*) from gpusort_devices where service_pid = $sorter"), '1', 'the other device goes on');
$session->query('rollback');
ok(all_serve(), 'the device is back');

# the order of the merge is gone with the device that has sorted: keys tell it
$session->query("begin; declare c cursor for $sorted");
my $rows = $session->query('fetch 10 from c');
kill 'TERM', sorter();
ok(until_true("bool_or(state <> 'serving') from gpusort_devices"), 'the device that has sorted is lost');
$rows .= "\n" . $session->query('fetch all from c');
is($session->error, '', 'the rows are read to their end');
$session->query("rollback; set gpusort.enabled = off; begin; declare c cursor for $sorted");
ok($rows eq $session->query('fetch all from c'), 'and are right');
$session->query('rollback; reset gpusort.enabled');
ok(all_serve(), 'the device is back');
nothing_left('lost while rows are read');

# --- calls and allocations of either device fail

my $shorter = 'select * from t where id <= 415000 order by k, id';
$right = digest($node, $shorter, 'set gpusort.enabled = off;');
my ($failures, $whole, $errors) = (10, 0, 0);

for (1 .. $failures)
{
	my $n = 1 + int rand 160;

	$watch->query("alter system set gpusort.debug_fail_at = $n");
	$watch->query('select pg_reload_conf()');
	until_true("bool_and(coalesce(detail like 'device call or allocation $n fails,%', false)) from gpusort_devices") or die 'gpusort.debug_fail_at is not followed';
	my $got = $session->query("select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($shorter) q");

	if ($got eq $right) { $whole++; }
	elsif ($session->error =~ $lost) { $errors++; }
	else { fail("call $n fails: neither the rows nor the error: $got " . $session->error); }
	$watch->query('alter system reset gpusort.debug_fail_at');
	$watch->query('select pg_reload_conf()');
	ok(all_serve(), "call $n fails: both devices serve afterwards");
	until_true('bool_and(detail is null) from gpusort_devices');
}
note "$whole times the rows, $errors times the error";
is($whole + $errors, $failures, 'a call fails: the rows, or the error');
cmp_ok($whole, '>', 0, 'the rows at times');
nothing_left('calls that fail');
same_rows('after all that', $sorted, 2, 0);
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|was terminated by signal/, 'no process crashed');
$session->close;
$watch->close;
$node->stop;
done_testing();
