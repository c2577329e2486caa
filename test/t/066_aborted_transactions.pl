# A statement fails in a transaction block, and the client does not roll back yet: its sort has
# given back its job, buffers, device memory and files all the same.  The memory of a failed
# PL/pgSQL statement stays until the client's ROLLBACK, so the job must not hang on that alone.
#
# A sort that has not failed goes on, whatever fails beside it: in a subtransaction that is rolled
# back, or across a commit.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('aborted_transactions', "gpusort.device_memory = '64MB'",
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
# large is beyond the budget.  fail is a statement's end in the middle of the sorted rows, by an
# error or by a wait that is cancelled.
$node->safe_psql('postgres', q{
	create table large as select (i::int8 * 7919) % 800011 as k, i as id, repeat('f', 40) as filler from generate_series(1, 800000) i;
	alter table big set (parallel_workers = 2);
	analyze large;
	create function fail(id int4, at int4) returns int4 volatile parallel safe language plpgsql as $$
		begin
			if id <> at then return id; end if;
			if current_setting('test.waits', true) = 'on' then perform pg_sleep(100); end if;
			return 1 / 0;
		end $$;
	create function returned() returns setof int4 language plpgsql as $$
		begin
			return query select fail(id, 150000) from (select id, k, filler from big order by k offset 0) s;
		end $$});

sub jobs { return $node->safe_psql('postgres', 'select jobs from gpusort_stats'); }

# The session's statement has failed, and its transaction is still there.
sub gave_back
{
	my ($session, $what, $jobs) = @_;

	is($node->safe_psql('postgres', "select state from pg_stat_activity where pid = $session->{pid}"),
		'idle in transaction (aborted)', "$what: nobody has rolled back");
	is($node->safe_psql('postgres', 'select count(*) from gpusort_progress'), '0', "$what: no sort is under way");
	is(temporary_files($node), '', "$what: no temporary file");
	is(jobs() - $jobs, 1, "$what: the device had the sort");
	nothing_left_over($node, $what);
}

my $session = GpuSortTest::Session->new($node);

# --- statements of PL/pgSQL
my %statements = (
	'PERFORM' => q{do $$ begin perform fail(id, 150000) from (select id, k, filler from big order by k offset 0) s; end $$},
	'SELECT INTO' => q{do $$ declare n int8; begin select sum(fail(id, 150000)) into n from (select id, k, filler from big order by k offset 0) s; end $$},
	'RETURN QUERY' => 'select count(*) from returned()',
	'PERFORM of a spilled sort' => q{do $$ begin perform fail(id, 400000) from (select id, k, filler from large order by k offset 0) s; end $$});
for my $workers (0, 2)
{
	for my $name (sort keys %statements)
	{
		for my $ending ('an error', 'a cancel')
		{
			my $what = "$name, $workers workers, $ending";
			my $jobs = jobs();

			$session->query("set max_parallel_workers_per_gather = $workers; set test.waits = "
				. ($ending eq 'a cancel' ? 'on' : 'off'));
			$session->query('begin');
			$session->send($statements{$name});
			if ($ending eq 'a cancel')
			{
				$node->poll_query_until('postgres', "select wait_event = 'PgSleep' from pg_stat_activity where pid = $session->{pid}")
				  or fail("$what: it did not come to wait");
				isnt(temporary_files($node), '', "$what: there are temporary files") if $name =~ /spilled/;
				$node->safe_psql('postgres', "select pg_cancel_backend($session->{pid})");
			}
			$session->finish;
			like($session->error, $ending eq 'a cancel' ? qr/ERROR:  57014:/ : qr/ERROR:  22012:/, "$what: the error");
			gave_back($session, $what, $jobs);
			$session->query('rollback');
		}
	}
}
$session->query('reset max_parallel_workers_per_gather; set test.waits = off');

# --- a cursor that fails in a subtransaction
my $jobs = jobs();
$session->query('begin; declare c cursor for select fail(id, 150000) from (select id, k, filler from big order by k offset 0) s; fetch 1 from c; savepoint a');
$session->query('move all in c');
like($session->error, qr/ERROR:  22012:/, 'a cursor in a subtransaction: the error');
gave_back($session, 'a cursor in a subtransaction', $jobs);
$session->query('rollback to a');
is($session->query('select count(*) from (select id, k, filler from big order by k offset 0) s'), '300000', 'after its rollback the session sorts');
$session->query('rollback');
nothing_left_over($node, 'a cursor in a subtransaction, rolled back');

# --- sorts that go on
sub rows
{
	my ($from, $to) = @_;

	return $node->safe_psql('postgres', "set gpusort.enabled = off; select id from big order by k, id offset $from - 1 limit $to - $from + 1");
}

my $cursor = 'for select id from (select id, k, filler from big order by k, id offset 0) s';
for my $case (
	[ 'begun in a subtransaction that is rolled back', 'savepoint a', 'select 1 / 0; rollback to a' ],
	[ 'begun in one that is released, another is rolled back', 'savepoint a', 'release a; savepoint b; select 1 / 0; rollback to b' ],
	[ 'begun before one that is rolled back', '', 'savepoint a; select 1 / 0; rollback to a' ])
{
	my ($what, $before, $after) = @$case;

	$jobs = jobs();
	$session->query("begin; declare c cursor $cursor; $before");
	is($session->query('fetch 3 from c'), rows(1, 3), "a cursor $what: first rows");
	# psql ends a string of statements at its first error
	$session->query($_) for split /; /, $after;
	is($session->query('fetch 3 from c'), rows(4, 6), "a cursor $what: rows after it");
	$session->query('move 200000 in c');
	is($session->query('fetch 3 from c'), rows(200007, 200009), "a cursor $what: later rows");
	is(jobs() - $jobs, 1, "a cursor $what: the device had the sort");
	$session->query('rollback');
	nothing_left_over($node, "a cursor $what");
}
$jobs = jobs();
$session->query("begin; declare c cursor with hold $cursor; fetch 3 from c; commit");
is($session->query('fetch 3 from c; close c'), rows(4, 6), 'WITH HOLD: rows after the commit');
is(jobs() - $jobs, 1, 'WITH HOLD: the device had the sort');
nothing_left_over($node, 'WITH HOLD');
$session->query(q{create table got(id int4); create procedure loops() language plpgsql as $$
	declare r record;
	begin
		for r in select id from (select id, k, filler from big order by k, id offset 0) s limit 1000 loop
			insert into got values (r.id);
			if r.id % 7 = 0 then commit; elsif r.id % 7 = 1 then rollback; end if;
		end loop;
	end $$});
$jobs = jobs();
$session->query('call loops()');
is($session->error, '', 'a procedure that commits in a loop over sorted rows: no error');
cmp_ok($session->query('select count(*) from got'), '>', 100, 'a procedure that commits: it came to rows');
is(jobs() - $jobs, 1, 'a procedure that commits: the device had the sort');
nothing_left_over($node, 'a procedure that commits');

$session->close;
$node->stop;
quiet_log($node);

done_testing();
