# Sorts beyond the budget of device memory: runs in temporary files, their merge, what the
# files cost and obey, cursors over them, and jobs that wait for each other's memory.
#
#   SEED=N       of the queries, and of the moments at which sorts are ended
#   ROUNDS=all   all queries, not a part of them that is drawn, and more runs than can be merged at once
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

my $node = new_server('spill', "gpusort.device_memory = '32MB'", "gpusort.buffer_memory = '160MB'",
	"gpusort.wait_timeout = '20s'", "gpusort.max_wait_timeout = '10min'", 'max_worker_processes = 40', 'max_parallel_workers = 32',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);
$node->safe_psql('postgres', q{
	alter table big set (parallel_workers = 2);
	create table twice as select (i::int8 * 7919) % 600011 as k, i as id, repeat('f', 40) as filler from generate_series(1, 600000) i;
	create table many as select i from generate_series(1, 3000) i;
	alter table twice set (parallel_workers = 2);
	alter table many set (parallel_workers = 2);
	analyze twice, many});

sub open_gate { append_to_file($node->data_dir . "/$_[0]", '') }

sub counter
{
	my ($name) = @_;

	return $node->safe_psql('postgres', "select $name from gpusort_stats");
}

# A hash of the rows in whatever order, and one of their keys in their order: rows with
# equal keys may come in any.
sub hashes
{
	my ($query, $keys) = @_;

	return "select sum(hash_record_extended(q, 0)::numeric), md5(string_agg(hash_record_extended(row($keys), 0)::text, ' ')) from ($query) q";
}

sub explain { return "explain (analyze, timing off, costs off) $_[0]" }

# --- rows and their order, by both ways of merging
# name, query, its keys, who merges (none: it is not said), least number of runs
my $two_runs = 'select * from big order by k';
my $many_runs = 'select b.*, s from big b, generate_series(1, 5) s order by k desc, s';
my @queries = (
	[ 'two runs', $two_runs, 'k', 'device', 2 ],
	[ 'narrow rows', 'select id, k from big order by k desc', 'k', 'device', 2 ],
	[ 'narrow rows with values by reference', q{select md5(k::text)::uuid as u, nullif(id % 3, 0) * interval '1 h' as i, id from big order by u desc}, 'u', 'backend', 2 ],
	[ 'few keys, descending', 'select k % 1000 as m, id, filler from big order by m desc', 'm', 'device', 2 ],
	[ 'two keys, NULLs first', 'select nullif(k % 10, 3) as a, id, filler from big order by a nulls first, id desc', 'a, id', 'device', 2 ],
	[ 'three keys, NULLs last', 'select nullif(k % 7, 2) as a, nullif(id % 11, 5) as b, k, filler from big order by a desc nulls last, b, k desc', 'a, b, k', 'device', 2 ],
	[ 'NULLs in the first run alone', 'select case when id > 1000 then k end as a, filler from big order by a', 'a', 'device', 2 ],
	[ 'NULLs in the last run alone', 'select case when id < 299000 then k end as a, filler from big order by a desc', 'a', 'device', 2 ],
	[ 'NULLs alone', 'select nullif(id % 1, 0) as a, k, filler from big order by a', 'a', 'device', 2 ],
	[ 'equal keys', 'select id, filler, 7 + id % 1 as a from big order by a', 'a', 'device', 2 ],
	[ 'keys in order', 'select * from big order by id', 'id', 'device', 2 ],
	[ 'keys of 64 bits', 'select nullif(hashint8extended(k, 0), hashint8extended(7919, 0)) as a, id, filler from big order by a', 'a', 'device', 2 ],
	[ 'four wide keys', 'select hashint8extended(k % 50, 0) as a, nullif(hashint8extended(k % 100, 1), hashint8extended(3, 1)) as b, hashint8extended(id % 3, 2) as c, id from big order by a desc, b nulls first, c, id desc',
		'a, b, c, id', 'backend', 2 ],
	[ 'times', q{select (k % 300)::int2 as a, date '2000-01-01' + (k % 5000)::int4 as b, case when id % 1000 = 0 then 'infinity' when id % 1001 = 0 then '-infinity' else timestamptz '2000-01-01' + k * interval '1 s' end as c from big order by a, b desc, c},
		'a, b, c', 'backend', 2 ],
	[ 'wide rows', q{select k, id, repeat('x', 300 + id % 500) as wide from big order by k}, 'k', 'device', 10 ],
	[ 'many runs', $many_runs, 'k, s', 'backend', 10 ],
	[ 'long rows among short ones', q{select i, repeat(chr(97 + i % 26), case when i % 50 = 0 then 3000000 + i else 100 end) as long from many order by i % 77, i},
		'i % 77, i', 'device', 5 ],
	[ 'a row larger than the budget among them', q{select i, repeat(chr(97 + i % 26), case when i % 100 = 0 then 4000000 when i = 1555 then 40000000 else 100 end) as long from many order by -i},
		'i', 'backend', 2 ]);

my $session = GpuSortTest::Session->new($node);
for my $case ($queries[0], draw(4, @queries[ 1 .. $#queries ]))
{
	my ($name, $query, $keys, $merge, $least) = @$case;
	my $hashes = hashes($query, $keys);
	my $right = $session->query("set gpusort.enabled = off; set max_parallel_workers_per_gather = 0; $hashes; set gpusort.enabled = on");

	for my $workers (0, 2)
	{
		my $plan = $session->query("set max_parallel_workers_per_gather = $workers; " . explain($query));
		my ($runs) = $plan =~ /Runs: (\d+)/;

		like($plan, qr/GpuSort.*Sort Method: \w+ external merge/s, "$name, $workers workers: spilled");
		like($plan, qr/Gather/, "$name: in parallel") if $workers > 0;
		cmp_ok($runs // 0, '>=', $least, "$name, $workers workers: $runs runs");
		# two runs are one and a rest, and of tiny ones workers may make more
		like($plan, qr/Merge Order: $merge/, "$name, $workers workers: merged by the $merge");
		unlike($plan, qr/native/i, "$name, $workers workers: nothing is native");
		is($session->query($hashes), $right, "$name, $workers workers: the rows and their order are PostgreSQL's");
		is($session->error, '', "$name, $workers workers: no error");
	}
}
nothing_left_over($node, 'rows and their order');
is(temporary_files($node), '', 'and no file');

# --- temporary files are PostgreSQL's: where they are, how large they may be, who is told
my $right = $session->query('set gpusort.enabled = off; ' . hashes($two_runs, 'k') . '; set gpusort.enabled = on');
my $folder = PostgreSQL::Test::Utils::tempdir;
$node->safe_psql('postgres', "create tablespace elsewhere location '$folder'");
my $files_elsewhere = q{select count(*), sum(size) > 0 from pg_ls_tmpdir((select oid from pg_tablespace where spcname = 'elsewhere'))};

for my $workers (0, 2)
{
	my $what = "$workers workers";

	$session->query("set max_parallel_workers_per_gather = $workers; set temp_file_limit = '5MB'");
	$session->query(hashes($two_runs, 'k'));
	like($session->error, qr/ERROR:  53400: temporary file size exceeds temp_file_limit \(5120kB\)/, "$what: temp_file_limit");
	is(temporary_files($node), '', "$what: temp_file_limit leaves no file");
	is($session->query('reset temp_file_limit; ' . hashes($two_runs, 'k')), $right, "$what: and the session sorts again");

	my $mark = -s $node->logfile;
	my ($kilobytes) = $session->query('set log_temp_files = 0; ' . explain($two_runs) . '; reset log_temp_files') =~ /Disk: (\d+) kB/;
	my @logged = slurp_file($node->logfile, $mark) =~ /LOG:  (?:00000: )?temporary file: path "[^"]*", size (\d+)/g;
	my $bytes = 0;
	$bytes += $_ for @logged;
	cmp_ok(scalar @logged, '>=', 2, "$what: log_temp_files tells of each run");
	is(int(($bytes + 1023) / 1024), $kilobytes, "$what: and of its size");

	$session->query("set temp_tablespaces = 'elsewhere'; begin; declare c no scroll cursor for $two_runs");
	$session->query('fetch 1 from c');
	like($session->query($files_elsewhere), qr/^[2-9]\|t$/, "$what: temp_tablespaces") if $workers == 0;
	is($node->safe_psql('postgres', 'select name from pg_ls_tmpdir()'), '', "$what: and nothing in the default one");
	$session->query('rollback; reset temp_tablespaces');
	is($node->safe_psql('postgres', $files_elsewhere), '0|', "$what: no file is left there");
}
$session->query('set max_parallel_workers_per_gather = 0');
like($session->query("explain (analyze, buffers, timing off, costs off) $two_runs"), qr/GpuSort.*Buffers: .*temp read=2\d\d\d written=2\d\d\d/s, 'EXPLAIN (BUFFERS) counts their blocks');
nothing_left_over($node, 'files');

# --- cursors
# all rows of a cursor's query, for comparison
sub rows_of { return $node->safe_psql('postgres', "set gpusort.enabled = off; $_[0]") }

my $ids = 'select k, id from big order by k desc';
my @rows = split /\n/, rows_of($ids);
sub places { return join "\n", @rows[ map { $_ - 1 } @_ ] }

my $spilled = counter('runs_spilled');
$session->query("begin; declare c no scroll cursor for $ids");
is($session->query('fetch 2 from c; move 149997 in c; fetch 1 from c; savepoint s; fetch 1 from c; rollback to s; fetch 1 from c; move 149996 in c; fetch all from c; fetch 1 from c'),
	places(1, 2, 150000, 150001, 150002, 299999, 300000), 'a cursor that goes forward reads the runs');
is($session->query('commit') . $session->error, '', 'and ends');
cmp_ok(counter('runs_spilled'), '>=', $spilled + 2, 'which were spilled');

$session->query("begin; declare c no scroll cursor for $ids; savepoint s");
is($session->query('fetch 1 from c; rollback to s; fetch 1 from c; move 299997 in c; fetch 2 from c'), places(1, 2, 300000),
	'files written in a subtransaction that is rolled back stay with their cursor');
$session->query('rollback');

$session->query("begin; declare c no scroll cursor with hold for $ids; fetch 1 from c; commit");
is($session->query('move 299997 in c; fetch all from c'), places(299999, 300000), 'WITH HOLD: read on after the commit');
$session->query("close c; begin; declare c no scroll cursor for $ids; declare d no scroll cursor for $ids; fetch 1 from c; fetch 1 from d");
is($session->query('fetch 1 from c; move 99998 in d; fetch 1 from d; move 199998 in c; fetch 1 from c'), places(2, 100000, 200001),
	'two cursors of one session, both spilled');
$session->query('commit');
nothing_left_over($node, 'cursors');

# nor is it another sort when it may be read backward (041 reads to and fro)
$spilled = counter('runs_spilled');
$session->query("begin; declare c scroll cursor for $ids");
is($session->query('fetch last from c; fetch absolute 150000 from c; fetch prior from c; fetch first from c'), places(300000, 150000, 149999, 1), 'SCROLL: read to and fro');
cmp_ok(counter('runs_spilled'), '>=', $spilled + 2, 'SCROLL: spilled');
$session->query('rollback');

# sorted again for each row outside, and merged in either way
for my $keys ('k + g, id desc', 'hashint8extended(k % 50 + g, 0), hashint8extended(k % 100, 1), id')
{
	my $lateral = "select g, count(*), md5(string_agg(s.id::text, ' ')) from generate_series(1, 3) g, lateral (select id, filler from big where id > g order by $keys) s group by g order by g";

	$spilled = counter('runs_spilled');
	is($session->query($lateral), rows_of($lateral), "LATERAL, by $keys: rows of each scan");
	cmp_ok(counter('runs_spilled'), '>=', $spilled + 6, "LATERAL, by $keys: each is spilled");
}
# ended before its last row
is($session->query("select (select array_agg(id) from (select id from ($ids offset 0) s limit 3) t), (select id from big where id = 7)"),
	rows_of("select (select array_agg(id) from (select id from ($ids offset 0) s limit 3) t), (select id from big where id = 7)"), 'LIMIT: not read to the end');
nothing_left_over($node, 'rescans');
is(temporary_files($node), '', 'and no file');

# --- jobs that wait for each other's memory
$node->append_conf('postgresql.conf', "gpusort.device_memory = '64MB'\n");
$node->reload;
$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('64MB') from gpusort_devices");
my $some = 'select k from big where id <= 5000 order by k';
my $first = rows_of("$some limit 1");

# Cursors in one session that hold the memory, as many as get any: what the device has
# sorted stays there while it may be read.  Returns their number.
sub hold_memory
{
	my ($holder) = @_;
	my $n = 0;

	$holder->query('begin; set local gpusort.wait_timeout = 0');
	while (1)
	{
		my $native = counter('native_device_memory');

		$holder->query('declare h' . ++$n . " scroll cursor for $some");
		$holder->query("fetch 1 from h$n");
		last if counter('native_device_memory') > $native || $n == 20;
	}
	$holder->query("close h$n");
	return $n - 1;
}

# No sort waits for longer than the native sort is estimated to take.  With these its pages are
# estimated to take minutes.
my $patient = "set work_mem = '64kB'; set seq_page_cost = 1e6";

# A session whose sort waits.
sub waiting_session
{
	my ($statement, $settings) = @_;
	my $waited = counter('waited');
	my $waiting = GpuSortTest::Session->new($node);

	$waiting->query("set gpusort.wait_timeout = '10min'; $patient; $settings; begin");
	$waiting->send($statement);
	$node->poll_query_until('postgres', "select waited > $waited from gpusort_stats") or fail('a session did not come to wait');
	return $waiting;
}

sub is_active
{
	my ($who) = @_;

	return $node->safe_psql('postgres', "select state = 'active' from pg_stat_activity where pid = $who->{pid}") eq 't';
}

my $holder = GpuSortTest::Session->new($node);
my $held = hold_memory($holder);
cmp_ok($held, '>=', 3, "$held cursors hold the memory");
my $waited = counter('waited');
$session->query('set gpusort.wait_timeout = 0');
like($session->query(explain($some)), qr/Sort Method: native \(gpusort.device_memory is in use\)/, 'wait_timeout 0: native');
is(counter('waited'), $waited, 'wait_timeout 0: nobody waited');
$session->query("set gpusort.wait_timeout = '10min'");
my $longer = waiting_session(explain($some), '');
like($session->query(explain($some)), qr/Sort Method: native \(gpusort.device_memory is in use\)/, 'a sort of some milliseconds: native');
ok(is_active($longer), 'a sort of some milliseconds waits less than one that came before it and would take minutes');
$node->safe_psql('postgres', "select pg_cancel_backend($longer->{pid})");
$longer->finish;
$longer->close;
$waited = counter('waited');
$session->query("set gpusort.wait_timeout = '300ms'; $patient");
my $start = seconds();
like($session->query(explain($some)), qr/Sort Method: native \(gpusort.device_memory is in use\)/, 'a short wait_timeout: native');
cmp_ok(seconds() - $start, '>=', 0.3, 'a short wait_timeout: after that time');
is(counter('waited'), $waited + 1, 'a short wait_timeout: counted');
$holder->query("set local gpusort.wait_timeout = '10min'");
like($holder->query(explain($some)), qr/Sort Method: native \(gpusort.device_memory is in use\)/, 'who holds memory does not wait for more');
is(counter('waited'), $waited + 1, 'and is not counted');
$session->query('reset work_mem; reset seq_page_cost');

# a queue; each cursor that is closed lets the first one go on
my $fetch = "declare c scroll cursor for $some; fetch 1 from c";
my @queue = map { waiting_session($fetch, '') } 1 .. 3;
my $impatient = waiting_session(explain($some), "set gpusort.wait_timeout = '500ms'");
like($impatient->finish, qr/Sort Method: native \(gpusort.device_memory is in use\)/, 'who comes last and waits least leaves first');
$impatient->close;
my $done = counter('jobs');
for my $i (0 .. 2)
{
	$holder->query("close h" . ($i + 1));
	is($queue[$i]->finish, $first, "number $i of the queue goes on");
	is(counter('jobs'), ++$done, "number $i of the queue: on the device, and alone");
	is(join(' ', map { is_active($queue[$_]) ? 'waits' : 'goes on' } $i + 1 .. 2), join(' ', ('waits') x (2 - $i)), "number $i of the queue: those behind it still wait");
}
# those who give up the place, or are made to
$_->query('rollback') for @queue;
$holder->query('rollback');
nothing_left_over($node, 'a queue');
hold_memory($holder);
my @gone = map { waiting_session($fetch, '') } 1 .. 3;
$node->safe_psql('postgres', "select pg_cancel_backend($gone[0]{pid}), pg_terminate_backend($gone[1]{pid})");
$_->finish for @gone[ 0, 1 ];
like($gone[0]->error, qr/57014: canceling statement due to user request/, 'cancelled while it waits');
like($gone[1]->error, qr/57P01: terminating connection/, 'terminated while it waits');
ok(is_active($gone[2]), 'the third still waits');
$holder->query('close h1');
is($gone[2]->finish, $first, 'and goes on when there is memory');
$_->close for @gone, @queue;
$holder->query('rollback');
nothing_left_over($node, 'a queue that dissolved');

# A sort that workers feed does not wait for as long as it may: they would stand still.  Pages cost so much here that each worker's own sort costs less than 1 % of
# its scan: the planner would take that, or not, by what ANALYZE has drawn.
hold_memory($holder);
my $parallel = GpuSortTest::Session->new($node);
$parallel->query("set gpusort.wait_timeout = '10min'; $patient; set max_parallel_workers_per_gather = 2; set enable_gathermerge = off; set cpu_tuple_cost = 1e5");
like($parallel->query(explain($some)), qr/Sort Method: native \(gpusort.device_memory is in use\).*GpuSortFeed/s, 'a parallel plan is native, while others hold the memory');
$holder->query('rollback');
like($parallel->query(explain($some)), qr/Sort Method: (host|gpu)\n.*Gather/s, 'and on the device after that');
$parallel->close;

# rows for which there is no memory are runs of their own, and wait for none
$held = hold_memory($holder);
$holder->query('close h1');
# the memory of a sort comes back a moment after its end
my $others_hold_none = "select open_jobs = $held - 1 and reserved_bytes = (select sum(reserved_bytes) from gpusort_progress where pid = $holder->{pid}) from gpusort_devices";
$waited = counter('waited');
for my $megabytes (draw(1, 20, 45, 100))
{
	my $long = "select i, repeat(chr(97 + i % 26), $megabytes * 1000000) as long from generate_series(1, 3) i order by -i";
	$node->poll_query_until('postgres', $others_hold_none);
	my $plan = $session->query(explain($long));

	like($plan, qr/external merge\s+Runs: \d+\s+Merge Order: backend/, "rows of $megabytes MB are runs");
	unlike($plan, qr/native/, "rows of $megabytes MB: nothing is native");
	$node->poll_query_until('postgres', $others_hold_none);
	is($session->query(hashes($long, 'i')), $session->query('set gpusort.enabled = off; ' . hashes($long, 'i') . '; set gpusort.enabled = on'), "rows of $megabytes MB: are PostgreSQL's");
}
is(counter('waited'), $waited, 'and none of them waits');
$holder->query('rollback');
nothing_left_over($node, 'rows without memory');

# --- more runs than can be merged at once: some are merged before the others come.  Its files take 3 GB
if ($GpuSortTest::all_cases)
{
	hold_memory($holder);
	$holder->query('close h1');
	my $wide = "select i % 5 as a, i, repeat(chr(97 + i % 26), 9000000) as wide from generate_series(1, 300) i order by a desc";
	my ($n_runs) = $session->query(explain("select a, i, length(wide) from ($wide offset 0) s")) =~ /Runs: (\d+)/;
	cmp_ok($n_runs // 0, '>', 300, 'more runs than can be merged at once');
	is($session->query("select count(*), sum(i), sum(length), bool_and(right_order) from (select i, length(wide), a <= lag(a, 1, a) over () as right_order from ($wide offset 0) s) q"), '300|45150|2700000000|t', 'they are merged in rounds');
	$holder->query('rollback');
	is(temporary_files($node), '', 'and no file is left');
	nothing_left_over($node, 'rounds');
}

# --- a sort stands in the middle of its rows; others take what memory there is, and one
# waits for more: the sort must spill what it has, and goes on with the memory that it had
for my $workers (0, 2)
{
	my $gate = "gate_$workers";
	my $what = "$workers workers";
	my $spilling = GpuSortTest::Session->new($node);

	$spilling->query("set max_parallel_workers_per_gather = $workers; set gpusort.wait_timeout = 0; $patient; set cpu_tuple_cost = 1e5");
	# without workers rows that have no header, which are kept
	my $where = "where id < 400000 or gate(id, 400000, '$gate') > 0 order by k desc";
	$spilling->send(explain($workers > 0 ? "select * from twice $where" : "create table $gate as select k, id from twice $where"));
	$node->poll_query_until('postgres', "select count(*) > $workers from pg_stat_activity where $spilling->{pid} in (pid, leader_pid) and wait_event = 'PgSleep'");
	hold_memory($holder);
	my $waiting = waiting_session($fetch, '');
	open_gate($gate);
	my $plan = $spilling->finish;

	is($spilling->error, '', "$what: no error");
	like($plan, qr/external merge\s+Runs: \d+/, "$what: it has spilled");
	like($plan, qr/Gather/, "$what: in parallel") if $workers > 0;
	unlike($plan, qr/native/i, "$what: nothing is native");
	is($waiting->finish, $first, "$what: the other one has its turn");
	$holder->query('rollback');
	is($spilling->query(hashes("select * from $gate", 'k')), $spilling->query('set gpusort.enabled = off; ' . hashes('select k, id from twice order by k desc', 'k')),
		"$what: the rows and their order are PostgreSQL's") if $workers == 0;
	$_->close for $waiting, $spilling;
	nothing_left_over($node, $what);
}

# --- large sorts at once, each of which would fill the budget, and small ones beside them
my $large = hashes($many_runs, 'k, s');
my $large_right = $session->query("set gpusort.enabled = off; $large; set gpusort.enabled = on");
my @large = map { GpuSortTest::Session->new($node) } 1 .. 3;
$large[2]->query('set max_parallel_workers_per_gather = 2');
$node->safe_psql('postgres', 'create table results(digest text)');
my $small = hashes('select * from big where id between 1000 and 5000 order by k', 'k');
append_to_file($node->basedir . '/small.sql', "insert into results select md5(s::text) from ($small) s;\n");
my $small_right = $node->safe_psql('postgres', "set gpusort.enabled = off; select md5(s::text) from ($small) s");
$_->send($large) for @large;
my $sorts = counter('jobs');
IPC::Run::run([ 'pgbench', '-n', '-c', 4, '-t', 25, '-f', $node->basedir . '/small.sql', '-h', $node->host, '-p', $node->port, '-U', 'postgres', 'postgres' ],
	'>', \my $out, '2>', \my $err);
unlike($err, qr/error|ERROR|aborted/, 'small sorts beside large ones: no error');
is($node->safe_psql('postgres', "select count(*), count(distinct digest), min(digest) from results"), "100|1|$small_right", 'small sorts beside large ones: all right');
for my $i (0 .. 2)
{
	is($large[$i]->finish, $large_right, "large sort $i at once with others: right");
	$large[$i]->close;
}
cmp_ok(counter('jobs'), '>', $sorts, 'by the device');
nothing_left_over($node, 'large sorts at once');
is(temporary_files($node), '', 'and no file');
is(counter('failed'), '0', 'no job failed');
$_->close for $session, $holder;

# --- ended at any moment after the first run; 030_endings.pl has the known ones
my %told = (INT => qr/57014: canceling statement due to user request/, TERM => qr/57P01: terminating connection/,
	KILL => qr/57P02: terminating connection because of crash|connection to server was lost/);
$node->append_conf('postgresql.conf', "gpusort.device_memory = '32MB'\n");
$node->reload;
my $number = 0;
for my $signal (('INT') x 6, ('TERM') x 4, ('KILL') x 2)
{
	my $workers = $number++ % 2 * 2;
	my $what = "number $number, $workers workers, SIG$signal";
	my $ending = GpuSortTest::Session->new($node);

	$ending->query("set max_parallel_workers_per_gather = $workers");
	$ending->send($large);
	$node->poll_query_until('postgres', "select exists (select from pg_ls_tmpdir()) or exists (select from pg_stat_activity where pid = $ending->{pid} and state = 'idle' and query like 'select sum%')");
	sleep rand(0.8);
	kill $signal, $ending->{pid};
	my $rows = $ending->finish;
	ok($ending->error =~ $told{$signal} || $rows eq $large_right, "$what: it is told, or it had ended");
	$ending->close;
	wait_for_restart($node, $ending->{pid});
	ok(wait_for_state($node, 'serving'), "$what: the service serves");
	nothing_left_over($node, $what);
	is(temporary_files($node), '', "$what: no file is left");
}
is($node->safe_psql('postgres', $large), $large_right, 'and the rows are right');
$node->stop;
quiet_log($node);

done_testing();
