# A job waits for memory that the device itself lacks, though the budget has it: meanwhile no large sort grows.
# modules/stand_in_gpus refuses jobs their first memory while there is a file.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use_stand_ins();
$GpuSortTest::device = 'host';
my $node = new_server('other_memory', "gpusort.device_memory = '512MB'", "work_mem = '64kB'");
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);
my $sorted = 'select k, id, filler from big order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');
my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($sorted) q";

sub counter { return $node->safe_psql('postgres', "select $_[0] from gpusort_stats"); }

# A sort that stops at a row in its middle, when it is large; meanwhile $during happens.  Whether it has spilled.
sub large_sort_spills
{
	my ($what, $gate, $during) = @_;
	my $session = GpuSortTest::Session->new($node);
	my $spilled = counter('runs_spilled');

	$session->send($hash =~ s/from big/from big where gate(id, 150000, '$gate') > 0/r);
	ok($node->poll_query_until('postgres', "select wait_event = 'PgSleep' from pg_stat_activity where pid = $session->{pid}"), "$what: a large sort stops");
	$during->();
	append_to_file($node->data_dir . "/$gate", '');
	is($session->finish, $right, "$what: the rows are right");
	$session->close;
	return counter('runs_spilled') > $spilled;
}

ok(!large_sort_spills('alone', 'alone', sub { }), 'alone: it grows');
my $waiter = GpuSortTest::Session->new($node);
# no sort waits for longer than twice what the native sort is estimated to take
$waiter->query("set gpusort.wait_timeout = '10min'; set gpusort.max_wait_timeout = '10min'; set seq_page_cost = 1e6");
ok(large_sort_spills('beside', 'beside', sub {
	my $waited = counter('waited');

	append_to_file($node->data_dir . '/no_memory_for_jobs', '');
	$waiter->send("select count(*) from ($sorted offset 0) s");
	ok($node->poll_query_until('postgres', "select waited > $waited from gpusort_stats"), 'a job waits for memory that the budget has');
}), 'beside a job that waits it does not grow, but spills');
is($waiter->finish, '300000', 'the other sort gives all rows');
$waiter->close;
unlink $node->data_dir . '/no_memory_for_jobs' or die "no_memory_for_jobs: $!";
nothing_left_over($node, 'other memory');
$node->stop;

done_testing();
