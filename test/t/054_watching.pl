# PostgreSQL's own reports on sorts cover these too: log_temp_files, track_io_timing, EXPLAIN's BUFFERS,
# pg_stat_statements, pg_stat_database, auto_explain, and the names of waits.
#
# Each report is read for a sort that spills, and for the Sort that takes its place.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use JSON::PP;
use List::Util qw(sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('watching', "shared_preload_libraries = 'pg_stat_statements, auto_explain, gpusort'",
	"gpusort.device_memory = '32MB'", "gpusort.buffer_memory = '64MB'", "work_mem = '4MB'",
	'pg_stat_statements.track_planning = off', 'compute_query_id = on', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', 'create extension pg_stat_statements; alter table big set (parallel_workers = 2)');

my $version = $node->safe_psql('postgres', "select current_setting('server_version_num')::int4 / 10000");
my $session = GpuSortTest::Session->new($node);
my $by_device = 'select * from big order by k';
my $by_backend = 'select * from big order by hashint8extended(k % 50, 0), hashint8extended(k % 100, 1), hashint8extended(id % 3, 2), id';

sub blocks { return int(($_[0] + 8191) / 8192) }

# All nodes of a plan in EXPLAIN's JSON.
sub nodes_of
{
	my ($plan) = @_;

	return ($plan, map { nodes_of($_) } @{ $plan->{Plans} // [] });
}

sub explained
{
	my ($query, $options) = @_;

	# with less memory there are more runs
	nobody_sorts($node);
	return decode_json($session->query("explain (analyze, format json, $options) $query"))->[0]{Plan};
}

# The node that sorts: ours, or PostgreSQL's.
sub sort_of
{
	my ($plan) = @_;
	my ($node) = grep { $_->{'Node Type'} eq 'Sort' || ($_->{'Custom Plan Provider'} // '') eq 'GpuSort' } nodes_of($plan);

	return $node;
}

# The lines of log_temp_files since a mark.
sub logged_files
{
	my ($mark) = @_;
	my $log = slurp_file($node->logfile, $mark);
	my @files;

	while ($log =~ /LOG:  (?:00000: )?temporary file: path "([^"]*)", size (\d+)/g)
	{
		push @files, { path => $1, size => $2 };
	}
	return @files;
}

# --- log_temp_files
for my $case ([ 'merged by the device', $by_device ], [ 'merged by the backend', $by_backend ],
	[ 'wide rows, which fill no buffer', 'select k, repeat(filler, 200 + id % 50) as wide from big where id <= 6000 order by k' ])
{
	my ($name, $query) = @$case;
	my $mark = -s $node->logfile;
	my $node_of_sort = sort_of(do { $session->query('set log_temp_files = 0'); explained($query, 'buffers') });
	my @files = logged_files($mark);
	my $bytes = sum(map { $_->{size} } @files) // 0;
	my $blocks = sum(map { blocks($_->{size}) } @files) // 0;

	cmp_ok($node_of_sort->{Runs}, '>=', 2, "$name: it spills $node_of_sort->{Runs} runs");
	is(scalar @files, $node_of_sort->{Runs}, "$name: log_temp_files tells of each");
	is(scalar(grep { $_->{path} !~ m{^base/pgsql_tmp/pgsql_tmp$session->{pid}\.\d+$} } @files), 0, "$name: by its path");
	is($bytes, $node_of_sort->{'Disk Bytes'}, "$name: with its size");
	# exactly: every byte is written once and read once
	is($node_of_sort->{'Temp Written Blocks'}, $blocks, "$name: EXPLAIN (BUFFERS) counts the blocks written");
	is($node_of_sort->{'Temp Read Blocks'}, $blocks, "$name: and read");

	my $large = 5000;
	nobody_sorts($node);
	$mark = -s $node->logfile;
	$session->query("set log_temp_files = $large; explain (analyze) $query");
	is(scalar logged_files($mark), scalar(grep { $_->{size} >= $large * 1024 } @files), "$name: log_temp_files = $large is kept to");
	$mark = -s $node->logfile;
	$session->query("set log_temp_files = 0; begin; declare c no scroll cursor for $query; fetch 1 from c; select 1 / 0");
	$session->query('rollback');
	cmp_ok(scalar logged_files($mark), '>=', 2, "$name: also after an error");
	$session->query('reset log_temp_files');
}

# --- track_io_timing: the lines that a Sort has
my %lines;
for my $who ('Sort', 'GpuSort')
{
	my @times = ('Temp I/O Read Time', 'Temp I/O Write Time');
	my ($timed, $untimed);

	$session->query('set gpusort.enabled = ' . ($who eq 'Sort' ? 'off' : 'on'));
	$session->query('set track_io_timing = on');
	$timed = sort_of(explained($by_device, 'buffers'));
	$lines{$who} = join ', ', sort grep { /^(Temp|Shared|Local) / } keys %$timed;
	cmp_ok($timed->{$_}, '>', 0, "$who: $_, $timed->{$_} ms") for @times;
	cmp_ok(sum(@$timed{@times}), '<', $timed->{'Actual Total Time'}, "$who: in all, less than the sort took");
	like($session->query("explain (analyze, buffers) $by_device"), qr/Sort.*?temp read=\d+ written=\d+\n *I\/O Timings: .*temp read=[\d.]+ write=[\d.]+/s, "$who: as text");
	$session->query('set track_io_timing = off');
	$untimed = sort_of(explained($by_device, 'buffers'));
	is(join(' ', map { $untimed->{$_} // 0 } @times), '0 0', "$who: without track_io_timing no times");
	cmp_ok($untimed->{'Temp Written Blocks'}, '>', 1000, "$who: but blocks");
}
is($lines{GpuSort}, $lines{Sort}, 'the same properties');
$session->query('set track_io_timing = on');

# --- pg_stat_statements
for my $case ([ 'serial', 0, $by_device ], [ 'serial, merged by the backend', 0, $by_backend ], [ 'parallel', 2, $by_device ])
{
	my ($name, $workers, $query) = @$case;
	my ($written, $read);

	$session->query("set max_parallel_workers_per_gather = $workers; select pg_stat_statements_reset()");
	$session->query("set gpusort.enabled = on");
	$session->query($query);
	($written, $read) = split /\|/, $session->query("select temp_blks_written, temp_blks_read from pg_stat_statements where query like 'select * from big order by %'");
	cmp_ok($written, '>', 1000, "pg_stat_statements, $name: $written temporary blocks written");
	is($read, $written, "pg_stat_statements, $name: and as many read");
	is($session->query("select calls, rows, temp_blk_read_time > 0, temp_blk_write_time > 0 from pg_stat_statements where query like 'select * from big order by %'"),
		'1|300000|t|t', "pg_stat_statements, $name: calls, rows, times");
	$session->query("set gpusort.enabled = off");
	$session->query($query);
	is($session->query("select count(*), sum(calls), sum(rows) from pg_stat_statements where query like 'select * from big order by %'"),
		'1|2|600000', "pg_stat_statements, $name: with a Sort it is the same statement");
	$session->query("set gpusort.enabled = on");
}
$session->query('set max_parallel_workers_per_gather = 0');
my ($with) = $session->query("explain (verbose, costs off) $by_device") =~ /Query Identifier: (-?\d+)/;
my ($without) = $session->query("set gpusort.enabled = off; explain (verbose, costs off) $by_device; set gpusort.enabled = on") =~ /Query Identifier: (-?\d+)/;
is($with, $without, "EXPLAIN (VERBOSE): the query's identifier is what it is without gpusort");

# --- pg_stat_database
my $counted = 'select temp_files, temp_bytes from pg_stat_database where datname = current_database()';
$session->query('select pg_stat_force_next_flush()');
$node->poll_query_until('postgres', "select temp_files >= 2 and temp_bytes > 10000000 from pg_stat_database where datname = 'postgres'");
my ($files_before, $bytes_before) = split /\|/, $node->safe_psql('postgres', $counted);
my $plan = sort_of(explained($by_device, 'buffers'));
$session->query('select pg_stat_force_next_flush()');
ok($node->poll_query_until('postgres', "select temp_files = $files_before + $plan->{Runs} from pg_stat_database where datname = 'postgres'"), 'pg_stat_database counts the files');
my (undef, $bytes_after) = split /\|/, $node->safe_psql('postgres', $counted);
is($bytes_after - $bytes_before, $plan->{'Disk Bytes'}, 'and their bytes');

# --- auto_explain
sub auto_explained
{
	my ($settings, $query) = @_;

	$session->query("set auto_explain.log_min_duration = 0; $settings");
	nobody_sorts($node);
	my $mark = -s $node->logfile;
	$session->query($query);
	$session->query('set auto_explain.log_min_duration = -1; reset auto_explain.log_analyze; reset auto_explain.log_buffers; reset auto_explain.log_format');
	return slurp_file($node->logfile, $mark);
}

for my $case ([ 'spilled', $by_device ], [ 'in one run', 'select k from small order by k' ], [ 'of few rows', 'select k from small where id < 10 order by k' ])
{
	my ($name, $query) = @$case;
	my $log = auto_explained("set auto_explain.log_analyze = on; set auto_explain.log_buffers = on; set auto_explain.log_format = 'json'; " . ($name eq 'of few rows' ? 'set gpusort.min_rows = 1000' : ''), $query);
	my ($json) = $log =~ /plan:\n(\t\{\n.*?\n\t\})$/ms;
	my $explained = eval { decode_json($json) } // {};
	my $logged = sort_of($explained->{Plan} // {}) // {};
	my $expected = sort_of(explained($query, 'buffers'));

	is($explained->{'Query Text'} =~ s/;$//r, $query, "auto_explain, $name: JSON");
	is($logged->{'Node Type'}, 'Custom Scan', "auto_explain, $name: the node");
	is(join(' ', @{ $logged->{'Sort Key'} // [] }), join(' ', @{ $expected->{'Sort Key'} }), "auto_explain, $name: its key");
	is(join(', ', sort keys %$logged), join(', ', sort keys %$expected), "auto_explain, $name: the lines of EXPLAIN (ANALYZE, BUFFERS)");
	is($logged->{$_}, $expected->{$_}, "auto_explain, $name: $_") for grep { exists $expected->{$_} } 'Sort Method', 'Actual Rows', 'Runs', 'Disk Bytes', 'Temp Written Blocks';
	$session->query('reset gpusort.min_rows');
}
like(auto_explained('set auto_explain.log_analyze = on', $by_device), qr/Custom Scan \(GpuSort\).*\n.*Sort Key: k\n.*Sort Method: \w+ external merge\n.*Runs: \d+\n/, 'auto_explain as text');
like(auto_explained('set auto_explain.log_analyze = off', $by_device), qr/Custom Scan \(GpuSort\).*\n.*Sort Key: k\n(?!.*Sort Method)/, 'auto_explain without ANALYZE');
$session->query('set max_parallel_workers_per_gather = 2');
like(auto_explained('set auto_explain.log_analyze = on', $by_device), qr/Custom Scan \(GpuSort\).*Rows Fed: [1-9].*Gather.*Custom Scan \(GpuSortFeed\)/s, 'auto_explain of a parallel plan');
$session->query('set max_parallel_workers_per_gather = 0');

# --- waits have names from 17 on.  Of the second query the job is open, and has not all rows, when its service is halted
$node->safe_psql('postgres', q{
	create function held(id int4) returns bool volatile language plpgsql as
		$$ begin if id = 5000 then perform pg_advisory_lock_shared(54); perform pg_advisory_unlock_shared(54); end if; return true; end $$});
my @waits = (
	[ 'GpusortFeed', 'select * from big order by k', '' ],
	[ 'GpusortSort', 'select k from small where held(id) order by k', '' ],
	[ 'GpusortOutput', 'fetch absolute 1 from c', 'begin; declare c scroll cursor for select * from big where id <= 80000 order by k; move all in c' ]);
my $watcher = GpuSortTest::Session->new($node);

$watcher->query('set gpusort.enabled = off');
for my $wait (@waits)
{
	my ($name, $statement, $before) = @$wait;
	my $shown = $version >= 17 ? $name : 'Extension';
	my ($service, $seen);

	nobody_sorts($node);
	$session->query($before) if $before;
	$watcher->query('select pg_advisory_lock(54)');
	$session->send($statement) if $statement =~ /held/;
	$node->poll_query_until('postgres', q{select count(*) = 1 from pg_locks where locktype = 'advisory' and not granted}) or fail('it did not come to its gate')
	  if $statement =~ /held/;
	$node->poll_query_until('postgres', 'select open_jobs = 1 from gpusort_devices') or fail('its job is not open')
	  if $statement =~ /held/;
	$service = stop_service($node);
	$session->send($statement) if $statement !~ /held/;
	$watcher->query('select pg_advisory_unlock(54)');
	for (1 .. 9000)
	{
		$seen = $watcher->query("select wait_event_type, wait_event from pg_stat_activity where pid = $session->{pid}");
		last if $seen eq "Extension|$shown";
		select undef, undef, undef, 0.02;
	}
	continue_service($service);
	$session->finish;
	$session->query('rollback') if $before;
	is($seen, "Extension|$shown", "on $version a session that waits as $name shows $shown");
	is($session->error, '', 'and goes on');
}
# it may be at work yet
my $own = $version >= 17 ? 'GpusortServiceMain' : 'Extension';
ok($node->poll_query_until('postgres', "select bool_and(wait_event is not distinct from '$own') from pg_stat_activity where backend_type = 'gpusort service'"), 'the service\'s own');
if ($version >= 17)
{
	is($watcher->query("select string_agg(name, ' ' order by name) from pg_wait_events where type = 'Extension' and name like 'Gpusort%'"),
		'GpusortFeed GpusortOutput GpusortServiceCall GpusortServiceMain GpusortSort', 'pg_wait_events lists them');
}
$_->close for $session, $watcher;
nothing_left_over($node, 'all');
$node->stop;

done_testing();
