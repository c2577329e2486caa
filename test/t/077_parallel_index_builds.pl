# Parallel workers scan the table of an index build and feed the sort's job.  The pages are those of PostgreSQL's serial
# build, whichever process has fed a row.  The workers' rows, counts and figures are the build's; errors, cancels and lost
# workers end it.
#
# A build logs at DEBUG1 how many rows its workers have fed.  Where a test needs a worker that feeds, the index is on
# in_worker(i): in the leader it waits, from the leader's second row on, until the file "go" is in the data directory.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IndexBuilds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('parallel_index_builds', "shared_preload_libraries = 'gpusort, pg_stat_statements'", "gpusort.device_memory = '32MB'",
	'max_worker_processes = 20', 'max_parallel_workers = 12', 'max_parallel_maintenance_workers = 4',
	'min_parallel_table_scan_size = 0', 'compute_query_id = on');
my $go = $node->data_dir . '/go';

wait_for_state($node, 'serving');
make_tables($node);
make_index_checks($node);
make_index_tables($node);
$node->safe_psql('postgres', q{
	create extension pg_stat_statements;
	create table d as select
	  hashint8extended(i, 1) as k8, (abs(hashint4(i)) % 100)::int4 as few, case when i % 7 <> 0 then hashint4(i) end as withnull,
	  md5(i::text) collate "C" as tc, md5(i::text) collate "en-x-icu" as ti, (array['red','green','blue'])[i % 3 + 1] collate "en-x-icu" as color,
	  (abs(hashint4(i)) % 100000)::numeric / 100 as n, ('{"a":' || i % 1000 || '}')::jsonb as js, i as id
	  from generate_series(1, 40000) i;
	vacuum analyze d, large;

	create function in_worker(i int4) returns int4 immutable parallel safe language plpgsql as $$
		begin
			if pg_backend_pid() = current_setting('test.leader', true)::int and pg_stat_file('go', true) is null then
				-- the lock tells that this is not the first row
				while exists (select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) and pg_stat_file('go', true) is null loop
					perform pg_sleep(0.01);
				end loop;
				perform pg_advisory_xact_lock(pg_backend_pid());
			end if;
			return i;
		end $$;
	create function fails_in_worker(i int4) returns int4 immutable parallel safe language plpgsql as $$
		begin
			if pg_backend_pid() <> current_setting('test.leader', true)::int then
				raise exception 'row % is in a worker', i;
			end if;
			return public.in_worker(i);
		end $$;
});

# The statements, in a session that builds through gpusort with this many workers for the table.  Returns what it says
# on stderr, with DEBUG1.
sub build
{
	my ($table, $workers, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "alter table $table set (parallel_workers = $workers); set gpusort.index_builds = on; set client_min_messages = debug1;\n$sql");

	return $err;
}

# The workers that ran and the rows that they fed, of the build that has said this; undefined: it had none.
sub fed
{
	return $_[0] =~ /gpusort: (\d+) workers fed (\d+) of \d+ rows/ ? ($1, $2) : ();
}

# Builds an index with these numbers of workers, and compares its pages with those of PostgreSQL's serial build.
my $fed_in_all = 0;
sub same_with_workers
{
	my ($name, $create, $table, $definition, @workers) = @_;

	$node->safe_psql('postgres', "alter table $table set (parallel_workers = 0); $create ix_native on $table $definition");
	for my $n (@workers)
	{
		my $said = build($table, $n, "$create ix_ours on $table $definition;");
		my ($launched, $rows) = fed($said);
		my $same = $node->safe_psql('postgres', q{
			select same_pages('ix_native', 'ix_ours') || case when count(distinct reltuples) = 1 then '' else ', but not reltuples' end from pg_class where relname in ('ix_native', 'ix_ours')});

		is($same, 'same', "$name: the same pages with $n workers") or diag $said;
		is($launched, $n, "$name: $n workers were started") or diag $said;
		$fed_in_all += $rows // 0;
		$node->safe_psql('postgres', "set client_min_messages = error; select bt_index_parent_check('ix_ours', true, true); drop index ix_ours");
	}
	$node->safe_psql('postgres', 'drop index ix_native');
	return;
}

# --- pages
same_with_workers('int8', 'create index', 'd', '(k8)', 1, 2, 4);
same_with_workers('text', 'create index', 'd', '(tc)', 1, 2, 4);
same_with_workers('ICU', 'create index', 'd', '(ti, few)', 1, 2, 4);
same_with_workers('few texts', 'create index', 'd', '(color, id desc)', 2);
same_with_workers('duplicates', 'create index', 'd', '(few)', 2, 4);
same_with_workers('unique', 'create unique index', 'd', '(id)', 1, 2, 4);
same_with_workers('partial', 'create index', 'd', '(k8) where few < 50', 1, 2, 4);
same_with_workers('partial, few and late rows', 'create index', 'd', '(ti, few) where id > 39990', 1, 4);
same_with_workers('partial, a tenth of the rows', 'create index', 'd', '(tc, n) where few < 10', 2);
same_with_workers('partial, no rows', 'create index', 'd', '(k8) where id < 0', 1, 4);
same_with_workers('partial CONCURRENTLY', 'create unique index concurrently', 'd', '(id) where few = 1', 2);
same_with_workers('expression', 'create index', 'd', '(upper(ti), (few + 1)) where length(tc) = 32', 1, 2, 4);
same_with_workers('INCLUDE', 'create index', 'd', '(withnull) include (n, js)', 1, 2, 4);
same_with_workers('CONCURRENTLY', 'create index concurrently', 'd', '(k8)', 1, 2, 4);
same_with_workers('unique CONCURRENTLY', 'create unique index concurrently', 'd', '(tc)', 2);
same_with_workers('HOT chains', 'create index', 'hot', '(k)', 1, 2, 4);
same_with_workers('large', 'create index', 'large', '(k)', 2, 4);
$node->safe_psql('postgres', 'select gpusort_stats_reset()');
same_with_workers('spilled', 'create index', 'large', '(t, k)', 1, 2, 4);
is($node->safe_psql('postgres', 'select runs_spilled > 0, index_builds from gpusort_stats'), 't|3', 'large indexes spill');
cmp_ok($fed_in_all, '>', 0, 'workers have fed rows');

# rows that are dead to some, and broken HOT chains
my $old = make_dead_rows($node);
same_with_workers('dead rows, unique', 'create unique index', 'dead', '(id)', 1, 2, 4);
same_with_workers('dead rows', 'create index', 'dead', '(t)', 2);
my $chain = q{select indcheckxmin from pg_index where indexrelid = 'dead_t'::regclass};
for my $n (0, 1, 2, 4)
{
	my $said = build('dead', $n, 'create index dead_t on dead (t)');

	is($node->safe_psql('postgres', "$chain; drop index dead_t"), 't', "a broken HOT chain is noticed with $n workers") or diag $said;
}
$old->query('commit');
$old->close;

# --- a worker that feeds nearly all rows
# Begins a build in a session of its own, and waits until a worker has fed rows.
sub begin_gated
{
	my ($sql) = @_;
	my $session = GpuSortTest::Session->new($node);

	unlink $go;
	$session->query("set test.leader = $session->{pid}; set gpusort.index_builds = on; set client_min_messages = debug1");
	$session->send($sql);
	return $session;
}

sub open_gate
{
	append_to_file($go, '');
	return;
}

sub wait_for_fed_rows
{
	my ($session, $rows) = @_;

	return $node->poll_query_until('postgres', "select coalesce(max(rows_fed), 0) > $rows from gpusort_progress where pid = $session->{pid}");
}

$node->safe_psql('postgres', q{alter table d set (parallel_workers = 1); alter table large set (parallel_workers = 1); select pg_stat_statements_reset()});
my $gated = begin_gated('create index gated on d (in_worker(id), k8)');
ok(wait_for_fed_rows($gated, 0), 'a worker feeds rows while the leader waits');
is($node->safe_psql('postgres', qq{select phase, blocks_total = pg_relation_size('d') / 8192 from pg_stat_progress_create_index where pid = $gated->{pid}}),
	'building index: scanning table|t', 'progress during the scan');
ok($node->poll_query_until('postgres', "select bool_and(wait_event = 'MessageQueueReceive') from pg_stat_activity where leader_pid = $gated->{pid}"), 'and scans the rest of the table');
open_gate();
$gated->finish;
my ($launched, $rows) = fed($gated->error);
is($launched, 1, 'a worker ran');
cmp_ok($rows, '>', 39000, 'and fed nearly all rows');
my $buffers = q{select bool_and(shared_blks_hit + shared_blks_read > pg_relation_size('d') / 8192) from pg_stat_statements where query like 'create index gated%'};
is($node->safe_psql('postgres', $buffers), 't', "the worker's buffers are counted");
$gated->close;

# workers scan before the leader has its first rows, and feed what they have kept, from a file
my $waits = q{wait_event = 'ParallelCreateIndexScan'};
$gated = begin_gated("set maintenance_work_mem = '1MB'; create index late on d (k8, ti) where in_worker(id) > 20000");
ok($node->poll_query_until('postgres', "select bool_and($waits) from pg_stat_activity where leader_pid = $gated->{pid}"), 'a worker has scanned the table while the leader has found no row');
is($node->safe_psql('postgres', 'select count(*) > 0 from pg_ls_tmpdir()'), 't', 'and has written its rows to a file');
open_gate();
$gated->finish;
($launched, $rows) = fed($gated->error);
cmp_ok($rows, '>', 0, 'it feeds its rows then') or diag $gated->error;
is($node->safe_psql('postgres', q{set client_min_messages = error; select bt_index_parent_check('late', true, true), reltuples from pg_class where relname = 'late'; drop index late}), '|20000', 'and they are in the index');
$gated->close;

# the worker waits with a full job until the leader, which has no more rows, spills
$gated = begin_gated('create index spilled on large (in_worker(i)) include (t)');
ok(wait_for_fed_rows($gated, 100000), 'a worker feeds many rows');
open_gate();
$gated->finish;
($launched, $rows) = fed($gated->error);
cmp_ok($rows, '>', 100000, 'it has fed them');
is($node->safe_psql('postgres', q{set client_min_messages = error; select bt_index_parent_check('spilled', true, true); drop index spilled}), '', 'and they are in the index');
$gated->close;

# --- errors
my $fails = begin_gated('create index failed on d (fails_in_worker(id))');
$fails->finish;
like($fails->error, qr/ERROR:.*row \d+ is in a worker/, "a worker's error is the build's");
like($fails->error, qr/parallel worker/, 'and says that it is of a worker');
$fails->close;
nothing_left_over($node, "a worker's error");

for my $n (0, 1, 2)
{
	my $said = build('d', $n, q{create index failed on d ((1 / (id - 30000)))});

	like($said, qr/ERROR:  division by zero/, "an error with $n workers");
	$said = build('d', $n, q{create unique index failed on d ((id / 2))});
	like($said, qr/ERROR:  could not create unique index "failed"\nDETAIL:  Key \(\(id \/ 2\)\)=\(\d+\) is duplicated\./, "duplicates with $n workers");
}
# PostgreSQL's leader loads the index, so it raises the error
$node->safe_psql('postgres', q{create table longest as select i, case when i = 15000 then (select string_agg(md5((i * j)::text), '') from generate_series(1, 120) j) else i::text end as t from generate_series(1, 20000) i});
my ($ours, $natively) = map { build('longest', 2, "set gpusort.index_builds = $_; create index failed on longest (t)") =~ s/^psql:\S+ //mgr } qw(on off);
like($natively, qr/ERROR:  index row size 3\d+ exceeds btree version 4 maximum/, 'a row too large for the index');
like($ours, qr/gpusort: 2 workers fed/, 'with workers');
is($ours =~ s/.*(?=ERROR:)//sr, $natively =~ s/.*(?=ERROR:)//sr, "the error is PostgreSQL's");
nothing_left_over($node, 'errors');
$node->safe_psql('postgres', q{alter table d set (parallel_workers = 1)});

my $canceled = begin_gated('create index canceled on d (in_worker(id))');
wait_for_fed_rows($canceled, 0);
$node->safe_psql('postgres', "select pg_cancel_backend($canceled->{pid})");
$canceled->finish;
like($canceled->error, qr/canceling statement due to user request/, 'a cancel during the scan');
is($node->safe_psql('postgres', "select count(*) from pg_stat_activity where leader_pid = $canceled->{pid}"), '0', 'ends the workers too');
$canceled->close;
nothing_left_over($node, 'a cancel');

# a worker that waits for the leader with a full job can be ended
my $ended = begin_gated('create index ended on large (in_worker(i)) include (t)');
wait_for_fed_rows($ended, 100000);
my $worker = qq{select pid from pg_stat_activity where leader_pid = $ended->{pid} and query like 'create index ended%' and backend_type = 'parallel worker' and query_id = (select query_id from pg_stat_activity where pid = $ended->{pid})};
is($node->safe_psql('postgres', "select count(pg_terminate_backend(pid)) from ($worker) w"), '1', "a worker shows its leader's statement; it is ended");
$ended->finish;
like($ended->error, qr/terminating .* due to administrator command/, 'and the build with it');
$ended->close;
nothing_left_over($node, 'an ended worker');

# a subtransaction that fails ends parallel mode, and its workers
my $caught = build('d', 2, q{
	do $$ begin
		begin
			create unique index caught on d ((id / 2));
		exception when unique_violation then
			raise debug 'caught';
		end;
		create unique index caught on d (id);
	end $$});
like($caught, qr/caught.*gpusort: 2 workers fed \d+ of 40000 rows of index "caught"/s, 'a build after one that failed in a subtransaction');
is($node->safe_psql('postgres', q{set client_min_messages = error; select bt_index_parent_check('caught', true, true); drop index caught}), '', 'the index has all rows');

# --- no workers
my @alone = fed(build('d', 4, 'set max_parallel_workers = 0; create index alone on d (k8)'));
is_deeply(\@alone, [], 'workers that cannot be started are not missed');
is($node->safe_psql('postgres', q{set client_min_messages = error; select bt_index_parent_check('alone', true, true); drop index alone}), '', 'the leader has scanned the whole table');
$node->safe_psql('postgres', q{
	create function trapped(a int4, b int4) returns int4 immutable language plpgsql as $$
		begin
			return btint4cmp(a, b);
		exception when others then
			return 0;
		end $$});
make_operator_class($node, 'trapped', 'trapped');
like(build('d', 4, 'set max_parallel_workers = 0; create index trapped on d (few, id trapped) where id < 4000; drop index trapped'),
	qr/^(?!.*(?:ERROR|gpusort left))/s, 'then comparisons may begin subtransactions, since the session is not in parallel mode');
is_deeply([ fed(build('d', 4, "set gpusort.enabled = off; create index alone on d (k8); drop index alone")) ], [], "PostgreSQL's own build has its own workers");
$node->safe_psql('postgres', 'create table d500 as select * from d limit 500; create table d0 (k8 int8)');
like(build('d500', 4, 'set gpusort.min_rows = 1000; create index on d500 (k8)'), qr/gpusort: 4 workers fed \d+ of 500 rows/, 'few rows have workers too');
like(build('d0', 4, 'create index on d0 (k8)'), qr/gpusort: 4 workers fed 0 of 0 rows/, 'or no rows');
like(build('d', 4, 'set gpusort.min_rows = 1000; create index selective on d (k8) where id < 500; drop index selective'), qr/gpusort: 4 workers fed \d+ of 499 rows/, 'and a scan that finds few rows');
like(build('d', 4, 'create index selective on d (k8) where false; drop index selective'), qr/gpusort: 4 workers fed 0 of 0 rows/, 'or none');

# --- the device takes no sort while workers scan: PostgreSQL builds the index
$node->safe_psql('postgres', 'alter table d set (parallel_workers = 2)');
my $service = stop_service($node);
my $refused = GpuSortTest::Session->new($node);
$refused->query('set gpusort.index_builds = on; set client_min_messages = debug1');
$refused->send('create index refused on d (upper(ti), few)');
$refused->wait_until_waiting or fail('the build does not wait for the service');
ok($node->poll_query_until('postgres', "select count(*) = 2 and bool_and($waits) from pg_stat_activity where leader_pid = $refused->{pid}"), 'workers have kept all rows');
kill 'TERM', $service;
continue_service($service);
$refused->finish;
like($refused->error, qr/^(?!.*ERROR).*gpusort left index "refused" of table "d" to PostgreSQL: no device serves/s, 'a sort is refused');
$refused->close;
wait_for_state($node, 'serving');
$node->safe_psql('postgres', 'alter table d set (parallel_workers = 0); create index native on d (upper(ti), few)');
is($node->safe_psql('postgres', q{select same_pages('native', 'refused'); drop index native, refused}), 'same', 'the pages are the same');
nothing_left_over($node, 'a refused sort');

# --- a build beside changes
my $said = build_beside_writer($node, 2);
is(scalar(() = $said =~ /gpusort: 2 workers fed/g), 1, 'a build beside changes has workers') or diag $said;
is($node->safe_psql('postgres', q{set client_min_messages = error; reindex index concurrently busy_t; reindex table busy; select bt_index_parent_check('busy_t', true, true)}), '', 'the index built again has all rows');

# --- what pg_stat_statements has of a build: the WAL of PostgreSQL's own, and as many accesses to the table's pages
# Builds and drops an index; returns its WAL records and bytes, and its buffer accesses.  Catalogs have records besides, of
# which one or two may come or not.
sub usage
{
	my ($mode, $workers, $table, $keys) = @_;

	$node->safe_psql('postgres', "alter table $table set (parallel_workers = $workers); select pg_stat_statements_reset();
		set client_min_messages = error; set gpusort.index_builds = $mode; create index used on $table $keys; drop index used");
	return split /\|/, $node->safe_psql('postgres', q{select wal_records, wal_bytes, shared_blks_hit + shared_blks_read from pg_stat_statements where query like 'create index used%'});
}

$node->safe_psql('postgres', q{
	alter system set full_page_writes = off;
	create unlogged table unlogged as select * from d;
	vacuum d, unlogged});
$node->reload;
# who shows the setting was started behind the reload; the checkpointer follows it before it writes a checkpoint
$node->poll_query_until('postgres', q{select current_setting('full_page_writes') = 'off'}) or fail('full_page_writes is on');
$node->safe_psql('postgres', 'checkpoint');
for my $case ([ 'd', '(k8)' ], [ 'd', '(few)' ], [ 'd', '(tc) where few < 50' ], [ 'unlogged', '(k8)' ])
{
	my ($table, $keys) = @$case;
	my $pages = $node->safe_psql('postgres', "select pg_relation_size('$table') / 8192");

	for my $workers (0, 2)
	{
		my @native = usage('off', $workers, $table, $keys);
		my @ours = usage('on', $workers, $table, $keys);
		my $name = "$table $keys, $workers workers";

		cmp_ok(abs($ours[0] - $native[0]), '<=', 5, "$name: as many WAL records") or diag "@ours, natively @native";
		cmp_ok(abs($ours[1] - $native[1]), '<=', 1000, "$name: as many bytes of WAL") or diag "@ours, natively @native";
		cmp_ok($ours[2], '>=', $pages, "$name: all pages of the table were read");
		# workers look into catalogs
		cmp_ok(abs($ours[2] - $native[2]), '<', 0.1 * $pages + 500 * (1 + $workers), "$name: about as many times as natively") or diag "@ours, natively @native";
	}
}

# --- whatever else builds indexes
for my $sql ('reindex index dk', 'reindex index concurrently dk', 'cluster d using dk', 'vacuum full d', 'alter table d alter few type int8')
{
	$node->safe_psql('postgres', 'create index if not exists dk on d (k8)');
	like(build('d', 2, $sql), qr/gpusort: 2 workers fed \d+ of 40000 rows of index "dk/, "$sql has workers");
	$node->safe_psql('postgres', q{set client_min_messages = error; select bt_index_parent_check('dk', true, true)});
}
nothing_left_over($node, 'parallel builds');
$node->stop;
done_testing();
