# Sorts below each kind of node, ended in the middle: by a cancel, while the device sorts, while
# sorted rows are read, and at any time of the query; by the service's end.  The rows are right or
# the error is a clean one, nothing is left over, and the next sort is the device's.  Sorts in many
# workers at once leave room for others' sorts.
#
#   SEED=N       which nodes are drawn
#   ROUNDS=all   below each of ten nodes, not six of them that are drawn
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

seed();

my $node = new_server('sites', "work_mem = '4MB'", 'max_worker_processes = 40', 'max_parallel_workers = 32',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	'enable_hashagg = off', 'enable_hashjoin = off', 'enable_nestloop = off', 'enable_material = off');
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', 'alter table big set (parallel_workers = 3)');

my $gpusort = qr/Custom Scan \(GpuSort\)/;
my $in_workers = 'max_parallel_workers_per_gather = 3';

# For each site a query of one row, its plan, and settings of its own.
my @sites = (
	[ 'WindowAgg', 'select sum(n * id) from (select id, row_number() over (partition by k % 10 order by k) as n, filler from big) s', qr/WindowAgg\n +->  $gpusort/ ],
	[ 'GroupAggregate', 'select sum(n), max(m) from (select k, count(*) as n, max(id) as m from big group by k) s', qr/GroupAggregate\n +Group Key: [^\n]*\n +->  $gpusort/ ],
	[ 'Group', 'select count(*) from (select k, filler from big group by k, filler) s', qr/Group\n +Group Key: [^\n]*\n +->  $gpusort/ ],
	[ 'Unique', 'select count(*) from (select distinct k, filler from big) s', qr/Unique\n +->  $gpusort/ ],
	[ 'SetOp', 'select count(*) from (select k from big intersect select id from big) s', qr/SetOp Intersect\n +->  $gpusort/ ],
	[ 'Append', 'select sum(n * k) from (select k, row_number() over () as n from (select * from ((select k from big order by k offset 1) union all (select id from big order by id desc offset 1)) u) v) s', qr/Append\n(?:.*\n)* +->  $gpusort/ ],
	[ 'a CTE', 'with c as materialized (select id, filler from big order by k) select sum(n * id) from (select id, row_number() over () as n from c) s', qr/CTE c\n +->  $gpusort/ ],
	# each key of the outer side comes many times: the inner side is marked and restored
	[ 'a merge join', 'select count(*), sum(b.id) from (select k % 500 as m from big where id <= 2000) a join (select k % 500 as m, id, filler from big where id <= 100000) b on a.m = b.m', qr/Merge Join\n.*\n +->  $gpusort\n(?:.*\n)* +->  $gpusort/ ],
	[ "each worker's own", 'select count(*), sum(b.id) from (select k % 1000 as m from big where id <= 2000) a join (select k % 1000 as m, id from big) b on a.m = b.m', qr/Gather\n(?:.*\n)* +->  Merge Join\n(?:.*\n)* +->  $gpusort/, $in_workers ],
	[ 'a correlated subplan', 'select sum((select sum(n * b.id) from (select id, rank() over (order by k) as n from big where id < 3000 * s.id) b)) from small s where s.id < 30', qr/SubPlan 1\n(?:.*\n)* +->  $gpusort/ ]);

# Waits until the session, or one of its workers, stands still in one of our waits.
sub wait_until_one_waits
{
	my ($session) = @_;

	return $node->poll_query_until('postgres', "select exists (select from pg_stat_activity where $session->{pid} in (pid, leader_pid) and wait_event_type = 'Extension' and state = 'active')");
}

my $lost = qr/ERROR:  58000: the sort device failed during a sort/;

sub session
{
	my ($settings) = @_;
	my $session = GpuSortTest::Session->new($node);

	$session->query("set $settings") if defined $settings;
	return $session;
}

for my $site (draw(6, @sites))
{
	my ($name, $query, $plan, $settings) = @$site;
	my $session = session($settings);
	my $jobs = $node->safe_psql('postgres', 'select jobs from gpusort_stats');
	my $begin = time;

	$session->query('set gpusort.enabled = off');
	my $right = $session->query($query);
	$session->query('reset gpusort.enabled');
	like($session->query("explain (costs off) $query"), $plan, "below $name: planned");
	$begin = time;
	is($session->query($query), $right, "below $name: the rows are right");
	my $whole = time - $begin;
	cmp_ok($node->safe_psql('postgres', 'select jobs from gpusort_stats'), '>', $jobs, "below $name: the device did it");

	# --- cancelled in the middle: while the device sorts
	my $service = stop_service($node);
	$session->send($query);
	ok(wait_until_one_waits($session), "below $name: it waits for the device");
	my $ended = $session->signal('INT');
	ok(service_stands_still($service), "below $name: nobody waits for the device");
	continue_service($service);
	like($session->error, qr/^ERROR:  57014: canceling statement due to user request/, "below $name: cancelled there, in " . milliseconds($ended));
	is($session->query($query), $right, "below $name: the session sorts again");
	nothing_left_over($node, "below $name: a cancel while the device sorts");

	# --- cancelled, from the beginning to the end
	my ($cancelled, $slowest, $wrong) = (0, 0, '');
	for my $i (1 .. 8)
	{
		my $timeout = int(1000 * $whole * $i / 9) + 1;
		my $begin = seconds();

		# a cancel that comes before the statement begins is dropped, but its timeout is not
		$session->query("begin; set local statement_timeout = $timeout; $query; commit");
		my $seconds = seconds() - $begin - $timeout / 1000;
		if ($session->error =~ /ERROR:  57014/)
		{
			$cancelled++;
			$slowest = $seconds if $seconds > $slowest;
		}
		elsif ($session->error ne '') { $wrong .= $session->error }
		# it was timed while the machine had other things to do
		else { $whole *= 0.5 }
	}
	is($wrong, '', "below $name: no other error than that of the cancel");
	cmp_ok($cancelled, '>', 0, "below $name: $cancelled of 8 cancelled, the slowest in " . milliseconds($slowest));
	is($session->query($query), $right, "below $name: the session sorts again");
	nothing_left_over($node, "below $name: cancels");

	# --- the service ended in the middle
	my ($rows, $errors) = (0, 0);
	for my $i (1 .. 3)
	{
		$session->send($query);
		sleep $whole * $i / 4;
		end_service($node);
		my $got = $session->finish;
		if ($session->error =~ $lost) { $errors++ }
		elsif ($session->error eq '' && $got eq $right) { $rows++ }
		else { $wrong .= "$got " . $session->error }
		wait_for_state($node, 'serving');
	}
	is($wrong, '', "below $name: the service ended three times: right rows $rows times, a clean error $errors times");
	is($session->query($query), $right, "below $name: the device sorts again for it");
	nothing_left_over($node, "below $name: the service ended");
	$session->close;
}

# --- cursors that stand in the middle of such sorts, when the session cancels or the service ends
my @cursors = map {
	my $site = $_;
	$site->[1] =~ /^select [^(]*\([^(]*\).* from \((select .*)\) s$/ ? [ $site->[0], $1 ] : ();
} grep { $_->[0] =~ /^(?:WindowAgg|Group|GroupAggregate|Unique|SetOp)$/ } @sites;
push @cursors, [ 'a CTE', 'with c as materialized (select id, filler from big order by k) select * from c' ],
	[ 'a merge join', 'select a.m, b.id from (select k % 500 as m from big where id <= 2000) a join (select k % 500 as m, id, filler from big where id <= 100000) b on a.m = b.m' ];
my %plans = map { $_->[0] => $_->[2] } @sites;
for my $cursor (@cursors)
{
	my ($name, $query) = @$cursor;
	my $session = session();

	like($session->query("explain (costs off) declare c cursor for $query"), $plans{$name}, "a cursor below $name: planned");
	$session->query("begin; declare c cursor for $query; fetch 3 from c");
	is($session->error, '', "a cursor below $name is open");

	# what has been sorted is read when it is cancelled: each row waits a little
	$session->send("rollback; select count(*) from (select pg_sleep(0.001), * from ($query) q offset 0) s");
	$node->poll_query_until('postgres', "select wait_event = 'PgSleep' from pg_stat_activity where pid = $session->{pid}");
	$session->signal('INT');
	like($session->error, qr/^ERROR:  57014: canceling/, "rows from below $name are read: cancelled");
	nothing_left_over($node, "a cancel while rows from below $name are read");
	$session->query("begin; declare c cursor for $query; fetch 3 from c");
	end_service($node);
	wait_for_state($node, 'serving');
	$session->query('move forward all in c');
	ok($session->error eq '' || $session->error =~ $lost, "a cursor below $name, the service ended: goes on, or a clean error");
	$session->query("rollback; begin; declare c cursor for $query; fetch 3 from c; rollback");
	is($session->error, '', "a cursor below $name: once more");
	$session->close;
}
nothing_left_over($node, 'cursors');

# --- a statement that ends early: what it has not read is given back
$node->safe_psql('postgres', 'select * from (select row_number() over (partition by k % 10 order by k) as n, filler from big) s limit 3');
$node->psql('postgres', 'select 1 / (n - 100) from (select row_number() over (partition by k % 10 order by k) as n from big) s');
$node->psql('postgres', "set $in_workers; select sum(1 / (b.id - 5000)) from (select k % 1000 as m from big where id <= 2000) a join (select k % 1000 as m, id from big) b on a.m = b.m");
nothing_left_over($node, 'queries that end early');

# --- the service ended while the session and its workers have sorts of their own of what they took from one scan: none
# of them can take it again
my ($many) = map { $_->[1] } grep { $_->[0] eq "each worker's own" } @sites;
my $sharing = session($in_workers);
my $right_of_many = $sharing->query("set gpusort.enabled = off; $many; reset gpusort.enabled");

# each process stands at one of its first rows until all of them have some: who comes late would find none left
make_gate($node);
my $gated = $many =~ s/from big where /from big where (id % 100 <> 0 or gate()) and /r =~ s/from big\) b/from big where id % 100 <> 0 or gate()) b/r;
like($sharing->query("explain (costs off) $gated"), qr/Gather\n(?:.*\n)* +->  Merge Join\n(?:.*\n)* +->  $gpusort/, 'a shared scan: planned');
$sharing->send($gated);
$node->poll_query_until('postgres', "select count(*) = 4 from pg_stat_activity where $sharing->{pid} in (pid, leader_pid) and wait_event = 'PgSleep'") or fail('not all came to their gate');
my $halted = stop_service($node);
append_to_file($node->data_dir . '/gate', '');
ok($node->poll_query_until('postgres', "select count(*) = 4 from pg_stat_activity where $sharing->{pid} in (pid, leader_pid) and wait_event_type = 'Extension'"),
	'a shared scan: the session and its workers wait for the device');
kill 'TERM', $halted;
continue_service($halted);
my $got_of_many = $sharing->finish;
# natively, unless the service was halted within a turn that had taken a job's first rows
ok($sharing->error eq '' ? $got_of_many eq $right_of_many : $sharing->error =~ $lost, 'a shared scan: the right rows, or a clean error') or diag($sharing->error);
wait_for_state($node, 'serving');
is($sharing->query($many), $right_of_many, 'a shared scan: right the next time');
$sharing->close;
nothing_left_over($node, 'a shared scan');

# --- many workers, each with sorts of its own, beside short sorts of others
my $short = 'select count(*) from (select * from small order by k) s';
my @crowd = map { session($in_workers) } 1 .. 5;
my $other = session();
my $alone = time;
$other->query($short) for 1 .. 5;
$alone = (time - $alone) / 5;
$_->send($many) for @crowd;
my ($worst, $done, $wrong) = (0, 0, '');
for (1 .. 20)
{
	my $begin = time;
	$wrong .= $other->error if $other->query($short) ne '10000';
	$worst = time - $begin if time - $begin > $worst;
	$done++;
}
my @got = map { $_->finish } @crowd;
is($wrong, '', "beside 5 sessions whose workers sort, $done short sorts");
is(join("\n", @got, map { $_->error } @crowd), join("\n", ($right_of_many) x 5, ('') x 5), 'the crowd has its rows');
note 'the slowest of the short sorts: ' . milliseconds($worst) . ', alone ' . milliseconds($alone);
$_->close for @crowd, $other;
nothing_left_over($node, 'workers that sort');

is($node->safe_psql('postgres', "select count(*) from pg_stat_activity where backend_type = 'parallel worker'"), '0', 'no worker is left');
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|leak|terminated by signal/, 'no word of trouble in the log');

done_testing();
