# Sorts of rows from foreign servers, and sorts on these for a query elsewhere, that are ended in the
# middle (Endings.pm).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use Endings;
use GpuSortTest;
use Link;
use Nodes;
use PostgreSQL::Test::Utils;
use Test::More;

my @lines = ('gpusort.debug_force = off', 'gpusort.min_rows = 10000', "work_mem = '4MB'");
my $home = new_node('home', @lines);
my @far = map { new_node("far$_", @lines) } 1, 2;
wait_for_all([ $home, @far ]);
make_foreign_partitions($home, \@far, 60000);

# the way to the first one
my $folder = PostgreSQL::Test::Utils::tempdir_short();
my $socket = '.s.PGSQL.' . $far[0]->port;
my $link = Link->new("$folder/$socket", $far[0]->host . "/$socket");
$home->safe_psql('postgres', "alter server far0 options (set host '$folder')");

my %query = (
	query => 'select count(*), bool_and(right_order) from (select (k, id) > lag((k, id)) over () is not false as right_order from (select k, id from parts order by k, id offset 0) q) s',
	right => '240000|t');
my $at_home = 'set gpusort.debug_force = on; set gpusort.min_rows = 0; set enable_async_append';

# Sorted on the remote servers; at home, of rows from one server after the other; from both at once.
try_endings(
	home => $home, far => \@far, link => $link, application => 'postgres_fdw',
	plans => [
		{ %query, name => 'sorted remotely', settings => 'set gpusort.debug_force = off', halted => $far[0] },
		{ %query, name => 'sorted at home', settings => "$at_home = off", halted => $home },
		{ %query, name => 'sorted at home, async', settings => "$at_home = on", halted => $home } ]);
done_testing();
