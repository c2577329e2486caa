# Processes that feed a parallel sort: they start late, end early, raise errors, are terminated, get no row, or sort
# themselves; before the leader has chosen the keys' encodings, after it, and when it has ended.  Each time the rows are
# right, or there is a clean error, and nothing is left over.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('feeders', 'gpusort.min_rows = 1500', 'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', "work_mem = '64MB'");
wait_for_state($node, 'serving');
make_tables($node);
my $collation = $node->safe_psql('postgres', q{select case when exists (select from pg_collation where collname = 'en-x-icu') then '"en-x-icu"' else '"C"' end});
my $none = 2147483647;

# few: of four values, to which rows behind the first ones add others.  fed_row stops a process at its first row of those from an
# id on, which settings say for the leader and for workers, until a file is there; and lets workers fail.
$node->safe_psql('postgres', qq{
	create function fed_row(id int4) returns bool stable parallel safe language plpgsql as \$\$
	declare
		leads bool := pg_backend_pid() = current_setting('test.leader')::int4;
	begin
		if id >= current_setting('test.' || (case when leads then 'leader_stops' else 'workers_stop' end))::int4 then
			while pg_stat_file(current_setting('test.gate') || (case when leads then '_of_leader' else '_of_workers' end), true) is null loop
				perform pg_sleep(0.01);
			end loop;
		end if;
		if not leads and id >= current_setting('test.workers_break')::int4 then
			raise exception 'broken at %', id using errcode = 'P0001';
		end if;
		return true;
	end \$\$;
	create table fed as select i as id, (array['open', 'Paid', 'shipped', 'returned'])[1 + i % 4] || case when i > 10000 and i % 5 = 0 then ' ' || i % 300 else '' end as few,
		repeat('f', 50) as filler from generate_series(1, 40000) i;
	alter table fed set (parallel_workers = 2);
	create function hold_gpusort_lock(file cstring) returns bool language c as '$ENV{TESTDIR}/modules/hold_lock/hold_lock';});

my $query = "select id, few, filler from fed where fed_row(id) order by few collate $collation, id";
my $hash_of = "select count(*), md5(string_agg(q::text, ' '))";
my $right = $node->safe_psql('postgres', qq{set gpusort.enabled = off; $hash_of from (select id, few, filler from fed order by few collate $collation, id) q});
my $session = GpuSortTest::Session->new($node);
my $observer = GpuSortTest::Session->new($node);
my $of_session = "leader_pid = $session->{pid}";
my $gates = 0;
my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
END { kill 'CONT', $postmaster if defined $postmaster }

sub wait_for
{
	my ($what, $condition) = @_;

	for (1 .. 6000)
	{
		return 1 if $observer->query("select $condition") eq 't';
		sleep 0.01;
	}
	fail("$what: $condition");
	return 0;
}

# At the gate, the leader or both workers.
my $leader_waits = "wait_event = 'PgSleep' from pg_stat_activity where pid = $session->{pid}";
my $workers_wait = "count(*) = 2 from pg_stat_activity where $of_session and wait_event = 'PgSleep'";
my $is_published = 'open_jobs = 1 from gpusort_devices';
my $leader_has_ended = "wait_event = 'ExecuteGather' from pg_stat_activity where pid = $session->{pid}";
my $workers_have_ended = "count(*) = 0 from pg_stat_activity where $of_session";

sub open_gates
{
	my (@for) = @_;

	append_to_file($node->data_dir . "/gate_${gates}_of_$_", '') for @for;
	return;
}

sub prepare
{
	my (%stops) = @_;

	$gates++;
	$stops{$_} //= $none for qw(leader_stops workers_stop workers_break);
	$session->query(join '; ', "set test.leader = $session->{pid}", "set test.gate = 'gate_$gates'", (map { "set test.$_ = $stops{$_}" } sort keys %stops), 'drop table if exists got');
	return;
}

# Sends the query, after which $during happens.  Its plan.
sub run_query
{
	my ($what, $stops, $during) = @_;

	prepare(%$stops);
	$session->send("explain (analyze, verbose, timing off, costs off) create temp table got as $query");
	$during->();
	return $session->finish;
}

# Rows that the workers have packed, by the plan: those that their nodes have passed, but no more than all processes packed.
sub rows_of_workers
{
	my ($plan) = @_;
	my ($of_node) = $plan =~ /GpuSortFeed\)(.*?)->/s;
	my ($fed) = $plan =~ /Rows Fed: (\d+)/;
	my $rows = 0;

	$rows += $1 while ($of_node // '') =~ /Worker \d: +actual rows=(\d+)/g;
	return defined $fed && $fed < $rows ? $fed : $rows;
}

sub is_clean
{
	my ($what) = @_;

	ok(wait_for($what, 'open_jobs = 0 and free_buffer_bytes = buffer_bytes and reserved_bytes = 0 from gpusort_devices'), "$what: nothing is left over");
	return;
}

# The rows are right, and the workers have fed so many of them.
sub is_right
{
	my ($what, $plan, $least, $most) = @_;
	my $rows = rows_of_workers($plan);

	is($session->error, '', "$what: no error");
	like($plan, qr/GpuSort\).*Sort Method: (host|gpu).*Gather.*GpuSortFeed/s, "$what: the device sorts, and is fed");
	ok($rows >= $least && $rows <= $most, "$what: the workers feed $rows rows") or diag($plan);
	is($session->query("$hash_of from (select * from got order by ctid) q"), $right, "$what: the rows are right");
	is_clean($what);
	return;
}

# --- workers that start late: the postmaster, which starts them, is halted meanwhile
sub halt_postmaster { kill 'STOP', $postmaster; return; }
sub continue_postmaster { kill 'CONT', $postmaster; return; }

# an array of 2,000 rows is enough for a parallel plan, however many are worth the device
$session->query('set gpusort.min_rows = 39000');
halt_postmaster();
my $plan = run_query('start late', { leader_stops => 8000, workers_stop => 39900 }, sub {
	wait_for('start late', $leader_waits);
	wait_for('start late', $is_published);
	continue_postmaster();
	wait_for('start late', "count(*) > 0 from pg_stat_activity where $of_session and wait_event = 'PgSleep'");
	open_gates('workers');
	wait_for('start late', $workers_have_ended);
	open_gates('leader');
});
# all that the leader has not read before its gate, and on the page of it
is_right('workers start after publishing', $plan, 31800, 32100);
$session->query('reset gpusort.min_rows');
halt_postmaster();
$plan = run_query('start last', {}, sub {
	wait_for('start last', $leader_has_ended);
	continue_postmaster();
});
is_right('workers start when the leader has read all, and get no row', $plan, 0, 0);
$plan = run_query('held', { leader_stops => 1, workers_stop => 1 }, sub {
	wait_for('held', $workers_wait);
	open_gates('leader');
	wait_for('held', $leader_has_ended);
	open_gates('workers');
});
# each returns its first row, which it has read before it can know of the job
is_right('workers are held at their first rows until the leader has read all others', $plan, 100, 300);
$plan = run_query('leader held', { leader_stops => 1 }, sub {
	wait_for('leader held', $leader_waits);
	open_gates('leader');
});
is_right('the leader is held at its first row', $plan, 0, 40000);
# the array cannot be full before a worker has come
$session->query('set parallel_leader_participation = off');
halt_postmaster();
$plan = run_query('leader off', {}, sub {
	wait_for('leader off', $leader_has_ended);
	continue_postmaster();
});
is_right('workers alone, late', $plan, 30000, 38500);
$session->query('reset parallel_leader_participation');
nothing_left_over($node, 'late workers');

# --- errors in a worker, and its end, before the job is published and after
sub ends_with
{
	my ($what, $error, $stops, $during) = @_;

	run_query($what, $stops, $during);
	like($session->error, $error, "$what: a clean error");
	is_clean($what);
	is($observer->query("select $workers_have_ended"), 't', "$what: no worker is left");
	return;
}

sub terminate_a_worker
{
	is($observer->query("select pg_terminate_backend(pid) from pg_stat_activity where $of_session limit 1"), 't', 'a worker is terminated');
	return;
}

my $is_not_published = 'open_jobs = 0 from gpusort_devices';
my $broken = qr/ERROR:  P0001: broken at \d+/;
my $terminated = qr/57P01: terminating (background worker|connection)|parallel worker/;
ends_with('an error before publishing', $broken, { leader_stops => 1, workers_break => 1 }, sub { });
# the leader waits, or it might read all rows before a worker has come to these
ends_with('an error after publishing', $broken, { leader_stops => 20000, workers_break => 20000 }, sub { });
ends_with('an error when the leader has read all', $broken, { workers_stop => 1, workers_break => 1 }, sub {
	wait_for('error', $leader_has_ended);
	wait_for('error', $workers_wait);
	open_gates('workers');
});
ends_with('a worker ended before publishing', $terminated, { leader_stops => 1, workers_stop => 1 }, sub {
	wait_for('ended before', $workers_wait);
	wait_for('ended before', $is_not_published);
	terminate_a_worker();
});
ends_with('a worker ended after it has adopted the encodings', $terminated, { leader_stops => 20000, workers_stop => 20000 }, sub {
	wait_for('ended after', $workers_wait);
	wait_for('ended after', $leader_waits);
	wait_for('ended after', $is_published);
	terminate_a_worker();
});
# its last chunk goes when the lock, for which it cannot be ended, is released
my $holder = GpuSortTest::Session->new($node);
my $release = $node->data_dir . '/release_lock';
my $at_lock = "count(*) = 2 from pg_stat_activity where $of_session and wait_event_type = 'LWLock' and wait_event = 'gpusort'";
$plan = run_query('ended last', { leader_stops => 39000, workers_stop => 39000 }, sub {
	wait_for('ended last', $workers_wait);
	wait_for('ended last', $leader_waits);
	$holder->send("select hold_gpusort_lock('$release')");
	wait_for('ended last', "state = 'active' and wait_event is null from pg_stat_activity where pid = $holder->{pid}");
	open_gates('leader', 'workers');
	wait_for('ended last', $at_lock);
	terminate_a_worker();
	append_to_file($release, '');
});
is($holder->finish, 't', 'a worker ended at its last chunk: the lock was held until then');
if ($session->error eq '')
{
	is($session->query("$hash_of from (select * from got order by ctid) q"), $right, 'a worker ended at its last chunk: the rows are right');
}
else
{
	like($session->error, $terminated, 'a worker ended at its last chunk: a clean error');
}
is_clean('a worker ended at its last chunk');
is_right('the session goes on', run_query('after all', {}, sub { }), 0, 40000);
nothing_left_over($node, 'ended workers');

# --- run again with other rows each time, of which workers get to know by a parameter of the Gather: enough for a job, or not,
# or none
my @lows = (1, 30000, 39500, 40001, 9000, 1);
prepare();
for my $leader ('on', 'off')
{
	my $values = join ', ', map { "($lows[$_], $_)" } 0 .. $#lows;
	my $again = "select v.i, s.* from (values $values) v(low, i), lateral (select id, few, filler from fed where fed_row(id) and id >= (select v.low) order by few collate $collation, id offset 0) s";
	my $jobs = $observer->query('select jobs from gpusort_stats');

	$session->query("set parallel_leader_participation = $leader; drop table if exists got; set enable_material = off; set enable_memoize = off");
	$plan = $session->query("explain (analyze, timing off, costs off) create temp table got as $again");
	like($plan, qr/GpuSort\) \(actual rows=\S+ loops=6\).*Gather.*loops=6.*GpuSortFeed/s, "leader $leader: run again six times");
	is($session->query("set gpusort.enabled = off; $hash_of from (select * from got order by ctid) q"), $session->query("$hash_of from ($again) q"), "leader $leader: run again: the rows are right");
	cmp_ok($observer->query('select jobs from gpusort_stats') - $jobs, '>=', 4, "leader $leader: jobs of four of them");
	$session->query('reset gpusort.enabled; reset parallel_leader_participation');
	is_clean("run again, leader $leader");
}

# --- a query that ends before its sort has been read, or a cursor that is closed
my $early = "select id, few, row_number() over () from ($query offset 0) s limit 3";
like($session->query("explain (costs off) $early"), qr/Limit.*GpuSort\).*Gather.*GpuSortFeed/s, 'a LIMIT above a fed sort');
is($session->query($early), $session->query("set gpusort.enabled = off; $early"), 'a LIMIT: the rows are right');
is_clean('a LIMIT');
$session->query("reset gpusort.enabled; create function ids() returns setof int4 language sql stable as \$\$select id from fed where fed_row(id) order by few collate $collation, id\$\$");
my $first = $session->query("begin; declare c cursor for select ids(); fetch 3 from c; close c");
is($session->error, '', 'a cursor that is closed early: no error');
is_clean('a cursor that is closed early, in its transaction');
is($first, $session->query("rollback; set gpusort.enabled = off; select id from fed order by few collate $collation, id limit 3"), 'a cursor that is closed early: the rows are right');
$session->query('reset gpusort.enabled');

# --- feeders that sort too: two sessions, of which each has sorts that hold what the other one asks for
$node->append_conf('postgresql.conf', "gpusort.device_memory = '32MB'\n");
$node->reload;
$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('32MB') from gpusort_devices");
my $other = GpuSortTest::Session->new($node);
my $joined = "select a.id, b.few, a.filler from fed a join fed b on a.few = b.few and a.id = b.id order by b.few collate $collation, a.id";
my $by_sorts = 'set enable_hashjoin = off; set enable_nestloop = off';
my $right_join = $session->query("set gpusort.enabled = off; $hash_of from ($joined) q");
$session->query("reset gpusort.enabled; $by_sorts");
$other->query("$by_sorts; set parallel_leader_participation = off");
like($session->query("explain (costs off) $joined"), qr/GpuSort\).*Gather.*GpuSortFeed.*Merge Join.*GpuSort\)/s, 'feeders sort, and feed a sort');
$_->send("$hash_of from ($joined) q") for $session, $other;
is($_->finish, $right_join, 'feeders that sort: the rows are right') for $session, $other;
$_->close for $session, $other, $holder;
is_clean('feeders that sort');
$observer->close;
nothing_left_over($node, 'feeders that sort');

# --- a dictionary of four values, and a million rows that it does not know
$node->safe_psql('postgres', q{
	create table unknown as select i as id, case when i <= 5000 then (array['open', 'Paid', 'shipped', 'returned'])[1 + i % 4] else left((array['O', 'p', 'Shi', 're'])[1 + i % 4] || md5(i::text), 12) end as few
		from generate_series(1, 1005000) i;
	alter table unknown set (parallel_workers = 2)});
my $by_few = "order by few collate $collation, id";
like($node->safe_psql('postgres', "explain (analyze, timing off, costs off) select * from unknown $by_few"), qr/Sort Method: (host|gpu).*Dictionary Keys: 1.*Rows Fed: [1-9].*Gather/s, 'a million unknown values: by a dictionary, and fed')
  if $collation ne '"C"';
is($node->safe_psql('postgres', "select count(*), sum(id), count(*) filter (where not in_order) from (select id, row(few collate $collation, id) >= row(lag(few) over (), lag(id) over ()) as in_order from (select * from unknown $by_few offset 0) s) q"),
	'1005000|505013002500|0', 'a million unknown values: all rows, in order');
$node->stop;
done_testing();
