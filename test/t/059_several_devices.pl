# Several devices, each with a service: two host devices stand for them.  Sorts go where there is room, then
# where the queue is shorter; a lost device ends its own sorts only; a reload adds and removes services.
#
#   SECONDS_OF_RELOADS   for which gpusort.device changes to and fro under load (8)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use_stand_ins();
$GpuSortTest::device = 'host,host';
my $node = new_server('several', "gpusort.device_memory = '128MB'", "gpusort.buffer_memory = '256MB'");

sub rows_of
{
	my ($columns, $server) = @_;

	return ($server // $node)->safe_psql('postgres', "set gpusort.enabled = off; select $columns from gpusort_devices order by service");
}

sub all_serve
{
	my ($number, $server) = @_;

	return ($server // $node)->poll_query_until('postgres', "select count(*) = $number and bool_and(state = 'serving') from gpusort_devices");
}

ok(all_serve(2), 'two services serve');
is(rows_of('service, kind, budget_bytes'), "0|host|134217728\n1|host|134217728", 'each with a budget of its own');
isnt(rows_of('service_pid') =~ s/\n.*//sr, rows_of('service_pid') =~ s/.*\n//sr, 'in a process of its own');

make_tables($node);
my $sorted = 'select * from big order by k, id';
my $right = digest($node, $sorted, 'set gpusort.enabled = off;');
is(digest($node, $sorted), $right, 'the rows are right');
like($node->safe_psql('postgres', "explain (analyze, costs off, timing off, summary off) $sorted"),
	qr/^ *Device: host \(\d+ threads\), service [01]$/m, 'EXPLAIN ANALYZE names the device');

# --- placement: cursors stay open, so their sorts do

my @readers;

sub open_cursor
{
	my ($query) = @_;
	my $reader = GpuSortTest::Session->new($node);

	$reader->query("begin; declare c cursor for $query");
	$reader->query('fetch 10 from c');
	push @readers, $reader;
	return $reader;
}

sub close_all
{
	$_->query('rollback') for @readers;
	$_->close for @readers;
	@readers = ();
	return $node->poll_query_until('postgres', 'select sum(open_jobs) = 0 and sum(reserved_bytes) = 0 from gpusort_devices');
}

nobody_sorts($node);
open_cursor('select * from small order by k, id') for 1 .. 8;
is(rows_of('open_jobs'), "4\n4", 'eight small sorts: four for each');
ok(close_all(), 'all have ended');
$node->safe_psql('postgres', 'select gpusort_stats_reset()');
open_cursor('select * from small order by k, id') for 1 .. 6;
is(rows_of('jobs') . ' ' . $node->safe_psql('postgres', 'select jobs from gpusort_stats'), "3\n3 6", 'each counts its own; gpusort_stats all');
ok(close_all(), 'all have ended');

# what one has reserved leaves it no room for another large sort
my $large = 'select * from big order by k, id';
open_cursor($large);
open_cursor($large);
is(rows_of('open_jobs'), "1\n1", 'two large sorts: one for each');
is($node->safe_psql('postgres', 'select waited from gpusort_stats'), '0', 'none waited');

# room goes before the queue, and the queue before more room
ok(close_all(), 'all have ended');
$node->safe_psql('postgres', q{create table huge as select k, id, repeat('h', 230) as filler from big; analyze huge; select gpusort_stats_reset()});
open_cursor('select * from huge order by k, id');
my ($full) = rows_of('case when open_jobs = 1 then service end') =~ /(\d)/;

sub jobs_of { return $node->safe_psql('postgres', "set gpusort.enabled = off; select open_jobs from gpusort_devices where service = $_[0]"); }

open_cursor('select * from small order by k, id') for 1 .. 2;
is(jobs_of($full) . jobs_of(1 - $full), '12', 'a huge sort: two small ones go to the other device, which has more room');
cmp_ok($node->safe_psql('postgres', "set gpusort.enabled = off; select budget_bytes - reserved_bytes from gpusort_devices where service = $full"), '<', 200000 * 262,
	'the one has no room for most of these rows');
open_cursor('select * from huge where id <= 200000 order by k, id');
is(jobs_of($full) . jobs_of(1 - $full), '13', 'they go to the other, though more sorts are open there');
is($node->safe_psql('postgres', 'select runs_spilled + waited from gpusort_stats'), '0', 'and neither waits nor spills');
open_cursor('select * from small order by k, id');
is(jobs_of($full) . jobs_of(1 - $full), '23', 'a small one goes where fewer are open');
ok(close_all(), 'all have ended');
open_cursor($large) for 1 .. 2;

# --- a lost service ends its own sorts only

my ($first, $second) = split /\n/, rows_of('service_pid');
kill 'TERM', $second;
ok($node->poll_query_until('postgres', "select service_pid <> $second and state = 'serving' from gpusort_devices where service = 1"), 'it comes back by itself');
is(rows_of('service_pid') =~ s/\n.*//sr, $first, 'the other one goes on');
my @errors;

for my $reader (@readers)
{
	$reader->query('fetch all from c');
	push @errors, $reader->error;
}
is(scalar(grep { $_ eq '' } @errors), 1, 'one cursor reads to its end');
is(scalar(grep { /the sort device failed during a sort/ } @errors), 1, 'the other one fails');
ok(close_all(), 'all have ended');

# while one is gone all go to the other; plans are not made again when it is back
my $planned = GpuSortTest::Session->new($node);
my $shown = 'explain (costs off) execute p';

$planned->query("set plan_cache_mode = force_generic_plan; prepare p as $sorted");
my $plan = $planned->query($shown);
$planned->query('set gpusort.enabled = off');
kill 'TERM', $first;
ok(wait_for_end($node, $first), 'the first one is gone');
is(digest($node, $sorted), $right, 'sorts go on meanwhile');
ok(all_serve(2), 'both serve again');
like($plan, qr/GpuSort/, 'a cached plan');
is($planned->query($shown), $plan, 'is the same');
$planned->close;

# --- a reload adds and removes services

reload_with($node, 'gpusort.device' => 'host,host,host');
ok(all_serve(3), 'a third one');
nobody_sorts($node);
open_cursor('select * from small order by k, id') for 1 .. 6;
is(rows_of('open_jobs'), "2\n2\n2", 'gets its share');
reload_with($node, 'gpusort.device' => 'host');
ok($node->poll_query_until('postgres', q{select array_agg(state order by service) = '{serving,off,off}' from gpusort_devices}), 'two are to end, and take no new sorts');
is(digest($node, $sorted), $right, 'the first one sorts');
my $whole = 0;

for my $reader (@readers)
{
	$whole++ if $reader->query('fetch all from c') =~ /\d/ && $reader->error eq '';
}
is($whole, 6, 'sorts that are open are read to their end');
close_all();
ok(all_serve(1), 'then they are gone');
reload_with($node, 'gpusort.device' => 'host,host');
ok(all_serve(2), 'one comes back');
is(digest($node, $sorted), $right, 'the rows are right');
reload_with($node, 'gpusort.device' => 'off');
ok($node->poll_query_until('postgres', q{select count(*) = 1 and min(state) = 'off' from gpusort_devices}), 'off: none');
reload_with($node, 'gpusort.device' => 'host,host');
ok(all_serve(2), 'and both again');

# --- services that are to end while something happens

open_cursor('select * from small order by k, id') for 1 .. 2;
reload_with($node, 'gpusort.device' => 'host');
ok($node->poll_query_until('postgres', q{select state = 'off' from gpusort_devices where service = 1}), 'one is to end');
reload_with($node, 'gpusort.device' => 'host,host');
ok(all_serve(2), 'and is wanted again, while its sort is open');
reload_with($node, 'gpusort.device' => 'host');
ok($node->poll_query_until('postgres', q{select state = 'off' from gpusort_devices where service = 1}), 'it is to end again');
my $ending = $node->safe_psql('postgres', 'select service_pid from gpusort_devices where service = 1');
kill 'TERM', $ending;
ok($node->poll_query_until('postgres', "select count(*) = 0 from gpusort_devices where service_pid = $ending"), 'and ends before its sort has');
ok($node->poll_query_until('postgres', q{select count(*) = 0 from gpusort_devices where service = 1 and state <> 'off'}), 'what comes after it serves no sort');
ok(close_all(), 'the sorts end');
ok(all_serve(1), 'then it is gone');
reload_with($node, 'gpusort.device' => 'host,host,host');
ok(all_serve(3), 'three');
for my $flip (1 .. 6)
{
	reload_with($node, 'gpusort.device' => $flip % 2 ? 'host,host' : 'host,host,host');
	ok(all_serve($flip % 2 ? 2 : 3), "reload $flip");
}
reload_with($node, 'gpusort.device' => 'host,host');
ok(all_serve(2), 'two');
# --- reloads to and fro while eight sessions sort: each compares its rows

my $seconds = $ENV{SECONDS_OF_RELOADS} // 8;
my $script = $node->basedir . '/sort.sql';
my ($out, $err, $reloads) = ('', '', 0);

append_to_file($script, join '', map { "select 1 / (md5(string_agg(hash_record_extended(q, 0)::text, ' ')) = '" . digest($node, $_, 'set gpusort.enabled = off;') . "')::int from ($_) q;\n" }
	$sorted, 'select * from small order by k, id');
$node->safe_psql('postgres', 'select gpusort_stats_reset()');
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 8, '-T', $seconds, '-f', $script, '-h', $node->host, '-p', $node->port, 'postgres' ], '<', \undef, '>', \$out, '2>', \$err);
my $end = time + $seconds;
while (time < $end)
{
	reload_with($node, 'gpusort.device' => (qw(host host,host host,host,host host,host))[ $reloads++ % 4 ]);
	usleep(rand 500000);
}
ok($load->finish, "$reloads reloads under load: all rows are right") or diag($err);
note $out =~ /(number of transactions actually processed: \d+)/;
is($node->safe_psql('postgres', 'select native_no_device + failed from gpusort_stats'), '0', 'no sort was lost or native for it');
cmp_ok($node->safe_psql('postgres', 'select jobs from gpusort_stats'), '>', 0, 'sorts were on devices');
reload_with($node, 'gpusort.device' => 'host,host');
ok(all_serve(2), 'two');
unlike(slurp_file($node->logfile), qr/no device serves, all sorts are left to PostgreSQL|terminated by signal/, 'none has looked for another device, or crashed');

# --- a lost device that cannot be opened at once: the others sort, and it is looked for until it is back

my $gone = $node->data_dir . '/host_is_gone';
append_to_file($gone, '');
my $lost_at = -s $node->logfile;
$second = rows_of('service_pid') =~ s/.*\n//sr;
kill 'TERM', $second;
ok($node->poll_query_until('postgres', q{select string_agg(concat_ws(' ', state, detail), ', ' order by service) = 'serving, unavailable the host device is gone' from gpusort_devices}),
	'one cannot be opened again, and the view says why');
ok($node->wait_for_log(qr/LOG:  gpusort: service 1 has no device: the host device is gone\n.*DETAIL:  Sorts use the other devices\./, $lost_at), 'so does the log');
is(digest($node, $sorted), $right, 'the rows are right');
ok(sorts_on_device($node, $sorted), 'the other one sorts');
unlink $gone or die "$gone: $!";
ok(all_serve(2), 'it is back by itself');
like(substr(slurp_file($node->logfile), $lost_at), qr/LOG:  gpusort: retrying to open the lost device, the service restarts/, 'since it was looked for');
is(digest($node, $sorted), $right, 'the rows are right');

# --- after a crash of the server's processes

my $backend = GpuSortTest::Session->new($node);
my $pid = $backend->query('select pg_backend_pid()');
kill 'KILL', $pid;
wait_for_restart($node, $pid);
ok(all_serve(2), 'both serve after a restart');
ok($node->poll_query_until('postgres', q{select count(*) = 3 from pg_stat_activity where backend_type = 'gpusort service'}), 'none twice, with the one that is not wanted any more');
is(digest($node, $sorted), $right, 'the rows are right');
$node->stop;

# --- too few workers

my $narrow = new_server('narrow', 'max_worker_processes = 2');
ok($narrow->poll_query_until('postgres', q{select count(*) = 2 and bool_or(state = 'unavailable') and bool_or(state = 'serving') from gpusort_devices}), 'as many as there are workers for');
is(rows_of('state, detail', $narrow), "serving|\nunavailable|no background worker is free for it; raise max_worker_processes, which is 2", 'and the view says so');
ok($narrow->wait_for_log(qr/LOG:  gpusort: no background worker is free for service 1\n.*DETAIL:  A reload makes a new attempt\./), 'so does the log');
ok(sorts_on_device($narrow, 'select i from generate_series(1, 20000) i order by i % 1009, i'), 'the one sorts');
# the first service is the postmaster's to start
for my $workers (1, 0)
{
	$narrow->append_conf('postgresql.conf', "max_worker_processes = $workers");
	$narrow->restart;
	is(rows_of('state, detail', $narrow), "unavailable|no background worker is free for it; raise max_worker_processes, which is $workers", "$workers for all: the view says that there is none");
	is($narrow->safe_psql('postgres', "select code from gpusort_why('select i from generate_series(1, 20000) i order by -i')"), 'no_device', 'sorts are native');
}
like(slurp_file($narrow->logfile), qr/LOG:  gpusort: no background worker is free for service 0, all sorts are left to PostgreSQL\n.*HINT:  Raise max_worker_processes, which is 1, and restart the server\./, 'and the log');
$narrow->append_conf('postgresql.conf', 'max_worker_processes = 4');
$narrow->restart;
ok(all_serve(2, $narrow), 'with enough of them all serve');
$narrow->stop;
done_testing();
