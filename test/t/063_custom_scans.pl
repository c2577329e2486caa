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

$node->stop;
done_testing();
