# Sorts whose estimate is wrong: they begin as PostgreSQL's own, and go to the device when more
# rows come than gpusort.min_rows; the rows are the same in any case.
#
#   SEED=N       of the walks, and of what is drawn
#   ROUNDS=all   each kind of row with each number of rows, not a part of them that is drawn
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

my $node = new_server('few_rows', 'gpusort.min_rows = 1000', "gpusort.buffer_memory = '32MB'", "work_mem = '16MB'");
wait_for_state($node, 'serving');
# the planner takes a table's density from pg_class
$node->safe_psql('postgres', q{
	create function set_estimate(name text, rows float4) returns void language sql as
		$$update pg_class set reltuples = rows where relname = name$$;
	create table t as
	select i as id, hashint8(i)::int8 as k, (hashint8(i) % 1000)::int4 as small, (hashint8(i) / 1000.0)::numeric as num,
		'https://www.example.org/a/prefix/that/all/have/' || lpad((hashint4(i) & 16777215)::text, 8, '0') as url,
		case when i % 7 > 0 then md5(i::text) end as t
	from generate_series(1, 100000) i;
	create table broken as
	select id, case when id < 30000 then url when id % 3 = 0 then reverse(url) else left(url, id % 40) end as url from t where id <= 60000;
	create table alike as select id, case when id < 30000 then 'one' else url end as url from t where id <= 60000;
	create table wide as select id, k, repeat(md5(id::text), 40) as filler from t where id <= 12000;
	create table driving as select i as id, n from unnest(array[0, 1, 10, 999, 1000, 1001, 5, 20000, 3, 0, 1000, 1500, 20]) with ordinality u(n, i);
	vacuum analyze;
	select set_estimate(name, 10) from unnest('{t, broken, alike, wide}'::text[]) name;});
my $session = GpuSortTest::Session->new($node);
walk_on($node, $session);

sub digest_of { return "select count(*), md5(string_agg(q::text, ' ')) from ($_[0]) q"; }

sub ordered_digest
{
	my ($settings, $query) = @_;

	return $node->safe_psql('postgres', "$settings; " . digest_of($query));
}

# The rows are native's; the method of the topmost sort is this, and a device did so many sorts.
# EXPLAIN ANALYZE is returned.
sub same_rows
{
	my ($what, $settings, $query, $method, $jobs) = @_;
	my ($digest, $count) = (digest_of($query), 'select jobs from gpusort_stats');
	my ($before, @plan) = split /\n/, $node->safe_psql('postgres',
		"$settings; $count; explain (analyze, costs off, timing off, summary off) $query; $count; $digest; set gpusort.enabled = off; $digest");
	my ($after, $got, $native) = splice @plan, -3;
	my $plan = join "\n", @plan;

	like($plan, qr/GpuSort.*?Sort Method: $method$/ms, "$what: $method");
	is($after - $before, $jobs, "$what: $jobs on the device");
	is($got, $native, "$what: the rows");
	return $plan;
}

my $on_device = qr/(?:host|gpu)/;
my $in_backend = qr/in backend\n +Sort Space Type: Memory\n +Sort Space Used: \d+ kB/;

# --- more rows than expected, and fewer
like($node->safe_psql('postgres', 'explain select * from t order by k, id'), qr/GpuSort.* rows=\d\d? /, 'few rows are expected');
same_rows('an integer', '', 'select * from t order by k, id', $on_device, 1);
same_rows('narrow rows', '', 'select id, small from t order by small desc, id', $on_device, 1);
same_rows('values', '', 'select k from t order by k desc', $on_device, 1);
same_rows('below a window', '', 'select id, row_number() over (order by k, id) from t', $on_device, 1);
same_rows('a numeric', '', 'select num, id from t order by num, id', $on_device, 1);
same_rows('NULLs', '', 'select t, id from t where id <= 40000 order by t collate "C" nulls first, id', $on_device, 1);
for my $rows (0, 1, 2, 500)
{
	same_rows("$rows rows", '', "select * from t where id <= $rows order by k, id", $in_backend, 0);
}
same_rows('501 rows', '', 'select * from t where id <= 501 order by k, id', qr/in backend/, 0);
for my $case (
	[ 'values', 'select k from t where id <= %d order by k', $in_backend ],
	[ 'rows, a text first', 'select * from t where id <= %d order by t, id', $in_backend ],
	[ 'rows, few values', 'select id, small / 100 as s from t where id <= %d order by s desc, id', qr/in backend/ ],
	[ 'rows, NULLs', 'select id, nullif(small / 500, 1) as s from t where id <= %d order by s nulls first, id desc', qr/in backend/ ])
{
	my ($what, $query, $method) = @$case;

	same_rows("$_ $what", '', sprintf($query, $_), $method, 0) for draw(1, 501, 999);
}
same_rows('a row less than gpusort.min_rows', '', 'select * from t where id <= 999 order by k, id', $in_backend, 0);
same_rows('as many as gpusort.min_rows', '', 'select * from t where id <= 1000 order by k, id', $on_device, 1);
same_rows('as many values as gpusort.min_rows', '', 'select k from t where id <= 1000 order by k', $on_device, 1);
same_rows('a row more than gpusort.min_rows', '', 'select * from t where id <= 1001 order by k, id', $on_device, 1);
$node->safe_psql('postgres', q{select set_estimate('t', 1000000)});
my $before = counter('in_backend');
same_rows('10 of 1 M', '', 'select * from t where id <= 10 order by k, id', $in_backend, 0);
same_rows('10 values of 1 M', '', 'select k from t where id <= 10 order by k', $in_backend, 0);
is(counter('in_backend') - $before, 4, 'counted');
same_rows('more than a few, fewer than gpusort.min_rows', '', 'select * from t where id <= 900 order by k, id', qr/in backend/, 0);
$node->safe_psql('postgres', q{select set_estimate('t', 10)});

# --- the default: the host device is for more rows than a GPU
my $by_default = 'set gpusort.min_rows = -1';
my $on_host = ($ENV{GPUSORT_TEST_DEVICE} // 'host') ne 'cuda';
# on both sides of this device's limit; on the far side of the other's
my @near = $on_host ? (19999, 20001) : (9999, 10001);
my @far = $on_host ? (9999, 10001) : (19999, 20001);
my $limit = $on_host ? 20000 : 10000;
for my $estimate (10, 75000, 1000000)
{
	$node->safe_psql('postgres', "select set_estimate('t', $estimate)");
	for my $rows (@near, draw(1, @far))
	{
		my $sent = $rows > $limit;

		same_rows("by default, $rows of $estimate rows", $by_default, "select * from t where id <= $rows order by k, id",
			$sent ? $on_device : qr/in backend/, $sent ? 1 : 0);
	}
}
$node->safe_psql('postgres', q{select set_estimate('t', 10)});

# --- work_mem
my $memory = "set work_mem = '64kB'; set gpusort.min_rows = 100000";
same_rows('before work_mem is used up', $memory, 'select * from t where id <= 30000 order by k, id', $on_device, 1);
same_rows('a few wide rows', $memory, 'select * from wide where id <= 3000 order by k, id', $on_device, 1);
is(temporary_files($node), '', 'no file is left');

# --- encodings by the first rows
my $plan = same_rows('a prefix that all have', '', 'select * from t where id <= 30000 order by url collate "C", id', $on_device, 1);
like($plan, qr/Tie Runs: \d{1,4}$/m, 'a prefix that all have: words tell the rows apart');
$plan = same_rows('the same below a window', '', 'select url, row_number() over (order by url collate "C", id) from t where id <= 30000', $on_device, 1);
like($plan, qr/Tie Runs: \d{1,4}$/m, 'the same below a window: words tell the rows apart');
same_rows('a prefix that later rows break', '', 'select * from broken order by url collate "C", id', $on_device, 1);
same_rows('the same, descending', '', 'select * from broken order by url collate "C" desc, id', $on_device, 1);
same_rows('a prefix under the C library\'s collation', '', 'select * from broken order by url collate "en_US.utf8", id', $on_device, 1)
  if $node->safe_psql('postgres', q{select count(*) from pg_collation where collname = 'en_US.utf8'});
same_rows('a prefix under ICU\'s', '', 'select * from broken order by url collate "en-x-icu", id', $on_device, 1)
  if $node->safe_psql('postgres', q{select count(*) from pg_collation where collname = 'en-x-icu'});
same_rows('first rows all alike', '', 'select * from alike order by url collate "C", id', $on_device, 1);
same_rows('several keys', '', 'select * from broken order by url collate "C", id desc, url', $on_device, 1);
same_rows('large from the start', q{set gpusort.min_rows = 0}, 'select * from broken order by url collate "C", id', $on_device, 1);

# --- sorted again and again: small and large by turns
for my $columns ('k', 'k, id', '*')
{
	same_rows("rescans, $columns", 'set enable_material = off', "select d.id as d, s.* from driving d, lateral (select $columns from t where t.id <= d.n order by k offset 0) s order by d.id, s.k", qr/.*/, 4);
}
same_rows('a subselect', '', 'select id, (select array_agg(k) from (select k from t where t.id <= d.n order by k) s) from driving d order by id', qr/.*/, 5);
is(counter('in_backend') > $before ? 1 : 0, 1, 'small ones are counted');

# --- to and fro
for my $rows (10, 999, 1001, 30000)
{
	my $method = $rows > 1000 ? '(?:host|gpu)' : 'in backend';

	for my $query (draw(2, "select * from t where id <= $rows order by k, id", "select id, small from t where id <= $rows order by small, id",
		"select k from t where id <= $rows order by k"))
	{
		same_walk("a cursor, $query", 'scroll cursor', $query, 0, walk($rows, 30));
		same_steps($query, $query, $method, 500);
	}
}
same_walk('a cursor that is kept', 'scroll cursor with hold', 'select id, small from t where id <= 900 order by small, id', 0, walk(900, 30));

# --- no device when rows have come, though there was one before
my @queries = map { "select $_ from t where id <= 20000 order by k" } '*', 'k, id', 'k';
# its rows are more than stay in private memory before a job is asked for
push @queries, 'select * from wide order by k';
my @rows = map { ordered_digest('set gpusort.enabled = off', $_) } @queries;
my ($native, @wrong) = (0);
my $no_buffers = 'select native_no_buffers from gpusort_stats';
$session->query(q{set work_mem = '64MB'; set gpusort.min_rows = 10000; begin});
for my $i (1 .. 150)
{
	my $query = $queries[ $i % @queries ];

	# idle cursors hold buffers, until there are too few for another sort; then some are taken back
	$session->query("declare held$i cursor for select * from t order by k, id");
	$session->query("fetch held$i");
	$before = $session->query($no_buffers);
	my $got = $session->query("select count(*), md5(string_agg(q::text, ' ')) from ($query) q");
	push @wrong, $query if $got ne $rows[ $i % @queries ];
	$native += $session->query($no_buffers) - $before;
	# one for each query, as they take turns
	last if $native >= @queries;
}
is("@wrong", '', 'no buffers when rows have come: the rows');
cmp_ok($native, '>', 0, 'no buffers when rows have come: native');
$session->query('rollback');
$node->poll_query_until('postgres', 'select open_jobs = 0 from gpusort_devices');

# --- the device is lost when rows go to it
my $lost = qr/ERROR:  58000: the sort device failed during a sort\n.*HINT: /s;
my $query = 'select * from t where id <= 30000 order by k, id';
my $right = ordered_digest('set gpusort.enabled = off', $query);
for my $call (1 .. 6)
{
	$node->safe_psql('postgres', "alter system set gpusort.debug_fail_at = $call; select pg_reload_conf()");
	$node->poll_query_until('postgres', "select coalesce(detail like 'device call or allocation $call fails,%', false) from gpusort_devices");
	my $got = $session->query(digest_of($query));

	ok($got eq $right || $session->error =~ $lost, "call $call fails: the rows, or an error") or diag($got . $session->error);
	$node->safe_psql('postgres', "alter system set gpusort.debug_fail_at = 0; select pg_reload_conf()");
	$node->poll_query_until('postgres', "select state = 'serving' and detail is null from gpusort_devices");
}
cmp_ok(counter('failed'), '>', 0, 'it was lost');
is(ordered_digest('', $query), $right, 'then the rows');

$node->poll_query_until('postgres', 'select open_jobs = 0 from gpusort_devices');
is(temporary_files($node), '', 'no file is left');
$node->stop;
done_testing();
