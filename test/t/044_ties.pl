# Rows that their words leave undecided: tie runs are finished in the backend, whatever
# their size and wherever blocks and runs divide them, and read to and fro like all others.
#
#   SEED=N       of the walks, and of the keys of few values
#   ROUNDS=all   all such keys, not four of them under each collation
#
# Arrays have no words, so every key from the first array on is left to the backend.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SortWalks;
use Test::More;

seed();

my $node = new_server('ties', "gpusort.device_memory = '256MB'", "gpusort.buffer_memory = '64MB'", "work_mem = '8MB'");
wait_for_state($node, 'serving');
# enough for two runs of each table, when runs are spilled
my ($n, $n_narrow) = (110000, 200000);
$node->safe_psql('postgres', qq{
	create table t as
	select i % 20 as twenty, i / 3 as third, array[hashint4(i) % 1000, i % 7] as a, i as id, repeat(chr(97 + i % 26), 60 + i % 50) as pad,
		case when i % 5 > 0 then array[i % 3] end as few
	from generate_series(1, $n) i;
	create table in_order as select * from t order by a, id;
	create table narrow as
	select i % 2 as c1, 0 as c2, i % 3 as c3, 0 as c4, 7 as c5, -1 as c6, 0 as c7, 0 as c8, hashint4(i) as c9, i as id from generate_series(1, $n_narrow) i;
	analyze t; analyze in_order; analyze narrow});
my $session = GpuSortTest::Session->new($node);
walk_on($node, $session);

my $database = 'postgres';

sub ordered_digest
{
	my ($settings, $query) = @_;

	return $node->safe_psql($database, "$settings; select count(*), md5(string_agg(q::text, ' ')) from ($query) q");
}

my %native;

# By PostgreSQL alone, once for each query: no setting of ours matters.
sub native_digest
{
	my ($query) = @_;

	return $native{"$database $query"} //= ordered_digest('set gpusort.enabled = off', $query);
}

# The rows of a query by the device, and natively: the same.  Its EXPLAIN ANALYZE is returned.
sub same_rows
{
	my ($what, $settings, $query) = @_;
	my $plan = $node->safe_psql($database, "$settings; explain (analyze, costs off, timing off, summary off) $query");

	is(ordered_digest($settings, $query), native_digest($query), $what);
	like($plan, qr/GpuSort.*Key Words/ms, "$what: the device did it");
	return $plan;
}

sub in_tie_runs
{
	my ($plan) = @_;

	return $plan =~ /Tie Runs: (\d+).*Rows in Tie Runs: (\d+)/s ? "$1 tie runs, $2 rows" : 'none';
}

my $small_memory = "set work_mem = '64kB'";
my %queries = (
	'tie runs of three' => 'select * from t order by third, a, id',
	'tie runs over blocks' => 'select * from t order by twenty desc, a desc, id',
	'one tie run of all rows' => 'select few, id, pad from t order by id * 0, few nulls first, id',
	'tie runs in order' => 'select * from in_order order by twenty, a, id',
	'narrow rows' => 'select * from narrow order by c1, c2, c3, c4, c5, c6, c7, c8, c9, id',
);
my %tie_runs = (
	'tie runs of three' => int(($n + 1) / 3) . " tie runs, $n rows",
	'tie runs over blocks' => "20 tie runs, $n rows",
	'one tie run of all rows' => "1 tie runs, $n rows",
	'tie runs in order' => "20 tie runs, $n rows",
	'narrow rows' => "6 tie runs, $n_narrow rows",
);

for my $what (sort keys %queries)
{
	my $plan = same_rows($what, '', $queries{$what});

	# 1 and 2 are the first third
	is(in_tie_runs($plan), $tie_runs{$what}, "$what: all of them were found");
	same_rows("$what, beyond work_mem", $small_memory, $queries{$what});
}

unlike($node->safe_psql('postgres', "$small_memory; explain (analyze, buffers, costs off, timing off, summary off) $queries{'tie runs in order'}"),
	qr/temp (read|written)/, 'tie runs in order beyond work_mem: no file is written');

# --- any number of keys; NULLs; equal rows
same_rows('twenty keys', '', 'select * from t order by ' . join(', ', map { "(id / $_) % 2" } reverse 2 .. 20) . ', id');
same_rows('equal rows', '', 'select twenty, few from t order by twenty, few');
same_rows('equal rows beyond work_mem', $small_memory, 'select twenty, few from t order by twenty, few desc');

# --- long rows among others in one tie run
same_rows('long rows', '', 'select i % 3 as k, array[-i] as a, repeat(chr(97 + i % 26), case when i % 50 = 0 then 3000000 else 50000 end) as long from generate_series(1, 300) i order by 1, 2');
same_rows('long rows beyond work_mem', $small_memory, 'select i % 3 as k, array[-i] as a, repeat(chr(97 + i % 26), case when i % 20 = 0 then 3000000 else 500 end) as long from generate_series(1, 100) i order by 1, 2');

# --- feeders
my $parallel = 'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0';
like(same_rows('two workers', $parallel, $queries{'tie runs over blocks'}), qr/GpuSortFeed/, 'two workers: they fed it');

# --- tie runs of many rows with few values: several keys share a word, as many as have room
$database = 'unicode';
$node->safe_psql('postgres', "create database $database template template0 encoding 'UTF8' locale 'C'");
$node->safe_psql($database, q{create extension gpusort; create table few_values with (parallel_workers = 2) as
	select i as id, (array['books', 'Books', 'home', 'Home ', 'music', 'mu-sic'])[1 + (hashint4(i) & 3)] || repeat(' of a kind', 6) as kind,
		case when i % 11 > 0 then ('brand #' || (hashint4(i + 1) & 127))::char(50) end as brand,
		case when i % 7 > 0 then hashint4(i + 2) & 3 end as n, (hashint4(i + 3) & 1)::bool as b, hashint8(i + 4) as large,
		case when i % 5 > 0 then date '2000-01-01' + (hashint4(i + 5) & 255) end as d, (hashint4(i + 6) & 15)::numeric as num,
		null::text as nothing, md5(i::text) as many, decode(md5((i & 63)::text), 'hex') as bytes
	from generate_series(1, 50000) i});
my @few_keys = ('brand, n, b, d, id', 'brand desc nulls last, n desc, b desc, id', 'brand nulls first, n nulls first, d desc nulls first, num, id', 'nothing, brand, large, id',
	'n nulls first, nothing, brand, many, id', 'brand, bytes, n, id', 'brand, many, id', 'many, brand, id', 'large desc, brand', 'n, large, id', 'brand, b, n');
my @collations = ('"C"', $node->safe_psql($database, q{select quote_ident(collname) from pg_collation where collname in ('en-x-icu', 'en_US.utf8') order by 1}) =~ /(\S+)/g);
for my $collation (@collations)
{
	for my $keys (draw(4, @few_keys))
	{
		my $query = "select * from few_values order by kind collate $collation, " . ($keys =~ s/\b(brand|many)\b/$1 collate $collation/gr);

		$query =~ s/\*/kind, brand, b, n/ if $keys !~ /id|large/;
		$query =~ s/from/, array[1] as a from/ if $collation eq '"C"';
		$query =~ s/order by kind collate [^\s,]+/order by left(kind, 0) collate "C", a, kind collate $collation/ if $collation eq '"C"';
		same_rows("few values, $collation, $keys", $parallel, $query);
	}
}
# a key without words behind one that has
same_rows('few values, an order that has no words', $parallel, 'select * from (select *, case when id % 4 = 0 then 0 else id end as a from few_values) s order by a, brand using ~<~, id');
$database = 'postgres';

# --- in the backend
my $private = 'set gpusort.min_rows = 1000000; set gpusort.debug_force = on';
my $in_backend = counter('in_backend');
is(ordered_digest($private, 'select * from t where id <= 20000 order by twenty, a, id'),
	ordered_digest('set gpusort.enabled = off', 'select * from t where id <= 20000 order by twenty, a, id'), 'so few that the backend sorts them');
is(counter('in_backend') - $in_backend, 1, 'and it does');

# --- to and fro
for my $what (sort keys %queries)
{
	same_walk("a cursor, $what", 'scroll cursor', $queries{$what}, 0, walk($n, 10));
	$session->query($small_memory);
	same_walk("a cursor, $what, beyond work_mem", 'scroll cursor', $queries{$what}, 0, walk($n, 5));
	$session->query('reset work_mem');
	same_steps($what, $queries{$what}, '\w+', 400);
}

# --- runs in files
$node->append_conf('postgresql.conf', "gpusort.device_memory = '32MB'");
$node->reload;
$node->poll_query_until('postgres', 'select budget_bytes < 64 * 1024 * 1024 from gpusort_devices');
for my $what (sort keys %queries)
{
	my $runs = counter('runs_spilled');
	my $plan = same_rows("$what, spilled", '', $queries{$what});

	cmp_ok(counter('runs_spilled') - $runs, '>=', 2, "$what, spilled: runs were written");
	like($plan, qr/Merge Order: backend/, "$what, spilled: the backend merges them");
	same_rows("$what, spilled, beyond work_mem", $small_memory, $queries{$what}) if $what ne 'tie runs of three';
}
same_walk('a cursor, spilled', 'cursor', $queries{'tie runs over blocks'}, 2, walk($n, 8));
same_steps('spilled', $queries{'tie runs of three'}, '\w+ external merge', 300);

$node->poll_query_until('postgres', 'select open_jobs = 0 from gpusort_devices');
is(temporary_files($node), '', 'no file is left');
$node->stop;
done_testing();
