# Sites.pm
#	  Below which nodes of a plan do GpuSort nodes stand?
#
# In:  EXPLAIN's output in text, as a list of lines.
# Out: the names of the nodes above each GpuSort, up to the first one that is not merely on the
#      way of the rows, as EXPLAIN shows them, but all merge joins are "Merge Join" (and "Merge Join inner"
#      where GpuSort is below its second child), partial and parallel nodes are what they are in one
#      process, and INSERT, UPDATE, DELETE and MERGE are "ModifyTable".
package Sites;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(sites_in can_be_explained too_cheap);

my $on_the_way = qr/^(Gather|Gather Merge|Materialize|Memoize|Subquery Scan|Result|ProjectSet|Append|Custom Scan \(GpuSortFeed\))$/;

sub can_be_explained
{
	my ($statement) = @_;

	return $statement->{text} =~ /;\s*\z/
	  && $statement->{bare} =~ /^[\s(]*(select|with|values|table|insert|update|delete|merge|declare|execute|create\s+((global|local|temp|temporary|unlogged)\s+)*table\s+\w+\s+as)\b/i;
}

sub site_name
{
	my ($line) = @_;

	$line =~ s/  \(.*//;
	$line =~ s/^(Parallel |Partial |Finalize |Async )+//;
	return "ModifyTable" if $line =~ /^(Insert|Update|Delete|Merge) on /;
	return "Merge Join" if $line =~ /^Merge .*Join$/;
	return $1 if $line =~ /^(Subquery Scan|SubPlan|InitPlan|CTE|SetOp|Seq Scan|CTE Scan|Function Scan)\b/;
	return $line;
}

# The first node of gpusort's that costs less than what is below it; undef: there is none.
sub too_cheap
{
	my @above;	# from the top on: [indentation, costs at its start if it is ours, line]

	for my $line (@_)
	{
		my ($space, $startup, $total) = $line =~ /^( *)(?:->  )?\S.*\(cost=([0-9.]+)\.\.([0-9.]+) rows/;
		# what it is for ends the nodes before it
		($space) = $line =~ /^( *)(?:SubPlan|InitPlan|CTE) / if !defined $space;
		next if !defined $space;
		my $indentation = length $space;

		pop @above while @above && $above[-1][0] >= $indentation;
		next if !defined $total;
		return $above[-1][2] if @above && defined $above[-1][1] && $line =~ /->/ && $total > $above[-1][1];
		push @above, [ $indentation, $line =~ /Custom Scan \(GpuSort/ ? $startup : undef, $line ];
	}
	return undef;
}

# { name => 1 }
sub sites_in
{
	my %sites;
	my @above;	# from the top on: [indentation, name, children seen, which child of its parent it is]

	for my $line (@_)
	{
		my ($space, $arrow, $text) = $line =~ /^( *)(->  )?(.*)/;
		my $indentation = length $space;

		next unless $arrow || !@above || $text =~ /^(InitPlan|SubPlan|CTE) /;
		pop @above while @above && $above[-1][0] >= $indentation;
		my $name = site_name($text);
		my $is_plan = $name =~ /^(InitPlan|SubPlan|CTE)$/;
		my $number = @above && !$is_plan ? ++$above[-1][2] : 0;

		push @above, [ $indentation, $name, 0, $number ];
		next unless $name eq 'Custom Scan (GpuSort)';
		$sites{top} = 1 if @above == 1;
		for my $i (reverse 0 .. $#above - 1)
		{
			$sites{ $above[$i][1] } = 1;
			$sites{'Merge Join inner'} = 1 if $above[$i][1] eq 'Merge Join' && $above[ $i + 1 ][3] == 2;
			last if $above[$i][1] !~ $on_the_way;
		}
	}
	return \%sites;
}

1;
