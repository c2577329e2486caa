# A table in partitions on two foreign servers, sorted there or at home: which plan is made, which
# devices sort, whether partitions are read at once, and cursors.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use GpuSortTest;
use Nodes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @lines = ('gpusort.debug_force = off', 'gpusort.min_rows = 10000', "work_mem = '4MB'");
my $home = new_node('home', @lines);
my @far = map { new_node("far$_", @lines) } 1, 2;
my @nodes = ($home, @far);
wait_for_all(\@nodes);

sub query { return $home->safe_psql('postgres', $_[0]) }
sub rows_of { return query("$_[0]; " . digest_query($_[1])) }

# 320,000 rows, in partitions of 80,000
make_foreign_partitions($home, \@far, 80000);
my $all = 'select k, id, filler from parts order by k, id';
my $right = rows_of('set gpusort.enabled = off', 'select k, id, filler from rows_at_home order by k, id');

# A query's rows under these settings, and what the devices of all servers have done for it.
sub sorts_of
{
	my ($settings, $sql) = @_;
	my $rows;
	my @sorts = jobs_for(\@nodes, sub { $rows = rows_of($settings, $sql) });

	return ($rows, @sorts);
}

# --- sorted by the remote servers, merged at home
set_far('use_remote_estimate', 'false');
my $plan = query("explain (costs off) $all");
like($plan, qr/^Merge Append.*(Foreign Scan.*){4}$/s, 'default estimates: Merge Append');
unlike($plan, qr/GpuSort/, 'nothing is sorted at home');
my ($rows, @sorts) = sorts_of('', $all);
is($rows, $right, 'Merge Append: the rows');
is("@sorts", '0 2 2', 'Merge Append: each remote server sorts its two partitions');

# --- sorted at home: of rows in order of the servers, or from both at once
for my $async ('false', 'true')
{
	set_far('async_capable', $async);
	my $forced = 'set gpusort.debug_force = on; set gpusort.min_rows = 0';

	$plan = query("$forced; explain (costs off) $all");
	like($plan, $async eq 'true' ? qr/GpuSort.*Append.*Async Foreign Scan/s : qr/GpuSort.*Append.*-> *Foreign Scan/s, "sorted at home, async $async: the plan");
	($rows, @sorts) = sorts_of($forced, $all);
	is($rows, $right, "sorted at home, async $async: the rows");
	is("@sorts", '1 0 0', "sorted at home, async $async: once, there");
}

# --- whichever costs less: a remote sort by a slow processor and a sort at home by the device
set_far('use_remote_estimate', 'true');
like(query("explain (costs off) $all"), qr/GpuSort|Merge Append/, 'with remote estimates one of the two is chosen');
is(rows_of('', $all), $right, 'with remote estimates: the rows');
set_far('use_remote_estimate', 'false');

# --- a remote sort comes through a cursor, which might be read backward: it spills like others
set_on_all(\@far, { 'gpusort.device_memory' => '32MB' });
$_->poll_query_until('postgres', 'select budget_bytes = 33554432 from gpusort_devices') for @far;
my @runs = map { $_->safe_psql('postgres', 'select runs_spilled from gpusort_stats') } @far;
my @jobs = jobs_of(\@far);
query('analyze parts');
is(rows_of('', 'select k, id, filler from whole order by k, id'), $right, 'a remote sort beyond the remote device: the rows');
cmp_ok($far[0]->safe_psql('postgres', 'select runs_spilled from gpusort_stats') - $runs[0], '>=', 2, 'it was spilled');
cmp_ok((jobs_of(\@far))[0] - $jobs[0], '>=', 1, 'by the device');
set_on_all(\@far, { 'gpusort.device_memory' => undef });
$_->poll_query_until('postgres', 'select budget_bytes = 536870912 from gpusort_devices') for @far;

# --- cursors at home over both plans: an Append of foreign scans cannot be read backward, with a sort above it it can
for my $force (qw(off on))
{
	compare_cursors(
		node => $home, what => $force eq 'on' ? 'sorted at home' : 'sorted remotely', readable => $force eq 'on', far => 240000,
		settings => "set gpusort.debug_force = $force; set gpusort.min_rows = 0",
		elsewhere => $all, local => $all =~ s/parts/rows_at_home/r);
}
nothing_left_on(\@nodes, 'all plans');
unlike(slurp_file($_->logfile), qr/terminated by signal|TRAP:|PANIC/, $_->name . ': no process ended') for @nodes;
done_testing();

sub set_far
{
	my ($option, $value) = @_;

	query("alter server far$_ options (set $option '$value')") for 0, 1;
}
