# Planning and executing small sorts takes no lock that sessions share: both go on while another session holds
# gpusort's.  test/run builds the module hold_lock, which holds it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('shared_lock', 'gpusort.debug_force = off', 'gpusort.min_rows = 10000', "gpusort.libc_collations = 'verify'");
wait_for_state($node, 'serving');
$node->safe_psql('postgres', qq{
	create function hold_gpusort_lock(file cstring) returns bool language c as '$ENV{TESTDIR}/modules/hold_lock/hold_lock';
	create table t as select i as id, hashint4(i) as k, md5(i::text) collate "C" as s from generate_series(1, 50000) i;
	create table few as select * from t where id <= 100;
	analyze t, few;});

# all that asks what serves: a sort of many rows that is planned, sorts that stay native, and one that runs
my $work = q{
	explain (costs off) select * from t order by k;
	explain (costs off) select * from few order by k;
	explain (costs off) select * from t order by array[k];
	select md5(string_agg(id::text, ' ')) from (select id from t where k % 500 = 0 order by k offset 0) q;
	select md5(string_agg(id::text, ' ')) from (select id from few order by k, s offset 0) q;};
my $session = GpuSortTest::Session->new($node);
my $expected = $session->query($work);
like($expected, qr/GpuSort/, 'a sort through the device is planned');

my $holder = GpuSortTest::Session->new($node);
my $release = $node->data_dir . '/release_lock';
my $is_held = "select count(*) from pg_stat_activity where query like 'select hold_gpusort_lock%' and state = 'active'";
$holder->send("select hold_gpusort_lock('$release')");
ok($node->poll_query_until('postgres', $is_held, '1'), 'the lock is held');
is($session->query($work), $expected, 'plans and rows are the same meanwhile');
is($node->safe_psql('postgres', $is_held), '1', 'it was held until then');
append_to_file($release, '');
is($holder->finish, 't', 'and is released');
$_->close for $session, $holder;
$node->stop;
done_testing();
