# Index builds encode texts by a sample of the table's blocks, where ANALYZE has found nothing yet, as after a restore.
# The words leave out a long prefix and have dictionaries, also for rows unlike the first ones, in serial and parallel
# builds, of partial indexes.  The first rows of the scan tell that of expressions.  The pages are PostgreSQL's.
#
# Nobody sees the sample: expressions are evaluated once for a row, and errors name the row that PostgreSQL names.
#
# The log tells how many rows words have left undecided.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IndexBuilds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 60000;
my $node = new_server('build_samples', 'max_parallel_maintenance_workers = 2', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
make_index_checks($node);
$node->safe_psql('postgres', qq{
	create table different as select 'https://www.example.com/catalogue/customers/' || md5(i::text) as t, i from generate_series(1, $rows) i;
	create table in_order as select 'https://www.example.com/catalogue/customers/' || lpad(i::text, 12, '0') as t, i from generate_series(1, $rows) i;
	-- the first rows are all alike
	create table clustered as select 'https://www.example.com/catalogue/customers/' || md5((i / 3000)::text) || '/orders/' as t, i from generate_series(1, $rows) i;
	create table failing as select i, 'text ' || i as t from generate_series(1, 20000) i});
is($node->safe_psql('postgres', q{select count(*) from pg_stats where tablename in ('different', 'in_order', 'clustered')}), '0', 'nothing is known of the tables');

# Builds an index natively and through gpusort, with this many workers.  Returns what the latter logs.
sub build
{
	my ($table, $workers, $keys, $settings) = @_;
	my $at = -s $node->logfile;

	$settings //= '';
	is($node->safe_psql('postgres', qq{
			set client_min_messages = error;
			alter table $table set (parallel_workers = 0);
			create index ix_native on $table $keys;
			alter table $table set (parallel_workers = $workers);
			set gpusort.index_builds = on;
			set gpusort.log_index_builds = on;
			$settings;
			create index ix_ours on $table $keys;
			select same_pages('ix_native', 'ix_ours');
			drop index ix_native, ix_ours}), 'same', "$table $keys, $workers workers: the same pages");
	return substr(slurp_file($node->logfile), $at);
}

for my $workers (0, 2)
{
	for my $keys ('(t collate "C")', '(t collate "C") where i % 2 = 0', '(lower(t) collate "C") where i % 2 = 0', '(t collate "en-x-icu")', '(i, t)')
	{
		for my $table (qw(different in_order clustered))
		{
			# a serial sort sees that its first rows are in order
			next if $table eq 'in_order' && $keys =~ /lower/ && !$workers;

			# from fewer rows, expressions would have no words that fit
			my $log = build($table, $workers, $keys, $keys =~ /lower/ ? 'set gpusort.min_rows = 2000' : '');
			my ($tied) = $log =~ /Rows in Tie Runs: (\d+)/;

			like($log, qr/Sort Method: (?:host|gpu)/, "$table $keys, $workers workers: sorted by the device");
			# equal strings tie under ICU, and the first ones tell nothing of others
			next if $keys =~ /icu|lower/ && $table eq 'clustered';
			cmp_ok($tied // 0, '<', $rows / 20, "$table $keys, $workers workers: words tell the rows apart") or diag $log;
		}
	}
	like(build('clustered', $workers, '(t collate "C")'), qr/Dictionary Keys: 1\n.*Rows in Tie Runs: 0\n/s, "few values have a dictionary, $workers workers");
	like(build('clustered', $workers, '(t collate "en-x-icu")'), qr/Dictionary Keys: 1\n.*Rows in Tie Runs: 0\n/s, "under ICU too, $workers workers");
}

# Texts out of line cannot be sampled, and then the first rows tell.
$node->safe_psql('postgres', q{
	create table external (t text);
	alter table external alter t set storage external;
	insert into external select 'https://www.example.com/' || md5(i::text) || repeat(' ', 2050) from generate_series(1, 3000) i});
like(build('external', 0, '(t collate "C")', 'set gpusort.min_rows = 1000'), qr/Sort Method: (?:host|gpu).*Rows in Tie Runs: 0\n/s, 'texts out of line: words tell the rows apart');

# Rows that lie in order take PostgreSQL's build.
for my $case ([ '(i)', 0, 'left' ], [ '(t collate "C", i)', 0, 'left' ], [ '(i desc)', 0, 'built' ], [ '(i)', 2, 'built' ], [ '(i) where i < 10', 0, 'built' ])
{
	my ($keys, $workers, $end) = @$case;

	like(build('in_order', $workers, $keys, 'set gpusort.debug_force = off; set gpusort.min_rows = 1000'), qr/gpusort $end index "ix_ours"/, "rows in order, $keys, $workers workers: $end");
}
like(build('in_order', 0, '(i)', q{set gpusort.debug_force = off; set gpusort.min_rows = 1000; set maintenance_work_mem = '1MB'}), qr/gpusort built index/, 'but not if they spill');

# So do rows whose words cost more than its comparisons.
my $libc = q{create collation us (locale = 'en_US.UTF-8')};
SKIP:
{
	skip 'no such locale', 2 if $node->psql('postgres', $libc) != 0;
	like(build('in_order', 0, '(t collate us)', 'set gpusort.debug_force = off; set gpusort.min_rows = 1000'),
		qr/gpusort left index "ix_ours" of table "in_order" to PostgreSQL: making key words costs more than comparisons/, 'rows in order');
	like(build('different', 0, '(t collate us)', 'set gpusort.debug_force = off; set gpusort.min_rows = 1000'), qr/Sort Method: (?:host|gpu)/, 'other rows');
	is($node->safe_psql('postgres', q{select native_cost > 0 from gpusort_stats}), 't', 'and it is counted');
}

# A sample is no scan, nor does it meet rows that the index does not have.
# Sessions' scans are counted when they have ended.
sub scans
{
	$node->poll_query_until('postgres', q{select count(*) = 0 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()})
	  or fail('sessions do not end');
	return $node->safe_psql('postgres', q{select seq_scan from pg_stat_user_tables where relname = 'different'});
}
my $before = scans();
build('different', 0, '(t collate "C")');
is(scans() - $before, 2, 'two builds are two scans');
build('failing', 0, '((t || 1 / (i % 100))) where i % 100 > 0');

# What a sample might show: of these tables it has rows that fail, but not the first one that does.
$node->safe_psql('postgres', q{
	create sequence calls;
	create function counted(t text) returns text immutable language plpgsql as $$ begin perform nextval('public.calls'); return t; end $$;
	create table no_number with (parallel_workers = 0) as select case when i <= 2000 then i::text else 'row ' || i end as t, i from generate_series(1, 20000) i;
	create table too_large with (parallel_workers = 0) as select case when i = 2001 or i between 6500 and 6900
		then (select string_agg(md5((i * j)::text), '') from generate_series(1, 300 + i % 100) j) else i::text end as t, i from generate_series(1, 20000) i});

# What the statement says, and the calls of the function.
sub seen
{
	my ($on, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "set client_min_messages = warning; set gpusort.index_builds = $on; select setval('calls', 1, false); $sql");

	return $err =~ s/^psql:\S* //mgr . $node->safe_psql('postgres', 'select last_value from calls');
}

for my $case ([ 'no_number ((t::int))', qr/"row 2001"/ ], [ 'no_number (t) where t::int > 0', qr/"row 2001"/ ], [ 'too_large (t)', qr/index row requires 9\d+ bytes/ ],
	[ 'different (counted(t))', qr/^60000$/ ], [ 'different (i) where counted(t) > t', qr/^60000$/ ])
{
	my ($index, $what) = @$case;
	my $native = seen('off', "create index on $index");

	like($native, $what, "$index: natively");
	is(seen('on', "create index on $index"), $native, "$index: the same");
}
$node->safe_psql('postgres', 'begin; delete from failing where i % 100 = 0');
$node->safe_psql('postgres', 'delete from failing where i % 100 = 0');
build('failing', 0, '((t || 1 / nullif(i % 100, 0)))');

nothing_left_over($node, 'builds by samples');
$node->stop;
done_testing();
