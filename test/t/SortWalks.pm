# SortWalks.pm
#	  Reads sorts to and fro, natively and by GpuSort, and compares every row.
#
# walk_on names the server and the session that the other functions use, and makes
# step_through, which reads a plan as a node above it would that marks places.
package SortWalks;

use strict;
use warnings;

use Exporter 'import';
use Test::More;

our @EXPORT = qw(walk_on counter walk same_walk same_steps);

my ($node, $session);

sub walk_on
{
	($node, $session) = @_;
	$node->safe_psql('postgres', "create function step_through(text, text) returns text[] strict language c as '$ENV{TESTDIR}/modules/stepper/stepper'");
	return;
}

sub counter
{
	my ($name) = @_;

	return $node->safe_psql('postgres', "select $name from gpusort_stats");
}

# A random walk over a cursor of so many rows: short steps around where it stands, the
# ends, and a few leaps.
sub walk
{
	my ($rows, $steps) = @_;
	my @walk = ('fetch 3', 'fetch backward 2', 'fetch backward 5', 'fetch 2');

	for (1 .. $steps)
	{
		my $near = 1 + int rand 40;

		push @walk, (
			"fetch $near", "fetch backward $near", 'fetch prior', 'fetch next', 'fetch relative -' . $near, 'fetch relative 0',
			"move $near", "move backward $near", 'fetch absolute ' . (1 + int rand $rows), 'fetch absolute -' . $near, 'fetch last', 'fetch first',
			'move forward all', 'move backward all')[ rand 14 ];
	}
	return map { "$_ from c" } @walk;
}

# The walk's rows over the query, natively and by the device: the same, from so many runs at
# least.  declare: how the cursor is declared.
sub same_walk
{
	my ($what, $declare, $query, $least_runs, @walk) = @_;
	my $counters = q{select runs_spilled || ' ' || native_device_memory from gpusort_stats};
	my ($runs, $native) = split / /, $session->query($counters);
	my %got;

	like($session->query("explain (costs off) declare c $declare for $query"), qr/Custom Scan \(GpuSort\)/, "$what: planned");
	for my $enabled ('off', 'on')
	{
		$session->query("set gpusort.enabled = $enabled; begin; declare c $declare for $query");
		$session->query('commit') if $declare =~ /hold/;
		$got{$enabled} = join("\n--\n", map { "$_: " . $session->query($_) . $session->error } @walk);
		$session->query($declare =~ /hold/ ? 'close c' : 'commit');
	}
	is($got{on}, $got{off}, "$what: every step gives the row that it should");
	my ($runs_now, $native_now) = split / /, $session->query($counters);
	cmp_ok($runs_now - $runs, '>=', $least_runs, "$what: spilled") if $least_runs > 0;
	is($native_now, $native, "$what: the device took all of it") if $least_runs >= 2;
}

# Random steps forward and back, with marks and restores; at least $length of them.
sub random_steps
{
	my ($steps, $length) = ('', @_);
	my $marked = 0;

	while (length $steps < $length)
	{
		my $step = ('f' x 3, 'f' x (1 + int rand 60), 'b' x (1 + int rand 20), 'm', 'r', 'w', 'fmbr')[ rand 7 ];
		$marked = 0 if $step eq 'w';
		next if $step eq 'r' && !$marked;
		$marked = 1 if $step =~ /m/;
		$steps .= $step;
	}
	return $steps;
}

# The steps' rows, natively and by the device.  The method is not asked for when none is given: another call has asked for it
# with this query.
sub same_steps
{
	my ($what, $query, $method, $length_or_steps) = @_;
	my $length = $length_or_steps // 1500;
	my $steps = $length =~ /^\d+$/ ? random_steps($length) : $length;
	my $walked = "select step_through(\$q\$$query\$q\$, '$steps')";
	my $explained = defined $method ? "explain (analyze, costs off, timing off) $query" : '';
	my ($native, $got, @plan) = split /\n/, $node->safe_psql('postgres', "set gpusort.enabled = off; $walked; reset gpusort.enabled; $walked; $explained");

	is($got, $native, "mark and restore, $what") or diag($steps);
	like(join("\n", @plan), qr/GpuSort.*Sort Method: $method$/ms, "mark and restore, $what: the method") if defined $method;
}

1;
