# Parallel plans: what happens between a leader, its workers and the service, and what
# the workers' ways of reading leave in the statistics.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('parallel', "shared_preload_libraries = 'gpusort, $ENV{TESTDIR}/modules/scan_calls/scan_calls'", 'max_worker_processes = 48', 'max_parallel_workers = 40',
	'max_parallel_workers_per_gather = 4', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', "gpusort.device_memory = '1GB'", "work_mem = '64MB'");
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', q{
	alter table big set (parallel_workers = 3);
	alter table small set (parallel_workers = 2);
	create table mixed(id int4, k int4, filler text);
	alter table mixed set (parallel_workers = 4);
	create table uuids as select md5(i::text)::uuid as u, nullif(i % 9, 4) * interval '1 h' as i, ('n' || i % 1000)::name as n, '08:00:2b:01:02:03'::macaddr as m, i as id
		from generate_series(1, 100000) i;
	alter table uuids set (parallel_workers = 4);
	insert into mixed select i, i * 7919 % 1009, repeat('m', 200) from generate_series(1, 2000) i;
	-- rows of several MB: computed, since a stored value would travel as a pointer to it
	create function wide(i int4) returns text immutable parallel safe language sql as
		$$ select repeat(chr(97 + i % 26), case when i % 80 = 0 then 2500000 + i * 8 when i % 7 = 0 then 30000 + i else i % 300 end) $$;
	create function held(k int8, at int8) returns int8 volatile parallel safe language plpgsql as
		$$ begin if k = at then perform pg_advisory_lock_shared(6); perform pg_advisory_unlock_shared(6); end if; return k; end $$;
	create function breaks(i int4, at int4) returns int4 volatile parallel safe language plpgsql as
		$$ begin if i = at then raise exception 'broken at %', i using errcode = 'P0001'; end if; return i; end $$;
	analyze});

# EXPLAIN ANALYZE's text for a query.
sub shape
{
	my ($query, $settings) = @_;

	return $node->safe_psql('postgres', ($settings // '') . "explain (analyze, timing off, costs off) $query");
}

sub counter { return $node->safe_psql('postgres', "select $_[0] from gpusort_stats"); }

my $feeds = qr/GpuSort\).*Gather.*Workers Launched: [1-9].*GpuSortFeed/s;

# Sorted by workers and natively: the same rows in the same order.
sub same_rows
{
	my ($query, $what) = @_;

	is(digest($node, $query), digest($node, $query, 'set gpusort.enabled = off;'), "$what: the rows are right");
}

# --- the limit of device memory is met in mid-feed
my $long = 'select id, k, wide(id) as doc from mixed order by k, id';
my @inputs = (
	[ 'select * from big order by k, id', 'short rows' ],
	[ 'select k, id, k + 1 as later from big order by k desc, id', 'narrow rows' ],
	[ 'select * from uuids order by u, id', 'narrow rows with values by reference' ],
	[ 'select n, u from uuids order by n desc, u', 'some of their columns' ],
	[ $long, 'rows of several MB' ]);
for my $input (@inputs)
{
	my ($query, $what) = @$input;

	like(shape($query), qr/Sort Method: (host|gpu).*Gather.*GpuSortFeed/s, "$what: fit 1 GB");
	same_rows($query, $what);
}
my $limit = '32MB';
$node->append_conf('postgresql.conf', "gpusort.device_memory = '$limit'\n");
$node->reload;
$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('$limit') from gpusort_devices");
for my $input (@inputs)
{
	my ($query, $what) = @$input;
	my $right = digest($node, $query, 'set gpusort.enabled = off;');

	for my $leader ('on', 'off')
	{
		my $setting = "set parallel_leader_participation = $leader;";
		my $before = counter('runs_spilled');
		my $plan = shape($query, $setting);

		like($plan, qr/Sort Method: \w+ external merge.*Workers Launched: [1-9].*GpuSortFeed/s,
			"$what, $limit, leader $leader: spilled");
		is(digest($node, $query, $setting), $right, "$what, $limit, leader $leader: the rows are right");
		cmp_ok(counter('runs_spilled') - $before, '>=', 4, "$what, $limit, leader $leader: counted");
	}
}
$node->append_conf('postgresql.conf', "gpusort.device_memory = '1GB'\n");
$node->reload;
$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('1GB') from gpusort_devices");
nothing_left_over($node, 'device memory');

# --- rows that workers have fed are on the device, however few they are
my $small = 'select k, id, repeat(chr(97 + id % 26), id % 50) as f from small order by k, id';
my $session = GpuSortTest::Session->new($node);
for my $rows (0, 1, 300)
{
	$session->query("set plan_cache_mode = force_generic_plan; prepare few$rows as $small; execute few$rows; begin; delete from small where id > $rows");
	like($session->query("explain (analyze, timing off, costs off) execute few$rows"),
		qr/Sort Method: (host|gpu).*Workers Launched: 2.*GpuSortFeed/s, "$rows rows: on the device");
	$session->query("create temp table got as execute few$rows");
	is($session->query("select count(*), md5(string_agg(hash_record_extended(q, 0)::text, ' ' order by ctid)) from got q"),
		$session->query("set gpusort.enabled = off; select count(*), md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($small) q"), "$rows rows: the rows are right");
	$session->query('rollback; reset gpusort.enabled');
}
$session->close;

# --- whole pages are read, and counted as if they had been read row by row
# How many of the query's rows its scan did not return to a caller, and the plan.
sub by_the_page
{
	my ($query, $settings, $rows) = @_;
	my ($code, $out, $err) = $node->psql('postgres', "set client_min_messages = debug1; $settings explain (analyze, timing off, costs off) $query");

	$rows -= $1 while $err =~ /scans returned (\d+) rows/g;
	return ($rows, $out);
}

$node->safe_psql('postgres', q{
	create table read(a int2, id int4 not null, k int8, note text);
	alter table read set (parallel_workers = 2);
	insert into read select i % 5, i, nullif(i * 7919::int8 % 50021, 77), case when i % 10 <> 0 then 'n' || i end from generate_series(1, 60000) i;
	delete from read where id % 1000 = 0;
	update read set k = -id where id % 500 = 1;
	alter table read add later int4;
	insert into read select 1, i, i, 'late', i from generate_series(60001, 61000) i;
	create table fixed(id int4 not null, k int8 not null, b bool, f float4, d timestamptz, u uuid);
	alter table fixed set (parallel_workers = 2);
	insert into fixed select i, i * 7919::int8 % 50021, i % 2 = 0, case when i % 9 <> 0 then i / 7.0 end, now() - i * interval '1 minute', md5(i::text)::uuid from generate_series(1, 60000) i;
	analyze read;
	analyze fixed});
for my $input ([ 'read', '*' ], [ 'read', 'k, id' ], [ 'fixed', '*' ], [ 'fixed', 'd, b, k, u, id' ])
{
	my ($table, $columns) = @$input;
	my $all = $node->safe_psql('postgres', "select count(*) from $table");
	my $query = "select $columns from $table order by id";

	for my $workers (0, 2)
	{
		my $settings = "set max_parallel_workers_per_gather = $workers;";
		my $what = "$columns of $table, $workers workers";
		# what others have read is counted when they end
		$node->poll_query_until('postgres', "select count(*) = 0 from pg_stat_activity where backend_type in ('client backend', 'parallel worker') and pid <> pg_backend_pid()");
		my $seen = $node->safe_psql('postgres', "select seq_tup_read from pg_stat_user_tables where relname = '$table'");
		my ($rows, $plan) = by_the_page($query, $settings, $all);

		cmp_ok($rows, '>', $all * 0.4, "$what: rows are taken by the page");
		cmp_ok($rows, '<', $all, "$what: the first row of each page is not");
		my ($average, $loops) = $plan =~ /Seq Scan on $table \(actual rows=(\S+) loops=(\d+)\)/;
		cmp_ok(abs($average * $loops - $all), '<', $loops, "$what: EXPLAIN's row count");
		ok($node->poll_query_until('postgres', "select seq_tup_read = $seen + $all from pg_stat_user_tables where relname = '$table'"),
			"$what: seq_tup_read");
		is(digest($node, $query, $settings), digest($node, $query, 'set gpusort.enabled = off;'), "$what: the rows are right");
	}
}
for my $query ('select * from read where a = 1 order by id', 'select ctid, * from read order by id', 'select *, ctid::text from read order by id',
	'select id, k + 1 as next from read order by id', 'select * from read tablesample bernoulli (50) repeatable (1) order by id', 'select * from fixed order by id % 100')
{
	for my $workers (0, 2)
	{
		my $all = $node->safe_psql('postgres', "select count(*) from ($query) q");
		my ($rows, $plan) = by_the_page($query, "set max_parallel_workers_per_gather = $workers;", $all);

		like($plan, qr/GpuSort/, "$query: sorted by GpuSort");
		is($rows, 0, "$query, $workers workers: read row by row");
	}
}

# keys behind columns of variable width, a column that older rows have not got, and columns that the drain computes
for my $query ('select * from read order by note, id', 'select * from read order by later, id', 'select *, 1 as one from read order by id',
	'select * from read order by later + 1, id', 'select *, k % 7, note is null from read order by lower(note), id')
{
	for my $workers (0, 2)
	{
		my $settings = "set max_parallel_workers_per_gather = $workers;";
		my ($rows) = by_the_page($query, $settings, $node->safe_psql('postgres', "select count(*) from ($query) q"));

		cmp_ok($rows, '>', 500, "$query, $workers workers: rows are taken by the page");
		is(digest($node, $query, $settings), digest($node, $query, 'set gpusort.enabled = off;'), "$query, $workers workers: the rows are right");
	}
}

# --- ten sessions at once, with workers of their own
my @sessions = map { GpuSortTest::Session->new($node) } 0 .. 9;
my @queries = map { "select * from big where id % 10 <= $_ order by k % " . (10 + $_) . ', id' } 0 .. 9;
my @right = map { digest($node, $_, 'set gpusort.enabled = off;') } @queries;
like(shape($queries[9]), $feeds, 'ten sessions: workers feed');
my $jobs = counter('jobs');
$sessions[$_]->send(digest_query($queries[$_])) for 0 .. 9;
my @got = map { $_->finish } @sessions;
is_deeply(\@got, \@right, 'ten sessions at once: all right');
is(counter('jobs') - $jobs, 10, 'all of them on the device');
$_->close for @sessions;
nothing_left_over($node, 'ten sessions');

# --- an error in a worker while other pieces are under way
my $service;
$session = GpuSortTest::Session->new($node);
for my $leader ('on', 'off')
{
	$session->query("set parallel_leader_participation = $leader");
	for my $at (1, 150000, 299999)
	{
		$session->query("select count(*) from (select k, breaks(id, $at) as id, filler from big order by 1, 2) s");
		like($session->error, qr/ERROR:  P0001: broken at $at\b/, "leader $leader: an error at row $at");
		like($session->error, qr/CONTEXT:.*parallel worker/s, "raised in a worker") if $leader eq 'off';
	}
}
is($session->query(digest_query($queries[3])), $right[3], 'the session goes on');
nothing_left_over($node, 'errors in workers');

# --- leader and workers are ended while all pieces are at the service, and none comes back
# (filler makes them more than the job's pieces hold).  Each process stands at one of its first rows until the service
# is halted: the job, which opens with the first row of all, is open by then
$node->safe_psql('postgres', q{
	create function gate(name text) returns bool volatile parallel safe language plpgsql as $$
		begin
			while pg_stat_file(name, true) is null loop
				perform pg_sleep(0.01);
			end loop;
			return true;
		end $$});
my $gates = 0;

# Sends the statement, with three workers; returns the service, which is halted.
sub send_and_halt
{
	my ($to) = @_;
	my $gate = 'gate_' . $gates++;

	$to->query('set parallel_leader_participation = on');
	$to->send("select count(filler) from (select * from big where id % 100 <> 0 or gate('$gate') order by k) s");
	$node->poll_query_until('postgres', "select count(*) = 4 from pg_stat_activity where $to->{pid} in (pid, leader_pid) and wait_event = 'PgSleep'") or fail('its workers did not come to their gate');
	$node->poll_query_until('postgres', 'select open_jobs > 0 from gpusort_devices') or fail('no job is open');
	my $halted = stop_service($node);
	append_to_file($node->data_dir . "/$gate", '');
	return $halted;
}

sub workers_of
{
	my ($pid, $least) = @_;

	$node->poll_query_until('postgres', "select count(*) >= $least from pg_stat_activity where leader_pid = $pid and wait_event_type = 'Extension'")
	  or return ();
	# without ORDER BY, since the service may stand still
	return split /\n/, $node->safe_psql('postgres', "select pid from pg_stat_activity where leader_pid = $pid");
}
my %ends = (
	'the leader cancelled' => [ 'INT', 0, qr/57014: canceling statement due to user request/ ],
	'the leader terminated' => [ 'TERM', 0, qr/57P01: terminating connection/ ],
	'a worker cancelled' => [ 'INT', 1, qr/57014: canceling statement due to user request/ ],
	'a worker terminated' => [ 'TERM', 1, qr/57P01: terminating (background worker|connection)|parallel worker/ ]);
for my $what (sort keys %ends)
{
	my ($signal, $of_worker, $error) = @{ $ends{$what} };
	my $ending = GpuSortTest::Session->new($node);

	$service = send_and_halt($ending);
	my @workers = workers_of($ending->{pid}, 3);
	is(scalar @workers, 3, "$what: all workers wait for a piece");
	ok($ending->wait_until_waiting, "$what: and the leader");
	kill $signal, $of_worker ? $workers[1] : $ending->{pid};
	$ending->finish;
	continue_service($service);
	like($ending->error, $error, "$what: the error");
	# a leader that is terminated says so before it ends its workers
	ok($node->poll_query_until('postgres', "select count(*) = 0 from pg_stat_activity where leader_pid = $ending->{pid}"), "$what: no worker is left");
	$ending->close;
	nothing_left_over($node, $what);
	is(digest($node, $queries[3]), $right[3], "$what: the rows are right");
}

# --- the service is ended while workers feed
$service = send_and_halt($session);
workers_of($session->{pid}, 3);
kill 'TERM', $service;
continue_service($service);
my $rows = $session->finish;
ok($rows eq '300000' || $session->error =~ /ERROR:  58000: the sort device failed during a sort/, 'the service ended under workers: the rows, or a clean error');
ok($node->poll_query_until('postgres', "select service_pid <> $service and state = 'serving' from gpusort_devices"), 'it is back');
nothing_left_over($node, 'the service ended under workers');

# --- the device is to be given up between the opening of a job and its first rows: it has promised to sort them
for my $workers (0, 3)
{
	my $plan = "explain (analyze, timing off, costs off) select held(id, 1900) as k, id from small where id <= 2000 order by 1, id";

	$session->query("set max_parallel_workers_per_gather = $workers");
	$session->query("set gpusort.min_rows = 0");
	my $gate = GpuSortTest::Session->new($node);
	$gate->query('select pg_advisory_lock(6)');
	$session->send($plan);
	$node->poll_query_until('postgres', q{select count(*) > 0 from pg_locks where locktype = 'advisory' and not granted}) or die 'no feeder has come to its gate';
	$node->poll_query_until('postgres', 'select open_jobs > 0 from gpusort_devices') or die 'no job is open';
	$node->append_conf('postgresql.conf', "gpusort.device = 'off'\n");
	$node->reload;
	$gate->query('select pg_advisory_unlock(6)');
	$gate->close;
	like($session->finish, qr/Sort Method: (host|gpu)/, "$workers workers: the device is to be given up before the first chunk: it sorts");
	is($session->error, '', 'without an error');
	wait_for_state($node, 'off');
	$node->append_conf('postgresql.conf', "gpusort.device = '$GpuSortTest::device'\n");
	$node->reload;
	wait_for_state($node, 'serving');
}
$session->close;
nothing_left_over($node, 'a device given up');

# --- sorts that workers do by themselves: EXPLAIN ANALYZE shows the leader's figures, if it has any
my $joined = 'explain (analyze, timing off, costs off) select count(*) from fixed a join read b on a.k + 1 = b.k + 1';
my $by_workers = 'set max_parallel_workers_per_gather = 2; set enable_hashjoin = off; set enable_nestloop = off;';

like($node->safe_psql('postgres', "$by_workers $joined"), qr/Gather.*GpuSort\).*\n +Sort Key: [^\n]*\n +Sort Method: /s, 'the leader sorts too: its figures');
my $of_none = $node->safe_psql('postgres', "$by_workers set parallel_leader_participation = off; $joined");

like($of_none, qr/Gather.*GpuSort\).*\n +Sort Key: /s, 'the leader does not');
unlike($of_none, qr/Sort Method: /, 'no figures');

# --- kill -9 of a worker: the server restarts, as after any crash
$session = GpuSortTest::Session->new($node);
$service = send_and_halt($session);
my @workers = workers_of($session->{pid}, 3);
kill 'KILL', $workers[0];
continue_service($service);
$session->finish;
$session->close;
ok(wait_for_restart($node, $workers[0]), 'a worker killed: the server is back');
ok(wait_for_state($node, 'serving'), 'a worker killed: the service serves');
is(digest($node, $queries[3]), $right[3], 'a worker killed: the rows are right');
nothing_left_over($node, 'a worker killed');
$node->stop;

done_testing();
