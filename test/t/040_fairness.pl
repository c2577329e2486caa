# The distribution of device memory when it is short: small sorts beside one of large rows, sorts
# beside idle cursors, sorts whose number of rows was estimated wrongly, and sorts in
# parallel workers, which must not wait for their own leader.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('fairness', "gpusort.device_memory = '64MB'", "gpusort.buffer_memory = '256MB'",
	"gpusort.wait_timeout = '20s'", "gpusort.max_wait_timeout = '10min'", "work_mem = '64MB'");
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', q{
	create table twenty as select (i * 7919) % 20011 as k, i as id from generate_series(1, 20000) i;
	create table wide as select (i::int8 * 7919) % 300007 as k, i as id, repeat('w', 104) as filler from generate_series(1, 280000) i;
	create table wider as select (i * 7919) % 20011 as k, i as id, repeat('w', 480) as filler from generate_series(1, 18000) i;
	analyze twenty, wide, wider});

sub counter { return $node->safe_psql('postgres', "select $_[0] from gpusort_stats"); }

sub set_memory
{
	my ($memory) = @_;

	$node->append_conf('postgresql.conf', "gpusort.device_memory = '$memory'\n");
	$node->reload;
	$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('$memory') from gpusort_devices");
}

# In MB.
sub free_memory
{
	return $node->safe_psql('postgres', 'select (budget_bytes - reserved_bytes) / 1048576.0 from gpusort_devices');
}

# A session with an idle cursor over as many rows of a table as the device holds in one run, less
# than so many: what may be read backward stays on the device.
sub hold_memory
{
	my ($table, $rows) = @_;
	my $holder = GpuSortTest::Session->new($node);

	for (; $rows > 0; $rows -= 4000)
	{
		my $beyond = counter('runs_spilled + native_device_memory');

		$holder->query('rollback');
		nobody_sorts($node);
		$holder->query("begin; set local gpusort.wait_timeout = 0; declare c scroll cursor for select * from $table where id <= $rows order by k; fetch 1 from c");
		last if counter('runs_spilled + native_device_memory') == $beyond;
	}
	note sprintf('a cursor over %d rows of %s leaves %.1f MB', $rows, $table, free_memory());
	return $holder;
}

# More cursors of the holder, over few rows each, until less than so many MB are left.  Returns how many it has then.
sub hold_more
{
	my ($holder, $left) = @_;
	my $n = 1;

	while (free_memory() >= $left && $n < 20)
	{
		$n++;
		$holder->query("declare c$n scroll cursor for select * from twenty order by k, id; fetch 1 from c$n");
	}
	note sprintf('%d cursors leave %.1f MB', $n, free_memory());
	return $n;
}

# --- small sorts of many sessions beside one whose rows are too large for what is free: these are runs of one row
my $holder = hold_memory('wide', 280000);
hold_more($holder, 17);
cmp_ok(free_memory(), '<', 17, 'idle cursors hold most of the memory');
append_to_file($node->basedir . '/small.sql', "select count(*) from (select * from twenty order by k, id offset 0) s;\n");
my $clients = 20;
my $each = 5;
my $rounds = 0;

# Latencies of the sorts of 20 sessions, in milliseconds.  They are patient: they wait for
# each other, and on a machine that has other things to do for longer than a native sort is estimated to take.
sub small_sorts
{
	my $prefix = $node->basedir . '/latency.' . ++$rounds;

	local $ENV{PGOPTIONS} = '-c work_mem=64kB -c seq_page_cost=1000000 -c gpusort.wait_timeout=10min';
	IPC::Run::run([ 'pgbench', '-n', '-c', $clients, '-j', 2, '-t', $each, '-l', "--log-prefix=$prefix", '-f', $node->basedir . '/small.sql',
			'-h', $node->host, '-p', $node->port, '-U', 'postgres', 'postgres' ], '>', \my $out, '2>', \my $err);
	unlike($err, qr/error|ERROR|aborted/, "round $rounds: no error");
	return map { (split ' ')[2] / 1000 } map { split /\n/, slurp_file($_) } glob "$prefix.*";
}

sub median { return (sort { $a <=> $b } @_)[ @_ / 2 ]; }

# No sort waits for longer than twice what the native sort is estimated to take.  With these settings its
# pages are estimated to take minutes.
my $patient = "set work_mem = '64kB'; set seq_page_cost = 1e6";
$node->safe_psql('postgres', "create function few(n int4) returns setof int4 rows 100000 language sql as 'select generate_series(1, n)'");
my $large_rows = "select length(long) from (select repeat('x', 17500000) as long, i from few(20) i order by -i) s";

my ($jobs, $native) = split /\|/, $node->safe_psql('postgres', 'select jobs, native_device_memory from gpusort_stats');
my @alone = small_sorts();
my $large = GpuSortTest::Session->new($node);
$large->query("set gpusort.wait_timeout = '5min'; $patient");
$large->send($large_rows);
my @beside = small_sorts();
is($large->finish, join("\n", (17500000) x 20), 'the sort of large rows');
$large->close;
is(scalar @beside, $clients * $each, 'all sorts are in the log');
is(counter('native_device_memory'), $native, 'no sort is native');
is(counter('jobs') - $jobs, 2 * $clients * $each + 1, 'the device did them all');
note sprintf('SUMMARY %d sessions, sorts of 20000 rows: median %.1f ms alone, %.1f ms beside a sort of large rows',
	$clients, median(@alone), median(@beside));
$holder->query('rollback');
$holder->close;
nothing_left_over($node, 'small sorts beside one of large rows');

# --- the least budget: one idle cursor must not keep all others off the device
set_memory('32MB');
for my $case ([ 'twenty', 20000 ], [ 'wide', 80000 ])
{
	my ($table, $rows) = @$case;

	$holder = hold_memory($table, $rows);
	my $before = $node->safe_psql('postgres', 'select waited, native_device_memory, runs_spilled from gpusort_stats');
	my $session = GpuSortTest::Session->new($node);
	for (1 .. 5)
	{
		like($session->query('explain (analyze, timing off, costs off) select * from twenty order by k, id'),
			qr/Sort Method: (host|gpu)\s*$/m, "32 MB, an idle cursor over $table: a small sort is on the device");
		# its memory comes back a moment after its end
		$node->poll_query_until('postgres', 'select open_jobs = 1 from gpusort_devices');
	}
	is($node->safe_psql('postgres', 'select waited, native_device_memory, runs_spilled from gpusort_stats'), $before, "32 MB, an idle cursor over $table: and does not wait");
	$session->close;
	$holder->close;
	nothing_left_over($node, "32 MB, an idle cursor over $table");
}

# --- the first reservation goes by the planner's estimate, and stands any error of it
$node->safe_psql('postgres', join('; ', map { "create function estimate_$_(out k int4, out id int4) returns setof record rows $_ volatile language sql as 'select k, id from twenty'" }
	(1, 20, 20000, 20000000)));
my ($free, $held);
for (my $rows = 18000; $rows > 0; $rows -= 1000)
{
	$holder = hold_memory('wider', $rows);
	$held = hold_more($holder, 21);
	last if ($free = free_memory()) >= 12.5;
	$holder->close;
	nothing_left_over($node, "a cursor over $rows rows");
}
cmp_ok($free, '>=', 12.5, 'there is memory for one small sort');
cmp_ok($free, '<', 21, 'and not for two');
for my $estimate (1, 20, 20000, 20000000)
{
	my $query = "select k, id from estimate_$estimate() order by k, id";
	my $before = counter('runs_spilled');
	my $session = GpuSortTest::Session->new($node);

	# the rows come in several chunks
	like($session->query("set gpusort.min_rows = 0; explain $query"), qr/GpuSort.*rows=$estimate /, "$estimate rows of 20000 estimated: planned");
	my $plan = $session->query("prepare p as $query; set plan_cache_mode = force_generic_plan; explain execute p; set gpusort.min_rows = 10000; explain (analyze, timing off, costs off) execute p");
	like($plan, qr/Sort Method: (host|gpu)\s*$/m, "$estimate rows of 20000 estimated: on the device, not spilled");
	is(counter('runs_spilled'), $before, "$estimate rows of 20000 estimated: no run in a file");
	is($session->query("select count(*), bool_and(right_order) from (select (k, id) > lag((k, id)) over () is not false as right_order from ($query offset 0) q) s"),
		'20000|t', "$estimate rows of 20000 estimated: in order");
	$session->close;
	$node->poll_query_until('postgres', "select open_jobs = $held from gpusort_devices");
}
$holder->close;
nothing_left_over($node, 'estimates');

# --- how long a sort waits
# Cursors of one session that hold all memory.
sub hold_all
{
	my ($holder) = @_;

	$holder->query('begin; set local gpusort.wait_timeout = 0');
	for my $n (1 .. 20)
	{
		my $native = counter('native_device_memory');

		$holder->query("declare h$n scroll cursor for select k from big where id <= 5000 order by k; fetch 1 from h$n");
		last if counter('native_device_memory') > $native;
	}
}

$node->safe_psql('postgres', 'create role bob login; grant select on twenty to bob');
$node->append_conf('postgresql.conf', "gpusort.max_wait_timeout = '400ms'\n");
$node->reload;
$holder = GpuSortTest::Session->new($node);
hold_all($holder);
my $sort = "explain (analyze, timing off, costs off) select * from twenty order by k, id";
# a session that waits for longer than all others
my $longest = GpuSortTest::Session->new($node);
my $waited = counter('waited');
$longest->query("set gpusort.max_wait_timeout = '1h'; set gpusort.wait_timeout = '1h'; $patient; set seq_page_cost = 1e8");
$longest->send($sort);
$node->poll_query_until('postgres', "select waited > $waited from gpusort_stats") or fail('a session did not come to wait');

sub still_waits
{
	my ($who) = @_;

	return $node->safe_psql('postgres', "select state = 'active' from pg_stat_activity where pid = $who->{pid}") eq 't';
}

for my $case ([ '10min', 0.4 ], [ '100ms', 0.1 ], [ '0', 0 ])
{
	my ($timeout, $least) = @$case;
	my $waited = counter('waited');
	my $start = seconds();
	my ($code, $out, $err) = $node->psql('postgres', "set gpusort.wait_timeout = '$timeout'; $patient; $sort", extra_params => [ '-U', 'bob' ]);
	my $took = seconds() - $start;

	like($out, qr/native \(gpusort.device_memory is in use\)/, "wait_timeout $timeout: native in the end");
	cmp_ok($took, '>=', $least, "wait_timeout $timeout: after its time");
	ok(still_waits($longest), "wait_timeout $timeout: gpusort.max_wait_timeout bounds it");
	is(counter('waited') - $waited, $timeout eq '0' ? 0 : 1, "wait_timeout $timeout: counted");
}
my ($code, $out, $err) = $node->psql('postgres', "set gpusort.max_wait_timeout = '10min'", extra_params => [ '-U', 'bob' ]);
like($err, qr/permission denied to set parameter/, 'only a superuser raises it');
$node->append_conf('postgresql.conf', "gpusort.max_wait_timeout = '10min'\n");
$node->reload;

# a sort that takes some milliseconds natively waits for some tens of them
my $start = seconds();
like($node->safe_psql('postgres', "set gpusort.max_wait_timeout = '1h'; set gpusort.wait_timeout = '1h'; $sort"), qr/native \(gpusort.device_memory is in use\)/, 'a sort that is quick natively');
ok(still_waits($longest), 'does not wait for as long as one that is not');
note 'it took ' . milliseconds(seconds() - $start);

# --- a parallel worker does not wait for what its own leader holds
$node->safe_psql('postgres', q{
	create table calls as select i from generate_series(1, 24) i;
	alter table calls set (parallel_workers = 2);
	-- 1 for each call in a process that is not the leader
	create function sorts_in_worker(i int4, leader int4) returns int4 volatile parallel safe language plpgsql
		set max_parallel_workers_per_gather = 0 as $$
		begin
			perform k from twenty order by k + i, id;
			return (pg_backend_pid() <> leader)::int4;
		end $$;
	analyze calls});
$holder->query("set local max_parallel_workers_per_gather = 2; set local parallel_setup_cost = 0; set local parallel_tuple_cost = 0;
	set local min_parallel_table_scan_size = 0; set local parallel_leader_participation = off; set local gpusort.wait_timeout = '20s'");
my $before = $node->safe_psql('postgres', 'select waited, jobs from gpusort_stats');
$native = counter('native_device_memory');
is($holder->query("select sum(sorts_in_worker(i, $holder->{pid})) from calls"), '24', '24 sorts in parallel workers');
is($node->safe_psql('postgres', 'select waited, jobs from gpusort_stats'), $before, 'none waited for memory that its leader holds');
is(counter('native_device_memory') - $native, 24, 'all were native at once');

# --- nor does a leader wait for long for what its own workers may hold until it has read their rows, also where they do not
# feed its sort
$node->safe_psql('postgres', q{
	create function restricted(i int4) returns int4 stable parallel restricted language plpgsql as 'begin return i; end';
	alter table twenty set (parallel_workers = 2)});
my $leader = GpuSortTest::Session->new($node);
$leader->query("$patient; set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
	set min_parallel_table_scan_size = 0; set enable_hashjoin = off; set enable_nestloop = off; set parallel_leader_participation = off; set gpusort.wait_timeout = '1h'; set gpusort.max_wait_timeout = '1h'");
my $plan = $leader->query('explain (analyze, timing off, costs off) select a.id, restricted(a.k) as k from twenty a join twenty b on a.id = b.id order by 2, 1');
like($plan, qr/GpuSort\) [^\n]*\n[^G]*Sort Method: native \(gpusort.device_memory is in use\)(?:(?!Feed).)*Gather(?:(?!Feed).)*Merge Join.*GpuSort\)/s, 'a sort of rows of workers that sort');
ok(still_waits($longest), 'its leader does not wait for as long as it may for memory that the workers may hold');
$longest->signal('INT');
$longest->close;
$leader->close;
$holder->close;
nothing_left_over($node, 'workers');
is(counter('failed'), '0', 'no job failed');
$node->stop;

done_testing();
