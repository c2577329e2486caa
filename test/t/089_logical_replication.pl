# Logical replication between servers that both sort on a device: tables are copied, changes are applied while sorts and
# index builds run on the subscriber, and rows that a sort has written are decoded in its order.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = new_server('publisher', 'wal_level = logical');
my $subscriber = new_server('subscriber');
wait_for_state($_, 'serving') for $publisher, $subscriber;

my $native = 'set gpusort.enabled = off;';
my $ordered = 'select * from t order by k, id';
$_->safe_psql('postgres', 'create table t (id int primary key, k int, s text); create table small as select i * 7919 % 10007 as k from generate_series(1, 10000) i') for $publisher, $subscriber;
$publisher->safe_psql('postgres', q{
	insert into t select i, hashint4(i), md5(i::text) from generate_series(1, 20000) i order by hashint4(-i);
	create publication p for table t});
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "create subscription s connection '$connection' publication p");
$subscriber->wait_for_subscription_sync($publisher, 's');

sub same_on_both
{
	my ($what) = @_;
	my $right = digest($publisher, $ordered, $native);

	for my $node ($publisher, $subscriber)
	{
		ok(sorts_on_device($node, $ordered), "$what: " . $node->name . ' sorts on the device');
		is(digest($node, $ordered), $right, "$what: the rows of the " . $node->name);
	}
	return;
}
same_on_both('copied');

# --- changes come while a cursor is read and an index is built
my $before = digest($subscriber, $ordered, $native);
my $session = GpuSortTest::Session->new($subscriber);
$session->query("begin; declare c cursor for select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($ordered) q;
	declare d cursor for $ordered; fetch 1 from d");
$publisher->safe_psql('postgres', q{
	insert into t select id + 20000, k / 2, s from t order by s desc;
	update t set k = -k where id % 5 = 0;
	delete from t where id % 7 = 0});
$publisher->wait_for_catchup('s');
is($session->query('fetch 1 from c'), $before, 'an open snapshot has the rows from before');
is(scalar(split /\n/, $session->query('fetch all from d')), 19999, 'and so has an open sort');
is($session->error, '', 'no error');
$session->query('commit');
same_on_both('changed');

$publisher->safe_psql('postgres', 'insert into t select id + 100000, k, s from t order by k');
$subscriber->safe_psql('postgres', 'create extension amcheck; set gpusort.index_builds = on; create index concurrently t_k on t (k, s)');
is($subscriber->safe_psql('postgres', 'select index_builds from gpusort_stats'), '1', 'the subscriber builds an index');
$publisher->wait_for_catchup('s');
is($subscriber->safe_psql('postgres', q{select bt_index_parent_check('t_k', true, true)}), '', 'the index has all rows');
$subscriber->safe_psql('postgres', 'drop index t_k');
same_on_both('indexed');

# --- decoded rows come in the order in which a sort has written them
my %decoded;
for my $enabled ('off', 'on')
{
	$publisher->safe_psql('postgres', q{select pg_create_logical_replication_slot('changes', 'test_decoding')});
	my $jobs = $publisher->safe_psql('postgres', 'select jobs from gpusort_stats');
	$publisher->safe_psql('postgres', "set gpusort.enabled = $enabled; create table made as $ordered");
	is($publisher->safe_psql('postgres', 'select jobs from gpusort_stats') - $jobs, $enabled eq 'on' ? 1 : 0, "gpusort.enabled = $enabled: sorts");
	$decoded{$enabled} = $publisher->safe_psql('postgres', q{
		select count(*), md5(string_agg(data, ' ')) from pg_logical_slot_get_changes('changes', null, null, 'include-xids', '0') where data like 'table%'});
	$publisher->safe_psql('postgres', q{select pg_drop_replication_slot('changes'); drop table made});
}
like($decoded{off}, qr/^\d{5}\|/, 'rows are decoded');
is($decoded{on}, $decoded{off}, 'in the same order');

$subscriber->safe_psql('postgres', 'drop subscription s');
for my $node ($publisher, $subscriber)
{
	nothing_left_over($node, $node->name);
	$node->stop;
	unlike(slurp_file($node->logfile), qr/terminated by signal|TRAP:|PANIC/, $node->name . ': no process ended');
}
done_testing();
