# Sorts read to and fro, by cursors and by a node that marks and restores places: the rows are
# those of PostgreSQL's own sort, and the device has done it, spilled or not.
#
#   SEED=N   of the walks
use strict;
use warnings;

use Digest::MD5 'md5_hex';
use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SortWalks;
use Test::More;

seed();

my $node = new_server('scrolling', "gpusort.device_memory = '32MB'", "gpusort.buffer_memory = '64MB'", "work_mem = '4MB'");
wait_for_state($node, 'serving');
my $n = 1000000;
$node->safe_psql('postgres', qq{
	create table t as select (i::int8 * 7368787) % 3000017 as k, i as id from generate_series(1, $n) i;
	analyze t});
my $session = GpuSortTest::Session->new($node);

walk_on($node, $session);

# --- 1 M rows, the runs' order given by the device
my $by_device = 'select k, id from t order by k';
my $jobs = counter('jobs');
same_walk('a plain cursor', 'cursor', $by_device, 4, walk($n, 12));
cmp_ok(counter('jobs'), '>', $jobs, 'a plain cursor: the device did it');
same_walk('forward only', 'no scroll cursor', $by_device, 4, 'fetch 5 from c', 'move 400000 from c', 'fetch 5 from c', 'fetch 1 from c');
same_walk('WITH HOLD', 'cursor with hold', $by_device, 4, walk($n, 4));
same_walk('SCROLL, from the end', 'scroll cursor', $by_device, 4, 'fetch last from c', 'fetch next from c', 'fetch prior from c', 'fetch prior from c', 'fetch backward 3 from c', 'fetch 9 from c');

# --- by keys that do not fit 64 bits, which the backend merges; NULLs; rows with a header
$node->safe_psql('postgres', q{
	create table wide as select nullif(hashint8extended(i % 1000, 0), hashint8extended(7, 0)) as a, hashint8extended(i, 1) as b, i as id, repeat('w', 30) as s from generate_series(1, 200000) i;
	analyze wide});
same_walk('merged by keys', 'cursor', 'select a, b, id, s from wide order by a desc, b, id', 2, walk(200000, 12));

# --- a row that no device memory holds is a run of its own
same_walk('a row larger than device memory', 'cursor', "select i, length(long) from (select i, repeat(chr(97 + i % 26), case when i = 9500 then 40000000 else 4000 end) as long from generate_series(1, 10000) i order by i % 7777, i offset 0) s", 1,
	walk(10000, 12));

# --- a node above that marks places and goes back to them, in every way of sorting
same_steps('on the device', 'select id, k from t where id <= 50000 order by k', $GpuSortTest::device eq 'host' ? 'host' : 'gpu');
same_steps('spilled', 'select id, k from t where id <= 500000 order by k', '\w+ external merge');
same_steps('spilled, few rows', 'select i, repeat(chr(97 + i % 26), 1500000) as long from generate_series(1, 40) i order by i * 7 % 41', '\w+ external merge', 200);
same_steps('spilled, a place marked first while its file is read', 'select i, repeat(chr(97 + i % 26), 1500000) as long from generate_series(1, 40) i order by i * 7 % 41', undef, 'f' x 30 . 'b' x 10 . 'ffmfffffrfffbbbmffffr' . 'f' x 30);
same_steps('spilled, back to a place that nobody has marked', 'select id, k from t where id <= 500000 order by k', undef, 'mffffrfffbbrff');
same_steps('runs of one row', 'select i, repeat(chr(97 + i % 26), 40000000) as long from generate_series(1, 3) i order by -i', '\w+ external merge', 'bffmfbrfffbmbbrwfmffr');
same_steps('no rows', 'select id, k from t where id < 0 order by k', '.*');

# --- clients that declare cursors by themselves
my $runs = counter('runs_spilled');
my $port = $node->port;
my $host = $node->host;
my $counted = "select count(*), md5(string_agg(id::text, ' ')) from";
my $all = 'select k, id from t where id <= 500000 order by k';
my ($out, $err) = ('', '');
$node->psql('postgres', "\\set FETCH_COUNT 1000\n$all;", stdout => \$out, stderr => \$err, timeout => 600);
my $native = $node->safe_psql('postgres', "set gpusort.enabled = off; $all");
ok($out eq $native, 'FETCH_COUNT: the rows of the native sort') or diag($err);
cmp_ok(counter('runs_spilled') - $runs, '>=', 2, 'FETCH_COUNT: spilled');
SKIP:
{
	skip 'no postgres_fdw', 2 unless $node->safe_psql('postgres', "select 1 from pg_available_extensions where name = 'postgres_fdw'");
	$runs = counter('runs_spilled');
	$node->safe_psql('postgres', qq{
		create extension postgres_fdw;
		create server loop foreign data wrapper postgres_fdw options (host '$host', port '$port', dbname 'postgres', fetch_size '10000', use_remote_estimate 'true');
		create user mapping for current_user server loop;
		create foreign table far (k int8, id int4) server loop options (table_name 't')});
	my @ids = $native =~ /\|(\d+)$/mg;
	is($node->safe_psql('postgres', "$counted (select k, id from far where id <= 500000 order by k) q"),
		@ids . '|' . md5_hex("@ids"), 'postgres_fdw: the rows of the native sort');
	cmp_ok(counter('runs_spilled') - $runs, '>=', 2, 'postgres_fdw: its cursor is spilled');
}
$node->poll_query_until("postgres", "select open_jobs = 0 from gpusort_devices");
is(temporary_files($node), "", "no file is left");
is(counter('failed'), '0', 'no job failed');
$session->close;
$node->stop;
done_testing();

