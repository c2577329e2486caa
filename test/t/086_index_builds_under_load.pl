# Indexes are built CONCURRENTLY through gpusort, and again, while pgbench updates, deletes, inserts and rolls back, and vacuum
# runs beside it.  In other rounds they are rebuilt while a snapshot stays open: rows that are dead to all others belong to
# them, and CONCURRENTLY would wait for it.  amcheck finds all rows in each index (heapallindexed), and scans of an index have
# the rows of a sequential scan, in new snapshots and in the old one.
#
#   GPUSORT_LOAD_SECONDS   how long (10 here; test/load/index_builds takes 3600)
#   SEED=N                 which builds have workers
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

seed();

my $seconds = $ENV{GPUSORT_LOAD_SECONDS} || 10;
my $node = new_server('index_builds_under_load', 'max_worker_processes = 20', 'max_parallel_workers = 12', 'max_parallel_maintenance_workers = 2',
	'min_parallel_table_scan_size = 0', 'max_wal_size = 2GB');
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', q{
	create extension amcheck;
	create table t (id int4 primary key, k int4, s text, filler text) with (fillfactor = 70);
	insert into t select i, hashint4(i), md5(i::text), repeat('f', 100) from generate_series(1, 20000) i;
	analyze t});

append_to_file($node->basedir . '/changes.sql', q{
\set id random(1, 20000)
\set other random(1, 20000)
\set v random(1, 1000000)
update t set filler = filler || 'x' where id = :id;
update t set k = :v, s = md5(:v::text) where id = :other;
begin;
delete from t where id = :id;
insert into t values (20000 + :v, :v, 'rolled back', '');
rollback;
begin;
delete from t where id = :id;
insert into t values (:id, :v, md5(:v::text), repeat('g', 100)) on conflict do nothing;
savepoint s;
update t set k = k + 1 where id = :other;
rollback to s;
end;
});

my ($out, $err) = ('', '');
my $pgbench = IPC::Run::start([ 'pgbench', '-n', '-c', 3, '-R', 100, '-T', $seconds + 5, '-f', $node->basedir . '/changes.sql',
		'-h', $node->host, '-p', $node->port, '-U', 'postgres', 'postgres' ], '>', \$out, '2>', \$err);

my @definitions = (
	[ 'ix_k', '', '(k)', 'k between -1000000000 and 500000', 'k, id' ],
	[ 'ix_s', '', '(s, k desc)', "s < 'a'", 's, k, id' ],
	[ 'ix_id', 'unique', '(id) include (k)', 'id between 500 and 15000', 'id, k' ],
	[ 'ix_part', '', '(lower(s)) where k > 0', "lower(s) > '8' and k > 0", 'lower(s), id' ]);

my ($rounds, $problems) = (0, '');

# Errors of a session's statements; none is expected.
sub note_error
{
	my ($what, $session) = @_;

	$problems .= "$what: " . $session->error if $session->error ne '';
	return;
}

my $by_index = 'set local gpusort.enabled = off; set local enable_seqscan = off';
my $by_table = 'set local gpusort.enabled = off; set local enable_seqscan = on; set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off';

# The rows of a definition's scan, in the session's snapshot.
sub rows_of
{
	my ($session, $settings, $definition) = @_;
	my (undef, undef, undef, $where, $columns) = @$definition;

	$session->query("savepoint s; $settings");
	my $rows = $session->query("select count(*) || ' ' || coalesce(md5(string_agg(r::text, ' ' order by r::text)), '') from (select $columns from t where $where) r");
	$session->query('rollback to s');
	return $rows;
}

sub compare_scans
{
	my ($session, $what, $definition) = @_;

	$session->query('begin isolation level repeatable read');
	my ($index, $table) = map { rows_of($session, $_, $definition) } $by_index, $by_table;
	$session->query('commit');
	$problems .= "$what: the index has $index, the table $table\n" if $index ne $table;
	return;
}

my ($old, $builder, $cleaner) = map { GpuSortTest::Session->new($node, $seconds) } 1 .. 3;
$builder->query('set client_min_messages = warning; set gpusort.index_builds = on');

my $start = time;
while (time - $start < $seconds || $rounds < 2)
{
	my $with_snapshot = $rounds % 2 == 1;
	my %seen;

	if ($with_snapshot)
	{
		$old->query('begin isolation level repeatable read');
		$seen{ $_->[0] } = rows_of($old, $by_table, $_) for @definitions;
	}
	for my $definition (@definitions)
	{
		my ($name, $unique, $keys) = @$definition;
		my $what = "round $rounds, $name";

		# the table's lock waits for vacuum
		$cleaner->finish if $rounds > 0 || $name ne $definitions[0][0];
		$builder->query('alter table t set (parallel_workers = ' . 2 * int(rand 2) . ')');
		$builder->query($with_snapshot ? "reindex index $name"
			: $rounds % 4 == 0 ? "drop index if exists $name; create $unique index concurrently $name on t $keys"
			: "reindex index concurrently $name");
		note_error($what, $builder);
		$cleaner->send('vacuum t');
		$builder->query("select bt_index_check('$name', true)");
		note_error("$what, amcheck", $builder);
		compare_scans($builder, $what, $definition);
	}
	if ($with_snapshot)
	{
		for my $definition (@definitions)
		{
			my $rows = rows_of($old, $by_index, $definition);

			$problems .= "round $rounds, $definition->[0]: the old snapshot had $seen{$definition->[0]}, and by the index $rows\n" if $rows ne $seen{ $definition->[0] };
		}
		$old->query('commit');
		note_error("round $rounds, the old snapshot", $old);
	}
	$rounds++;
}
my $took = time - $start;
$cleaner->finish;
$pgbench->finish;

is($problems, '', sprintf('%d rounds in %.0f s: no error, and no row is missing or too many', $rounds, $took));
is($node->safe_psql('postgres', 'select index_builds from gpusort_stats'), $rounds * @definitions, 'gpusort has built all of them');
my ($transactions) = $out =~ /number of transactions actually processed: (\d+)/;
cmp_ok($transactions // 0, '>', 0, 'beside changes');
unlike($err, qr/ERROR|aborted/, 'which had no error');
is($node->safe_psql('postgres', q{select count(bt_index_parent_check(indexrelid, true, true)) from pg_index where indrelid = 't'::regclass and indisvalid}), '5', 'all indexes are whole in the end');
$_->close for $old, $builder, $cleaner;
nothing_left_over($node, 'builds under load');
$node->stop;
quiet_log($node);
note sprintf('SUMMARY index builds: %.0f s, %d builds, %d transactions beside them', $took, $rounds * @definitions, $transactions // 0);

done_testing();
