# The tables of test/differential distributed over two workers, or copied to all: its statements give the
# rows that they give over local tables.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../fdw", "$FindBin::RealBin/../t", $ENV{GPUSORT_DIFFERENTIAL};
use CitusNodes;
use Corpus;
use GpuSortTest;
use Nodes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_citus();
my ($coordinator) = @nodes;

$coordinator->safe_psql('postgres', "create database $_ template template0") for qw(local moved);
create_corpus($coordinator, $_) for qw(local moved postgres);
move_rows($coordinator, 'moved');
drop_keys($coordinator, 'postgres');

# Citus distributes partitions of one level
$coordinator->safe_psql('postgres', q{
	create table kept as table measures;
	drop table measures;
	create table measures(at date not null, sensor int2, value int4, id int4) partition by range (at);
	create table measures_1 partition of measures for values from ('2020-01-01') to ('2020-04-01');
	create table measures_2 partition of measures for values from ('2020-04-01') to ('2020-07-01');
	create table measures_3 partition of measures for values from ('2020-07-01') to ('2020-10-01');
	create table measures_rest partition of measures default;
	insert into measures select * from kept;
	drop table kept});
my %copied = map { $_ => 1 } qw(customers tree no_rows one_row);
for my $table (@Corpus::tables)
{
	my $key = $table eq 'narrow' ? 'b' : 'id';

	$coordinator->safe_psql('postgres', $copied{$table} ? "select create_reference_table('$table')" :
		"select create_distributed_table('$table', '$key', colocate_with => 'none')");
}
$coordinator->safe_psql('postgres', 'analyze');

my @before = jobs_of(\@nodes);
my $compared = compare_corpus(
	nodes => \@nodes, local => [ $coordinator, 'local' ], moved => [ $coordinator, 'moved' ], elsewhere => [ $coordinator, 'postgres' ],
	files => [ files_of_corpus() ], modes => [ [ 'sorted everywhere', {} ] ]);
my @after = jobs_of(\@nodes);

cmp_ok($compared, '>=', 40, 'enough statements are compared');
cmp_ok($after[$_] - $before[$_], '>=', 20, $nodes[$_]->name . ': its device sorted ' . ($after[$_] - $before[$_]) . ' times') for 0 .. $#nodes;
nothing_left_on(\@nodes, 'the corpus');
unlike(slurp_file($_->logfile), qr/terminated by signal|TRAP:|PANIC/, $_->name . ': no process ended') for @nodes;
done_testing();
