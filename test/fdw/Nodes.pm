# Nodes.pm
#	  Servers that work together: their beginning, their settings, and what is left over on them.
#
# In:  names and settings.
# Out: servers of this machine, each with a service and a device of its own, that reach one
#      another.  All are reached by one host and the port of each.
package Nodes;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use Test::More;

use GpuSortTest;

our @EXPORT = qw(new_node set_on_all jobs_of jobs_for wait_for_all nothing_left_on make_foreign_partitions compare_cursors);

# Less of everything than a server by itself has, since several share a machine.
my @small = (
	"gpusort.buffer_memory = '96MB'", "gpusort.device_memory = '512MB'", 'shared_buffers = 64MB',
	'max_connections = 120', 'fsync = off', "timezone = 'UTC'", "datestyle = 'ISO, MDY'");

sub new_node
{
	my ($name, @lines) = @_;

	return new_server($name, @small, @lines);
}

# Changes settings of running servers, { name => value }; undef: as at their start.
sub set_on_all
{
	my ($nodes, $settings) = @_;

	my $changes = join ' ', map { defined $settings->{$_} ? "alter system set $_ = '$settings->{$_}';" : "alter system reset $_;" } sort keys %$settings;

	for my $node (@$nodes)
	{
		my ($loaded) = split /\n/, $node->safe_psql('postgres', "select pg_conf_load_time(); $changes select pg_reload_conf()");

		# the postmaster tells its processes when it has read them itself
		$node->poll_query_until('postgres', "select pg_conf_load_time() <> '$loaded'") or die "$changes has no effect\n";
	}
}

# How many sorts the devices of these servers have made.
sub jobs_of
{
	my ($nodes) = @_;

	return map { $_->safe_psql('postgres', 'select jobs from gpusort_stats') } @$nodes;
}

# How many sorts each device makes for what code does.
sub jobs_for
{
	my ($nodes, $code) = @_;
	my @before = jobs_of($nodes);

	$code->();
	my @after = jobs_of($nodes);
	return map { $after[$_] - $before[$_] } 0 .. $#after;
}

# Cursors of all kinds over a query whose tables lie elsewhere, which move so far and then to and fro, give what they
# give over local tables.  Whether a plan can be read backward is PostgreSQL's, so a cursor fails if it
# fails without gpusort; readable: the plan has a sort at its top, and no cursor fails.
sub compare_cursors
{
	my (%of) = @_;
	my $node = $of{node};
	my $there = "fetch 3 from c; move $of{far} from c; fetch 3 from c";
	my $walk = "$there; fetch backward 5 from c; fetch last from c; fetch first from c; move forward all from c; fetch backward 2 from c";
	# a table here gives the same to all kinds that may be read backward
	my %right;

	for my $kind ('cursor', 'scroll cursor', 'cursor with hold', 'no scroll cursor')
	{
		my $steps = $kind =~ /no scroll/ ? $there : $walk;
		my $read = sub { return $node->psql('postgres', "$_[0]; begin; declare c $kind for $_[1]; $steps; commit") };
		my ($code, $got, $error) = $read->($of{settings}, $of{elsewhere});
		$right{$steps} //= ($read->('set gpusort.enabled = off', $of{local}))[1];
		my ($may_fail) = $of{readable} ? 0 : $read->('set gpusort.enabled = off', $of{elsewhere});

		is($code, $may_fail, "$of{what}, $kind: as without gpusort") or diag($error);
		is($got, $right{$steps}, "$of{what}, $kind: the rows") if $code == 0;
	}
}

sub wait_for_all
{
	my ($nodes) = @_;

	for my $node (@$nodes)
	{
		wait_for_state($node, 'serving') or die $node->name . " does not serve\n";
	}
}

# At home the table parts, of four foreign partitions of so many rows each, two on each of two servers;
# whole, which is all of it, on the first server; and rows_at_home, a local copy.
sub make_foreign_partitions
{
	my ($home, $far, $rows) = @_;
	my $columns = 'k int8, id int4, filler text';
	my $made = "select (i::int8 * 7919) % 1000003 as k, i as id, repeat('f', i % 80) as filler from generate_series";
	my $select = "$made(1, 4 * $rows) i";

	$home->safe_psql('postgres', "create extension postgres_fdw; create table rows_at_home as $select; create table parts($columns) partition by range (id); analyze rows_at_home");
	for my $i (0, 1)
	{
		my ($host, $port) = ($far->[$i]->host, $far->[$i]->port);

		$home->safe_psql('postgres', "create server far$i foreign data wrapper postgres_fdw options (host '$host', port '$port', dbname 'postgres', async_capable 'true', fetch_size '1000', use_remote_estimate 'false'); create user mapping for current_user server far$i");
	}
	for my $part (0 .. 3)
	{
		my $i = $part % 2;
		my ($from, $to) = ($part * $rows + 1, ($part + 1) * $rows + 1);

		$far->[$i]->safe_psql('postgres', "create table parts_$part as $made($from, $to - 1) i; analyze parts_$part");
		$home->safe_psql('postgres', "create foreign table parts_$part partition of parts for values from ($from) to ($to) server far$i");
	}
	$far->[0]->safe_psql('postgres', "create table whole as $select; analyze whole");
	$home->safe_psql('postgres', "create foreign table whole($columns) server far0");
}

# No job, no buffer in use, no grant and no file, on any of them.
sub nothing_left_on
{
	my ($nodes, $after) = @_;
	my $left = q{select open_jobs || ' jobs, ' || buffer_bytes - free_buffer_bytes || ' bytes of buffers, '
		|| reserved_bytes || ' bytes reserved, ' || (select count(*) from pg_ls_tmpdir()) || ' files' from gpusort_devices};
	my $clean = '0 jobs, 0 bytes of buffers, 0 bytes reserved, 0 files';

	for my $node (@$nodes)
	{
		my $got = '';

		for (1 .. 9000)
		{
			$got = $node->safe_psql('postgres', $left);
			last if $got eq $clean;
			Time::HiRes::sleep(0.02);
		}
		is($got, $clean, "$after: nothing is left over on " . $node->name);
	}
}

1;
