# A sort that is read has the memory that its rows take, not the memory that it was sorted in: idle cursors leave the rest to others.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('idle_cursors', "gpusort.device_memory = '256MB'", "gpusort.buffer_memory = '64MB'", "gpusort.wait_timeout = 0", "work_mem = '1MB'");
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);

my $query = 'select * from big order by k, id';
my $right = digest($node, $query, 'set gpusort.enabled = off;');
my $reader = GpuSortTest::Session->new($node);

# The memory of the reader's sort, which is all that is reserved.
sub reserved
{
	my ($phase) = @_;
	my $own = "select p.reserved_bytes from gpusort_progress p, gpusort_devices d where pid = $reader->{pid} and phase = '$phase' and p.reserved_bytes = d.reserved_bytes";

	$node->poll_query_until('postgres', "select count(*) = 1 from ($own) s") or die "no sort in phase $phase";
	return $node->safe_psql('postgres', $own);
}

# --- from the sort to the output
nobody_sorts($node);
$reader->query('begin');
$reader->send('declare c scroll cursor for select * from big where gate(id, 300000, \'last\') > 0 order by k, id; fetch 1 from c');
$node->poll_query_until('postgres', "select wait_event = 'PgSleep' from pg_stat_activity where pid = $reader->{pid}") or die 'the cursor does not come to its gate';
my $fed = reserved('feeding');
append_to_file($node->data_dir . '/last', '');
$reader->finish;
my $read = reserved('output');
my $rows = $node->safe_psql('postgres', 'select bytes_fed from gpusort_progress');
cmp_ok($read, '<', $fed * 0.75, "reserved while it is read: $read bytes, of the $fed while it was fed");
cmp_ok($read, '>=', $rows, "its rows, of $rows bytes, are there");

# --- others have what it gave back: the budget is what two such sorts reserve while they are fed, and large ones leave a part of it
my $megabytes = int(2 * $fed / 1048576);
reload_with($node, 'gpusort.device_memory' => "${megabytes}MB");
$node->poll_query_until('postgres', "select budget_bytes = $megabytes * 1048576 from gpusort_devices") or die 'gpusort.device_memory is not followed';
like($node->safe_psql('postgres', "explain (analyze, timing off, costs off) $query"), qr/Sort Method: (?:host|gpu)\s*$/m, 'beside it another such sort is on the device, in one run');
is(digest($node, $query), $right, 'its rows are right');
is(reserved('output'), $read, 'the cursor has what it had');
$reader->query('move backward all in c');
is($reader->query('fetch all from c') =~ tr/\n//, 299999, 'and returns all of its rows');
is($reader->query('move absolute 0 in c; move forward 299999 in c; fetch relative 0 from c'),
	$node->safe_psql('postgres', "set gpusort.enabled = off; select * from big order by k, id limit 1 offset 299998"), 'forward and backward');
$reader->query('rollback');
nothing_left_over($node, 'a cursor');

# --- many cursors over few rows
my $few = 'select * from big where id <= 40000 order by k, id';
my @readers = map { GpuSortTest::Session->new($node) } 1 .. 7;
$_->query("begin; declare c scroll cursor for $few; fetch 1 from c") for @readers;
is($node->safe_psql('postgres', 'select open_jobs from gpusort_devices'), scalar @readers, 'seven cursors are on the device');
note $node->safe_psql('postgres', 'select reserved_bytes / 1048576.0 from gpusort_devices') . ' MB are reserved';
ok(sorts_on_device($node, $few), 'and another session\'s sort');
$_->close for @readers;
nothing_left_over($node, 'cursors over few rows');

$reader->close;
$node->stop;
quiet_log($node);

done_testing();
