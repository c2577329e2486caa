# Sorts of which less than a hundredth of gpusort.min_rows rows is expected stay PostgreSQL's own, wherever they stand; others
# do not, however few rows come.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('few_expected', 'gpusort.debug_force = off', 'gpusort.min_rows = 10000');

wait_for_state($node, 'serving');
$node->safe_psql('postgres', q{
	create table hundred as select i * 7919 % 3001 as k, i % 7 as few from generate_series(1, 100) i;
	create table fewer as select * from hundred limit 99;
	create table grows as select * from hundred limit 5;
	create table parted (k int8) partition by range (k);
	create table part partition of parted default;
	insert into parted select i * 7919 % 3001 from generate_series(1, 99) i;
	analyze;
	create table not_analyzed as select * from hundred limit 5;});

my $too_few = qr/DEBUG: .*gpusort: few_rows: the planner expects too few rows, less than a hundredth of gpusort\.min_rows$/m;

# Is the query sorted natively, for that reason?  Else by a GpuSort.
sub planned
{
	my ($name, $stays, $query, $settings) = @_;
	my ($status, $plan, $messages) = $node->psql('postgres', ($settings // '') . "; set client_min_messages = debug1; explain (costs off) $query");

	if ($stays)
	{
		like($messages, $too_few, "$name: too few");
		like($plan, qr/^ *(?:->  )?Sort$/m, "$name: a Sort");
		unlike($plan, qr/GpuSort/, "$name: nothing else");
	}
	else
	{
		unlike($messages, $too_few, "$name: not too few");
		like($plan, qr/GpuSort/, "$name: a GpuSort");
	}
}

planned('a row too few', 1, 'select k from fewer order by k');
planned('just enough', 0, 'select k from hundred order by k');
planned('a higher gpusort.min_rows', 1, 'select k from hundred order by k', 'set gpusort.min_rows = 10001');
planned('a lower one', 0, 'select k from fewer order by k', 'set gpusort.min_rows = 9900');
planned('none', 0, 'select k from hundred where k = 5 order by few', 'set gpusort.min_rows = 0');
planned('rows that a condition leaves', 1, 'select k from hundred where k = 5 order by few');
planned('a table of which nothing is known', 0, 'select k from not_analyzed order by k');
planned('below a window', 1, 'select k, row_number() over (order by k) from fewer');
planned('a partition', 1, 'select k from parted order by k');
planned('to be locked', 1, 'select k from fewer order by k for update');
planned('groups', 1, 'select few, count(*) from hundred group by few order by count(*)');
planned('the first rows of many', 1, 'select * from (select i from generate_series(1, 1000) i limit 5) l order by -i');
planned('a function', 0, 'select i from generate_series(1, 1000) i order by -i');
planned('values', 1, 'select * from (values (2, 5), (1, 6), (3, 4)) v(a, b) order by a');
planned('forced', 0, 'select k from fewer order by k', 'set gpusort.debug_force = on');

# --- the estimate is wrong: the Sort stays what it was planned as, until the plan is made anew
my $session = GpuSortTest::Session->new($node);
my $explain = 'explain (analyze, costs off, timing off, summary off) execute p';

$session->query('set plan_cache_mode = force_generic_plan; prepare p as select k from grows order by k');
like($session->query($explain), qr/^Sort \(actual rows=5 /, 'five rows');
$session->query(q{insert into grows select i * 7919 % 100003, 0 from generate_series(1, 100000) i});
like($session->query($explain), qr/^Sort \(actual rows=100005 /, 'many: the plan is the same');
$session->query('analyze grows');
like($session->query($explain), qr/^Custom Scan \(GpuSort\) \(actual rows=100005 .*Sort Method: (?:host|gpu)/s, 'it has been analyzed: the plan is another');

$session->close;
$node->stop;
done_testing();
