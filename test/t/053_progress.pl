# The view gpusort_progress: each phase of a sort, its numbers as they grow, who sees them, and that a sort's
# row goes with it, whatever ends it.
#
# Sorts are made to stand still: by a function in their scan that waits for a file, by the service halted, by
# a cursor that is not read.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('progress', "gpusort.device_memory = '64MB'", "gpusort.buffer_memory = '64MB'",
	"gpusort.wait_timeout = '10min'", "gpusort.max_wait_timeout = '10min'",
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'enable_hashjoin = off', 'enable_nestloop = off');
wait_for_state($node, 'serving');
make_tables($node);
make_gate($node);
$node->safe_psql('postgres', q{
	alter table big set (parallel_workers = 2);
	create table twice as select (i::int8 * 7919) % 600011 as k, i as id, repeat('f', 40) as filler from generate_series(1, 600000) i;
	analyze twice;
	create function fails(i int4, at int4) returns int4 volatile language plpgsql as $$
		begin
			return 1 / (i - at);
		end $$;
	create role plain login;
	create role reader login;
	create role other login;
	grant pg_read_all_stats to reader;
	grant select on big, twice to plain, other;
	grant execute on function pg_stat_file(text, boolean) to plain, other;});

my @columns = qw(pid datid datname leader_pid phase rows_expected rows_fed rows_returned bytes_fed runs_spilled bytes_spilled
  reserved_bytes service device sort_start phase_start);
# It looks on while the service is halted: its own sorts must not need it.
sub observing_session
{
	my ($role) = @_;
	my $session = session_of($role);

	$session->query('set gpusort.enabled = off');
	return $session;
}

my $observer = observing_session('');
my $device = $node->safe_psql('postgres', 'select name from gpusort_devices');
my $database = $node->safe_psql('postgres', "select oid from pg_database where datname = 'postgres'");

sub open_gate { append_to_file($node->data_dir . "/$_[0]", '') }

# The rows of the view that the condition takes, as hashes; seen by a session of whoever looks.
sub progress
{
	my ($where, $who) = @_;
	my @rows;

	for my $line (split /\n/, ($who // $observer)->query('select ' . join(', ', @columns) . " from gpusort_progress where $where order by sort_start, pid"))
	{
		my %row;

		@row{@columns} = split /\|/, $line, -1;
		push @rows, \%row;
	}
	return @rows;
}

sub progress_of
{
	my ($session) = @_;
	my @rows = progress("pid = $session->{pid}");

	return $rows[0] // { phase => '' };
}

sub wait_for_phase
{
	my ($session, $phase, $condition) = @_;
	my $also = $condition ? "and $condition" : '';

	return $node->poll_query_until('postgres', "select exists (select from gpusort_progress where pid = $session->{pid} and phase = '$phase' $also)");
}

# The session's scan has come to the gate: it feeds no more.
sub is_at_gate
{
	my ($session) = @_;

	return $node->safe_psql('postgres', "select count(*) > 0 from pg_stat_activity where $session->{pid} in (pid, leader_pid) and wait_event = 'PgSleep'") eq 't';
}

sub wait_at_gate
{
	my ($session) = @_;

	for (1 .. 9000)
	{
		return 1 if is_at_gate($session);
		sleep 0.02;
	}
	die 'a sort did not come to its gate';
}

sub none_listed
{
	my ($what) = @_;

	ok($node->poll_query_until('postgres', 'select count(*) = 0 from gpusort_progress'), "$what: no sort is listed")
	  or diag $node->safe_psql('postgres', 'table gpusort_progress');
}

sub set_device_memory
{
	my ($size) = @_;

	$node->append_conf('postgresql.conf', "gpusort.device_memory = '$size'\n");
	$node->reload;
	$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('$size') from gpusort_devices");
}

sub session_of
{
	my ($role) = @_;

	local $ENV{PGUSER} = $role if $role;
	return GpuSortTest::Session->new($node);
}

is($node->safe_psql('postgres', q{select string_agg(column_name, ' ' order by ordinal_position) from information_schema.columns where table_name = 'gpusort_progress'}),
	"@columns", 'the columns of the view');
none_listed('before any sort');

# --- feeding, sorting, output: one run
my $sort = session_of('');
my $gated = "select k, id from big where gate(gate(id, 150000, 'first'), 299990, 'second') > 0 order by k";
my $expected = $sort->query("explain $gated") =~ /GpuSort\).*? rows=(\d+)/ ? $1 : 0;
$sort->query('begin');
$sort->send("declare c no scroll cursor for $gated; fetch 1 from c");
wait_at_gate($sort);
ok($node->poll_query_until('postgres', "select p.reserved_bytes = d.reserved_bytes from gpusort_progress p, gpusort_devices d where pid = $sort->{pid}"),
	'the memory reserved is what gpusort_devices says');
my $feeding = progress_of($sort);
is($feeding->{phase}, 'feeding', 'at the gate: feeding');
is("$feeding->{pid} $feeding->{datid} $feeding->{datname}", "$sort->{pid} $database postgres", 'and whose it is');
is($feeding->{leader_pid}, '', 'not of a parallel worker');
cmp_ok($feeding->{rows_fed}, '>', 50000, 'most of the rows have been fed');
cmp_ok($feeding->{rows_fed}, '<', 150000, 'and no more than there were');
cmp_ok($feeding->{bytes_fed}, '>=', 8 * $feeding->{rows_fed}, 'with their bytes');
is($feeding->{rows_expected}, $expected, "as many are expected as the planner says ($expected)");
is("$feeding->{rows_returned} $feeding->{runs_spilled} $feeding->{bytes_spilled}", '0 0 0', 'none has been returned, nothing is spilled');
cmp_ok($feeding->{reserved_bytes}, '>', $feeding->{bytes_fed}, 'the memory reserved is more than the rows take');
is("$feeding->{service} $feeding->{device}", "0 $device", "the device is its ($device)");
is($observer->query("select p.sort_start >= a.query_start and p.sort_start <= p.phase_start and p.phase_start < clock_timestamp() from gpusort_progress p join pg_stat_activity a using (pid)"),
	't', 'the sort began after its query, the phase after the sort');
open_gate('first');
ok(wait_for_phase($sort, 'feeding', "rows_fed > 200000"), 'the next gate: more rows have been fed');
wait_at_gate($sort);
my $later = progress_of($sort);
is("$later->{sort_start} $later->{phase_start}", "$feeding->{sort_start} $feeding->{phase_start}", 'since the same moments');

my $service = stop_service($node);
open_gate('second');
ok(wait_for_phase($sort, 'sorting'), 'the service halted: sorting');
my $sorting = progress_of($sort);
is($sorting->{rows_fed}, 300000, 'all rows have been fed');
cmp_ok($sorting->{phase_start}, 'gt', $feeding->{phase_start}, 'the phase began later');
is($sorting->{sort_start}, $feeding->{sort_start}, 'the sort did not');
continue_service($service);
$sort->finish;
my $output = progress_of($sort);
is("$output->{phase} $output->{rows_fed} $output->{rows_returned}", 'output 300000 0', 'the first block is read: output');
my $last = 0;
for my $rows (100000, 200000, 299999)
{
	my $read;

	$sort->query('move 99999 in c');
	$read = progress_of($sort)->{rows_returned};
	cmp_ok($read, '>', $last, "about $rows rows are read: $read are returned");
	cmp_ok($read, '<=', $rows + 1, 'and no more');
	$last = $read;
}
$sort->query('move all in c');
none_listed('read to its end');
nothing_left_over($node, 'one run');
$sort->query('rollback');
unlink $node->data_dir . '/first', $node->data_dir . '/second';

# a cursor that goes to and fro is listed until it is closed
$sort->query('begin; declare c scroll cursor for select k from big order by k; move all in c');
is(join(' ', @{ progress_of($sort) }{qw(phase rows_returned)}), 'output 300000', 'SCROLL: at the end, which is not the last word');
$sort->query('move backward all in c; fetch 1 from c');
is(join(' ', @{ progress_of($sort) }{qw(phase rows_returned)}), 'output 0', 'SCROLL: where it stands');
$sort->query('rollback');
none_listed('SCROLL: closed');

# --- a sort that spills
set_device_memory('32MB');
for my $case ([ 'merged by the device', 'select * from twice order by k', 'device' ],
	[ 'merged by the backend', 'select * from twice order by hashint8extended(k % 50, 0), hashint8extended(k % 100, 1), hashint8extended(id % 3, 2), id', 'backend' ])
{
	my ($name, $query, $merge) = @$case;
	my @seen;

	like($sort->query("explain (analyze, timing off, costs off) $query"), qr/external merge.*Merge Order: $merge/s, "$name: as is meant");
	$sort->query('begin');
	$sort->send('declare c no scroll cursor for ' . ($query =~ s/twice/twice where gate(id, 590000, '$merge') > 0/r) . '; fetch 1 from c');
	push @seen, progress_of($sort) until is_at_gate($sort);
	push @seen, progress_of($sort);
	is($seen[-1]{phase}, 'feeding', "$name: at the gate it is feeding");

	# the last run is sorted when the service goes on, and written when the session does
	my $service = stop_service($node);
	open_gate($merge);
	ok(wait_for_phase($sort, 'sorting'), "$name: the service halted: sorting");
	push @seen, progress_of($sort);
	stop_service($node, $sort->{pid});
	continue_service($service);
	ok(wait_for_phase($sort, 'spilling'), "$name: the session halted: spilling");
	push @seen, progress_of($sort);
	continue_service($sort->{pid});
	$sort->finish;
	my $row = progress_of($sort);
	push @seen, $row;

	@seen = grep { $_->{phase} ne '' } @seen;
	is(scalar(grep { $_->{sort_start} ne $row->{sort_start} } @seen), 0, "$name: of one sort, all " . @seen . ' times');
	for my $number (qw(rows_fed rows_returned bytes_fed runs_spilled bytes_spilled))
	{
		is(scalar(grep { $seen[$_]{$number} < $seen[ $_ - 1 ]{$number} } 1 .. $#seen), 0, "$name: $number never shrinks");
	}
	is(scalar(grep { $seen[$_]{phase_start} lt $seen[ $_ - 1 ]{phase_start} } 1 .. $#seen), 0, "$name: nor does phase_start");
	is("$row->{phase} $row->{rows_fed}", 'merging 600000', "$name: then it is merging, and all rows have been fed");
	cmp_ok($row->{runs_spilled}, '>=', 2, "$name: $row->{runs_spilled} runs");
	is($row->{bytes_spilled}, $node->safe_psql('postgres', 'select sum(size) from pg_ls_tmpdir()'), "$name: their bytes are those of the files");
	is($row->{rows_returned}, 0, "$name: none of their rows returned");
	# the device has the order, or nothing any more
	if ($merge eq 'device')
	{
		is($row->{device}, $device, "$name: on the device");
		cmp_ok($row->{reserved_bytes}, '>=', 600000, "$name: which has a byte for each row");
	}
	else
	{
		is("$row->{device} $row->{reserved_bytes}", ' 0', "$name: the device is needed no more");
	}
	$sort->query('move 300000 in c');
	cmp_ok(abs(progress_of($sort)->{rows_returned} - 300000), '<', 5000, "$name: half of them returned");
	$sort->query('move 299998 in c');
	cmp_ok(progress_of($sort)->{rows_returned}, '>', 590000, "$name: nearly all");
	$sort->query('move all in c');
	none_listed("$name: read to its end");
	$sort->query('rollback');
	nothing_left_over($node, $name);
}

# --- waiting
set_device_memory('64MB');
my $holder = session_of('');
my $some = 'select k from big where id <= 5000 order by k';
my $patient = "set work_mem = '64kB'; set seq_page_cost = 1e6";
my $held = 0;
$holder->query('begin; set local gpusort.wait_timeout = 0');
while ($held < 20)
{
	$holder->query('declare h' . ++$held . " scroll cursor for $some; fetch 1 from h$held");
	last if progress("pid = $holder->{pid}") < $held;
}
is(scalar progress("pid = $holder->{pid} and phase = 'output'"), $held - 1, 'a row for each cursor of a session, and none for the sort that was native');
$holder->query("close h$held");
my $waiting = session_of('');
$waiting->query("$patient; begin");
$waiting->send("declare c no scroll cursor for $some; fetch 1 from c");
ok(wait_for_phase($waiting, 'waiting'), 'no device memory is left: waiting');
my $wait = progress_of($waiting);
is("$wait->{reserved_bytes} $wait->{rows_returned}", '0 0', 'waiting: it has none');
cmp_ok($wait->{rows_fed}, '<=', 5000, "waiting: what it was fed is in buffers ($wait->{rows_fed} rows)");
is($observer->query("select p.phase_start >= p.sort_start and p.phase_start < clock_timestamp() from gpusort_progress p where pid = $waiting->{pid}"), 't', 'waiting: since when');
$holder->query('rollback');
$waiting->finish;
is(progress_of($waiting)->{phase}, 'output', 'memory is there: it has gone on');
cmp_ok(progress_of($waiting)->{phase_start}, 'gt', $wait->{phase_start}, 'in a later phase');
$waiting->query('rollback');
none_listed('waits');

# those that wait for buffers have no job yet
my @feeding;
while (@feeding < 30)
{
	my $session = session_of('');

	push @feeding, $session;
	$session->query("set gpusort.wait_timeout = 0");
	$session->send("select k from big where id <= 5000 and gate(id, 2, 'all') > 0 order by k");
	wait_at_gate($session);
	last if $node->safe_psql('postgres', 'select free_buffer_bytes < 4 * 1024 * 1024 from gpusort_devices') eq 't';
}
$waiting->send($some);
ok(wait_for_phase($waiting, 'waiting'), 'no buffers are left: waiting');
is(join(' ', map { progress_of($waiting)->{$_} } qw(rows_fed reserved_bytes device)), '0 0 ', 'with nothing');
open_gate('all');
$_->finish for $waiting, @feeding;
is($waiting->error, '', 'and it goes on');
$_->close for @feeding;
none_listed('waits for buffers');
unlink $node->data_dir . '/all';

# --- in parallel plans
$sort->query('set max_parallel_workers_per_gather = 2');
$sort->send("select count(*) from (select * from big where gate(id, 200000, 'parallel') > 0 order by k offset 0) s");
wait_at_gate($sort);
my @rows = progress('true');
is(scalar @rows, 1, 'fed by workers: one sort');
is("$rows[0]{pid} $rows[0]{leader_pid} $rows[0]{phase}", "$sort->{pid}  feeding", 'which is its leader\'s');
cmp_ok($rows[0]{rows_fed}, '>', 50000, 'what the workers have fed is counted');
open_gate('parallel');
$sort->finish;
none_listed('fed by workers');
# the leader might read all rows before a worker has come
$sort->query('set max_parallel_workers_per_gather = 3; set parallel_leader_participation = off');
my $own = "select count(*), sum(b.id) from (select k % 1000 as m from big where id <= 2000) a join (select k % 1000 as m, id from big where gate(id, 250000, 'own') > 0) b on a.m = b.m";
like($sort->query("explain (costs off) $own"), qr/Gather\n(?:.*\n)* +->  Merge Join\n(?:.*\n)* +->  Custom Scan \(GpuSort\)/, 'a plan in which workers sort');
$sort->send($own);
$node->poll_query_until('postgres', "select count(*) > 0 from gpusort_progress where leader_pid = $sort->{pid} and rows_fed > 20000");
@rows = progress("leader_pid = $sort->{pid} and phase = 'feeding'");
cmp_ok(scalar @rows, '>=', 1, 'a sort of a worker\'s, with its leader') or diag $observer->query('table gpusort_progress');
is($observer->query("select count(*) from gpusort_progress p left join pg_stat_activity a on a.pid = p.pid and a.leader_pid is not distinct from p.leader_pid where a.pid is null"), 0,
	'as pg_stat_activity has it');
open_gate('own');
$sort->finish;
none_listed('sorts of workers');
$sort->query('reset max_parallel_workers_per_gather; reset parallel_leader_participation');

# --- sorts that are not on the device
$sort->query('set gpusort.min_rows = 20000');
$sort->send("select k from big where id <= 15000 and gate(id, 14000, 'few') > 0 order by k");
wait_at_gate($sort);
none_listed('few rows, in the backend');
open_gate('few');
$sort->finish;
$sort->query('reset gpusort.min_rows');
$sort->query('set gpusort.enabled = off');
is($sort->query('select count(*) from (select * from big order by k offset 0) s'), '300000', 'a native sort');
none_listed('native');
$sort->query('reset gpusort.enabled');

# --- who sees what.  Three sorts are on the device at once, each with 26 MB of the host device or 39 MB of a GPU
set_device_memory('256MB');
my $plain = session_of('plain');
$plain->query('begin; declare c no scroll cursor for select k from big order by k; fetch 1 from c');
my $other = session_of('other');
$other->query('begin; declare c no scroll cursor for select k from big order by k; fetch 1 from c');
my $hidden = "$database postgres" . ' ' x 13;
my $whole = qr/^output 300000 \d+ /;

for my $case ([ 'plain', 'whole', 'hidden' ], [ 'other', 'hidden', 'whole' ], [ 'reader', 'whole', 'whole' ], [ '', 'whole', 'whole' ])
{
	my ($role, @sees) = @$case;
	my $who = observing_session($role);
	my $name = $role || 'a superuser';

	for my $i (0, 1)
	{
		my $whose = ($plain, $other)[$i];
		my ($row) = progress("pid = $whose->{pid}", $who);

		if ($sees[$i] eq 'hidden')
		{
			is(join(' ', @$row{ @columns[ 1 .. $#columns ] }), $hidden, "$name sees that " . qw(plain other)[$i] . ' sorts, and no more');
		}
		else
		{
			like(join(' ', @$row{qw(phase rows_fed reserved_bytes sort_start)}), $whole, "$name sees all of " . qw(plain other)[$i] . '\'s sort');
		}
	}
	$who->close;
}
# as the role that a session has set, and through membership
my $member = session_of('other');
$node->safe_psql('postgres', 'grant plain to other');
like((progress("pid = $plain->{pid}", $member))[0]{phase}, qr/^output$/, 'a member of the role sees it');
my $super = session_of('');
$super->query('set role other');
$node->safe_psql('postgres', 'revoke plain from other');
is((progress("pid = $plain->{pid}", $super))[0]{phase}, '', 'SET ROLE takes the sight away');
# whose sort it is does not change with the role
$super->query('begin; declare c no scroll cursor for select k from big order by k; fetch 1 from c');
is((progress("pid = $super->{pid}", $other))[0]{phase}, '', 'a superuser\'s sort under SET ROLE is not that role\'s');
$_->close for $member, $super, $plain, $other;
none_listed('sessions that have ended');

# --- ends
set_device_memory('64MB');
sub cursor_in
{
	my ($session, $query) = @_;

	$session->query('begin; declare c no scroll cursor for ' . ($query // 'select * from big order by k') . '; fetch 1 from c');
	isnt(progress_of($session)->{phase}, '', 'a sort is listed');
}

is($sort->query('select k from big order by k limit 3'), "1\n2\n3", 'a LIMIT');
none_listed('a LIMIT');
$sort->query('select k from big where fails(id, 250000) < 2 order by k');
like($sort->error, qr/division by zero/, 'an error of the child');
none_listed('an error below the sort');
cursor_in($sort);
$sort->query('select 1 / 0');
none_listed('an error beside it');
$sort->query('rollback; begin; savepoint s');
$sort->query('declare c no scroll cursor for select * from twice order by k; fetch 1 from c');
is(progress_of($sort)->{phase}, 'merging', 'in a subtransaction');
$sort->query('rollback to s');
none_listed('the subtransaction rolled back');
$sort->query('rollback');
for my $signal ('INT', 'TERM')
{
	my $ending = session_of('');

	$ending->send("select * from big where gate(id, 200000, 'never') > 0 order by k");
	wait_at_gate($ending);
	is(progress_of($ending)->{phase}, 'feeding', "SIG$signal: before it");
	$ending->signal($signal);
	none_listed("SIG$signal");
	$ending->close;
}

# the service ends: sorts that have rows there are over, those whose rows are in files are not
$node->safe_psql('postgres', 'alter function gate(int4, int4, text) stable');
my $lost = session_of('');
my $merging = session_of('');
cursor_in($merging, 'select * from twice order by k');
# what the runs had is back a moment later, but for a byte for each row: the two others have room
ok($node->poll_query_until('postgres', 'select budget_bytes - reserved_bytes > 60 * 1048576 from gpusort_devices'), 'the runs are in files, and leave the device to others')
  or diag($node->safe_psql('postgres', 'select reserved_bytes from gpusort_devices'));
$sort->query('begin; declare c no scroll cursor for select k from big order by k; fetch 1 from c');
$lost->send("select count(*) from (select * from big where gate(id, 200000, 'lost') > 0 order by k offset 0) s");
wait_at_gate($lost);
is(join(' ', sort map { $_->{phase} } progress('true')), 'feeding merging output', 'three sorts');
my $old = service_pid($node);
kill 'TERM', $old;
$node->poll_query_until('postgres', "select service_pid <> $old and state = 'serving' from gpusort_devices");
is(join(' ', map { "$_->{phase} of $_->{pid}" } progress('true')), "merging of $merging->{pid}", 'the service has ended: one, whose runs are in files');
open_gate('lost');
$lost->finish;
like($lost->error, qr/58000/, 'the one that was being fed is told');
$sort->query('move all in c');
like($sort->error, qr/58000/, 'the one that was read is told');
$sort->query('rollback');
$merging->query('move all in c');
is($merging->error, '', 'the one that merges goes on');
$merging->query('rollback');
none_listed('the service has ended');
nothing_left_over($node, 'the service has ended');

# kill -9 makes the postmaster start everything anew
cursor_in($sort);
my $killed = service_pid($node);
kill 'KILL', $killed;
$sort->query('fetch 1 from c');
$_->close for $sort, $lost, $merging, $holder, $waiting, $observer;
ok(wait_for_restart($node, $killed), 'kill -9 of the service: the server is back');
ok(wait_for_state($node, 'serving'), 'and serves');
none_listed('kill -9 of the service');
$observer = observing_session('');
$sort = session_of('');
cursor_in($sort);
kill 'KILL', $sort->{pid};
$sort->query('fetch 1 from c');
$_->close for $sort, $observer;
ok(wait_for_restart($node, $sort->{pid}), 'kill -9 of a session: the server is back');
ok(wait_for_state($node, 'serving'), 'and serves');
none_listed('kill -9 of a session');
$observer = observing_session('');
$sort = session_of('');
cursor_in($sort);
$_->close for $sort, $observer;
none_listed('sorts are listed again');
nothing_left_over($node, 'all');
$node->stop;
quiet_log($node);

done_testing();
