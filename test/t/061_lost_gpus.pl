# Several GPUs, of which some are lost and come back, with the host device behind them (gpusort.device = 'auto,host').
# Host devices stand in for two GPUs: modules/stand_in_gpus, by which the server's gpusort.so is replaced.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use_stand_ins();
$GpuSortTest::device = 'auto,host';
my $node = new_server('lost_gpus');
make_tables($node);

my $sorted = 'select * from big order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');

# The expected rows of gpusort_devices, a line for each service.
sub devices_are
{
	my ($what, @expected) = @_;
	my $shown = "select string_agg(concat_ws(' ', kind, state, detail), E'\n' order by service) from gpusort_devices";
	my $expected = join "\n", @expected;

	ok($node->poll_query_until('postgres', $shown, $expected), "$what: $expected");
}

# Where sorts are done now, on each service's device.
sub sorts_are_done_by
{
	my ($what, $device) = @_;

	is(digest($node, $sorted), $right, "$what: the rows are right");
	like($node->safe_psql('postgres', "explain (analyze, costs off, timing off, summary off) $sorted"),
		qr/^ *Device: $device$/m, "$what: sorted there");
}

# With a reload: services look at once, and need not wait until it is time to.
sub change_gpu
{
	my ($number, $gone) = @_;
	my $file = $node->data_dir . "/gpu_${number}_is_gone";

	if ($gone)
	{
		append_to_file($file, '');
	}
	else
	{
		unlink $file or die "$file: $!";
	}
	$node->reload;
}

sub lose_gpu   { change_gpu($_[0], 1); }
sub bring_back { change_gpu($_[0], 0); }

devices_are('two GPUs', 'cuda serving', 'cuda serving');
sorts_are_done_by('two GPUs', qr/stand-in for GPU [01], service [01]/);
is($node->safe_psql('postgres', 'set gpusort.min_rows = -1; select distinct min_rows from gpusort_devices'), '10000', 'from 10,000 rows on');

# --- the second one
lose_gpu(1);
devices_are('the second one lost', 'cuda serving', 'unavailable GPU 1 is gone');
sorts_are_done_by('the second one lost', qr/stand-in for GPU 0, service 0/);
bring_back(1);
devices_are('the second one back', 'cuda serving', 'cuda serving');

# --- the first one: the host device is its service's too, but gets no sorts while another GPU serves
lose_gpu(0);
devices_are('the first one lost', 'host serving no GPU: GPU 0 is gone', 'cuda serving');
sorts_are_done_by('the first one lost', qr/stand-in for GPU 1, service 1/);

# --- then the other one too: now the host device serves
lose_gpu(1);
devices_are('both lost', 'host serving no GPU: GPU 0 is gone', 'unavailable GPU 1 is gone');
sorts_are_done_by('both lost', qr/host \(\d+ threads\), service 0/);

# --- one is back, while a sort is open on the host device
my $reader = GpuSortTest::Session->new($node);
$reader->query("begin; declare c cursor for $sorted");
$reader->query('fetch 10 from c');
bring_back(1);
devices_are('the second one back, a sort is open', 'host serving no GPU: GPU 0 is gone', 'cuda serving');
sorts_are_done_by('the second one back, a sort is open', qr/stand-in for GPU 1, service 1/);
like($reader->query('fetch 10 from c'), qr/^\d+\|\d+\|f/, 'the open sort goes on');
is($reader->error, '', 'without an error');

# --- it goes again meanwhile: the host device goes on
lose_gpu(1);
devices_are('lost again', 'host serving no GPU: GPU 0 is gone', 'unavailable GPU 1 is gone');
sorts_are_done_by('lost again', qr/host \(\d+ threads\), service 0/);

# --- a look for the lost GPU waits for the open sort
bring_back(0);
bring_back(1);
devices_are('back once more', 'host serving no GPU: GPU 0 is gone', 'cuda serving');
like($reader->query('fetch 10 from c'), qr/^\d+\|\d+\|f/, 'the open sort goes on again');
$reader->query('commit');
$reader->close;
devices_are('the sort has ended', 'cuda serving', 'cuda serving');
lose_gpu(0);
devices_are('the first one lost once more', 'host serving no GPU: GPU 0 is gone', 'cuda serving');
bring_back(0);
devices_are('both back', 'cuda serving', 'cuda serving');
sorts_are_done_by('both back', qr/stand-in for GPU [01], service [01]/);

# --- both at once
append_to_file($node->data_dir . '/gpu_0_is_gone', '');
lose_gpu(1);
devices_are('both lost at once', 'host serving no GPU: GPU 0 is gone', 'unavailable GPU 1 is gone');
sorts_are_done_by('both lost at once', qr/host \(\d+ threads\), service 0/);

# --- and back: the other service looks for its GPU by itself, and then the first one for its own
unlink map { $node->data_dir . "/gpu_${_}_is_gone" } 0, 1;
devices_are('both back', 'cuda serving', 'cuda serving');
sorts_are_done_by('both back', qr/stand-in for GPU [01], service [01]/);

unlike(slurp_file($node->logfile), qr/PANIC|was terminated by signal|TRAP/, 'nothing crashed');
$node->stop;

done_testing();
