# A hot standby: sorts there end in every way a sort on a primary does, and in two of
# their own: a conflict with what the primary replays, and promotion.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_server('primary', 'max_wal_senders = 3');
wait_for_state($primary, 'serving');
make_tables($primary);
$primary->safe_psql('postgres', 'create table doomed as select * from big');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = '100ms'");
$standby->start;
$primary->wait_for_catchup($standby);
ok(wait_for_state($standby, 'serving'), 'the service serves on a standby');

my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select * from big order by k, id) q";
my $right = $primary->safe_psql('postgres', "set gpusort.enabled = off; $hash");
my $last_row = $primary->safe_psql('postgres', 'set gpusort.enabled = off; select * from big order by k desc, id desc limit 1');
is($standby->safe_psql('postgres', $hash), $right, 'the rows are right');
nothing_left_over($standby, 'at first');
my $files = open_files(service_pid($standby));

my %phases = (
	feed => [ '', $hash ],
	sort => [ '', 'select count(*) from (select * from small order by k) s' ],
	output => [ 'begin; declare c cursor for select * from big order by k, id; fetch 1 from c', 'move forward all in c' ]);

# A session that stands in the phase, and the service, halted.
sub enter
{
	my ($phase, $workers) = @_;
	my $session = GpuSortTest::Session->new($standby);
	my ($before, $statement) = @{ $phases{$phase} };

	$session->query("set max_parallel_workers_per_gather = $workers; set parallel_setup_cost = 0; "
		. 'set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0');
	$session->query($before) if $before;
	my $service = stop_service($standby);
	$session->send($statement);
	$session->wait_until_waiting or fail("$phase: the session did not come to wait");
	return ($session, $service);
}

for my $phase (sort keys %phases)
{
	for my $ending ([ 'INT', qr/57014: canceling statement due to user request/, 0 ],
		[ 'TERM', qr/57P01: terminating connection/, 2 ])
	{
		my ($signal, $error, $workers) = @$ending;
		my ($session, $service) = enter($phase, $workers);

		$session->signal($signal);
		continue_service($service);
		like($session->error, $error, "$phase, $signal, $workers workers: the error");
		$session->close;
		nothing_left_over($standby, "$phase, $signal");
	}
}

# --- the primary drops a table that is being sorted
for my $read (0, 1)
{
	my $what = $read ? 'a conflict while reading' : 'a conflict while feeding';
	my $session = GpuSortTest::Session->new($standby);
	my $cursor = 'begin; declare c cursor for select * from doomed order by k, id';
	my $service;

	if ($read)
	{
		$session->query("$cursor; fetch 1 from c");
	}
	else
	{
		$session->query($cursor);
		$service = stop_service($standby);
		$session->send('fetch 1 from c');
		$session->wait_until_waiting or fail("$what: the session did not come to wait");
	}
	$primary->safe_psql('postgres', 'alter table doomed alter filler type varchar');
	if ($read)
	{
		$primary->wait_for_catchup($standby, 'replay');
		$session->query('fetch 1 from c');
		like($session->error, qr/FATAL:  40001: terminating connection due to conflict with recovery|connection to server was lost/, "$what: the session is told");
	}
	else
	{
		$session->finish;
		like($session->error, qr/ERROR:  40001: canceling statement due to conflict with recovery/, "$what: the session is told, while the service stands still");
		continue_service($service);
		$primary->wait_for_catchup($standby, 'replay');
	}
	$session->close;
	nothing_left_over($standby, $what);
}
is(open_files(service_pid($standby)), $files, 'the service has the same files open');

# --- a crash in recovery: back to a standby that sorts
for my $victim ('backend', 'service')
{
	my ($session, $service) = enter('feed', 0);

	kill 'KILL', $victim eq 'service' ? $service : $session->{pid};
	continue_service($service);
	$session->finish;
	$session->close;
	wait_for_restart($standby, $session->{pid}, $service);
	ok(wait_for_state($standby, 'serving'), "SIGKILL of the $victim: the service serves again");
	is($standby->safe_psql('postgres', "select pg_is_in_recovery()"), 't', "SIGKILL of the $victim: still a standby");
	is($standby->safe_psql('postgres', $hash), $right, "SIGKILL of the $victim: the rows are right");
	nothing_left_over($standby, "SIGKILL of the $victim");
}

# --- promoted under a sort: it goes on
my ($session, $service) = enter('feed', 0);
my $cursor = GpuSortTest::Session->new($standby);
continue_service($service);
$session->finish;
$cursor->query($phases{output}[0]);
$service = stop_service($standby);
$session->send($hash);
$session->wait_until_waiting or fail('promotion: the session did not come to wait');
# from PostgreSQL 19 on a promotion waits for every process, the halted one too
$standby->safe_psql('postgres', 'select pg_promote(wait => false)');
continue_service($service);
$standby->poll_query_until('postgres', 'select not pg_is_in_recovery()');
is($session->finish, $right, 'promoted under a sort: the rows are right');
is($cursor->query('move 299998 in c; fetch all from c; select pg_is_in_recovery()'), $last_row . "\nf", 'promoted under an open cursor: its last row, and the server is a primary');
is($cursor->error, '', 'without an error');
$_->close for $session, $cursor;
nothing_left_over($standby, 'promoted');
$standby->stop;
$primary->stop;

done_testing();
