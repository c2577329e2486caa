# What all processes of a server have to take notice of: DROP DATABASE and DROP TABLESPACE wait for
# each of them, and so does a promotion from PostgreSQL 19 on.  The service does so while a
# call of the device lasts, to which gpusort.debug_call_delay adds an hour, and when it is about to exit.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('barriers', 'max_wal_senders = 3', "gpusort.buffer_memory = '64MB'");
wait_for_state($node, 'serving');
make_tables($node);
my $sorted = 'select * from big order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');

sub drop_database_and_tablespace
{
	my ($on) = @_;

	$on->safe_psql('postgres', 'create database short');
	$on->safe_psql('postgres', 'drop database short');
	$on->safe_psql('postgres', "set allow_in_place_tablespaces = on; create tablespace short location ''");
	$on->safe_psql('postgres', 'drop tablespace short');
}

# Before PostgreSQL 17 a wait of ours has no name of its own, but a service that starts waits for
# nothing but the call.
sub in_call
{
	my ($on, $pid) = @_;

	return $on->safe_psql('postgres', "select count(*) from pg_stat_activity a join gpusort_devices d on d.service_pid = a.pid where a.pid = $pid and "
		. "d.state = 'starting' and wait_event_type = 'Extension' and wait_event in ('GpusortServiceCall', 'Extension')") eq '1';
}

# A process that has just taken notice of something may not be back in its wait yet.
sub wait_for_call
{
	my ($on, $pid, $what) = @_;

	for (1 .. 9000)
	{
		return pass("$what: the service is in a call of the device") if in_call($on, $pid);
		sleep 0.02;
	}
	return fail("$what: the service is in no call of the device");
}

# Ends the service, whose call does not end: it leaves without the call, and another one opens the device.
sub end_call
{
	my ($on, $pid) = @_;

	$on->adjust_conf('postgresql.conf', 'gpusort.debug_call_delay', '0');
	$on->reload;
	$on->poll_query_until('postgres', q{select current_setting('gpusort.debug_call_delay') = '0'}) or die 'the delay is not reset';
	$on->safe_psql('postgres', "select pg_terminate_backend($pid)");
	return;
}

drop_database_and_tablespace($node);
pass('while nothing is sorted');

# --- while a session sorts all the time
my $sorting = GpuSortTest::Session->new($node);
$sorting->send("do \$\$ begin for i in 1 .. 8 loop perform count(*) from ($sorted) q; end loop; end \$\$");
drop_database_and_tablespace($node);
$sorting->finish;
is($sorting->error, '', 'while sorts go on');
$sorting->close;

# --- while the device is opened: the call lasts far longer than this test
my $in_calls = "gpusort.debug_call_delay = '1h'";
$node->append_conf('postgresql.conf', $in_calls);
$node->restart;
$node->poll_query_until('postgres', 'select service_pid > 0 from gpusort_devices') or die 'no service';
my $service = service_pid($node);
wait_for_call($node, $service, 'open');
drop_database_and_tablespace($node);
wait_for_call($node, $service, 'open, and nobody has waited for it');
is(service_pid($node), $service, 'it is the same process');

# --- while it exits
end_call($node, $service);
drop_database_and_tablespace($node);
$node->poll_query_until('postgres', "select service_pid <> $service from gpusort_devices") or die 'no new service';

# --- a standby is promoted while its service opens the device
ok(wait_for_state($node, 'serving'), 'a new service serves');
is(digest($node, $sorted), $right, 'the rows are right');
nothing_left_over($node, 'after a call that did not end');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', $in_calls);
$standby->start;
$standby->poll_query_until('postgres', 'select service_pid > 0 from gpusort_devices') or die 'no service on the standby';
$service = service_pid($standby);
wait_for_call($standby, $service, 'standby');
is($standby->safe_psql('postgres', 'select pg_promote(wait_seconds => 600)'), 't', 'standby: promoted while the device is opened');
is($standby->safe_psql('postgres', "select state, service_pid from gpusort_devices"), "starting|$service", 'standby: which goes on');
end_call($standby, $service);
ok(wait_for_state($standby, 'serving'), 'standby: it serves at last');
is(digest($standby, $sorted), $right, 'standby: the rows are right');

$standby->stop;
$node->stop;
done_testing();
