# Device memory, buffers and job slots run out.  Sorts are then native, say why, are
# counted, and give the same rows.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('limits', "gpusort.buffer_memory = '16MB'", "gpusort.device_memory = '32MB'", "work_mem = '64MB'");
wait_for_state($node, 'serving');
make_tables($node);

sub count_of
{
	my ($reason) = @_;

	return $node->safe_psql('postgres', "select $reason from gpusort_stats");
}

# The query under the limits now in force: why it is native, that this was counted, and
# that its rows and their order are PostgreSQL's.
sub native_because
{
	my ($query, $reason, $words, $what) = @_;
	my $before = count_of($reason);
	my $plan = $node->safe_psql('postgres', "explain (analyze, timing off, costs off) $query");

	like($plan, qr/GpuSort.*Sort Method: native \(\Q$words\E\)/s, "$what: native, and why");
	is(digest($node, $query), digest($node, $query, 'set gpusort.enabled = off;'), "$what: the rows are right");
	is(count_of($reason) - $before, 2, "$what: counted");
}

# The query under the limit of device memory: it is spilled, and its rows and their order
# are PostgreSQL's.
sub spilled
{
	my ($query, $what) = @_;
	my $before = count_of('runs_spilled');
	my $ours = digest($node, $query);

	cmp_ok(count_of('runs_spilled') - $before, '>=', 2, "$what: spilled");
	is($ours, digest($node, $query, 'set gpusort.enabled = off;'), "$what: the rows are right");
}

# EXPLAIN ANALYZE of such a query says so too.
sub says_spilled
{
	my ($query, $what) = @_;
	my $plan = $node->safe_psql('postgres', "explain (analyze, timing off, costs off) $query");

	like($plan, qr/GpuSort.*Sort Method: \w+ external merge\s+Runs: \d+/s, "$what: its plan says so");
}

my $parallel = 'set max_parallel_workers_per_gather = 10; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0';

# A sort that takes so many of the 16 buffers: one for each worker, and five.  Readers that have been idle for a second
# give theirs.
sub sorts_with_buffers
{
	my ($buffers, $what) = @_;

	sleep 1.1;
	$node->safe_psql('postgres', 'alter table small set (parallel_workers = ' . ($buffers - 5) . ')');
	like($node->safe_psql('postgres', "set cpu_tuple_cost = 1e5; $parallel; explain (analyze, timing off, costs off) select * from small order by k, id"), qr/Sort Method: (?:host|gpu).*GpuSortFeed/s, $what);
	$node->safe_psql('postgres', 'alter table small reset (parallel_workers)');
	return;
}

# --- device memory: what does not fit is spilled
is($node->safe_psql('postgres', "select budget_bytes / 1048576 from gpusort_devices"), '32', 'the budget is 32 MB');
ok(sorts_on_device($node, 'select * from small order by k, id'), 'a small input fits');
spilled('select * from big order by k desc, id', 'more rows than fit');
says_spilled('select * from big order by k desc, id', 'more rows than fit');
spilled('select * from big order by id', 'keys that come in order');
spilled('select nullif(k % 10, 3) as n, k, id, filler from big order by 1 nulls first, k desc, id', 'three keys, NULLs');
# long texts are made of texts of 1000 characters, since repeat() of a single one takes long
my $thousand = 'repeat(chr(97 + i % 26), 1000)';
spilled("select i, repeat($thousand, 3000) as long from generate_series(1, 20) i order by -i", 'long rows');
my $among = "select i, case when i % 500 = 0 then repeat($thousand, 5000) || i else repeat(chr(97 + i % 26), 100) end as long from generate_series(1, 5000) i order by i % 77, i";
spilled($among, 'long rows among short ones');
says_spilled($among, 'long rows among short ones');
spilled("select i, repeat($thousand, 40000) as long from generate_series(1, 3) i order by -i", 'rows larger than all of it, of which each is a run');
# no copy of the row can be allocated, whoever sorts it
my $beyond = q{select length(a), length(b) from
	(select i, repeat(repeat('x', 1000), 600000 + i) as a, repeat(repeat('y', 1000), 600000 + i) as b from generate_series(1, 2) i order by -i offset 0) q};
my ($ours, $natives) = map {
	(undef, undef, my $error) = $node->psql('postgres', "set gpusort.debug_force = on; set gpusort.enabled = $_; $beyond");
	$error =~ /(ERROR:.*)/ ? $1 : ''
} ('on', 'off');
like($node->safe_psql('postgres', "set gpusort.debug_force = on; explain $beyond"), qr/GpuSort/, 'a row beyond 1 GB: planned for gpusort');
like($natives, qr/tuple is too big|invalid memory alloc request size 1\d{9}/, 'PostgreSQL has an error');
is($ours, $natives, 'gpusort has the same');
nothing_left_over($node, 'device memory');

my $session = GpuSortTest::Session->new($node);
my $spilled = count_of('runs_spilled');
is($session->query('begin; declare c scroll cursor for select id from big order by id; fetch absolute 299999 from c; fetch prior from c; fetch absolute 2 from c; fetch last from c'),
	"299999\n299998\n2\n300000", 'a scrollable cursor over more rows than fit');
cmp_ok(count_of('runs_spilled') - $spilled, '>=', 2, 'a scrollable cursor is spilled');
$session->query('rollback');

# --- the device is lost in the middle of the order that it gave for the runs of a cursor, of
# which the cursor's other pieces are taken back: the keys tell how to go on.  A row is a byte
# of that order, a piece of it 2^20 rows.  Rows with equal keys come as they were fed.
$node->append_conf('postgresql.conf', "gpusort.device_memory = '48MB'\n");
$node->reload;
$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('48MB') from gpusort_devices");
my $fed = 'select nullif(i % 1000, 7) as a, i from generate_series(1, 1060000) i';
my ($first_row, @ordered) = split /\n/, $node->safe_psql('postgres', "set gpusort.enabled = off; $fed order by a desc, i limit 1; $fed order by a desc, i offset 1047999");
like($session->query("explain (analyze, timing off, costs off) $fed order by a desc"), qr/external merge\s+Runs: \d+\s+Merge Order: device/, 'runs whose order the device gives');
$session->query("begin; declare c no scroll cursor for $fed order by a desc");
is($session->query('fetch 1 from c; move 1047998 in c; fetch 1 from c'), "$first_row\n$ordered[0]", 'a cursor over them');
# a reader that is idle for a second may lose its pieces
sorts_with_buffers(15, 'another sort takes its other pieces back');
my $lost = service_pid($node);
$node->safe_psql('postgres', "select pg_terminate_backend($lost)");
$node->poll_query_until('postgres', "select service_pid <> $lost from gpusort_devices");
wait_for_state($node, 'serving');
is($node->safe_psql('postgres', 'select open_jobs from gpusort_devices'), '1', 'its job is lost');
is($session->query('fetch 5000 from c'), join("\n", @ordered[1 .. 5000]), 'and it goes on over the end of the piece it has');
nothing_left_over($node, 'a cursor that reads the runs alone');
is($session->query('fetch all from c'), join("\n", @ordered[5001 .. $#ordered]), 'to its end');
is($session->query('commit') . $session->error, '', 'without an error');

# a reload lifts the limit
$node->append_conf('postgresql.conf', "gpusort.device_memory = '1GB'\n");
$node->reload;
$node->poll_query_until('postgres', 'select budget_bytes = 1073741824 from gpusort_devices');
ok(sorts_on_device($node, 'select * from big order by k'), 'a reload of gpusort.device_memory lifts the limit');

# --- buffers: all are in use
make_gate($node);
my @holding = hold_buffers($node, 'all_buffers');
native_because('select * from small order by k', 'native_no_buffers', 'gpusort.buffer_memory is in use', 'no buffers');
# a sort that workers feed is native at once, however long a sort may wait
my $waiting = count_of('waited');
like($node->safe_psql('postgres', "set gpusort.wait_timeout = '5min'; set gpusort.max_wait_timeout = '5min'; set work_mem = '64kB'; set seq_page_cost = 1e6; set cpu_tuple_cost = 1e5; $parallel;
	alter table small set (parallel_workers = 2); explain (analyze, timing off, costs off) select * from small order by k, id; alter table small reset (parallel_workers)"),
	qr/Sort Method: native \(gpusort.buffer_memory is in use\).*GpuSortFeed/s, 'no buffers, in parallel: native');
is(count_of('waited'), $waiting, 'no buffers, in parallel: without a wait');
release_buffers($node, 'all_buffers', @holding);

# --- of 16 MB two cursors take what is there
my @cursors = ([ 'a', 'order by k, id' ], [ 'b', 'order by k, id desc' ]);
my $declared = join '; ', map { "declare $_->[0] scroll cursor for select * from big $_->[1]; fetch 1 from $_->[0]" } @cursors;
$session->query("begin; $declared");
ok($node->poll_query_until('postgres', 'select open_jobs = 2 from gpusort_devices'), 'two cursors');
sorts_with_buffers(14, 'the buffers of cursors that were idle for a second serve another sort');
is($session->query("fetch 2 from a; fetch 2 from b; fetch absolute 150000 from a; fetch absolute 300000 from b; fetch first from a; fetch first from b"),
	$node->safe_psql('postgres', 'set gpusort.enabled = off; begin; declare a scroll cursor for select * from big order by k, id; declare b scroll cursor for select * from big order by k, id desc;'
		. 'move 1 in a; move 1 in b; fetch 2 from a; fetch 2 from b; fetch absolute 150000 from a; fetch absolute 300000 from b; fetch first from a; fetch first from b'),
	'the cursors read on where they were');
$session->query('rollback');
nothing_left_over($node, 'buffers');

# readers whose blocks are taken back while they pause, to the last row: each row's hash counts as often as its number says
$node->safe_psql('postgres', q{
	create function read(c refcursor, first int4, last int4) returns int8 language plpgsql as $$
		declare
			r record;
			total int8 := 0;
		begin
			for n in first .. last loop
				fetch c into r;
				exit when not found;
				total := total + n * (hash_record_extended(r, 0) % 1000003);
			end loop;
			return total;
		end $$});
my $right = $node->safe_psql('postgres', q{
	set gpusort.enabled = off;
	select sum(n * (hash % 1000003)) from (select row_number() over () as n, hash_record_extended(s, 0) as hash from (select * from big order by k, id offset 0) s) q});
my @totals;
my @readers = map { GpuSortTest::Session->new($node) } 1 .. 3;
for my $i (0 .. 1)
{
	$readers[$i]->query('begin; declare c cursor for select * from big order by k, id');
	$totals[$i] = $readers[$i]->query("select read('c', 1, 1000)");
}
sleep 1.2;
is($readers[2]->query('select count(*) from (select * from big order by k) s'), '300000', 'a third session sorts with what is taken back');
for my $i (0 .. 1)
{
	is($totals[$i] + $readers[$i]->query("select read('c', 1001, 400000)"), $right, 'a reader whose blocks were taken back misses no row');
}
$_->close for @readers;
nothing_left_over($node, 'blocks taken back');
$session->close;

# --- a sort that waits for buffers is not passed by those that come later and need fewer.  Three sorts that stand
# still have 12 of the 16; an index build with a worker needs 6
$node->append_conf('postgresql.conf', "gpusort.max_wait_timeout = '10min'\n");
$node->reload;
$node->safe_psql('postgres', 'alter table big set (parallel_workers = 1)');
my $build = 'create index on big (k, id)';
my $rows_of = 'select count(*) from (select * from %s order by k, id offset 0) s';
my $patient = "set gpusort.wait_timeout = '5min'; set work_mem = '64kB'; set seq_page_cost = 1e6";
my $large = "$patient; set gpusort.index_builds = on; set max_parallel_maintenance_workers = 1; set min_parallel_table_scan_size = 0";
my ($first, $next, $last) = my @waiters = map { GpuSortTest::Session->new($node) } 1 .. 3;
$first->query($large);
$next->query($large);
$last->query($patient);
my ($waited, $native) = split /\|/, $node->safe_psql('postgres', 'select waited, native_no_buffers from gpusort_stats');
my @sorts = map { GpuSortTest::Session->new($node) } 1 .. 3;
for my $sort (@sorts)
{
	$sort->send(sprintf $rows_of, "big where gate(id, 250000, 'buffers') > 0");
	$node->poll_query_until('postgres', "select wait_event = 'PgSleep' from pg_stat_activity where pid = $sort->{pid}") or fail('a sort did not come to its gate');
}
ok($node->poll_query_until('postgres', 'select open_jobs = 3 and free_buffer_bytes / 1048576 = 4 from gpusort_devices'), 'three sorts leave 4 buffers');
# no build waits for longer than twice what PostgreSQL's own is expected to take: of so many rows, for minutes
$node->safe_psql('postgres', "update pg_class set reltuples = 1e9 where relname = 'big'");
for my $sort ([ $first, $build ], [ $next, $build ], [ $last, sprintf $rows_of, 'small' ])
{
	$sort->[0]->send($sort->[1]);
	$waited++;
	$node->poll_query_until('postgres', "select waited >= $waited or free_buffer_bytes < 4194304 from gpusort_stats, gpusort_devices");
}
is($node->safe_psql('postgres', 'select free_buffer_bytes / 1048576 from gpusort_devices'), '4', 'who comes later waits too, though 4 buffers are enough for it');
$node->safe_psql('postgres', "select pg_cancel_backend($next->{pid})");
$next->finish;
like($next->error, qr/canceling statement/, 'the second one leaves');
is($node->safe_psql('postgres', 'select free_buffer_bytes / 1048576 from gpusort_devices'), '4', 'which leaves the first one in front');
$node->safe_psql('postgres', "select pg_terminate_backend($first->{pid})");
is($last->finish, '10000', 'without the first one the last one has its buffers');
$next->send($build);
append_to_file($node->data_dir . '/buffers', '');
is($_->finish, '300000', 'all others go on') for @sorts;
is($next->finish . $next->error, '', 'and so does an index build');
is(count_of('native_no_buffers') - $native, 0, 'on the device');
$node->safe_psql('postgres', 'alter table big reset (parallel_workers); vacuum analyze big');
$_->close for @sorts, @waiters;
nothing_left_over($node, 'buffers in turn');

# --- an amount that no device has: the budget is what it has; on the host device, beside shared memory
my $most = $GpuSortTest::device eq 'host'
  ? "memory_bytes - pg_size_bytes(current_setting('shared_buffers')) - buffer_bytes" : 'memory_bytes';
$node->append_conf('postgresql.conf', "gpusort.device_memory = '900TB'\n");
$node->reload;
ok($node->poll_query_until('postgres', "select budget_bytes = $most from gpusort_devices"), 'more than the device has: all that it can give');
my $given = $node->safe_psql('postgres', 'select budget_bytes / 1024 / 1024 from gpusort_devices');
like(slurp_file($node->logfile), qr/WARNING:  gpusort.device_memory of 943718400 MB exceeds the memory that the device can provide, using $given MB\n.*HINT:  Lower gpusort.device_memory/,
	'and a warning says so');

# --- job slots: 256 of them, of which one session has half; each more 32 of the others
$node->append_conf('postgresql.conf', "gpusort.buffer_memory = '512MB'\ngpusort.device_memory = '16GB'\n");
$node->restart;
wait_for_state($node, 'serving');

# Opens so many cursors in a session, and reads a row of each.  Buffers of cursors that are idle for a second serve
# those to come.
sub open_cursors
{
	my ($n) = @_;
	my $reader = GpuSortTest::Session->new($node);

	$reader->query('begin');
	$reader->query(qq{do \$\$
		declare
			c refcursor;
			r record;
		begin
			for i in 1 .. $n loop
				if i % 50 = 0 then
					perform pg_sleep(1.2);
				end if;
				c := 'c' || i;
				open c for execute 'select id from small where id <= 1000 order by id + ' || i;
				fetch c into r;
			end loop;
		end \$\$});
	is($reader->error, '', "$n cursors");
	return $reader;
}

my @sessions = open_cursors(140);
is($node->safe_psql('postgres', 'select open_jobs from gpusort_devices'), '128', 'one session has half of all slots, not all');
is(count_of('native_no_slot'), '12', 'its other cursors are native');
ok(sorts_on_device($node, 'select * from small order by k, id'), 'another session has a slot');
ok($node->poll_query_until('postgres', 'select open_jobs = 128 from gpusort_devices'), 'and has given it back');
for my $n (1 .. 4)
{
	push @sessions, open_cursors(36);
	is($node->safe_psql('postgres', 'select open_jobs from gpusort_devices'), 128 + 32 * $n, 'another session has an eighth of them');
}
native_because('select * from small order by k, id', 'native_no_slot', 'too many sorts are open', 'the 257th sort');
is($sessions[0]->query('fetch 1 from c1; fetch 1 from c100; fetch 1 from c140'), "2\n2\n2", 'the cursors read on');
$sessions[0]->query('move forward all in c17');
$sessions[0]->query('close c18');
$node->poll_query_until('postgres', 'select open_jobs < 256 from gpusort_devices');
sleep 1.2;
ok(sorts_on_device($node, 'select * from small order by k'), 'one cursor closed: a slot is free');
$_->query('commit') for @sessions;
nothing_left_over($node, 'job slots');
$_->close for @sessions;

is(count_of('failed'), '0', 'no job failed');
$node->stop;

done_testing();
