# An index build ends early: a cancel, a terminated or killed session, a device that is lost, a killed service, duplicates
# behind all other rows, a full disk, a server that crashes.  Each comes while the build scans, while it waits for the device, and while
# it loads the index.
#
# The index is not there afterwards, nor is its file if the server has not crashed, and the next build makes a whole one.  A
# standby that has followed all of this has the same indexes.  With wal_level = minimal, indexes survive a crash too.
# test/t/020_faults.pl has the device's calls fail below builds.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IndexBuilds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# --- builds that can be held

# The table's rows: their index does not fit the buffers of a job.
my $rows = 40000;

sub make_rows
{
	my ($node) = @_;

	make_tables($node);
	$node->safe_psql('postgres', qq{
		create extension amcheck;
		-- i, but at a row it waits until the file is in the data directory
		create function hold(i int4, at int4, file text) returns int4 immutable language plpgsql as \$\$
			begin
				while i = at and pg_stat_file(file, true) is null loop
					perform pg_sleep(0.01);
				end loop;
				return i;
			end \$\$;
		-- integers, whose comparison waits for the file load
		create function compare(a int4, b int4) returns int4 immutable language plpgsql as \$\$
			begin
				while $rows / 2 in (a, b) and pg_stat_file('load', true) is null loop
					perform pg_sleep(0.01);
				end loop;
				return btint4cmp(a, b);
			end \$\$;
		create table t as select i as id, i % 4000 as tenth, least(i, $rows - 1) as nearly, repeat(md5(i::text), 7) as filler from generate_series(1, $rows) i;
		-- the indexes that are there, each checked
		create function whole_indexes() returns text language plpgsql as \$\$
			begin
				perform bt_index_check(oid, true) from pg_class where relname ~ '^ix';
				if not pg_is_in_recovery() then
					perform bt_index_parent_check(oid, true, true) from pg_class where relname ~ '^ix';
				end if;
				return string_agg(relname, ' ' order by relname) from pg_class where relname ~ '^ix';
			end \$\$});
	make_operator_class($node, 'held', 'compare');
	return;
}

my %definitions = (
	scan => "(hold(id, $rows / 2, 'scan'), filler)",
	sort => "(hold(id, $rows, 'sort'), filler)",
	load => '(tenth, id held) include (filler)');

sub let_go
{
	my ($node, $stage) = @_;

	append_to_file($node->data_dir . "/$stage", '');
	return;
}

# A session whose build stands still in that stage.  In stage sort all rows have been scanned, and the service is halted: the
# second value.
sub build_until
{
	my ($node, $stage) = @_;
	my $session = GpuSortTest::Session->new($node);
	my $waits = "select wait_event = 'PgSleep' from pg_stat_activity where pid = $session->{pid}";
	my $service;

	unlink $node->data_dir . "/$_" for keys %definitions;
	let_go($node, 'load') if $stage ne 'load';
	$session->send("set gpusort.index_builds = on; create index ix on t $definitions{$stage}");
	$node->poll_query_until('postgres', $waits) or die "the build does not come to stage $stage";
	if ($stage eq 'sort')
	{
		$service = stop_service($node);
		let_go($node, 'sort');
		$session->wait_until_waiting or die 'the build does not wait for the service';
	}
	like($node->safe_psql('postgres', "select phase from pg_stat_progress_create_index where pid = $session->{pid}"),
		{ scan => qr/scanning table$/, sort => qr/scanning table$|sorting live tuples$/, load => qr/loading tuples in tree$/ }->{$stage}, "stage $stage");
	return ($session, $service);
}

# How many files belong to no relation.  A dropped relation's file goes at the next checkpoint.
sub files_of_nobody
{
	my ($node) = @_;

	return $node->safe_psql('postgres', q{
		checkpoint;
		select count(*) from pg_ls_dir('base/' || (select oid from pg_database where datname = current_database())) f
			where f ~ '^[0-9]+$' and f::oid not in (select pg_relation_filenode(oid) from pg_class where pg_relation_filenode(oid) is not null)});
}

# After a build that has failed, and that had held in that stage: there is no index, and the next build makes one.
sub not_there
{
	my ($node, $stage, $what) = @_;

	wait_for_state($node, 'serving');
	is($node->safe_psql('postgres', "select count(*) from pg_class where relname = 'ix'"), '0', "$what: no index");
	let_go($node, $_) for keys %definitions;
	nothing_left_over($node, $what);
	my ($status, $out, $err) = $node->psql('postgres', "set gpusort.index_builds = on; select gpusort_stats_reset(); create index ix on t $definitions{$stage}; select index_builds, split_part(whole_indexes(), ' ', 1) from gpusort_stats; drop index ix");
	is("$out$err", "\n1|ix", "$what: the next build makes a whole one");
	return;
}

# --- a primary, and a standby that follows

my $node = new_server('build_faults', 'max_wal_size = 2GB');
wait_for_state($node, 'serving');
make_rows($node);
$node->backup('before');
my $standby = PostgreSQL::Test::Cluster->new('build_faults_standby');
$standby->init_from_backup($node, 'before', has_streaming => 1);
$standby->start;

# --- a session ends its build, or the device fails

my %events = (
	'a cancel' => [ sub { $node->safe_psql('postgres', "select pg_cancel_backend($_[0]{pid})") }, qr/ERROR:  57014: canceling statement due to user request/ ],
	'a terminated session' => [ sub { $node->safe_psql('postgres', "select pg_terminate_backend($_[0]{pid})") }, qr/FATAL:  57P01: terminating connection/ ],
	'a lost device' => [
		sub {
			my ($session, $service, $stage) = @_;
			my $pid = $service // service_pid($node);

			kill 'TERM', $pid;
			continue_service($pid);
			wait_for_end($node, $pid);
			let_go($node, $stage);
		},
		qr/ERROR:  58000: the sort device failed during a sort/ ]);

for my $event (sort keys %events)
{
	for my $stage (sort keys %definitions)
	{
		my ($session, $service) = build_until($node, $stage);
		my ($do, $error) = @{ $events{$event} };

		$do->($session, $service, $stage);
		$session->finish;
		continue_service($service) if defined $service;
		like($session->error, $error, "$event, $stage: the error");
		$session->close;
		not_there($node, $stage, "$event, $stage");
	}
}

# --- duplicates that come last

for my $settings ('', 'set gpusort.min_rows = 1000000;', 'set maintenance_work_mem = 1024;')
{
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nset gpusort.index_builds = on; $settings create unique index ix on t (nearly) include (filler)");

	like($err, qr/ERROR:  23505: could not create unique index "ix"\nDETAIL:  Key \(nearly\)=\(@{[ $rows - 1 ]}\) is duplicated/, "duplicates, with: $settings");
	not_there($node, 'load', "duplicates, with: $settings");
}

# --- the index's file cannot grow, as on a full disk: no file of the process that writes it may exceed 17 MB, and the index would

# PROCESS: whose files are limited.  A worker has the limit of the server, from which it is started.
sub limit_files
{
	my ($process, $limit) = @_;

	is(system('prlimit', "--pid=$process", "--fsize=$limit:unlimited"), 0, "files of at most $limit bytes");
	return;
}

my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
for my $workers (0, 1, 2)
{
	my $limited = GpuSortTest::Session->new($node);

	limit_files($workers ? $postmaster : $limited->{pid}, 17 * 1024 * 1024);
	$node->safe_psql('postgres', "alter table t set (parallel_workers = $workers)");
	$limited->query("set gpusort.index_builds = on; create index ix on t (tenth, id) include (filler, filler)");
	limit_files($postmaster, 'unlimited');
	like($limited->error, qr/ERROR: .*could not extend file .*: File too large/, "a file that cannot grow, $workers workers");
	like($limited->error, $workers ? qr/CONTEXT:  parallel worker/ : qr/^(?!.*parallel worker)/s, 'who writes says so');
	$limited->close;
	not_there($node, 'load', "a file that cannot grow, $workers workers");
}

# --- the worker that loads the index ends, or the one that writes its pages

for my $workers (1, 2)
{
	$node->safe_psql('postgres', "alter table t set (parallel_workers = $workers)");
	for my $ended (0 .. $workers - 1)
	{
		my ($unloaded) = build_until($node, 'load');
		my @pids = split /\n/, $node->safe_psql('postgres', "select pid from pg_stat_activity where leader_pid = $unloaded->{pid} order by backend_start");

		is(scalar @pids, $workers, "$workers workers load");
		$node->safe_psql('postgres', "select pg_terminate_backend($pids[$ended], 10000)");
		let_go($node, 'load');
		$unloaded->finish;
		like($unloaded->error, qr/terminating .* due to administrator command/, "the build ends with worker $ended");
		$unloaded->close;
		not_there($node, 'load', "worker $ended of $workers");
	}
}

# in a transaction that goes on
$node->safe_psql('postgres', qq{
	set gpusort.index_builds = on;
	begin;
	create index ix_kept on t (tenth);
	savepoint s;
	create index ix_gone on t (id, tenth);
	rollback to s;
	create unique index ix_unique on t (id);
	commit});
is($node->safe_psql('postgres', 'select whole_indexes()'), 'ix_kept ix_unique', 'of a transaction, those that it has not rolled back');
is(files_of_nobody($node), '0', 'failed builds leave no files');

# --- the server crashes: what it leaves of files that nobody knows, PostgreSQL does not remove

sub crash
{
	my ($stage, $what, $pid_of) = @_;
	my ($session, $service) = build_until($node, $stage);
	my $pid = $pid_of->($session);

	kill 'KILL', $pid;
	continue_service($service) if defined $service;
	$session->finish;
	ok(wait_for_restart($node, $pid), "$what, $stage: the server is back");
	$session->close;
	not_there($node, $stage, "$what, $stage");
	return;
}

crash($_, 'a killed session', sub { $_[0]{pid} }) for sort keys %definitions;
crash($_, 'a killed service', sub { service_pid($node) }) for sort keys %definitions;

# All processes end at once, one build at its end, one after a checkpoint in its middle, which counts as replayed.
my ($session) = build_until($node, 'load');
$node->safe_psql('postgres', 'checkpoint');
let_go($node, 'load');
$session->finish;
is($session->error, '', 'a checkpoint within a build');
$session->close;
$node->safe_psql('postgres', 'set gpusort.index_builds = on; create index ix_last on t (filler); alter index ix rename to ix_checkpoint');
($session) = build_until($node, 'load');
$node->stop('immediate');
$session->finish;
$session->close;
$node->start;
is($node->safe_psql('postgres', q{select count(*) from pg_class where relname = 'ix'}), '0', 'a crash within a build: no index');
my $whole = 'ix_checkpoint ix_kept ix_last ix_unique';
let_go($node, 'load');
is($node->safe_psql('postgres', 'select whole_indexes()'), $whole, 'indexes that were built survive it');

# --- the standby has the same

let_go($standby, 'load');
$node->safe_psql('postgres', 'set gpusort.index_builds = on; create index ix_z on t (tenth) where id % 3 = 0');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', 'select whole_indexes()'), "$whole ix_z", 'a standby has them');
$standby->promote;
is($standby->safe_psql('postgres', 'select whole_indexes()'), "$whole ix_z", 'and still when it is promoted');
$_->stop for $standby, $node;

# --- an index that has no WAL until the transaction commits

my $minimal = new_server('build_minimal', 'wal_level = minimal', 'max_wal_senders = 0');
wait_for_state($minimal, 'serving');
make_rows($minimal);
let_go($minimal, 'load');
my $expected = '';
# files go to disk when the transaction commits, or small ones into the WAL
for my $threshold ('0', '1GB')
{
	my $name = "ix_$threshold";

	$expected .= " $name ${name}_created";
	$minimal->safe_psql('postgres', qq{
		set wal_skip_threshold = '$threshold';
		set gpusort.index_builds = on;
		create index "$name" on t (filler);
		begin;
		create table "t_$threshold" as select * from t;
		create unique index "${name}_created" on "t_$threshold" (id);
		insert into "t_$threshold" values (0, 0, 0, '');
		commit;
		begin;
		create index ix_gone on t (nearly);
		rollback});
}
is($minimal->safe_psql('postgres', 'select index_builds from gpusort_stats'), '6', 'wal_level = minimal: builds');
$session = (build_until($minimal, 'load'))[0];
$minimal->stop('immediate');
$session->finish;
$session->close;
$minimal->start;
let_go($minimal, 'load');
is($minimal->safe_psql('postgres', 'select whole_indexes()'), join(' ', sort split ' ', $expected), 'wal_level = minimal: indexes survive a crash');
wait_for_state($minimal, 'serving');
not_there($minimal, 'load', 'wal_level = minimal');
$minimal->stop;
# PostgreSQL has no SQLSTATE for a file that may not grow
quiet_log($_, qr/could not extend file/) for $node, $minimal, $standby;

done_testing();
