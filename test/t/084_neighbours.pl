# Beside HypoPG and pg_hint_plan, loaded before gpusort and after it.  HypoPG has a hook where index builds have theirs, and
# pg_hint_plan one where plans are made.
#
# With hypothetical indexes, plans are those without gpusort, and gpusort builds the same indexes.  Hints have their effect
# beside GpuSort.  A module that is not installed is left out.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IndexBuilds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libraries = use_neighbours();
my $node;
my $order;

sub start
{
	my ($name, $module) = @_;

	$node = new_server($name, "shared_preload_libraries = '$order'", 'max_parallel_maintenance_workers = 2', 'min_parallel_table_scan_size = 0',
		'parallel_setup_cost = 0', 'parallel_tuple_cost = 0');
	wait_for_state($node, 'serving');
	make_index_checks($node);
	$node->safe_psql('postgres', qq{
		create extension $module;
		create table t with (parallel_workers = 0) as select i as id, hashint4(i) as k, i % 100 as few, md5(i::text) collate "C" as s from generate_series(1, 20000) i;
		create table o as select i % 20000 as t_id, hashint4(i) as v from generate_series(1, 30000) i;
		create table small as select k from t;
		analyze});
	return;
}

sub stop
{
	nothing_left_over($node, $order);
	$node->stop;
	unlike(slurp_file($node->logfile), qr/terminated by signal|TRAP:|PANIC/, "$order: no process ended");
	return;
}

# Builds an index natively and through gpusort, in a session that has run these statements.
sub same_build
{
	my ($what, $create, $definition, $before) = @_;
	my $session = GpuSortTest::Session->new($node);

	$session->query($before) if $before;
	$session->query("set gpusort.index_builds = off; $create ix_native on t $definition");
	$session->query("set gpusort.index_builds = on; select gpusort_stats_reset(); $create ix_ours on t $definition");
	is($session->query(q{select same_pages('ix_native', 'ix_ours') || ' ' || index_builds from gpusort_stats}), 'same 1', "$order: $what") or diag $session->error;
	$session->query(q{select bt_index_parent_check('ix_ours', true, true); drop index ix_native, ix_ours});
	is($session->error, '', "$order: $what: no error");
	$session->close;
	return;
}

# The plan of a query, with the sort nodes of either kind as one.
sub plan_of
{
	my ($session, $query, $settings) = @_;

	$session->query($settings);
	return $session->query("explain (costs off) $query") =~ s/Custom Scan \(GpuSort\)/Sort/gr =~ s/<\d+>/<N>/gr;
}

# --- HypoPG

my $hypothetical = q{select hypopg_create_index('create index on t (k)'); select hypopg_create_index('create index on t (s, id)')};

sub beside_hypopg
{
	start("hypopg_$_[0]", 'hypopg');
	my $session = GpuSortTest::Session->new($node);

	like($session->query('explain (costs off) select * from t order by k'), qr/GpuSort/, "$order: a sort");
	$session->query("$hypothetical");
	is($session->error, '', "$order: hypothetical indexes");
	my %shows = (
		'select * from t where k = 5' => qr/<N>btree_t_k/,
		'select * from t order by k limit 5' => qr/<N>btree_t_k/,
		'select * from t order by s, id limit 5' => qr/<N>btree_t_s_id/,
		'select * from t where few = 3 order by k desc, s' => qr/^Sort/,
		'select few, count(*) from t group by few order by few' => qr/Sort/,
		'select * from t join o on t.id = o.t_id where t.k between 1 and 100000 order by o.v' => qr/^Sort.*<N>btree_t_k/s);
	for my $query (sort keys %shows)
	{
		my $ours = plan_of($session, $query, 'set gpusort.enabled = on; set gpusort.debug_force = off');

		is($ours, plan_of($session, $query, 'set gpusort.enabled = off'), "$order: $query: the plan is the same");
		like($ours, $shows{$query}, "$order: $query");
	}
	$session->query('set gpusort.enabled = on; set gpusort.debug_force = on');
	is($session->query('select count(*) = count(distinct k) and bool_and(k >= before) from (select k, lag(k, 1, k) over (order by k) as before from t) s'), 't', "$order: a query sorts by itself");
	is($session->query(q{set gpusort.index_builds = on; select runs_on from gpusort_why('create index on t (k)')}), 'device', "$order: gpusort_why of CREATE INDEX");
	like($session->query('reset gpusort.index_builds; set gpusort.debug_force = off; explain (costs off) create table made as select * from t order by k limit 5'), qr/btree_t_k/, "$order: EXPLAIN CREATE TABLE AS");
	$session->query('set gpusort.debug_force = on; select hypopg_reset()');
	like($session->query('explain (costs off) select * from t order by k'), qr/GpuSort/, "$order: without hypothetical indexes, a sort again");
	is($session->error, '', "$order: no error");
	$session->close;

	same_build('a build', 'create index', '(k)');
	same_build('a build beside hypothetical indexes', 'create index', '(k)', $hypothetical);
	same_build('a unique one', 'create unique index', '(s, id)', $hypothetical);
	same_build('a partial one, of an expression, CONCURRENTLY', 'create index concurrently', '(upper(s)) where few < 50', $hypothetical);
	same_build('with workers', 'create index', '(s) include (k)', "$hypothetical; alter table t set (parallel_workers = 2)");
	# EXPLAIN runs the build, and hypothetical indexes are seen
	$node->safe_psql('postgres', q{create function builds() returns text volatile language plpgsql as $$ begin execute 'create index ix_explained on t (few, s)'; return 'x'; end $$});
	is($node->safe_psql('postgres', "set gpusort.index_builds = on; $hypothetical; select gpusort_stats_reset(); explain (analyze, costs off) select builds(); select index_builds from gpusort_stats; select bt_index_parent_check('ix_explained', true, true)") =~ /^1$/m, 1, "$order: a build within EXPLAIN ANALYZE");
	stop();
	return;
}

# --- pg_hint_plan

sub beside_hints
{
	start("hints_$_[0]", 'pg_hint_plan');
	$node->safe_psql('postgres', 'create index t_k on t (k); create index t_id on t (id)');
	my $session = GpuSortTest::Session->new($node);
	my %shows = (
		'/*+ SeqScan(t) */ select * from t where k > 0 order by s, id' => qr/GpuSort.*Seq Scan on t/s,
		'/*+ IndexScan(t t_k) */ select * from t where k > 0 order by s, id' => qr/GpuSort.*Index Scan using t_k/s,
		'/*+ IndexScan(t t_k) */ select * from t order by k' => qr/^Index Scan using t_k/,
		'/*+ MergeJoin(t o) */ select t.id, o.v from t join o on t.id = o.t_id order by o.v, t.id' => qr/GpuSort.*Merge Join.*GpuSort/s,
		'/*+ HashJoin(t o) Leading((o t)) */ select t.id, o.v from t join o on t.id = o.t_id order by o.v, t.id' => qr/GpuSort.*Hash Join/s,
		'/*+ NestLoop(t o) IndexScan(t t_id) */ select t.id, o.v from t join o on t.id = o.t_id where o.v < -2000000000 order by o.v, t.id' => qr/GpuSort.*Nested Loop.*t_id/s,
		'/*+ Parallel(o 2 hard) */ select * from o order by v, t_id' => qr/GpuSort.*Workers Planned: 2.*Parallel Seq Scan on o/s,
		'/*+ Rows(t o #10) MergeJoin(t o) */ select few, count(*) from t join o on t.id = o.t_id group by few order by few' => qr/Merge Join.*GpuSort/s,
		# gpusort makes the nodes after hints that it is loaded after
		'/*+ Set(gpusort.enabled off) */ select * from t order by s, id' => $order =~ /^gpusort/ ? qr/^Sort/ : qr/GpuSort/,
		'/*+ SeqScan(t) */ select k, rank() over (partition by few order by s) from t order by k' => qr/GpuSort.*WindowAgg.*GpuSort/s);
	for my $query (sort keys %shows)
	{
		my $digest = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (" . ($query =~ s{/\*.*\*/}{}r) . ') q';
		my ($hint) = $query =~ m{(/\*.*\*/)};

		like($session->query("set gpusort.enabled = on; explain (costs off) $query"), $shows{$query}, "$order: the plan of $query");
		my $rows = $session->query("$hint $digest");
		is($rows, $session->query("set gpusort.enabled = off; $digest"), "$order: the rows of $query");
	}
	is($session->error, '', "$order: no error");
	$session->close;

	same_build('a build', 'create index', '(k)');
	same_build('a build below a hint', '/*+ SeqScan(t) Parallel(t 2 hard) */ create index', '(s, id)');
	same_build('a unique one, CONCURRENTLY', '/*+ IndexScan(t t_k) */ create unique index concurrently', '(id)');
	same_build('with workers', 'create index', '(s) include (k)', 'alter table t set (parallel_workers = 2)');
	same_build('hints from a table', 'create index', '(upper(s)) where few < 50', 'set pg_hint_plan.enable_hint_table = on');
	stop();
	return;
}

my %modules = (hypopg => \&beside_hypopg, pg_hint_plan => \&beside_hints);
for my $module (sort keys %modules)
{
	SKIP:
	{
		skip "$module is not installed", 1 unless -e "$libraries/$module.so";
		for my $place ('before', 'after')
		{
			$order = $place eq 'before' ? "$module,gpusort" : "gpusort,$module";
			$modules{$module}->($place);
		}
	}
}
done_testing();
