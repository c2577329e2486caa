# gpusort beside Citus: the order in which the two are loaded, where sorts are made, statements that
# crashed a server, a device that is lost, and what plans say.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../fdw", "$FindBin::RealBin/../t";
use CitusNodes;
use Digest::MD5 qw(md5_hex);
use GpuSortTest;
use Nodes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# --- loaded in the other order: Citus says so itself
my $wrong = PostgreSQL::Test::Cluster->new('wrong_order');
$wrong->init;
$wrong->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort,citus'\n");
is($wrong->start(fail_ok => 1), 0, 'gpusort,citus: the server does not start');
like(slurp_file($wrong->logfile), qr/Citus has to be loaded first/, 'and says why');

my @nodes = new_citus('gpusort.debug_force = off', 'gpusort.min_rows = 10000', "work_mem = '64MB'");
my ($coordinator, @workers) = @nodes;
unlike(slurp_file($_->logfile), qr/WARNING/, $_->name . ': no warning at the start') for @nodes;

sub query { return $coordinator->safe_psql('postgres', $_[0]) }

# A hash of a query's rows, in their order.  Citus gives aggregates to its workers, so the rows are hashed
# here.
sub rows_of { return md5_hex(query($_[0])) }

# The same query over local tables.
sub locally { return $_[0] =~ s/\b(m|r|tenants)\b/local_$1/gr }

# Its rows, by PostgreSQL's own sorts.
sub local_rows_of { return rows_of('set gpusort.enabled = off; ' . locally($_[0])) }

query(q{
	create table local_m as select i as id, (i::int8 * 7919) % 200003 as k, i % 1000 as g, repeat('p', 30) as payload, timestamp '2020-01-01' + (i::int8 * 104729 % 200003) * interval '1 second' as ts from generate_series(1, 200000) i;
	create table m as select * from local_m;
	select create_distributed_table('m', 'id', colocate_with => 'none');
	create table local_r as select i as id, (i::int8 * 31) % 200003 as k from generate_series(1, 200000) i;
	create table r as select * from local_r;
	select create_distributed_table('r', 'id', colocate_with => 'none');
	create table local_tenants as select id, k, g % 3 as tenant from local_m;
	create table tenants as select * from local_tenants;
	select create_distributed_table('tenants', 'tenant', colocate_with => 'none');
	create table d as select i as id, i as k2 from generate_series(1, 2000) i;
	select create_distributed_table('d', 'id', colocate_with => 'none');
	create table ref as select i as g, i * 7 % 1009 as h from generate_series(0, 999) i;
	select create_reference_table('ref');
	vacuum analyze});

# --- the first crash: Citus drops a plan that had subplans
query(q{
	create table d2 as select i as id, i as k2 from generate_series(1, 100) i;
	select create_distributed_table('d2', 'id', colocate_with => 'd');
	create table big as select id, k, payload from local_m;
	analyze big;
	select create_distributed_table('big', 'id', colocate_with => 'd')});
my $first = 'select id, k from big where k >= (select max(k2) from d2 where d2.id = big.id) order by k';
like(query("explain $first"), qr/Citus Adaptive/, 'a plan that is dropped, with subplans: EXPLAIN');
is(query("select count(*) from ($first) s"), query('select count(*) from local_m where k >= id and id <= 100'), 'and its rows');

# --- statements: [ name, text, where devices sort ], there being the coordinator (c), workers (w), both or none;
# and where a Citus does that merges what its workers have sorted, if that is elsewhere.  Tasks of a repartition
# join are the coordinator's too.
my @shapes = (
	[ 'ORDER BY', 'select id, k, payload from m order by k, id', 'c', 'w' ],
	[ 'the distribution column', 'select id, k from m order by id', 'c', 'w' ],
	[ 'groups', 'select k, count(*) from m group by k order by k', 'c' ],
	[ 'DISTINCT', 'select distinct k from m order by k', 'c', 'w' ],
	[ 'a LIMIT of many', 'select id, k from m order by k, id limit 100000', 'cw', 'w' ],
	[ 'a LIMIT of few', 'select id, k from m order by k, id limit 10', '' ],
	[ 'windows by the distribution column', 'select id, k, row_number() over (partition by id order by k) from m order by k, id', 'cw', 'w' ],
	[ 'windows by another column', 'select id, g, row_number() over (partition by g order by k, id) as n from m order by g, n', 'c' ],
	[ 'aggregates with an order', q{select g, md5(string_agg(k::text, ',' order by k, id)) from m group by g order by g}, 'c' ],
	[ 'one tenant', 'select id, k from tenants where tenant = 1 order by k, id', 'w' ],
	[ 'a join with a reference table', 'select id, h from m join ref using (g) order by h, id', 'c', 'w' ],
	[ 'a repartition join', 'set citus.enable_repartition_joins = on; select m.id, r.id as other from m join r on m.k = r.k order by r.id, m.id', 'cw' ],
	[ 'a repartition join, a LIMIT of many', 'set citus.enable_repartition_joins = on; select m.id, r.id as other from m join r on m.k = r.k order by r.id, m.id limit 150000', 'cw' ],
	[ 'a union', 'select id, k from m union all select id, k + 1 from m order by k, id', 'c' ],
	[ 'COPY', 'copy (select id, k from m order by k, id) to stdout', 'c', 'w' ],
	[ 'a prepared statement', 'prepare p(int8) as select id, k from m where k > $1 order by k, id; ' . join(';', map { "execute p(40000 + $_)" } 1 .. 7), 'c', 'w' ]);

# The same for statements that fill the table made, which is then read in this order.  Rows that an INSERT into a distributed
# table selects by way of the coordinator are sorted there by PostgreSQL: Citus plans it as it does a subquery that it runs
# by itself.
my @writing = (
	[ 'CREATE TABLE AS', 'create table made as select id, k, 1 as n from m order by k, id', 'ctid', 'c', 'w' ],
	[ 'INSERT ... SELECT into a local table', 'insert into made select id, k, 1 from m order by k, id', 'ctid', 'c', 'w' ],
	[ 'INSERT ... SELECT by way of the coordinator', q{select create_distributed_table('made', 'k', colocate_with => 'none'); insert into made select id, k, 1 from m order by k, id limit 100000}, 'id', 'w' ],
	[ 'INSERT ... SELECT, repartitioned', q{select create_distributed_table('made', 'k', colocate_with => 'none'); insert into made select id, k, row_number() over (partition by id order by k) from m}, 'id', 'w' ],
	[ 'INSERT ... SELECT, each shard into its own', q{select create_distributed_table('made', 'id', colocate_with => 'm'); insert into made select id, k, row_number() over (partition by id order by k) from m}, 'id', 'w' ]);

# Subqueries that Citus runs by themselves: their EXPLAIN ANALYZE crashed.
my @subqueries = (
	[ 'a subquery with a LIMIT', 'select * from (select * from m order by k, id limit 150000) s order by ts, id' ],
	[ 'a CTE', 'with c as materialized (select id, k, ts from m order by k, id offset 10) select * from c order by ts, id' ],
	[ 'windows', 'select * from (select id, k, rank() over (order by k, id) as r from m) s where r > 5 order by r desc' ],
	[ 'a join of two', 'with a as materialized (select id, k from m order by k limit 120000), b as materialized (select id, ts from m order by ts limit 120000) select a.id, b.ts from a join b using (id) order by a.k' ]);

my %sorted_by = ('' => 'no device sorts', c => "the coordinator's device sorts", w => "workers' devices sort", cw => "the coordinator's and workers' devices sort");

sub sorts_are_at
{
	my ($name, $expected, @sorts) = @_;

	is(($sorts[0] > 0 ? 'c' : '') . ($sorts[1] + $sorts[2] > 0 ? 'w' : ''), $expected, "$name: $sorted_by{$expected}") or diag("sorts: @sorts");
}

# All of that, by a Citus that merges what its workers have sorted, or does not.
sub try_statements
{
	my ($what, $merges) = @_;

	for my $case (@subqueries)
	{
		my $name = "$what, $case->[0]";
		my $sql = $case->[1];
		my ($code, $out, $err) = $coordinator->psql('postgres', "explain (analyze, timing off, costs off) $sql");

		is($code, 0, "$name: EXPLAIN ANALYZE") or diag($err);
		like($out, qr/Distributed Subplan/, "$name: Citus runs it by itself");
		($code, $out, $err) = $coordinator->psql('postgres', "load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; select count(*) from ($sql) q");
		is($code, 0, "$name: auto_explain") or diag($err);
		is(rows_of($sql), local_rows_of($sql), "$name: the rows");
	}
	for my $shape (@shapes)
	{
		my ($name, $sql, $sorted, $sorted_if_merged) = @$shape;
		my $rows;
		my @sorts = jobs_for(\@nodes, sub { $rows = rows_of($sql) });

		is($rows, local_rows_of($sql), "$what, $name: the rows");
		sorts_are_at("$what, $name", $merges ? $sorted_if_merged // $sorted : $sorted, @sorts);
	}
	for my $case (@writing)
	{
		my ($name, $sql, $order, $sorted, $sorted_if_merged) = @$case;
		my $prepare = $sql =~ /^create/ ? '' : 'create table made(id int4, k int8, n int8); ';
		my $read = "select id, k, n from made order by $order";
		my @sorts = jobs_for(\@nodes, sub { query("set citus.shard_count = 4; $prepare$sql") });
		my $rows = rows_of("set gpusort.enabled = off; $read");

		query('drop table made');
		query('set gpusort.enabled = off; ' . $prepare . locally($sql =~ s/select create_distributed_table.*?\); //r));
		is($rows, rows_of("set gpusort.enabled = off; $read"), "$what, $name: the rows");
		query('drop table made');
		sorts_are_at("$what, $name", $merges ? $sorted_if_merged // $sorted : $sorted, @sorts);
	}
	compare_cursors(
		node => $coordinator, what => $what, readable => !$merges, far => 150000, settings => 'set gpusort.enabled = on',
		elsewhere => 'select id, k from m order by k, id', local => locally('select id, k from m order by k, id'));

	# what the plan says, of each of the eight shards
	my ($above, @tasks) = split /-> *Task\n/, query('set citus.explain_all_tasks = on; explain (analyze, timing off, costs off) select id, k from m order by k, id');

	is(scalar @tasks, 8, "$what: the plan shows all tasks");
	if ($merges)
	{
		like($above, qr/^Custom Scan \(Citus Adaptive\).*Merge Method: sorted merge/s, "$what: the coordinator merges, and sorts nothing");
		is(scalar(grep { /Node: .*\n *-> *Custom Scan \(GpuSort\).*\n(?:.*\n)* *Sort Method: (?:host|gpu)/ } @tasks), 8, "$what: each task is a GpuSort");
	}
	else
	{
		like($above, qr/^Custom Scan \(GpuSort\).*Sort Method: (?:host|gpu).*-> *Custom Scan \(Citus Adaptive\)/s, "$what: a GpuSort above Citus's scan");
		is(scalar(grep { /Sort/ } @tasks), 0, "$what: no task sorts");
	}
}

if (merges_sorted($coordinator))
{
	set_on_all([$coordinator], { 'citus.enable_sorted_merge' => 'on' });
	try_statements('workers sort, the coordinator merges', 1);
	set_on_all([$coordinator], { 'citus.enable_sorted_merge' => 'off' });
}
else
{
	note 'this Citus does not merge what its workers have sorted';
}
try_statements('the coordinator sorts', 0);

# --- a device that is lost in the coordinator, before the first row: the rows come all the same
my $lost = GpuSortTest::Session->new($coordinator);
my $right = local_rows_of('select id, k from m order by k, id');
my $service = stop_service($coordinator);
$lost->send('select id, k from m order by k, id');
ok($lost->wait_until_waiting, 'a sort of what the workers gave waits for the device');
kill 'TERM', $service;
continue_service($service);
is(md5_hex($lost->finish), $right, 'a lost device: Citus\'s rows are read again') or diag($lost->error);
$lost->close;
wait_for_state($coordinator, 'serving');

# --- settings travel with roles and databases, and with SET LOCAL if Citus is told so
query('create role carl superuser login');
query('alter role carl set gpusort.enabled = off');
my @sorted = jobs_for(\@nodes, sub { $coordinator->safe_psql('postgres', 'select count(*) from (select id, k from m order by k, id limit 100000) s', extra_params => [ '-U', 'carl' ]) });
is("@sorted", '0 0 0', 'ALTER ROLE ... SET: no device sorts, on no node');

nothing_left_on(\@nodes, 'Citus');
unlike(slurp_file($_->logfile), qr/terminated by signal|TRAP:|PANIC/, $_->name . ': no process ended') for @nodes;
done_testing();
