# The tables of test/differential on two foreign servers, some of them whole, most in partitions on
# both: its statements give the rows that they give over local tables, whether the sorts are made
# on the remote servers or at home, of rows that come one server after the other or from both.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t", $ENV{GPUSORT_DIFFERENTIAL};
use Corpus;
use GpuSortTest;
use Nodes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $home = new_node('home');
my @far = map { new_node("far$_") } 1, 2;
my @nodes = ($home, @far);
wait_for_all(\@nodes);

# --- the same tables everywhere; at home three times

for my $node (@far)
{
	$node->safe_psql('postgres', 'create database corpus template template0');
	create_corpus($node, 'corpus');
}
$home->safe_psql('postgres', 'create database local template template0');
create_corpus($home, 'local');
$home->safe_psql('postgres', "create database $_ template local") for qw(moved elsewhere);
move_rows($home, 'moved');

# --- and now elsewhere

# Rows of a table that are on a server, in a partition of it.
my %parts = (
	events => 'id', orders => 'id', narrow => 'b', ordered => 'id', typed => 'id', texts => 'id', one_key => 'id');
my %whole = map { $_ => 1 } qw(customers tree documents toasted odd no_rows one_row only_nulls);
my %ranges = (measures_1 => "from ('2020-01-01') to ('2020-04-01')", measures_2 => "from ('2020-04-01') to ('2020-07-01')",
	measures_3 => "from ('2020-07-01') to ('2020-10-01')");

sub psql { $home->safe_psql('elsewhere', $_[0]) }

# The columns of a table as a foreign table has them.
sub columns_of
{
	my ($table) = @_;

	return psql("select string_agg(format('%I %s%s', attname, format_type(atttypid, atttypmod),
			case when attcollation <> 0 then ' collate ' || attcollation::regcollation else '' end), ', ' order by attnum)
		from pg_attribute where attrelid = '$table'::regclass and attnum > 0 and not attisdropped");
}

psql('create extension postgres_fdw');
for my $i (0, 1)
{
	psql("create server far$i foreign data wrapper postgres_fdw options (host '" . $far[$i]->host . "', port '" . $far[$i]->port
		. "', dbname 'corpus', async_capable 'true', fetch_size '1000', use_remote_estimate '" . ($i ? 'true' : 'false') . "')");
	psql("create user mapping for current_user server far$i");
}
my $server = 0;
my @on_far = ('', '');

for my $table (sort keys %parts)
{
	my $columns = columns_of($table);
	my $key = "(coalesce(hashint8($parts{$table}), 0) & 3)";
	my $at_home = "drop table $table cascade; create table $table($columns) partition by list ($key);";

	for my $part (0 .. 3)
	{
		my $i = $part % 2;

		$on_far[$i] .= "create table ${table}_part$part as select * from $table where $key = $part; analyze ${table}_part$part;";
		$at_home .= "create foreign table ${table}_part$part partition of $table for values in ($part) server far$i;";
	}
	psql($at_home);
}
# subplans ask for a customer's orders thousands of times; a hash index gives no order, so what is sorted stays the same
$on_far[$_ % 2] .= "create index on orders_part$_ using hash (customer);" for 0 .. 3;
$far[$_]->safe_psql('corpus', $on_far[$_]) for 0, 1;
for my $table (sort keys %whole)
{
	my $columns = columns_of($table);

	psql("drop table $table cascade; create foreign table $table($columns) server far" . $server++ % 2);
}
psql('drop table measures; create table measures(at date not null, sensor int2, value int4, id int4) partition by range (at)');
psql("create foreign table $_ partition of measures for values $ranges{$_} server far" . $server++ % 2) for sort keys %ranges;
psql('create foreign table measures_rest partition of measures default server far0');
psql('analyze');

# --- statements

my @before = jobs_of(\@nodes);
my $compared = compare_corpus(
	nodes => \@nodes, local => [ $home, 'local' ], moved => [ $home, 'moved' ], elsewhere => [ $home, 'elsewhere' ],
	files => [ files_of_corpus() ],
	modes => [
		[ 'sorted at home', {} ],
		[ 'sorted on the remote servers', { 'gpusort.debug_force' => 'off' } ]]);
my @after = jobs_of(\@nodes);

cmp_ok($compared, '>=', 40, 'enough statements are compared');
cmp_ok($after[$_] - $before[$_], '>=', 20, $nodes[$_]->name . ': its device sorted ' . ($after[$_] - $before[$_]) . ' times') for 0 .. $#nodes;
nothing_left_on(\@nodes, 'the corpus');
unlike(slurp_file($_->logfile), qr/terminated by signal|TRAP:|PANIC/, $_->name . ': no process ended') for @nodes;
done_testing();
