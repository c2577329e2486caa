# Sorts over tables that are too small for gpusort.min_rows rows stay PostgreSQL's own; those of other
# tables do not, however few rows are expected.  A table that is not locked is not looked at.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# test/run builds it there
my $replanner = "$ENV{TESTDIR}/modules/replanner/replanner";
my $node = new_server('small_tables', "shared_preload_libraries = '$replanner, gpusort'", 'gpusort.debug_force = off',
	'gpusort.min_rows = 10000', 'autovacuum = off');

wait_for_state($node, 'serving');
# each row has a page of its own, which might hold 291
$node->safe_psql('postgres', q{
	create function make_table(name text, pages int) returns void language plpgsql as $$
	begin
		execute format('create table %I (k int8, filler text)', name);
		execute format('alter table %I alter filler set storage plain', name);
		execute format('insert into %I select i * 7919 %% 3001, repeat(''f'', 5000) from generate_series(1, %s) i', name, pages);
		execute format('analyze %I', name);
	end $$;
	select make_table('pages_0', 0), make_table('pages_34', 34), make_table('pages_35', 35), make_table('grows', 5);
	create table not_analyzed as select * from pages_34;
	create view seen as select k + 1 as k from pages_34;
	create table parted (k int8) partition by range (k);
	create table part partition of parted default;
	insert into parted select i * 7919 % 3001 from generate_series(1, 100) i;
	analyze parted, part;});
is($node->safe_psql('postgres', q{select string_agg((pg_relation_size(name::regclass) / 8192)::text, ' ') from unnest('{pages_0, pages_34, pages_35}'::text[]) name}), '0 34 35', 'pages');

my $too_small = qr/DEBUG: .*gpusort: small_table: its table is too small for gpusort\.min_rows rows: gpusort\.min_rows is \d+$/m;

# Is the query sorted natively, for that reason?  Else by a GpuSort.
sub planned
{
	my ($name, $stays, $query, $settings) = @_;
	my ($status, $plan, $messages) = $node->psql('postgres', ($settings // '') . "; set client_min_messages = debug1; explain (costs off) $query");

	if ($stays)
	{
		like($messages, $too_small, "$name: too small");
		like($plan, qr/^ *(?:->  )?Sort$/m, "$name: a Sort");
		unlike($plan, qr/GpuSort/, "$name: nothing else");
	}
	else
	{
		unlike($messages, $too_small, "$name: not too small");
		like($plan, qr/GpuSort/, "$name: a GpuSort");
	}
}

planned('no page', 1, 'select k from pages_0 order by k');
planned('34 pages', 1, 'select k from pages_34 order by k');
planned('35 pages', 0, 'select k from pages_35 order by k');
planned('as many rows as gpusort.min_rows', 1, 'select k from pages_35 order by k', 'set gpusort.min_rows = 10185');
planned('a row more than gpusort.min_rows', 0, 'select k from pages_35 order by k', 'set gpusort.min_rows = 10184');
planned('one row of many pages', 0, 'select k from pages_35 where k = 5 order by k + 1');
planned('not analyzed', 0, 'select k from not_analyzed order by k');
planned('below a window', 1, 'select k, row_number() over (order by k) from pages_34');
planned('below a view', 1, 'select k from seen order by k');
planned('a partition alone', 1, 'select k from parted order by k');
planned('in a CTE', 1, 'with c as materialized (select k from pages_34 order by k) select * from c');
planned('to be locked', 1, 'select k from pages_34 order by k for update');
planned('to be written', 1, 'with o as (select ctid as place from pages_34 order by k limit 5 offset 1) update pages_34 p set k = 0 from o where p.ctid = o.place', 'set enable_sort = on');
planned('above a window', 1, 'select k from (select k, row_number() over () as r from pages_34) w order by r * 2');
planned('groups', 1, 'select k, count(*) from pages_34 group by k order by count(*)');
planned('groups that were sorted', 1, 'select k, count(*) from pages_34 group by k order by count(*)', 'set enable_hashagg = off');
planned('groups of a larger table', 0, 'select k, count(*) from pages_35 group by k order by count(*)');
planned('distinct rows', 1, 'select * from (select distinct k from pages_34) d order by k + 1');
planned('groups of several sets', 0, 'select k, filler, count(*) as n from pages_34 group by grouping sets ((k), (filler), ()) order by n');
planned('the first rows', 1, 'select * from (select k from pages_34 limit 5) l order by k');
planned('a join of small tables', 0, 'select a.k from pages_34 a, pages_0 b order by a.k');
planned('a function', 0, 'select i from generate_series(1, 5) i order by -i');
planned('values', 1, 'select * from (values (2, 5), (1, 6), (3, 4)) v(a, b) order by a');
planned('more values than gpusort.min_rows', 0, 'select * from (values (2, 5), (1, 6), (3, 4)) v(a, b) order by a', 'set gpusort.min_rows = 2');
planned('forced', 0, 'select k from pages_34 order by k', 'set gpusort.debug_force = on');

# --- a plan that is kept while its table grows
my $session = GpuSortTest::Session->new($node);
my $explain = 'explain (analyze, costs off, timing off, summary off) execute p';

$session->query('set plan_cache_mode = force_generic_plan; prepare p as select k from grows order by k');
like($session->query($explain), qr/^Sort \(actual rows=5 /, 'a table of five pages');
$session->query(q{insert into grows select i * 7919 % 30011, '' from generate_series(1, 30000) i});
like($session->query($explain), qr/^Sort \(actual rows=30005 /, 'it has grown: the plan is the same');
$session->query('analyze grows');
like($session->query($explain), qr/^Custom Scan \(GpuSort\) \(actual rows=30005 .*Sort Method: (?:host|gpu)/s, 'it has been analyzed: the plan is another');

# --- a plan that another hook has kept: nobody locks its tables
SKIP:
{
	skip 'the executor asserts that tables are locked', 5 if $node->safe_psql('postgres', 'show debug_assertions') eq 'on';
	my $other = GpuSortTest::Session->new($node);
	my $query = 'select k from parted order by k';

	# EXPLAIN would lock what it names
	$session->query(q{set replanner.mode = keep; set statement_timeout = '20s'; set client_min_messages = debug1});
	$session->query($query);
	like($session->error, $too_small, 'the plan that will be kept');
	my $rows = $session->query($query);
	like($session->error, $too_small, 'it is kept, and looked at once more');
	$other->query('begin; lock table only part in access exclusive mode');
	is($session->query($query), $rows, 'a table that another session has locked: the rows');
	unlike($session->error, qr/ERROR/, 'it is not waited for');
	$other->query('rollback');
	$session->query('reset client_min_messages');
	is($session->query('select count(*) from pg_locks where pid = pg_backend_pid() and relation = \'part\'::regclass'), '0', 'no lock is left');
	$other->close;
}

$session->close;
$node->stop;
done_testing();
