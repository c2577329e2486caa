# Shared memory that lies to the service: a corrupt chunk or request fails its own job, and
# neither gives wrong rows to another session or brings a process down.
#
# The test writes into the server's shared memory itself, which is of System V's kind
# here, while the service stands still.  The forms are those of src/job/chunk.h (header)
# and src/job/shmem.h (GpuSortBuffer, GpuSortJobSlot, GpuSortJobOptions).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('corruption', "shared_memory_type = 'sysv'", "gpusort.buffer_memory = '80MB'",
	"gpusort.device_memory = '512MB'");
wait_for_state($node, 'serving');
make_tables($node);
# few rows that are wide: more than the buffers of a job take
$node->safe_psql('postgres', q{create table wide as select k, id, repeat('f', 200) as filler from big where id <= 36000; analyze wide});

# --- the shared memory
my $buffer_bytes = 1024 * 1024;
my ($sent, $fetching, $free) = (3, 5, 0);
my ($opening, $feeding) = (1, 3);
my %place;
my $segment;

# a job's options, which lie before the list of its buffers in its slot, and 48 bytes behind the slot's state
my %option = (key_columns => 0, null_mask => 4, null_first_mask => 8, engine => 32, inexact_mask => 36, feeders => 168,
	wait_ms => 172, expected_bytes => 184);
my $options_bytes = 200;
my $options_at = 48;

sub find_shared_memory
{
	my @lines = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	$segment = (split ' ', $lines[6])[1];
	for (split /\n/, $node->safe_psql('postgres', "select name, off, size from pg_shmem_allocations where name like 'gpusort%'"))
	{
		my ($name, $offset, $size) = split /\|/;

		$place{$name} = { at => $offset, size => $size };
	}
	# the pool begins at a page
	$place{pool} = ($place{'gpusort buffer pool'}{at} + 4095) & ~4095;
	$place{n_buffers} = int($place{'gpusort buffer pool'}{size} / $buffer_bytes);
	$place{buffer_size} = $place{'gpusort buffers'}{size} / $place{n_buffers};
}

sub peek
{
	my ($at, $bytes) = @_;
	my $buffer;

	shmread($segment, $buffer, $at, $bytes) or die "shmread: $!";
	return $buffer;
}

sub poke
{
	my ($at, $bytes) = @_;

	shmwrite($segment, $bytes, $at, length $bytes) or die "shmwrite: $!";
}

# State and job of each buffer.
sub buffers
{
	return map { [ unpack 'll', peek($place{'gpusort buffers'}{at} + $_ * $place{buffer_size}, 8) ] } 0 .. $place{n_buffers} - 1;
}

# Where the options of a job are that has buffers.
sub search_options
{
	my ($job) = @_;
	my @buffers = buffers();
	my @own = grep { $buffers[$_][1] == $job } 0 .. $#buffers;
	my @words = unpack 'l*', peek($place{gpusort}{at}, $place{gpusort}{size} & ~3);

	for my $n ($options_bytes / 4 .. $#words - @own)
	{
		next if $words[$n] != @own;
		next if join(' ', sort { $a <=> $b } @words[ $n + 1 .. $n + @own ]) ne join(' ', @own);
		return $place{gpusort}{at} + 4 * $n - $options_bytes;
	}
	die "the slot of job $job was not found";
}

sub find_slots
{
	my @jobs = @_;
	my @at = map { search_options($_) } @jobs;

	$place{slot_bytes} = ($at[1] - $at[0]) / ($jobs[1] - $jobs[0]);
	$place{slots} = $at[0] - $jobs[0] * $place{slot_bytes} - $options_at;
}

sub state_of { return unpack 'l', peek($place{slots} + $_[0] * $place{slot_bytes}, 4); }

# Where the options of a job with two keys and one feeder are.
sub find_options
{
	my ($job) = @_;
	my $at = $place{slots} + $job * $place{slot_bytes} + $options_at;

	is(join(' ', (unpack 'l*', peek($at, $options_bytes))[ 0, 1, $option{feeders} / 4 ]), '2 3 1', "the options of job $job are found");
	return $at;
}

# --- sessions that stand still in their feeds
# (of a volatile query, whose failure is told: it cannot start over; the key of row 35000 is null)
my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select nullif(k, 258539) as k, id, filler from wide where random() < 2 order by 1, id) q";
my $right = $node->safe_psql('postgres', "set gpusort.enabled = off; $hash");
my $lost = qr/ERROR:  58000: the sort device failed during a sort.*DETAIL:  .*HINT:  Retry the query/s;

make_gate($node);
my $gates = 0;

# One row alone asks for the gate's file.  Another statement than the usual one has %s for its name.
sub send_to_gate
{
	my ($session, $at, $statement) = @_;

	$session->{gate} = 'gate_' . $gates++;
	$session->send(defined $statement ? sprintf $statement, $session->{gate} :
		$hash =~ s/random\(\) < 2/random() < 2 and (id <> $at or gate(id, $at, '$session->{gate}') > 0)/r);
	$node->poll_query_until('postgres', "select wait_event = 'PgSleep' from pg_stat_activity where pid = $session->{pid}") or fail('a session did not come to its gate');
}

sub open_gate { append_to_file($node->data_dir . "/$_[0]{gate}", '') }

# So many sessions, the last of them a bystander: each with its job and the buffers that it
# has sent.  The service is halted.
sub enter
{
	my ($n, $statement) = @_;
	my @sessions = map { GpuSortTest::Session->new($node) } 1 .. $n;
	my %seen;

	send_to_gate($_, 1000, $statement) for @sessions;
	$node->poll_query_until('postgres', "select open_jobs = $n and reserved_bytes > 0 from gpusort_devices") or fail('the jobs are not open');
	my $at = { service => stop_service($node), sessions => \@sessions };
	for my $session (@sessions)
	{
		open_gate($session);
		$session->wait_until_waiting or fail('a session did not come to wait');
		my @buffers = buffers();
		my @own = grep { $buffers[$_][0] == $sent && !$seen{$_}++ } 0 .. $#buffers;
		$session->{sent} = \@own;
		$session->{job} = $buffers[ $own[0] ][1];
		$at->{free} = (grep { $buffers[$_][0] == $free } 0 .. $#buffers)[0];
	}
	return $at;
}

# So many sessions, whose jobs the service, which is halted, has not seen yet.
sub enter_unseen
{
	my ($n) = @_;
	my @sessions = map { GpuSortTest::Session->new($node) } 1 .. $n;
	my $at = { service => stop_service($node), sessions => \@sessions };
	my %seen;

	for my $session (@sessions)
	{
		$session->send($hash);
		$session->wait_until_waiting or fail('a session did not come to wait');
		($session->{job}) = grep { state_of($_) == $opening && !$seen{$_} } 0 .. 255;
		$seen{ $session->{job} } = 1;
	}
	return $at;
}

# The job that has buffers and is none of those that were seen.
sub new_job
{
	my ($seen) = @_;
	my ($job) = grep { !$seen->{$_}++ } map { $_->[1] } grep { $_->[0] != $free } buffers();

	return $job // die 'a session has no buffers';
}

# The next ones are to find no buffer that is in use.
sub leave
{
	$_->close for @{ $_[0]{sessions} };
	$node->poll_query_until('postgres', 'select open_jobs = 0 and free_buffer_bytes = buffer_bytes from gpusort_devices') or die 'a job does not end';
}

find_shared_memory();
my $at = enter(2);
my ($victim, $bystander) = @{ $at->{sessions} };
cmp_ok(scalar @{ $_->{sent} }, '>', 2, 'the buffers that were sent are found in shared memory') for $victim, $bystander;
find_slots(map { $_->{job} } $victim, $bystander);
is(join(' ', map { state_of($_->{job}) } $victim, $bystander), "$feeding $feeding", 'so are the states of the jobs');
continue_service($at->{service});
is($_->finish, $right, 'left alone, a session is right') for $victim, $bystander;
leave($at);

# --- chunks
# where in the header, its form, and what is written there; the rows of the statement
# are of one width, so that a chunk's own numbers are known: rows, data_bytes
my %field = (rows => [ 0, 'L' ], data_bytes => [ 4, 'L' ], more_bytes => [ 8, 'Q' ], row_start_offset => [ 16, 'L' ],
	nulls_offset => [ 20, 'L' ], keys_offset => [ 24, 'L' ], data_offset => [ 28, 'L' ], feeder => [ 32, 'L' ]);
my @corruptions = (
	[ 'rows', 0 ], [ 'rows', 1 << 17 ], [ 'rows', 0xffffffff ], [ 'rows', sub { $_[0] + 1 } ], [ 'rows', sub { $_[0] * 2 } ],
	[ 'data_bytes', 0 ], [ 'data_bytes', 7 ], [ 'data_bytes', 8 ], [ 'data_bytes', 0xfffffff8 ], [ 'data_bytes', sub { $_[0] + 1 << 20 } ],
	[ 'more_bytes', 8 ], [ 'more_bytes', 1 << 30 ], [ 'more_bytes', 1 << 40 ], [ 'more_bytes', -8 ],
	[ 'row_start_offset', 4 ], [ 'row_start_offset', 0xfffffff8 ], [ 'row_start_offset', $buffer_bytes - 8 ],
	[ 'nulls_offset', 0 ], [ 'nulls_offset', 0xfffffff8 ], [ 'nulls_offset', $buffer_bytes ],
	[ 'keys_offset', 12 ], [ 'keys_offset', 0xfffffff8 ], [ 'keys_offset', $buffer_bytes - 16 ],
	[ 'data_offset', 12 ], [ 'data_offset', 0xfffffff8 ], [ 'data_offset', $buffer_bytes ],
	[ 'feeder', 64 ], [ 'feeder', 0xffffffff ]);
# and of the offsets of its rows
push @corruptions, [ 'row 0', 1 ], [ 'row 1', 0 ], [ 'row 1', 0xffffffff ], [ 'row 100', 1 ], [ 'row 100', 1 << 17 ];

# where a number is, and its form
sub find_field
{
	my ($buffer, $name) = @_;
	my $begin = $place{pool} + $buffer * $buffer_bytes;

	return ($begin + 4 * $1 + unpack('L', peek($begin + 16, 4)), 'L') if $name =~ /^row (\d+)/;
	return ($begin + $field{$name}[0], $field{$name}[1]);
}

# eleven corrupt chunks and one bystander at a time
my $pid = service_pid($node);
while (my @now = splice @corruptions, 0, 11)
{
	$at = enter(@now + 1);
	my @sessions = @{ $at->{sessions} };

	for my $i (0 .. $#now)
	{
		my ($name, $value) = @{ $now[$i] };
		my ($where, $form) = find_field($sessions[$i]{sent}[1], $name);
		my $old = unpack $form, peek($where, length pack $form, 0);

		$value = $value->($old) if ref $value;
		poke($where, pack $form, $value);
		$now[$i] = "$name $value for $old";
	}
	continue_service($at->{service});
	for my $i (0 .. $#now)
	{
		$sessions[$i]->finish;
		like($sessions[$i]->error, $lost, "$now[$i]: its own job fails");
	}
	is($sessions[-1]->finish, $right, 'and the other session is right');
	leave($at);
}

# statistics that lie order the rows of their own job wrongly, and nothing worse
$at = enter(5);
poke($place{pool} + $at->{sessions}[$_]{sent}[1] * $buffer_bytes + 40 + 8 * $_, pack 'Q', $_ % 2 ? 1 : 7 << 60) for 0 .. 3;
continue_service($at->{service});
$_->finish for @{ $at->{sessions} }[ 0 .. 3 ];
is($at->{sessions}[4]->finish, $right, 'lying statistics: the other session is right');
leave($at);
is(service_pid($node), $pid, 'it is still the same service');
is($node->safe_psql('postgres', $hash), $right, 'the rows are right');
nothing_left_over($node, 'corrupt chunks');

# a row of an index build that comes back with a length of no index tuple: its statement fails, and no other one
$node->safe_psql('postgres', q{create function held(i int4, at int4, name text) returns int4 immutable parallel safe language plpgsql as $$ begin return gate(i, at, name); end $$});
my @changes = (4, 12000, 200000, -1000000);
$at = enter(scalar @changes, q{set gpusort.index_builds = on; create index on wide (held(id, 1000, '%s')) include (filler)});
for my $i (0 .. $#changes)
{
	my $chunk = $place{pool} + $at->{sessions}[$i]{sent}[0] * $buffer_bytes;
	my ($row_start, $data) = (unpack 'L*', peek($chunk, 32))[ 4, 7 ];
	my $row = $chunk + $data + 8 * unpack 'L', peek($chunk + $row_start, 4);
	my $bytes = unpack 'L', peek($row, 4);

	cmp_ok($bytes, '>', 200, 'a row is found');
	$changes[$i] = $bytes + $changes[$i] & 0xffffffff;
	poke($row, pack 'L', $changes[$i]);
}
continue_service($at->{service});
for my $i (0 .. $#changes)
{
	$at->{sessions}[$i]->finish;
	like($at->{sessions}[$i]->error,
		qr/ERROR:  XX001: device returned a row of $changes[$i] bytes for an index\nDETAIL:  Rows of its columns have from 24 to \d+ bytes/, "$changes[$i] bytes: the error");
}
leave($at);
is($node->safe_psql('postgres', $hash), $right, 'wrong lengths: the server is up, and the rows are right');
nothing_left_over($node, 'wrong lengths');

# numbers of blocks: one that there is not fails its job, the number of another is noticed
my $ordered = 'select nullif(k, 258539) as k, id, filler from wide order by 1, id';
my $all = $node->safe_psql('postgres', "set gpusort.enabled = off; $ordered");
my @numbers = (12345, 1 << 63, 0);
my (@readers, %seen);
for (@numbers)
{
	my $reader = GpuSortTest::Session->new($node);

	$reader->query("begin; declare c cursor for $ordered; fetch 1 from c; move backward all in c");
	$reader->{job} = new_job(\%seen);
	push @readers, $reader;
}
$bystander = GpuSortTest::Session->new($node);
$at = { service => stop_service($node), sessions => [ @readers, $bystander ] };
for my $i (0 .. $#numbers)
{
	$readers[$i]->send('fetch all from c');
	$readers[$i]->wait_until_waiting or fail('a reader did not come to wait');
	my @buffers = buffers();
	my @asked = grep { $buffers[$_][0] == $fetching && $buffers[$_][1] == $readers[$i]{job} } 0 .. $#buffers;
	cmp_ok(scalar @asked, '>', 0, "block $numbers[$i]: blocks are asked for");
	poke($place{'gpusort buffers'}{at} + $_ * $place{buffer_size} + 24, pack 'Q', $numbers[$i]) for @asked;
}
$bystander->send($hash);
continue_service($at->{service});
for my $i (0 .. $#numbers)
{
	my $rows = $readers[$i]->finish;
	like($readers[$i]->error, $lost, "block $numbers[$i]: its own job fails") if $numbers[$i];
	ok($rows eq $all, "block $numbers[$i] for another: its rows are right") if !$numbers[$i];
}
is($bystander->finish, $right, 'and the other session is right');
leave($at);
is(service_pid($node), $pid, 'it is still the same service');
nothing_left_over($node, 'corrupt numbers of blocks');

# --- a job's options
# before the service has seen the job: it fails, alone, where they make no sense.  Six at a time, and one bystander
@corruptions = ([ 'key_columns', 0 ], [ 'key_columns', 9 ], [ 'key_columns', 0xffffffff ], [ 'null_mask', 4 ],
	[ 'null_mask', 0xffffffff ], [ 'null_first_mask', 4 ], [ 'inexact_mask', 4 ], [ 'feeders', 0 ], [ 'feeders', 65 ],
	[ 'engine', 99 ], [ 'engine', 0xffffffff ], [ 'wait_ms', 0xffffffff ]);
while (my @now = splice @corruptions, 0, 6)
{
	$at = enter_unseen(@now + 1);
	my @sessions = @{ $at->{sessions} };
	my $count = $node->safe_psql('postgres', 'select native_no_device from gpusort_stats');

	poke(find_options($sessions[$_]{job}) + $option{ $now[$_][0] }, pack 'L', $now[$_][1]) for 0 .. $#now;
	continue_service($at->{service});
	is($sessions[$_]->finish, $right, "$now[$_][0] $now[$_][1] at the beginning: its rows are right") for 0 .. $#now;
	is($sessions[-1]->finish, $right, 'and the other session is right');
	is($node->safe_psql('postgres', 'select native_no_device from gpusort_stats'), $count + @now, 'these jobs alone fail, before they have sent any');
	leave($at);
}

# after that: nobody reads them again.  The sessions stand still behind their first chunks
@corruptions = ([ 'key_columns', 0 ], [ 'key_columns', 1 ], [ 'key_columns', 4 ], [ 'key_columns', 0xffffffff ],
	[ 'null_mask', 0 ], [ 'null_mask', 0xffffffff ], [ 'null_first_mask', 1 ], [ 'feeders', 0 ],
	[ 'engine', 99 ], [ 'expected_bytes', 0xffffffff ]);
while (my @now = splice @corruptions, 0, 5)
{
	my @gated = map { GpuSortTest::Session->new($node) } @now;

	%seen = ();
	for (@gated)
	{
		send_to_gate($_, 20000);
		$_->{job} = new_job(\%seen);
	}
	$bystander = GpuSortTest::Session->new($node);
	$at = { service => stop_service($node), sessions => [ @gated, $bystander ] };
	for my $i (0 .. $#now)
	{
		is(state_of($gated[$i]{job}), $feeding, 'the job has begun to feed');
		poke(find_options($gated[$i]{job}) + $option{ $now[$i][0] }, pack 'L', $now[$i][1]);
	}
	$bystander->send($hash);
	open_gate($_) for @gated;
	continue_service($at->{service});
	is($gated[$_]->finish, $right, "$now[$_][0] $now[$_][1] later: its own rows are right") for 0 .. $#now;
	is($bystander->finish, $right, 'and the other session is right');
	leave($at);
}
is(service_pid($node), $pid, 'it is still the same service');
nothing_left_over($node, 'corrupt options');

# --- the buffers that a session has handed over: their list is behind that of all its buffers
my $buffers_of_a_job = 192;

# and their number, which cannot be that
my @values = (-1, 80, 0x7fffffff, 'of another', 'free', 'too many');
$at = enter(@values + 1);
my @victims = @{ $at->{sessions} };
$bystander = pop @victims;
for my $i (0 .. $#values)
{
	my $value = $values[$i];
	my $written = $value eq 'free' ? $at->{free} : $value eq 'of another' ? $bystander->{sent}[0] : $value;
	my $list = find_options($victims[$i]{job}) + $options_bytes + 4 + 4 * $buffers_of_a_job;
	my ($n, @handed) = unpack 'Ll*', peek($list, 4 + 4 * $buffers_of_a_job);

	is(join(' ', sort { $a <=> $b } @handed[ 0 .. $n - 1 ]), join(' ', sort { $a <=> $b } @{ $victims[$i]{sent} }), "buffer $value: the list is found");
	poke($value eq 'too many' ? ($list, pack 'L', 0xffffffff) : ($list + 8, pack 'l', $written));
}
continue_service($at->{service});
for my $i (0 .. $#values)
{
	$victims[$i]->finish;
	like($victims[$i]->error, $lost, "buffer $values[$i]: the session is told");
}
is($bystander->finish, $right, 'and the other session is right');
leave($at);
is($node->safe_psql('postgres', $hash), $right, 'the rows are right');
is(service_pid($node), $pid, 'it is still the same service');
nothing_left_over($node, 'corrupt requests');
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|terminated by signal|was terminated/, 'no process was brought down');

done_testing();
