# Eight sessions build indexes through the device at once, beside sessions that send invalidations in a storm.  Some of them find
# no device memory.  Alone, the largest index, whose rows have 38 MB, spills.  The pages are those of PostgreSQL's builds.
#
# wal_consistency_checking = all: a standby compares each page that it has replayed with the primary's, and stops at one that
# differs.  Its indexes are checked too.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IndexBuilds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('index_consistency', "wal_consistency_checking = 'all'", "gpusort.device_memory = '32MB'", 'max_wal_size = 2GB',
	'max_worker_processes = 20', 'max_parallel_workers = 12', 'max_parallel_maintenance_workers = 2', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
make_index_checks($node);
$node->safe_psql('postgres', q{
	create table d as select i as id, hashint4(i) as k, i % 100 as few, md5(i::text) collate "C" as c, md5(i::text) collate "en-x-icu" as t,
		repeat(md5(i::text), 15) as filler from generate_series(1, 80000) i;
	alter table d set (parallel_workers = 0);
	create table with_workers (like d);
	insert into with_workers select * from d;
	alter table d set (parallel_workers = 0);
	alter table with_workers set (parallel_workers = 2);
	vacuum analyze d, with_workers;
	create function stormy(i int4) returns int4 immutable parallel safe language plpgsql as $$ begin return i / 3; end $$});
# the storms write WAL faster than a slow machine replays it
$node->safe_psql('postgres', q{select pg_create_physical_replication_slot('standby', true)});
$node->backup('before');
my $standby = PostgreSQL::Test::Cluster->new('index_consistency_standby');
$standby->init_from_backup($node, 'before', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'");
$standby->start;

my @builds = (
	[ '', 'd', '(k)' ],
	[ '', 'd', '(filler, id)' ],
	[ 'unique', 'd', '(t, few)' ],
	[ '', 'd', '(few) include (c)' ],
	[ '', 'with_workers', '(c desc, filler)' ],
	[ 'unique', 'with_workers', '(id)' ],
	[ '', 'with_workers', '(stormy(few), k)' ],
	[ '', 'd', '(upper(t)) where stormy(few) < 20' ]);

# --- storms: until the file "calm" is in the data directory

my @storms = map { GpuSortTest::Session->new($node) } 1 .. 3;
my $until_calm = q{while pg_stat_file('calm', true) is null loop %s commit; perform pg_sleep(0.02); end loop;};
my @sends = (
	q{create or replace function stormy(i int4) returns int4 immutable parallel safe language plpgsql as 'begin return i / 3; end';},
	q{create table other (a int primary key, b text); alter table other add c int default 7; insert into other select i, i, i from generate_series(1, 100) i; analyze other; drop table other;},
	q{create type swirl as enum ('a', 'b'); create temp table short (a swirl, b text, c int); create index on short (b); drop table short; drop type swirl;});

for my $i (0 .. $#storms)
{
	$storms[$i]->send('do $$ begin ' . sprintf($until_calm, $sends[$i]) . ' end $$');
}

# --- eight at once

sub sessions_do
{
	my ($what, @statements) = @_;
	my @sessions = map { GpuSortTest::Session->new($node) } @statements;

	$_->query('set gpusort.index_builds = on') for @sessions;
	$sessions[$_]->send($statements[$_]) for 0 .. $#sessions;
	for my $i (0 .. $#sessions)
	{
		$sessions[$i]->finish;
		is($sessions[$i]->error, '', "$what: $statements[$i]");
		$sessions[$i]->close;
	}
	return;
}

sub counter { return $node->safe_psql('postgres', "select $_[0] from gpusort_stats") }

sub compare_all
{
	my ($what) = @_;

	for my $i (0 .. $#builds)
	{
		is($node->safe_psql('postgres', "select same_pages('ix_native$i', 'ix$i')"), 'same', "$what: the pages of $builds[$i][1] $builds[$i][2]");
	}
	is($node->safe_psql('postgres', q{set client_min_messages = error; select count(bt_index_parent_check(oid, true, true)) from pg_class where relname ~ '^ix\d'}), scalar(@builds), "$what: amcheck");
	return;
}

sub statements { return map { my ($unique, $table, $definition) = @{ $builds[$_] }; sprintf $_[0], $_, $unique, $table, $definition } 0 .. $#builds }

$node->safe_psql('postgres', join ';', statements('create %2$s index ix_native%1$d on %3$s %4$s'));
sessions_do('eight at once', statements('create %2$s index ix%1$d on %3$s %4$s'));
# when the device takes no further sort, PostgreSQL builds those with workers
my $serial = grep { $_->[1] ne 'with_workers' } @builds;
cmp_ok(counter('index_builds'), '>=', $serial, 'gpusort has built them');
compare_all('eight at once');
sessions_do('again', statements('reindex index ix%1$d'));
cmp_ok(counter('index_builds'), '>=', 2 * $serial, 'again: gpusort has built them');
ok(nobody_sorts($node), 'nobody sorts');
my $spilled = counter('runs_spilled');
$node->safe_psql('postgres', 'set gpusort.index_builds = on; reindex index ix1');
cmp_ok(counter('runs_spilled'), '>', $spilled, 'alone: the largest spills');
compare_all('again');

append_to_file($node->data_dir . '/calm', '');
for my $storm (@storms)
{
	$storm->finish;
	is($storm->error, '', 'a storm ends');
	$storm->close;
}

# --- what builds indexes in other ways, for the standby

$node->safe_psql('postgres', q{
	set gpusort.index_builds = on;
	create unique index concurrently ix_concurrent on d (id);
	reindex index concurrently ix0;
	alter table d set (fillfactor = 80);
	cluster d using ix_concurrent;
	begin;
	create table made as select id, t from d;
	alter table made add constraint ix_made primary key (id);
	create index ix_gone on made (t);
	savepoint s;
	create index ix_dropped on made (t, id);
	rollback to s;
	drop index ix_gone;
	commit});
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is($standby->safe_psql('postgres', q{select count(bt_index_check(c.oid, true)) from pg_class c join pg_index i on i.indexrelid = c.oid where c.relam = 403 and c.oid >= 16384}),
	$node->safe_psql('postgres', q{select count(*) from pg_class where relkind = 'i' and relam = 403 and oid >= 16384}), 'a standby has replayed all of them: amcheck');
is($standby->safe_psql('postgres', q{set enable_seqscan = off; select count(*), sum(few) from d where k > 0}),
	$node->safe_psql('postgres', q{set enable_indexscan = off; set enable_bitmapscan = off; select count(*), sum(few) from d where k > 0}), 'and finds its rows by them');
nothing_left_over($node, 'builds');
$_->stop for $standby, $node;
unlike(slurp_file($standby->logfile), qr/inconsistent page/, 'WAL gives the same pages');
quiet_log($_) for $node, $standby;

done_testing();
