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

# The same over local tables, by PostgreSQL's own sorts.
sub local_rows_of
{
	my ($sql) = @_;

	return rows_of('set gpusort.enabled = off; ' . $sql =~ s/\bm\b/local_rows/gr);
}

query(q{
	create table src as select i as id, (i::int8 * 7919) % 200003 as k, i % 1000 as g, repeat('p', 30) as payload, timestamp '2020-01-01' + (i::int8 * 104729 % 200003) * interval '1 second' as ts from generate_series(1, 200000) i;
	create table local_rows as select * from src;
	create table m as select * from src;
	select create_distributed_table('m', 'id', colocate_with => 'none');
	create table d as select i as id, i as k2 from generate_series(1, 2000) i;
	select create_distributed_table('d', 'id', colocate_with => 'none');
	create table ref as select i as g, i * 7 % 1009 as h from generate_series(0, 999) i;
	select create_reference_table('ref');
	vacuum analyze;
	create table few as select i as id, i as k2 from generate_series(1, 100) i;
	analyze src});

# --- the first crash: Citus drops a plan that had subplans
query(q{
	create table d2 as select i as id, i as k2 from generate_series(1, 100) i;
	select create_distributed_table('d2', 'id', colocate_with => 'd');
	create table big as select id, k, payload from src;
	analyze big;
	select create_distributed_table('big', 'id', colocate_with => 'd')});
my $first = 'select id, k from big where k >= (select max(k2) from d2 where d2.id = big.id) order by k';
like(query("explain $first"), qr/Citus Adaptive/, 'a plan that is dropped, with subplans: EXPLAIN');
is(query("select count(*) from ($first) s"), query('select count(*) from src where k >= id and id <= 100'), 'and its rows');

# --- the second: EXPLAIN ANALYZE of subqueries that Citus runs by themselves
for my $case (
	[ 'a subquery with a LIMIT', 'select * from (select * from m order by k, id limit 150000) s order by ts, id' ],
	[ 'a CTE', 'with c as materialized (select id, k, ts from m order by k, id offset 10) select * from c order by ts, id' ],
	[ 'windows', 'select * from (select id, k, rank() over (order by k, id) as r from m) s where r > 5 order by r desc' ],
	[ 'a join of two', 'with a as materialized (select id, k from m order by k limit 120000), b as materialized (select id, ts from m order by ts limit 120000) select a.id, b.ts from a join b using (id) order by a.k' ])
{
	my ($name, $sql) = @$case;
	my ($code, $out, $err) = $coordinator->psql('postgres', "explain (analyze, timing off, costs off) $sql");

	is($code, 0, "$name: EXPLAIN ANALYZE") or diag($err);
	like($out, qr/Distributed Subplan/, "$name: Citus runs it by itself");
	($code, $out, $err) = $coordinator->psql('postgres', "load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; select count(*) from ($sql) q");
	is($code, 0, "$name: auto_explain") or diag($err);
	is(rows_of($sql), local_rows_of($sql), "$name: the rows");
}

# --- where sorts are made
my @shapes = (
	[ 'ORDER BY', 'select id, k, payload from m order by k, id', 1, 0 ],
	[ 'the distribution column', 'select id, k from m order by id', 1, 0 ],
	[ 'groups', 'select k, count(*) from m group by k order by k', 1, 0 ],
	[ 'DISTINCT', 'select distinct k from m order by k', 1, 0 ],
	[ 'a LIMIT of many', 'select id, k from m order by k, id limit 100000', 1, 1 ],
	[ 'a LIMIT of few', 'select id, k from m order by k, id limit 10', 0, 0 ],
	[ 'windows by the distribution column', 'select id, k, row_number() over (partition by id order by k) from m order by k, id', 1, 1 ],
	[ 'windows by another column', 'select id, g, row_number() over (partition by g order by k, id) as n from m order by g, n', 1, 0 ],
	[ 'aggregates with an order', q{select g, md5(string_agg(k::text, ',' order by k, id)) from m group by g order by g}, 1, 0 ],
	[ 'a join with a reference table', 'select id, h from m join ref using (g) order by h, id', 1, 0 ],
	[ 'a union', 'select id, k from m union all select id, k + 1 from m order by k, id', 1, 0 ]);
for my $shape (@shapes)
{
	my ($name, $sql, $at_coordinator, $at_workers) = @$shape;
	my @before = jobs_of(\@nodes);
	my $rows = rows_of($sql);
	my @after = jobs_of(\@nodes);
	my @sorts = map { $after[$_] - $before[$_] } 0 .. $#nodes;

	is($rows, local_rows_of($sql), "$name: the rows");
	note "$name: sorts by the devices of coordinator and workers: @sorts";
	is($sorts[0] > 0 ? 1 : 0, $at_coordinator, "$name: " . ($at_coordinator ? 'the coordinator sorts on its device' : 'the coordinator does not'));
	is($sorts[1] + $sorts[2] > 0 ? 1 : 0, $at_workers, "$name: " . ($at_workers ? 'workers do' : 'workers do not')) ;
}

# --- statements that write
my $before = (jobs_of(\@nodes))[0];
query('create table made as select id, k from m order by k, id');
is(rows_of('select * from made'), local_rows_of('select id, k from m order by k, id'), 'CREATE TABLE AS: the rows');
is(rows_of('copy (select id, k from m order by k, id) to stdout'), local_rows_of('copy (select id, k from m order by k, id) to stdout'), 'COPY: the rows');
query('create table into_dist(id int4, k int8); ' . "select create_distributed_table('into_dist', 'k', colocate_with => 'none')");
query('insert into into_dist select id, k from m order by k, id limit 100000');
is(query('select count(*), sum(k) from into_dist'), query('select count(*), sum(k) from (select k from src order by k, id limit 100000) q'), 'INSERT ... SELECT: the rows');
cmp_ok((jobs_of(\@nodes))[0] - $before, '>=', 2, 'on the device');

# --- cursors, to and fro; prepared statements
my $walk = 'fetch 3 from c; move 150000 from c; fetch 3 from c; fetch backward 5 from c; fetch last from c; fetch first from c; move forward all from c; fetch backward 2 from c';
for my $kind ('cursor', 'scroll cursor', 'no scroll cursor', 'cursor with hold')
{
	my $steps = $kind =~ /no scroll/ ? 'fetch 3 from c; move 150000 from c; fetch 3 from c' : $walk;
	my @got = map { query(($_ eq 'src' ? 'set gpusort.enabled = off; ' : '') . "begin; declare c $kind for select id, k from $_ order by k, id; $steps; commit") } qw(m src);

	is($got[0], $got[1], "$kind: the rows");
}
my $prepared = 'prepare p(int8) as select id, k from m where k > $1 order by k, id; ' . join(';', map { "execute p(150000 + $_)" } 1 .. 7);
is(rows_of($prepared), local_rows_of($prepared), 'a prepared statement: the rows');

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
my @sorted = jobs_of(\@nodes);
$coordinator->safe_psql('postgres', 'select count(*) from (select id, k from m order by k, id limit 100000) s', extra_params => [ '-U', 'carl' ]);
is(join(' ', jobs_of(\@nodes)), "@sorted", 'ALTER ROLE ... SET: no device sorts, on no node');

nothing_left_on(\@nodes, 'Citus');
unlike(slurp_file($_->logfile), qr/terminated by signal|TRAP:|PANIC/, $_->name . ': no process ended') for @nodes;
done_testing();
