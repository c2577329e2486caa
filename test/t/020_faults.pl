# The device fails at any of its calls and allocations, and refuses any of its launches:
# gpusort.debug_fail_at sweeps over all of them below statements of each kind.
#
# The rows are right, or there is an error of class 58; an index is whole, or not there.  A
# failure costs time only if all runs of a sort are in files.  If the device refuses all
# allocations and transfers from some point on, a sort that has not begun is native, and one
# that has begun gets an error of class 53.
# The service is back afterwards, with all memory.
#
# A lost device costs the second after which the server starts the service again, so there
# are several servers, each with its own sweeps: while one waits, the others go on.  Some calls of each sweep are
# tried, from a random one on (SEED=N says which); with ROUNDS=all, all of them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

seed();

my $lost = qr/^(psql:\S+ )?ERROR:  58000: the sort device failed during a sort\nDETAIL:  .+\nHINT:  Retry the query\.  If no device serves, PostgreSQL sorts the rows\./;
my $no_memory = qr/^(psql:\S+ )?ERROR:  53200: the sort device ran out of memory during a sort\nDETAIL:  .+\nHINT:  Retry the query when the device has more free memory/;

# --- a server, the session whose sorts fail, and one that watches

sub new_rig
{
	my ($name, @lines) = @_;
	my $node = new_server($name, 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
		'min_parallel_table_scan_size = 0', "gpusort.buffer_memory = '48MB'", @lines);

	wait_for_state($node, 'serving');
	$node->safe_psql('postgres', q{
		create table rows as select (i * 7919) % 20011 as k, i as id, repeat('f', 40) as filler from generate_series(1, 20000) i;
		create table few as select (i * 7919) % 101 as k, i as id from generate_series(1, 100) i;
		create table spread(id int, filler text) with (parallel_workers = 2);
		alter table spread alter filler set storage plain;
		insert into spread select i, repeat('s', 5000) from generate_series(1, 11) i;
		alter table rows set (parallel_workers = 2);
		create table made(k int, id int, filler text);
		create extension amcheck;
		create table small as select i as k from generate_series(1, 1000) i;
			analyze;});
	return {
		node => $node,
		session => GpuSortTest::Session->new($node),
		watch => GpuSortTest::Session->new($node),
		holder => GpuSortTest::Session->new($node),
		sweeps => [],
	};
}

# For some minutes: a GPU that others use may take more than ten seconds to open.
sub poll
{
	my ($rig, $condition) = @_;
	my $until = time + 300;

	do
	{
		return 1 if $rig->{watch}->query("select $condition from gpusort_devices") eq 't';
		sleep 0.01;
	} while (time < $until);
	return 0;
}

sub set_fail_at
{
	my ($rig, $n) = @_;

	$rig->{watch}->query("alter system set gpusort.debug_fail_at = $n");
	$rig->{watch}->query('select pg_reload_conf()');
}

# Has the n-th call or allocation from now on fail, or, where the sweep refuses, all allocations from there on; returns
# the service's process.
sub arm
{
	my ($rig, $n, $sweep) = @_;

	set_fail_at($rig, $sweep->{refuses} ? -$n : $n);
	poll($rig, "coalesce(detail like 'device call or allocation $n fails,%', false)")
	  or die 'gpusort.debug_fail_at is not followed';
	return $rig->{watch}->query('select service_pid from gpusort_devices');
}

# Waits for a device that does not fail; returns what was left over, '' for nothing.
sub left_over
{
	my ($rig) = @_;
	my $files = $rig->{watch}->query('select string_agg(name, \', \') from pg_ls_tmpdir()');

	return "files $files" if $files ne '';
	return '' if poll($rig, "state = 'serving' and detail is null and open_jobs = 0 and reserved_bytes = 0 and used_bytes <= 64 << 20 and free_buffer_bytes = buffer_bytes");
	return $rig->{watch}->query('select d from gpusort_devices d');
}

# How many calls and allocations that service has made; '' if it has ended.
sub calls_made
{
	my ($rig, $service) = @_;

	return $rig->{watch}->query(
		"select coalesce(substring(detail from ', (\\d+) made so far'), '') from gpusort_devices where service_pid = $service");
}

# A reload reaches each process in its own time.
sub session_reads
{
	my ($session, $setting, $value) = @_;
	my $until = time + 300;

	while (time < $until)
	{
		return 1 if $session->query("show $setting") eq $value;
		sleep 0.01;
	}
	return 0;
}

# Once the sort has ended: 'lost', 'refused', or 'none' if nothing has failed, which an error of the statement contradicts.
sub what_failed
{
	my ($rig, $n, $all, $service, $error) = @_;

	# while this is not nearly the last call, one that has not been made is more likely to be made yet
	for (1 .. ($error ? 3000 : 2 * $n < $all ? 250 : 15))
	{
		poll($rig, "service_pid is distinct from $service or open_jobs = 0");
		my $made = calls_made($rig, $service);
		return 'lost' if $made eq '';
		return 'refused' if $made >= $n;
		# the last call may not be published yet
		sleep 0.02;
	}
	return 'none';
}

sub counter
{
	my ($rig, $name) = @_;

	return $rig->{watch}->query("select $name from gpusort_stats");
}

# --- sweeps

# The rigs share the sweep's calls.  make_run->(rig) gives a function that runs a statement
# and returns what is wrong, or '', and whether the statement ended in the error that it
# may end in; its argument is the call that fails.  Options:
# survives		some failures must cost nothing, if every call fails once
# never_fails	all of them cost nothing
# holds			another sort holds most of the device's memory
# last			only so many of the last calls fail
# refuses		all allocations and transfers fail from the n-th on
# settings		->(n) gives those that the statement runs under
# explain, plan	what EXPLAIN ANALYZE of a query must show
sub add_sweep
{
	my ($rigs, $what, $make_run, %options) = @_;
	my $sweep = { what => $what, parts => scalar @$rigs, wrong => '', left => '',
		count => { map { $_ => 0 } 'lost', 'refused', 'none', 'error', 'held', 'native_device_memory', 'failed' }, %options };

	$sweep->{open} = $sweep->{parts};
	push @{ $rigs->[$_]{sweeps} }, { sweep => $sweep, number => $_, n => 0, run => $make_run->($rigs->[$_]) } for 0 .. $#$rigs;
}

# A row of this query fills most of a buffer.  The first two tell that it is the right one.
my @held = map { "$_|" . 'h' x 10 } 1 .. 20;
my $held = q{select id, left(repeat('h', 800000), 10) from (select id, repeat('h', 800000) as doc from generate_series(1, 20) id order by id offset 0) h};

sub hold
{
	my ($rig) = @_;
	my $got = $rig->{holder}->query("begin; declare h cursor for $held; fetch 1 from h");

	die "no memory held: $got" if $got ne $held[0];
}

# Whether the sort that holds memory has failed with an error; anything else than that and
# the right row is returned as wrong.
sub let_go
{
	my ($rig) = @_;
	my $got = $rig->{holder}->query('fetch 1 from h');
	my $error = $rig->{holder}->error;

	$rig->{holder}->query('rollback');
	return ('', 0) if $error eq '' && $got eq $held[1];
	return ('', 1) if $error =~ $lost;
	return ("the other sort gave $got $error", 0);
}

sub run_statement
{
	my ($rig, $part) = @_;
	my $sweep = $part->{sweep};

	$rig->{session}->query($sweep->{settings}->($part->{n})) if $sweep->{settings};
	my ($wrong, $error) = $part->{run}->($part->{n});
	$rig->{session}->query('reset all');
	if ($sweep->{holds})
	{
		my ($held_wrong, $held_error) = let_go($rig);

		$wrong .= $held_wrong;
		$sweep->{count}{held}++ if $held_error;
	}
	$sweep->{count}{error}++ if $error;
	return ($wrong, $error);
}

# One run with nothing to fail tells how many calls there are.
sub begin_part
{
	my ($rig, $part) = @_;
	my $sweep = $part->{sweep};
	my $stride = 1;

	hold($rig) if $sweep->{holds};
	if ($sweep->{plan} && $part->{number} == 0)
	{
		my $settings = $sweep->{settings} ? $sweep->{settings}->(0) : 'select';
		my $plan = $rig->{session}->query("$settings; explain (analyze, costs off, timing off) $sweep->{explain}");

		like($plan, $sweep->{plan}, "$sweep->{what}: the plan");
	}
	my $service = arm($rig, 2 ** 31 - 1, $sweep);
	my ($wrong) = run_statement($rig, $part);
	$sweep->{wrong} .= "nothing fails: $wrong\n" if $wrong;
	poll($rig, 'open_jobs = 0');
	$sweep->{all} = calls_made($rig, $service);
	$stride = int($sweep->{all} / 12) + 1 unless $GpuSortTest::all_cases || $sweep->{last};
	# where the first call is refused, the sort is native
	$part->{n} = 1 + $part->{number} * $stride + ($sweep->{refuses} ? 0 : int(rand($stride)));
	$part->{n} += $sweep->{all} - $sweep->{last} if $sweep->{last};
	$part->{step} = $sweep->{parts} * $stride;
	$sweep->{count}{$_} -= counter($rig, $_) for 'native_device_memory', 'failed';
}

sub end_part
{
	my ($rig, $part) = @_;
	my $sweep = $part->{sweep};
	my $what = $sweep->{what};
	my $count = $sweep->{count};

	$count->{$_} += counter($rig, $_) for 'native_device_memory', 'failed';
	return if --$sweep->{open};

	my $errors = $count->{failed} - $count->{held};
	is($sweep->{wrong}, '', "$what: $sweep->{all} calls and allocations: $count->{lost} lost, $count->{refused} refused; "
		. "$count->{native_device_memory} native for want of memory, $errors errors, the rest right");
	is($sweep->{left}, '', "$what: the service is back, nothing is left over");
	is($errors, $count->{error}, "$what: errors are counted");
	if ($sweep->{refuses})
	{
		is($count->{lost}, 0, "$what: the device is not lost");
		cmp_ok($count->{native_device_memory}, '>', 0, "$what: native for want of memory");
		return;
	}
	cmp_ok($errors, '<=', $count->{lost}, "$what: no failure is counted twice");
	if ($sweep->{never_fails}) { is($errors, 0, "$what: no errors"); }
	else { cmp_ok($errors, '>', 0, "$what: errors"); }
	cmp_ok($count->{lost} - $errors, '>', 3, "$what: some failures cost nothing")
	  if $sweep->{survives} && ($GpuSortTest::all_cases || $sweep->{last});
}

# One more call fails below the rig's statement.  False: its sweeps have ended.
sub next_step
{
	my ($rig) = @_;
	my $part = $rig->{sweeps}[0] or return 0;
	my $sweep = $part->{sweep};

	begin_part($rig, $part) if $part->{n} == 0;
	hold($rig) if $sweep->{holds};
	my $service = arm($rig, $part->{n}, $sweep);
	my ($wrong, $error) = run_statement($rig, $part);
	my $failed = what_failed($rig, $part->{n}, $sweep->{all}, $service, $error);
	set_fail_at($rig, 0);
	$sweep->{count}{$failed}++;
	$sweep->{wrong} .= "call $part->{n} ($failed): $wrong\n" if $wrong;
	$rig->{after} = "call $part->{n} ($failed)";
	$part->{n} += $part->{step};
	if ($failed eq 'none')
	{
		shift @{ $rig->{sweeps} };
		end_part($rig, $part);
	}
	return 1;
}

# While one server waits for its service, the others go on.
sub run_sweeps
{
	my @busy = @_;

	while (@busy)
	{
		my @next;

		for my $rig (@busy)
		{
			my $part = $rig->{sweeps}[0];
			my $left = $part && $part->{n} > 0 ? left_over($rig) : '';
			$part->{sweep}{left} .= "$rig->{after}: $left\n" if $left;
			push @next, $rig if next_step($rig);
		}
		@busy = @next;
	}
}

# A query's rows by a digest.
sub digest_run
{
	my ($query, %options) = @_;

	return sub
	{
		my ($rig) = @_;
		my $session = $rig->{session};
		my $right = digest($rig->{node}, $query, 'set gpusort.enabled = off;');

		return sub
		{
			my $got = $session->query(digest_query($query));
			my $error = $session->error;
			return ('', 0) if $error eq '' && $got eq $right;
			return ('', 1) if $options{may_fail} && $error =~ $options{may_fail};
			return ("$got $error", 0);
		};
	};
}

# --- a cursor goes forward and back
my @moves = ('fetch 3', 'fetch backward 2', 'move 15000', 'fetch 2', 'move backward 14000', 'fetch 2', 'move last', 'fetch relative 0');

sub read_cursor
{
	my ($session, $enabled) = @_;
	my $error = '';
	my @got;

	$session->query("begin; set local gpusort.enabled = $enabled; declare c scroll cursor for select k, id from rows order by k, id");
	for my $move (@moves)
	{
		push @got, $session->query("$move from c");
		$error = $session->error;
		last if $error ne '';
	}
	$session->query('rollback');
	return ($error, @got);
}

sub cursor_run
{
	my ($rig) = @_;
	my (undef, @right) = read_cursor($rig->{session}, 'off');

	return sub
	{
		my ($error, @got) = read_cursor($rig->{session}, 'on');

		pop @got if $error ne '';
		for (0 .. $#got)
		{
			return ("$moves[$_] gave $got[$_]", 0) if $got[$_] ne $right[$_];
		}
		return ('', 0) if $error eq '' && @got == @moves;
		return ('', 1) if $error =~ $lost;
		return ($error, 0);
	};
}

# --- a table is filled wholly, or not at all
sub insert_run
{
	my ($rig) = @_;
	my $session = $rig->{session};
	my $fill = 'insert into made select k, id, filler from rows order by k, id';
	my $hash = "select count(*) || coalesce(md5(string_agg(hash_record_extended(made, 0)::text, ' ' order by ctid)), '') from made";

	$session->query("set gpusort.enabled = off; $fill; reset gpusort.enabled");
	my $right = $session->query($hash);
	return sub
	{
		$session->query('truncate made');
		$session->query($fill);
		my $error = $session->error;
		my $got = $session->query($hash);
		return ('', 0) if $error eq '' && $got eq $right;
		return ('', 1) if $error =~ $lost && $got eq '0';
		return ("$error $got", 0);
	};
}

# --- an index is whole, or not there
sub index_run
{
	my ($rig) = @_;
	my $session = $rig->{session};

	return sub
	{
		$session->query('set gpusort.index_builds = on; create index made_k on rows (k, id) include (filler)');
		my $error = $session->error;
		my $there = $session->query(q{select count(*) from pg_class where relname = 'made_k'});
		$session->query(q{select bt_index_parent_check('made_k', true, true); drop index made_k}) if $there;
		return ($session->error, 0) if $there && $error eq '';
		return ('', 1) if !$there && $error =~ /$lost|$no_memory/;
		return ("$error, $there indexes", 0);
	};
}

# --- the rows of a spilled sort, which are in files
my $docs = "select id, repeat(chr(97 + id % 26), 780000 + id) as doc from";
my $runs = "$docs generate_series(1, 11) id order by id";

sub read_runs
{
	my ($rig, $enabled) = @_;
	my $session = $rig->{session};

	$session->query("begin; set local gpusort.enabled = $enabled; set local work_mem = '32MB'; declare c no scroll cursor for $runs");
	my $got = $session->query(q{select read_all('c')});
	my $error = $session->error;
	$session->query('rollback');
	return ($error, $got);
}

sub spilled_run
{
	my ($rig) = @_;

	$rig->{session}->query(q{create function read_all(c refcursor, out hash text) language plpgsql as $$
		declare r record;
		begin
			loop
				fetch c into r;
				exit when not found;
				hash := md5(concat(hash, r.id, r.doc));
			end loop;
		end $$});
	my (undef, $right) = read_runs($rig, 'off');
	return sub
	{
		my ($error, $got) = read_runs($rig, 'on');

		return ('', 1) if $error =~ $lost;
		return ($error eq '' && $got eq $right ? '' : "$got $error", 0);
	};
}

# --- equal keys in several runs
sub ties_run
{
	my ($rig) = @_;
	my $query = 'select md5(string_agg(k || $$ $$ || id, $$ $$)) from (select (a * 7 + b * 1000003) % 1009 as k, a * 1000 + b as id from generate_series(1, 300) a, lateral (select generate_series(0, 999) + 0 * a as b) l order by 1';
	my $right = $rig->{node}->safe_psql('postgres', "set gpusort.enabled = off; $query, 2) s");

	return sub
	{
		my $got = $rig->{session}->query("$query) s");
		my $error = $rig->{session}->error;

		return ($error eq '' && $got eq $right ? '' : "$got $error", 0);
	};
}

my @rigs = (new_rig('faults_1', "gpusort.buffer_memory = '128MB'"), map { new_rig("faults_$_") } 2 .. 4);
my @tight = map { new_rig("faults_$_", "gpusort.device_memory = '32MB'") } 5 .. 9;
my $workers = sub { 'set max_parallel_workers_per_gather = 2; set parallel_leader_participation = ' . ($_[0] % 2 ? 'on' : 'off') };
my $loops = sub { 'set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off; set enable_memoize = off' };

# WITH TIES lets only a real sort do, and stops after a row or two
my $first = 'fetch first 1 rows with ties';
my $few = 'select * from few order by k, id';
my $three = "$docs generate_series(1, 3) id order by id";
my $blocks = "$docs generate_series(1, 10) id order by id";
my $twice = 'select g, s.* from generate_series(1, 2) g, lateral (select * from few where id % g = 0 order by k, id offset 0) s';
my $rewound = "select f.id, s.doc from few f left join ($docs generate_series(1, 3) id order by id offset 0) s on s.id = f.id where f.id < 4";
my $spread = "$docs spread order by id";
my $spilled = qr/Sort Method: \w+ external merge\n *Runs: \d+\n *Merge Order: device\n/;

add_sweep([ $rigs[0] ], 'scroll cursor', \&cursor_run);
add_sweep([ $rigs[1] ], 'few rows', digest_run($few, may_fail => $lost));
add_sweep([ $rigs[2] ], 'insert', \&insert_run);
add_sweep([ $rigs[3] ], 'index build', \&index_run);
add_sweep([ $rigs[3] ], 'refused from some point on: index build', \&index_run, refuses => 1);
add_sweep([ $rigs[0] ], 'two workers, first row', digest_run("select * from rows order by k, id $first", may_fail => $lost), settings => $workers);
add_sweep(\@rigs, 'several blocks', digest_run($blocks, may_fail => $lost),
	explain => $blocks, plan => qr/Sort Method: (host|gpu)\n/);
add_sweep(\@rigs, 'subplan, sorted twice', digest_run($twice, may_fail => $lost), explain => $twice, plan => qr/GpuSort.*loops=2/);
add_sweep(\@rigs, 'rewound', digest_run($rewound, may_fail => $lost), settings => $loops,
	explain => $rewound, plan => qr/GpuSort.*loops=3/);
add_sweep(\@tight, 'spilled', \&spilled_run, survives => 1, holds => 1, explain => $runs, plan => $spilled);
add_sweep(\@tight, 'spilled, two workers', digest_run($spread, may_fail => $lost), survives => 1, holds => 1,
	settings => $workers, explain => $spread, plan => qr/$spilled.*Workers Launched: [12]\n.*GpuSortFeed/s);
add_sweep([ $tight[0] ], 'spilled, the last calls', \&ties_run, survives => 1, never_fails => 1, holds => 1, last => 8);
add_sweep([ $rigs[1] ], 'refused from some point on: few rows', digest_run($few, may_fail => $no_memory), refuses => 1);
add_sweep([ $rigs[2] ], 'refused from some point on: several blocks', digest_run($three, may_fail => $no_memory), refuses => 1);
add_sweep([ $rigs[3] ], 'refused from some point on: two workers', digest_run("select * from rows order by k, id $first", may_fail => $no_memory), refuses => 1, settings => $workers);
run_sweeps(@rigs, @tight);

# --- who may set it, and who sees it
my $session = $rigs[0]{session};
# the service may have read the file before this session is told to
ok(session_reads($session, 'gpusort.debug_fail_at', '0'), 'off');
$session->query('set gpusort.debug_fail_at = 1');
like($session->error, qr/cannot be changed now/, 'not by a session');
is($session->query("select count(*) from pg_settings where name = 'gpusort.debug_fail_at'"), '0', 'hidden');

for my $rig (@rigs, @tight)
{
	$rig->{$_}->close for 'session', 'watch', 'holder';
	nothing_left_over($rig->{node}, $rig->{node}->name);
	$rig->{node}->stop;
	quiet_log($rig->{node});
}

done_testing();
