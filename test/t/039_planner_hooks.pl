# Beside another module's planner hook that plans more than once, whichever of its plans it
# returns, and whichever of the two hooks is the outer one.  And what a plan carries.
#
#   SEED=N       which choices are drawn
#   ROUNDS=all   each choice among its plans, not three of them that are drawn for each order of the hooks
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

seed();

# test/run builds it there
my $replanner = "$ENV{TESTDIR}/modules/replanner/replanner";

my @queries = (
	[ 'a subplan for each row', 'select * from big b where b.a > (select max(a) from n where n.k < b.k) - 1e8 order by k' ],
	[ 'a subplan for all rows', 'select k, a, (select max(a) from n) as m from big order by k desc' ],
	[ 'CTEs', 'with c as materialized (select k, a from big order by a, k), d as materialized (select max(a) as m from c) '
		. 'select c.k, c.a from c, d where c.a < d.m order by c.k' ],
	[ 'a set operation', 'select 1 as one, k from big union all select 2, a from n order by k, one' ],
	[ 'sorts below an Append', '(select k, a from big order by k limit 2500) union all (select k, a from big order by a desc, k limit 2500)' ],
	[ 'a sort below a sort', 'select * from (select k, a, random() < 2 as r from big order by a, k offset 10) s order by k desc' ],
	[ 'a subplan that sorts', 'select k, (select string_agg(s.k::text, \',\') from (select k from n where n.a <> b.a order by k offset 1) s) from big b where b.k < 50 order by k' ],
	[ 'sorts while it is planned', 'select k, planned(3) from big where k > planned(2) order by k' ]);

# Planned before and after the other query; in 'direct' it has nodes that nobody finished.
my $planned = q{
	create function planned(i int4) returns int8 immutable language plpgsql as $$
	declare
		r record;
		before int8 := -100;
		n int8 := 0;
	begin
		for r in select b.k, b.a from big b where b.a > (select min(a) from n where n.k < b.k + i) - 1e8
				union all select k, a from n where k < 0 order by 1 loop
			if r.k <= before then
				raise exception 'out of order';
			end if;
			before := r.k;
			n := n + 1;
		end loop;
		return n % 7;
	end $$};

# The estimates in a plan: rows, bytes of a row, milliseconds of the native sort.
sub estimates
{
	my ($node, $query) = @_;
	my ($code, $out, $plan) = $node->psql('postgres', "set max_parallel_workers_per_gather = 2; set debug_print_plan = on; set debug_pretty_print = off; set client_min_messages = log; explain $query");

	$plan =~ s/\s+/ /g;			# its lines are broken anywhere
	my ($rows, $width, $ms) = $plan =~ /:custom_private \(.*?:constvalue 8 \[ ([-0-9 ]+) \]\} \(i (\d+) (\d+) / or return;

	return (unpack('d', pack('c8', split / /, $rows)), $width, $ms);
}

my %workers = (
	'no workers' => 'set max_parallel_workers_per_gather = 0',
	'2 workers' => 'set max_parallel_workers_per_gather = 2');

sub test_mode
{
	my ($node, $mode, $workers, $what) = @_;
	my $session = GpuSortTest::Session->new($node);
	my $before = $node->safe_psql('postgres', 'select jobs from gpusort_stats');

	$session->query($workers{$workers});
	for my $query (@queries)
	{
		my ($name, $sql) = @$query;
		next if $mode eq 'other' && $sql =~ /planned/;	# its function would get the other plan too
		my $right = $session->query("set gpusort.enabled = off; set replanner.mode = off; $sql");
		my $wrong = 0;

		$right = '42' if $mode eq 'other';
		$session->query("set gpusort.enabled = on; set replanner.mode = $mode");
		for (1 .. 3)
		{
			$wrong++ if $session->query($sql) ne $right || $session->error ne '';
		}
		is($session->error, '', "$what: $name: no error");
		is($wrong, 0, "$what: $name: the rows are right");
	}
	my $plan = $session->query('explain (verbose, costs off) select 1 as one, k from big union all select 2, a from n order by k, one');
	like($plan, $mode eq 'other' ? qr/Output: 42/ : qr/GpuSort/, "$what: EXPLAIN");
	if ($mode ne 'other')
	{
		my $feeds = $session->query('explain select k, a from big order by k') =~ /GpuSortFeed/ ? '2 workers' : 'no workers';

		is($feeds, $workers, "$what: workers feed the sort");
	}
	is($session->query('select pg_backend_pid()'), $mode eq 'other' ? '42' : $session->{pid}, "$what: the session lives");
	$session->close;
	cmp_ok($node->safe_psql('postgres', 'select jobs from gpusort_stats'), '>', $before, "$what: the device sorted") unless $mode eq 'other';
}

# Sorts of a kept plan that parallel workers feed: below a Gather Merge, or above a Gather.  Additions to the
# plan live in the plan's memory, which the module looks at.
my @gathered = (
	[ 'below a Gather Merge', 'select a, lag(k) over (order by a, k) from big' ],
	[ 'of texts that begin alike', 'select s, k, rank() over (order by s, k) from texts' ],
	[ 'with an InitPlan', 'select a, rank() over (order by a, k) from big where k > (select min(k) + 5 from n)' ],
	[ 'above a Gather', 'select k, a from big order by k, a', 'set enable_gathermerge = off' ]);

sub test_gathered
{
	my ($node, $hook) = @_;

	for my $case (@gathered)
	{
		my ($name, $sql, $settings) = @$case;
		my $session = GpuSortTest::Session->new($node);

		$session->query("$workers{'2 workers'}; set gpusort.debug_providers_off = 'order, group, window'; " . ($settings // ''));
		my $right = $session->query("set gpusort.enabled = off; $sql");

		$session->query('set gpusort.enabled = on; set replanner.mode = keep');
		like($session->query("explain $sql"), qr/GpuSort.*->  Gather .*GpuSortFeed/s, "$hook, kept, $name: workers feed the sort");
		for my $time (1 .. 3)
		{
			is($session->query($sql), $right, "$hook, kept, $name: right, time $time");
			is($session->error, '', "$hook, kept, $name: no error, time $time");
		}
		$session->close;
	}
}

# An index build asks the planner about its table: the module counts it, and gpusort builds the index.
sub test_index_build
{
	my ($node, $hook) = @_;
	my $session = GpuSortTest::Session->new($node);
	my $built = $session->query('select index_builds from gpusort_stats');
	my $tables = $session->query('set gpusort.index_builds = on; show replanner.tables');

	$session->query('create index on small (k)');
	cmp_ok($session->query('show replanner.tables'), '>', $tables, "$hook: the other hook is asked about the table of an index");
	is($session->query('select index_builds from gpusort_stats'), $built + 1, "$hook: the index is built by gpusort");
	$session->close;
}

for my $order ("'$replanner', gpusort", "gpusort, '$replanner'")
{
	my $hook = $order =~ /^gpusort/ ? 'outer hook' : 'inner hook';
	my $node = new_server($hook =~ s/ /_/r, "shared_preload_libraries = '" . ($order =~ s/'//gr) . "'",
		'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');

	wait_for_state($node, 'serving');
	$node->safe_psql('postgres', q{
		create table big as select i * 7919 % 3001 as k, i::int8 * 31 % 1009 as a from generate_series(0, 3000) i;
		create table n as select i::int8 as k, i::int8 * i as a from generate_series(-5, 20) i;
		create table small as select k from big;
		create table texts as select 'https://www.example.org/' || md5(k::text) collate "C" as s, k from big;
		analyze});
	$node->safe_psql('postgres', $planned);
	for my $mode (draw(3, qw(off other first second keep direct)))
	{
		test_mode($node, $mode, $_, "$hook, $mode, $_") for sort keys %workers;
	}
	test_gathered($node, $hook);
	test_index_build($node, $hook);
	my ($rows, $width, $ms) = estimates($node, 'select * from big order by k');
	is("$rows $width", '3001 24', "$hook: rows and their bytes, without a header");
	my ($more_rows, $wider, $more_ms) = estimates($node, "select a.*, repeat('x', 5) as x from big a, small b order by a.k + b.k");
	is("$more_rows " . ($wider % 8), 3001 * 3001 . ' 0', "$hook: all rows, of all workers");
	cmp_ok($ms, '>=', 1, "$hook: the native sort of few rows takes some time");
	cmp_ok($more_ms, '>', 1000 * $ms, "$hook: of many rows more");
	unlike(slurp_file($node->logfile), qr/terminated by signal|TRAP:|PANIC/, "$hook: no process ended");
	nothing_left_over($node, $hook);
	$node->stop;
}

done_testing();
