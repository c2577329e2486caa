# A mixture of sorts, cancels and errors, for as long as one likes: memory, device
# memory, open files and temporary files stay where they are.
#
#   GPUSORT_SOAK_SECONDS   how long (12 here; test/load/soak runs it for an hour)
#   SEED=N                 of the random choices
#
# Each round ends quiet, and then everything is sampled.  A straight line is fitted
# to the samples after the first fifth; what it gains from the first to the last of
# them is the growth, which must stay below the bound of its kind.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $seconds = $ENV{GPUSORT_SOAK_SECONDS} || 12;
my $at_once = 4;
my $megabyte = 1024 * 1024;

seed();
note "$seconds seconds";

my $node = new_server('soak', "gpusort.device_memory = '96MB'", "gpusort.buffer_memory = '64MB'",
	"work_mem = '8MB'", 'max_worker_processes = 24', 'max_parallel_workers = 16',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', q{
	alter table big set (parallel_workers = 2);
	create function breaks(i int4) returns int4 volatile parallel safe language plpgsql as
		$$ begin if i = 200000 then raise exception 'broken' using errcode = 'P0001'; end if; return i; end $$;
	create function digest_of(query text) returns text language plpgsql as
		$$ declare d text; begin
			execute format('select md5(string_agg(hash_record_extended(q, 0)::text, '' '')) from (%s) q', query) into d;
			return d; end $$;
	-- a cursor read to and fro, and a sort that fails below a subtransaction
	create function wander() returns text language plpgsql as
		$$ declare c refcursor; got int4; said text := ''; begin
			open c scroll for select id from big where id <= 100000 order by k, id;
			fetch last from c into got; said := said || got;
			fetch absolute 50000 from c into got; said := said || ' ' || got;
			begin
				perform count(*) from (select breaks(id) as b, k from big order by k) s;
			exception when raise_exception then
				said := said || ' ' || sqlerrm;
			end;
			fetch prior from c into got;
			close c;
			return said || ' ' || got; end $$});

# Serial and parallel, within the budget of device memory and beyond it, short rows and long.
my $long = q{select i, repeat(chr(97 + i % 26), case when i % 50 = 0 then 1500000 + i else i % 200 end) as long from generate_series(1, 500) i order by i % 77, i};
my @statements = (
	"select digest_of('select * from small order by k, id')",
	"select digest_of('select * from big where id <= 200000 order by k, id')",
	"select digest_of('select * from big order by k desc, id')",
	"select digest_of('select b.*, s.id as other from big b join generate_series(1, 3) as s(id) on true order by b.k, b.id, s.id')",
	"select digest_of('" . ($long =~ s/'/''/gr) . "')",
	'select wander()');
my @right = map { $node->safe_psql('postgres', "set gpusort.enabled = off; $_") } @statements;

# Two sessions that stay; the others come and go.
my @staying = map { GpuSortTest::Session->new($node, $seconds) } 1, 2;
$staying[1]->query('set max_parallel_workers_per_gather = 2');
# once each: what a first time costs (caches, and malloc's own idea of how much to keep) is no leak
for my $session (@staying)
{
	$session->query($_) for @statements;
}

sub private_bytes
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 * 1024 : die "no RssAnon of $pid";
}

# The bytes in the session's memory contexts: malloc's habits do not show in it.
sub context_bytes
{
	return $_[0]->query('select sum(total_bytes) from pg_backend_memory_contexts');
}

sub count_files { return scalar(split /\n/, open_files($_[0])); }

my ($sorts, $cancels, $ends, $wrong) = (0, 0, 0, '');

# One statement in each session, some of them interrupted.
sub round
{
	my @sessions = (@staying, map { GpuSortTest::Session->new($node) } 3 .. $at_once);
	my @chosen;

	$sessions[$_]->query('set max_parallel_workers_per_gather = ' . 2 * int(rand 2)) for 2 .. $#sessions;
	for my $session (@sessions)
	{
		push @chosen, int(rand @statements);
		$session->send($statements[ $chosen[-1] ]);
	}
	for my $i (0 .. $#sessions)
	{
		if (rand() < 0.3)
		{
			my $signal = $i < @staying || rand() < 0.7 ? 'INT' : 'TERM';

			sleep rand(0.3);
			kill $signal, $sessions[$i]{pid};
		}
	}
	for my $i (0 .. $#sessions)
	{
		my $got = $sessions[$i]->finish;
		my $error = $sessions[$i]->error;

		if ($error =~ /57014/) { $cancels++; }
		elsif ($error =~ /57P01/) { $ends++; }
		elsif ($error eq '' && $got eq $right[ $chosen[$i] ]) { $sorts++; }
		else { $wrong .= "$statements[$chosen[$i]]: $got $error\n"; }
		$sessions[$i]->close if $i >= @staying;
	}
}

# Everything at a quiet moment: what must be flat, and what must be nothing.
sub sample
{
	my $pid = service_pid($node);
	my ($used, $busy);

	for (1 .. 9000)
	{
		($used, $busy) = split /\|/, $node->safe_psql('postgres',
			'select used_bytes, open_jobs + reserved_bytes + buffer_bytes - free_buffer_bytes from gpusort_devices');
		last if $busy == 0;
		sleep 0.01;
	}
	return {
		at => time,
		service_mb => private_bytes($pid) / $megabyte,
		sessions_mb => (private_bytes($staying[0]{pid}) + private_bytes($staying[1]{pid})) / $megabyte,
		contexts_kb => (context_bytes($staying[0]) + context_bytes($staying[1])) / 1024,
		device_mb => $used / $megabyte,
		service_files => count_files($pid),
		session_files => count_files($staying[0]{pid}) + count_files($staying[1]{pid}),
		left => $busy,
		temporary => scalar(split /\n/, temporary_files($node)),
	};
}

sub growth
{
	my ($name, @samples) = @_;
	my $n = @samples;
	my ($mean_x, $mean_y, $xy, $xx) = (0, 0, 0, 0);

	$mean_x += $_->{at} / $n, $mean_y += $_->{$name} / $n for @samples;
	for my $sample (@samples)
	{
		$xy += ($sample->{at} - $mean_x) * ($sample->{$name} - $mean_y);
		$xx += ($sample->{at} - $mean_x)**2;
	}
	return $xy / $xx * ($samples[-1]{at} - $samples[0]{at});
}

# The service's memory has its peak with several jobs at once.  On a busy machine few rounds follow, so that a peak
# among them would look like growth.
round() for 1 .. 5;

my @samples;
my $start = time;
while (time - $start < $seconds || @samples < 15)
{
	round();
	push @samples, sample();
	note sprintf('%.0f s: service %.1f MB, sessions %.1f MB (%.0f kB in contexts), device %.1f MB, %d + %d files',
		time - $start, map { $samples[-1]{$_} } qw(service_mb sessions_mb contexts_kb device_mb service_files session_files))
	  if @samples % 20 == 1;
}
my $took = time - $start;
my $jobs = $node->safe_psql('postgres', 'select jobs from gpusort_stats');

is($wrong, '', sprintf('%d statements right, %d cancelled, %d sessions ended, %d device jobs, in %.0f s', $sorts, $cancels, $ends, $jobs, $took));
cmp_ok($sorts, '>', 0, 'sorts went to their end');
is(scalar(grep { $_->{left} != 0 } @samples), 0, 'no job, reservation or buffer is left at any quiet moment');
is(scalar(grep { $_->{temporary} != 0 } @samples), 0, 'no temporary file at any quiet moment');

# malloc may keep what a session's largest statement needed, or give it back: hence the 48
my %bounds = (service_mb => 16, sessions_mb => 48, contexts_kb => 256, device_mb => 32, service_files => 0.5, session_files => 2);
my @flat = @samples[ int(@samples / 5) .. $#samples ];
my @summary;
for my $name (sort keys %bounds)
{
	my $growth = growth($name, @flat);

	cmp_ok($growth, '<', $bounds{$name}, sprintf('%s: from %.1f to %.1f, growth %.2f, bound %s',
		$name, $flat[0]{$name}, $flat[-1]{$name}, $growth, $bounds{$name}));
	push @summary, sprintf('%s %+.2f', $name, $growth);
}
is($node->safe_psql('postgres', 'select failed from gpusort_stats'), '0', 'no job failed');
$_->close for @staying;
nothing_left_over($node, 'soak');
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|leak|signal 11|signal 6/, 'no word of trouble in the log');
note sprintf('SUMMARY soak: %.0f s, %d rounds, %d device jobs, %d statements right, %d cancelled; growth: %s',
	$took, scalar @samples, $jobs, $sorts, $cancels + $ends, join(', ', @summary));

done_testing();
