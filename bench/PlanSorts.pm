# PlanSorts.pm
#	  The sorts of a plan that was run, the time that each took, and which of them GpuSort has taken.
#
# In:  plans as EXPLAIN (ANALYZE, FORMAT JSON) prints them, decoded.
# Out: a record for each Sort, Incremental Sort and GpuSort node that was executed; and for those of
#	  PostgreSQL's plan what became of them in gpusort's plan of the same query.
#
# A sort's seconds are its own: its total time, in all its executions in all processes, less its child's.
# EXPLAIN gives averages of these executions, so their product is the sum over all workers.
# Reading the clock around each row is part of them, as it is of every node's.
package PlanSorts;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(first max sum0);

our @EXPORT = qw(sorts_of_plan match_sorts describe_sort);

my $ROUNDING = 0.01;			# of rows, which EXPLAIN gives as averages of executions

# Fields of a record:
#	by			'native' or 'gpusort'
#	node		the node's name
#	method		how it was sorted; of a sort in workers only, the first worker's
#	keys		its sort keys, as text
#	rows		that came into one execution, on average; estimated: that the planner expected
#	executions	in all processes
#	seconds		its own time
#	site		what the rows are sorted for: the nodes above it, up to the first that is not there to
#				gather, limit or hand on rows
sub sorts_of_plan
{
	my ($plan, @above) = @_;
	my @sorts = map { sorts_of_plan($_, $plan, @above) } @{ $plan->{Plans} // [] };
	my $name = name_of_node($plan);

	return @sorts unless $name =~ /^(Sort|Incremental Sort|GpuSort)$/ && $plan->{'Actual Loops'};
	my $child = first { $_->{'Parent Relationship'} eq 'Outer' } @{ $plan->{Plans} };
	my $input = $child;
	# a feed sends its rows to the device, none to Gather
	$input = (first { $_->{'Parent Relationship'} eq 'Outer' } @{ $input->{Plans} })
	  while $name eq 'GpuSort' && $input->{Plans} && name_of_node($input) =~ /^(Gather|GpuSortFeed)$/;

	my $rows = $input->{'Actual Rows'} * ($input->{'Actual Loops'} || 1) / $plan->{'Actual Loops'};
	return ({ by => $name eq 'GpuSort' ? 'gpusort' : 'native', node => $name,
			method => $plan->{'Sort Method'} // method_of_workers($plan), plan => $plan,
			keys => join(', ', @{ $plan->{'Sort Key'} // $plan->{'Group Key'} }),
			rows => max($rows, $plan->{'Actual Rows'}), estimated => $input->{'Plan Rows'},
			executions => $plan->{'Actual Loops'},
			seconds => max(0, (milliseconds($plan) - milliseconds($child)) / 1000),
			site => site_of_sort(@above) }, @sorts);
}

sub name_of_node
{
	my ($node) = @_;

	return $node->{'Custom Plan Provider'} // $node->{'Node Type'};
}

sub milliseconds
{
	my ($node) = @_;

	return ($node->{'Actual Total Time'} // 0) * $node->{'Actual Loops'};
}

# The lines of a node that only workers executed, or of an Incremental Sort's groups.
sub method_of_workers
{
	my ($plan) = @_;
	my @methods = map { $_->{'Sort Method'} // () } @{ $plan->{Workers} // [] };
	my @of_groups = map { @{ $_->{'Sort Methods Used'} // [] } }
	  map { $plan->{$_} // () } 'Pre-sorted Groups', 'Full-sort Groups';

	return $methods[0] // $of_groups[0] // '';
}

sub site_of_sort
{
	my @above = @_;
	my @names;

	while (my $node = shift @above)
	{
		my $name = name_of_node($node);

		$name = "$node->{'Partial Mode'} $name" if ($node->{'Partial Mode'} // 'Simple') ne 'Simple';
		$name .= " ($node->{Strategy})" if $node->{Strategy};
		push @names, $name;
		last unless $name =~ /^(Gather|Gather Merge|Limit|Materialize|Subquery Scan|Result|Append|Merge Append)$/;
	}
	return join(' below ', @names) || 'the query';
}

sub describe_sort
{
	my ($sort) = @_;

	return sprintf '%s by %s: %.0f rows (%.0f expected) x %d, %.3f s, %s, below %s',
	  @$sort{qw(node keys rows estimated executions seconds method site)};
}

# ---- two plans -----------------------------------------------------------------

# For each sort of PostgreSQL's plan what became of it, in order: { sort, then, fate }.  then is the
# sort of gpusort's plan that is the same one, by its keys and rows, or by its keys where that is
# all there is; fate is one of
#	device		GpuSort did it on the device
#	backend		GpuSort did it without the device and without PostgreSQL's sort
#	workers		GpuSort did it in workers alone, of which EXPLAIN says no more
#	native		GpuSort left it to PostgreSQL's sort
#	Sort		it is still a node of PostgreSQL's
#	gone		gpusort's plan has none such: another plan was cheaper
sub match_sorts
{
	my ($native, $gpusort) = @_;
	my @left = @$gpusort;
	my %then;

	for my $is_same (\&same_keys_and_rows, \&same_keys)
	{
		for my $sort (grep { !$then{$_} } @$native)
		{
			my $found = first { $is_same->($sort, $left[$_]) } 0 .. $#left;
			$then{$sort} = splice(@left, $found, 1) if defined $found;
		}
	}
	return map { { sort => $_, then => $then{$_}, fate => fate($then{$_}) } } @$native;
}

sub same_keys
{
	my ($first, $second) = @_;

	return $first->{keys} eq $second->{keys};
}

sub same_keys_and_rows
{
	my ($first, $second) = @_;
	my ($rows, $other_rows) = map { $_->{rows} * $_->{executions} } $first, $second;

	return same_keys($first, $second) && abs($rows - $other_rows) <= $ROUNDING * max($rows, $other_rows);
}

sub fate
{
	my ($sort) = @_;

	return 'gone' unless $sort;
	return 'Sort' if $sort->{by} eq 'native';
	return 'workers' if $sort->{method} eq '';
	return $sort->{method} =~ /^(gpu|host)/ ? 'device' : $sort->{method} =~ /^native/ ? 'native' : 'backend';
}

1;
