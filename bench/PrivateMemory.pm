# PrivateMemory.pm
#	  What a sort costs in memory besides shared buffers.
#
# In:  the process ids of a session and of the service; /proc.
# Out: samples: the anonymous memory of session, its workers and service, at its highest, and
#      the workers that were seen.
#
# The private pages of /proc/PID/smaps would mislead here: they count each page of shared
# memory that only one process has touched so far, and cease to count it when a second one does.
package PrivateMemory;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max sum);

our @EXPORT = qw(new_sample take_sample);

# The processes watched during a run.  Workers are looked for among the processes that
# were not there before it.
sub new_sample
{
	my ($backend_pid, $service_pid) = @_;
	my $before = sum(map { anonymous_mb($_) } $backend_pid, $service_pid);

	return { backend_pid => $backend_pid, service_pid => $service_pid, before_mb => $before,
		peak_mb => $before, workers => 0, known => { map { $_ => 1 } processes() } };
}

sub take_sample
{
	my ($sample) = @_;
	my @workers = grep { !$sample->{known}{$_} && is_worker_of($sample->{backend_pid}, $_) } processes();

	$sample->{workers} = max($sample->{workers}, scalar @workers);
	$sample->{peak_mb} = max($sample->{peak_mb},
		sum(map { anonymous_mb($_) } $sample->{backend_pid}, $sample->{service_pid}, @workers));
}

sub processes
{
	opendir(my $proc, '/proc') or die "/proc: $!\n";
	return grep { /^\d+$/ } readdir $proc;
}

sub is_worker_of
{
	my ($backend_pid, $pid) = @_;

	open(my $file, '<', "/proc/$pid/cmdline") or return 0;
	return (<$file> // '') =~ /parallel worker for PID $backend_pid\b/;
}

# 0 for a process that has ended.
sub anonymous_mb
{
	my ($pid) = @_;

	open(my $file, '<', "/proc/$pid/status") or return 0;
	while (my $line = <$file>)
	{
		return $1 / 1024 if $line =~ /^RssAnon:\s+(\d+) kB/;
	}
	return 0;
}

1;
