# CitusNodes.pm
#	  A coordinator and two workers.
#
# In:  lines of their configuration.
# Out: three servers in which the database postgres is Citus's; the first one is the coordinator.  Whether it can merge
#	  what its workers have sorted.
package CitusNodes;

use strict;
use warnings;

use Exporter 'import';
use Nodes;

our @EXPORT = qw(new_citus merges_sorted);

our @citus = ("shared_preload_libraries = 'citus,gpusort'", "listen_addresses = '127.0.0.1'", 'max_prepared_transactions = 100',
	"citus.node_conninfo = 'sslmode=prefer'", 'citus.shard_count = 8', 'citus.enable_statistics_collection = off');

sub new_citus
{
	my (@lines) = @_;
	my @nodes = map { new_node($_, @citus, @lines) } qw(coordinator worker1 worker2);
	my ($coordinator) = @nodes;

	wait_for_all(\@nodes);
	$_->safe_psql('postgres', 'create extension citus') for @nodes;
	$coordinator->safe_psql('postgres', "select citus_set_coordinator_host('127.0.0.1', " . $coordinator->port . ')');
	$coordinator->safe_psql('postgres', "select citus_add_node('127.0.0.1', " . $_->port . ')') for @nodes[ 1, 2 ];
	return @nodes;
}

# Some versions can, as they are told by citus.enable_sorted_merge.
sub merges_sorted
{
	my ($coordinator) = @_;

	return $coordinator->safe_psql('postgres', q{select current_setting('citus.enable_sorted_merge', true) is not null}) eq 't';
}

1;
