# Backends killed, and the service ended or killed, in the middle of sorts.
#
# A sort under way gives the right rows or a clean error of class 58, whatever ends the
# service.  Later sorts are native until the service is back.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('crash');
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);
my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select * from big order by k, id) q";
my $right = $node->safe_psql('postgres', "set gpusort.enabled = off; $hash");
is($node->safe_psql('postgres', $hash), $right, 'the sort is right');

# A sort that is feeding for seconds.
my $slow_feed = 'select count(*) from (select * from (select k, pg_sleep(0.001) from big offset 0) s order by k) t';
my $lost = qr/ERROR:  58000: the sort device failed during a sort.*DETAIL:  .*HINT:  Retry the query\.  If no device serves, PostgreSQL sorts the rows\./s;

sub feeding_session
{
	my $session = GpuSortTest::Session->new($node);
	my $before = $node->safe_psql('postgres', 'select open_jobs from gpusort_devices');

	$session->send($slow_feed);
	$node->poll_query_until('postgres', "select open_jobs > $before from gpusort_devices");
	return $session;
}

sub reading_session
{
	my $session = GpuSortTest::Session->new($node);

	$session->query('begin; declare c cursor for select * from big order by k, id; fetch 1 from c');
	return $session;
}

sub recovered
{
	my ($what, $killed) = @_;

	ok(defined $killed ? wait_for_restart($node, $killed) : $node->poll_query_until('postgres', 'select true'), "$what: the server is back");
	ok(wait_for_state($node, 'serving'), "$what: the service serves");
	is($node->safe_psql('postgres', $hash), $right, "$what: the rows are right");
	nothing_left_over($node, $what);
}

# --- kill -9 of a backend that feeds, while another reads
my $reading = reading_session();
my $feeding = feeding_session();
kill 'KILL', $feeding->{pid};
$feeding->finish;
$feeding->close;
$reading->query('fetch 1 from c');
$reading->close;
recovered('a feeding backend killed', $feeding->{pid});

# --- kill -9 of a backend that reads
$reading = reading_session();
kill 'KILL', $reading->{pid};
$reading->query('fetch 1 from c');
$reading->close;
recovered('a reading backend killed', $reading->{pid});

# --- the service ended, with sorts in each phase
my $service = service_pid($node);
my $postmaster_start = $node->safe_psql('postgres', 'select pg_postmaster_start_time()');
my $other = GpuSortTest::Session->new($node);
$reading = reading_session();
$feeding = feeding_session();
my $waiting = GpuSortTest::Session->new($node);
$waiting->query('set plan_cache_mode = force_generic_plan; prepare p as select count(*) from (select * from small order by k) s; execute p');
my $halted = stop_service($node);
$waiting->send('execute p');
ok($waiting->wait_until_waiting, 'one feeds, one waits for its sort, one reads');
kill 'TERM', $service;
continue_service($halted);
$node->poll_query_until('postgres', "select service_pid is distinct from $service from gpusort_devices");

$reading->query('move forward all in c');
like($reading->error, $lost, 'reading: a clean error with a hint');
$reading->query('rollback');
is($reading->query($hash), $right, 'reading: the session goes on');
my $rows = $waiting->finish;
ok($rows eq '10000' || $waiting->error =~ $lost, 'waiting: the rows, or a clean error');
# it notices at its next chunk, so there is no need to wait for it
kill 'INT', $feeding->{pid};
$feeding->finish;
like($feeding->error, qr/ERROR:  (57014|58000)/, 'feeding: ended');
is($other->query('select 1'), '1', 'a session that was not sorting has noticed nothing');
like($waiting->query('explain (analyze, timing off) execute p'), qr/Sort Method: (host|gpu|native \(no device serves\))/, 'the plan works with or without the service');
$_->close for $reading, $feeding, $waiting;
recovered('the service ended');
cmp_ok($node->safe_psql('postgres', 'select failed from gpusort_stats'), '>', 0, 'failed jobs are counted');
is($node->safe_psql('postgres', 'select pg_postmaster_start_time()'), $postmaster_start, 'the server did not restart');

# --- a feed that goes on to its end after the service has ended
$feeding = GpuSortTest::Session->new($node);
$feeding->send("select count(*) from (select * from big where gate(id, 150000, 'ended') > 0 order by k) t");
$node->poll_query_until('postgres', 'select open_jobs > 0 from gpusort_devices');
end_service($node);
append_to_file($node->data_dir . '/ended', '');
$rows = $feeding->finish;
ok($rows eq '300000' || $feeding->error =~ $lost, 'the service ended during a feed: the rows, or a clean error');
$feeding->close;
recovered('the service ended during a feed');

# --- the service ended at any time below several sessions
my ($all_right, $clean, $wrong) = (0, 0, '');
for my $round (1 .. 4)
{
	my @sessions = map { GpuSortTest::Session->new($node) } 1 .. 4;
	$_->send($hash) for @sessions;
	sleep 0.05 * $round;
	end_service($node);
	for my $session (@sessions)
	{
		my $got = $session->finish;
		if ($session->error eq '' && $got eq $right) { $all_right++; }
		elsif ($session->error =~ $lost) { $clean++; }
		else { $wrong .= "$got " . $session->error; }
		$session->close;
	}
	wait_for_state($node, 'serving');
}
is($wrong, '', "16 sorts over an ending service: $all_right right, $clean clean errors, none wrong");
recovered('an ending service below several sessions');

# --- kill -9 of the service: as with any process of the server
$reading = reading_session();
$feeding = feeding_session();
my $killed = service_pid($node);
kill 'KILL', $killed;
$feeding->finish;
$_->close for $feeding, $reading;
recovered('the service killed', $killed);
isnt($node->safe_psql('postgres', 'select service_pid from gpusort_devices'), $service, 'another service');

# --- a server that stops while sorts are open
$reading = reading_session();
$feeding = feeding_session();
$node->stop('fast');
# it would have fed for five minutes more
$feeding->finish;
like($feeding->error, qr/FATAL:  57P01: terminating connection/, 'a fast stop does not wait for open sorts');
$_->close for $feeding, $reading;
quiet_log($node);

done_testing();
