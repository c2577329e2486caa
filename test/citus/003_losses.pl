# Queries over tables that Citus has distributed, ended in the middle (Endings.pm): sorts in the coordinator, sorts in
# workers, tasks of a repartition join, and an INSERT whose rows workers sort and send to one another.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../fdw", "$FindBin::RealBin/../t";
use CitusNodes;
use Endings;
use GpuSortTest;
use Link;
use Nodes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_citus('gpusort.debug_force = off', 'gpusort.min_rows = 10000', "work_mem = '64MB'");
my ($coordinator, @workers) = @nodes;

sub query { return $coordinator->safe_psql('postgres', $_[0]) }

query(q{
	create table local_m as select i as id, (i::int8 * 7919) % 400009 as k from generate_series(1, 400000) i;
	create table m as select * from local_m;
	select create_distributed_table('m', 'id', colocate_with => 'none');
	create table local_r as select i as id, (i::int8 * 31) % 400009 as k from generate_series(1, 400000) i;
	create table r as select * from local_r;
	select create_distributed_table('r', 'id', colocate_with => 'none');
	create table made(id int4, k int8, n int8);
	select create_distributed_table('made', 'k', colocate_with => 'none');
	vacuum analyze});
# the way to the first worker, from the coordinator and from the other one
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $link = Link->new($port, $workers[0]->port);
query("select citus_update_node(nodeid, nodename, $port) from pg_dist_node where nodeport = " . $workers[0]->port);

my $merges = merges_sorted($coordinator);
my $unmerged = $merges ? 'set citus.enable_sorted_merge = off' : 'select';
my $sum = 'select count(*), sum(id::int8 * n), sum(k * n) from';
my $windows = 'select id, k, row_number() over (partition by id order by k) as n from';
# few rows go out, as a client's reading is not what is ended here
my $order = 'select id, k from m order by k, id offset 390000';
my $join = 'select m.id, r.id as other from m join r on m.k = r.k order by r.id, m.id limit 300000 offset 290000';
my @plans = (
	{ name => 'sorted by the coordinator', settings => $unmerged, query => $order, halted => $coordinator, fetched => 1 },
	{ name => 'sorted by workers', settings => $unmerged, query => "$sum ($windows m) s", halted => $workers[0] },
	{ name => 'a repartition join', settings => "$unmerged; set citus.enable_repartition_joins = on", query => $join, halted => $workers[0] },
	{
		name => 'INSERT ... SELECT, repartitioned', settings => $unmerged, query => "insert into made $windows m", halted => $workers[0],
		read => "$sum made", none => '0||', clear => 'truncate made'
	});
push @plans, { name => 'sorted by workers, merged', settings => 'set citus.enable_sorted_merge = on', query => $order, halted => $workers[0] } if $merges;
for my $plan (@plans)
{
	# what is inserted is what the windows give
	my $sql = defined $plan->{read} ? "$sum ($windows m) s" : $plan->{query};

	$plan->{right} = query('set gpusort.enabled = off; ' . $sql =~ s/\b([mr])\b(?!\.)/local_$1 $1/gr);
}

# Transactions in two phases that a lost server has left are ended by Citus, at once if it is told.
sub settle_citus
{
	my ($what) = @_;

	for my $node (@nodes)
	{
		ok($coordinator->poll_query_until('postgres', 'select recover_prepared_transactions() >= 0')
			  && $node->poll_query_until('postgres', 'select count(*) = 0 from pg_prepared_xacts'), "$what: no transaction is left prepared on " . $node->name);
	}
}

try_endings(home => $coordinator, far => \@workers, link => $link, application => 'citus_internal', plans => \@plans, settle => \&settle_citus);
unlike(slurp_file($_->logfile), qr/TRAP:|PANIC|signal 11/, $_->name . ': no process crashed') for @nodes;
done_testing();
