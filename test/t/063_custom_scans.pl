# Sorts below another extension's custom scan stay PostgreSQL's own: the node may look at its children when it
# begins; but not those whose rows an INSERT takes.  test/run builds the module like_append, whose node does as TimescaleDB's ChunkAppend does: it unwraps
# the Sorts below it and gives them the LIMIT's bound.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

# its hook is the inner one: the module under test gets the plan that it returns
my $node = new_server('custom_scans', "shared_preload_libraries = '$ENV{TESTDIR}/modules/like_append/like_append, gpusort'");
wait_for_state($node, 'serving');
$node->safe_psql('postgres', q{
	create table chunks(at int, device int) partition by range (at);
	create table chunk1 partition of chunks for values from (0) to (30000);
	create table chunk2 partition of chunks for values from (30000) to (60000);
	create table chunk3 partition of chunks for values from (60000) to (90000);
	insert into chunks select i * 7919 % 90000, i from generate_series(1, 90000) i;
	analyze chunks;});

my $first = 'select * from chunks order by at, device limit 10';
my $native = 'set gpusort.enabled = off;';
my $by_cost = 'set gpusort.debug_force = off;';
my $explained = 'explain (analyze, costs off, timing off, summary off)';

sub planned_native
{
	return $node->safe_psql('postgres', 'select planned_native_custom_scan from gpusort_stats');
}

my $native_plan = $node->safe_psql('postgres', "$native $explained $first");
like($native_plan, qr/LikeAppend.*Children Known: 3/s, 'natively the node knows its children');
is(scalar(() = $native_plan =~ /Sort Method: top-N heapsort/g), 1, 'and bounds the one that is read');
my $counted = planned_native();
is($node->safe_psql('postgres', "$by_cost $explained $first"), $native_plan, 'the plan is the same');
is(planned_native() - $counted, 3, 'the Sorts that stayed are counted');
is($node->safe_psql('postgres', "$by_cost $first"), $node->safe_psql('postgres', "$native $first"), 'so are the rows');
is($node->safe_psql('postgres', "$by_cost select count(*), max(code), max(node) from gpusort_why(\$\$$first\$\$)"),
	'3|custom_scan|Sort', 'gpusort_why tells of each of them');

$node->safe_psql('postgres', 'create table copies(number serial, at int, device int)');
my $insert = 'insert into copies(at, device) select * from chunks order by at, device';
like($node->safe_psql('postgres', "$by_cost explain (costs off) $insert"), qr/LikeAppend.*Insert on copies.*GpuSort/s, 'below an INSERT that is below the node: the device');
$node->safe_psql('postgres', "$by_cost $insert");
is($node->safe_psql('postgres', "$native select count(*), bool_and(in_order) from (select (at, device) > lag((at, device)) over (order by number) as in_order from copies) c"),
	'90000|t', 'and the rows are inserted in order');

# a Limit without a count is another module's, and the order below it stays
my $all = 'select * from chunks order by at, device limit all';
like($node->safe_psql('postgres', "explain (costs off) $all"), qr/^Limit\n.*GpuSort.*Sort Key: /s, 'a Limit without a count');
ok($node->safe_psql('postgres', $all) eq $node->safe_psql('postgres', "$native $all"), 'the order of the rows');

# what another extension's hook has decided about scans holds for ORDER BY too: it has left an index, or a Merge Append
$node->safe_psql('postgres', q{
	create table plain as select hashint4(i) as k, i as v from generate_series(1, 50000) i;
	create table parts(k int, v int) partition by range (v);
	create table part1 partition of parts for values from (minvalue) to (25000);
	create table part2 partition of parts for values from (25000) to (maxvalue);
	insert into parts table plain;
	create table hinted_plain (like plain);
	insert into hinted_plain table plain;
	create table hinted_parts(k int, v int) partition by range (v);
	create table some1 partition of hinted_parts for values from (minvalue) to (25000);
	create table some2 partition of hinted_parts for values from (25000) to (maxvalue);
	insert into hinted_parts table plain;
	create index on plain(k);
	create index on parts(k);
	create index on hinted_plain(k);
	create index on hinted_parts(k);
	vacuum analyze;});
my $hook = "load '$ENV{TESTDIR}/modules/like_citus/like_citus'; set enable_bitmapscan = off";
for my $table ('plain', 'parts')
{
	for my $order ('k', 'k, v')
	{
		my $query = "select * from $table order by $order";

		like($node->safe_psql('postgres', "explain (costs off) $query"), qr/GpuSort.*Seq Scan/s, "$query: sorted by the device");
		$query =~ s/(plain|parts)/hinted_$1/;
		unlike($node->safe_psql('postgres', "$hook; explain (costs off) $query"), qr/Seq Scan/, "$query: no scan that is refused");
		is($node->safe_psql('postgres', "$hook; select md5(string_agg(k::text, ',')) from ($query) q"),
			$node->safe_psql('postgres', "$native select md5(string_agg(k::text, ',')) from ($query) q"), "$query: the rows");
	}
}

$node->stop;
done_testing();
