# Sessions beside each other: ten sorts at once, rows changed under a FOR UPDATE, a
# device that changes while a cursor is open, a hot standby.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('sessions', "max_wal_senders = 3");
wait_for_state($node, 'serving');
make_tables($node);

# --- ten sessions at once, each with an order of its own
my @sessions = map { GpuSortTest::Session->new($node) } 0 .. 9;
my @queries = map { "select * from big where id % 10 <= $_ order by k % " . (10 + $_) . ', id' } 0 .. 9;
my @right = map { digest($node, $_, 'set gpusort.enabled = off;') } @queries;
my $jobs = $node->safe_psql('postgres', 'select jobs from gpusort_stats');
for my $round (1 .. 2)
{
	$sessions[$_]->send(digest_query($queries[$_])) for 0 .. 9;
	my @got = map { $_->finish } @sessions;
	is_deeply(\@got, \@right, "ten sessions at once, round $round: all right");
}
is($node->safe_psql('postgres', 'select jobs from gpusort_stats') - $jobs, 20, 'all of them on the device');
nothing_left_over($node, 'ten sessions');

# --- rows that change under a FOR UPDATE are checked again, and only they
$node->safe_psql('postgres', 'create table accounts as select i as id, 100 - i as k, 0 as balance from generate_series(1, 100) i');
my ($writer, $reader) = @sessions[0, 1];
$writer->query('begin; update accounts set balance = 7 where id in (3, 50, 99); update accounts set k = 1000 where id = 10; delete from accounts where id = 20');
$reader->send('select id, k, balance from accounts where id in (3, 10, 20, 50, 99, 100) and k < 500 order by k for update');
$node->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $reader->{pid}");
$writer->query('commit');
is($reader->finish, "100|0|0\n99|1|7\n50|50|7\n3|97|7", 'FOR UPDATE sees what was committed meanwhile');
is($reader->error, '', 'without an error');

# the sort stands inside the plan that is run again
$writer->query('begin; update accounts set balance = balance + 1 where id <= 5');
$reader->send('update accounts a set balance = s.place * 1000 + a.balance from (select id, k, row_number() over () as place from (select * from accounts order by k) o) s '
	. 'where s.id = a.id and a.id <= 2');
$node->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $reader->{pid}");
$writer->query('commit');
$reader->finish;
is($reader->error, '', 'an update over a sorted subquery, checked again');
is($node->safe_psql('postgres', 'select id, balance % 1000 from accounts where id <= 2 and balance >= 1000 order by id'),
	"1|1\n2|1", 'it added to what was committed meanwhile');
nothing_left_over($node, 'FOR UPDATE');

# --- the device changes while an idle cursor has a job
my $holder = $sessions[2];
my $prepared = $sessions[3];
$prepared->query('set plan_cache_mode = force_generic_plan; prepare p as select * from small order by k; explain execute p');
$holder->query('begin; declare c scroll cursor for select id from big order by id; fetch 2 from c');
$node->append_conf('postgresql.conf', "gpusort.device = 'off'\n");
$node->reload;
ok(wait_for_state($node, 'starting'), 'the change waits for the open sort');
is($node->safe_psql('postgres', 'select detail from gpusort_devices'), 'waiting for open sorts to end', 'and says so');
like($prepared->query('explain (analyze, timing off) execute p'), qr/native \(no device serves\)/, 'meanwhile sorts are native');
is($holder->query('fetch 1 from c; fetch absolute 250000 from c; fetch prior from c; fetch last from c'), "3\n250000\n249999\n300000", 'the open sort is read on');
$holder->query('commit');
ok(wait_for_state($node, 'off'), 'then the device is given up');
$node->append_conf('postgresql.conf', "gpusort.device = '$GpuSortTest::device'\n");
$node->reload;
ok(wait_for_state($node, 'serving'), 'and taken again');

# changed there and back while a job is open
$holder->query('begin; declare c scroll cursor for select id from big order by id; fetch 2 from c');
$node->append_conf('postgresql.conf', "gpusort.device = 'off'\n");
$node->reload;
ok(wait_for_state($node, 'starting'), 'changed again');
$node->append_conf('postgresql.conf', "gpusort.device = '$GpuSortTest::device'\n");
$node->reload;
ok(wait_for_state($node, 'serving'), 'changed back: it serves at once');
is($node->safe_psql('postgres', 'select detail from gpusort_devices'), '', 'with nothing to say');
is($holder->query('fetch absolute 299999 from c; fetch next from c'), "299999\n300000", 'the open sort is read on');
$holder->query('commit');
nothing_left_over($node, 'a device that changed');

# --- a reset of the counters beside sorts
$_->send(digest_query('select * from small order by k, id')) for @sessions;
$node->safe_psql('postgres', 'select gpusort_stats_reset()');
$_->finish for @sessions;
cmp_ok($node->safe_psql('postgres', 'select jobs from gpusort_stats'), '<=', 10, 'counters reset beside sorts');
$_->close for @sessions;

# --- a hot standby sorts too
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
ok(wait_for_state($standby, 'serving'), 'the service serves on a standby');
my $query = 'select * from big order by k desc, id';
ok(sorts_on_device($standby, $query), 'the device sorts on a standby');
is(digest($standby, $query), digest($node, $query, 'set gpusort.enabled = off;'), 'the rows are right');
$standby->promote;
nothing_left_over($standby, 'promoted');
$standby->stop;
$node->stop;

done_testing();
