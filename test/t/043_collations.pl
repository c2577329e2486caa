# Text under collations of the C library, whose strxfrm may contradict its strcoll: the order is right,
# wherever that shows, no query fails, and from then on the server sorts natively.
#
# gpusort.debug_collation_fault = N gives strings of N bytes the sort keys of what follows their
# first byte.  Of the strings here 'x' and 'a' before a row's text are such: the first belongs
# behind all others, the second before them, and both come where that row does.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 100000;
my $device = $GpuSortTest::device eq 'host' ? 'host' : 'gpu';
my $node = new_server('collations', "gpusort.buffer_memory = '160MB'", 'max_parallel_workers = 8',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');

# --- the locales
sub create_database
{
	my ($name, $options) = @_;

	return $node->psql('postgres', "create database $name template template0 encoding 'UTF8' $options") == 0;
}

my $has_locales = create_database('texts', "locale 'en_US.UTF-8'")
  && $node->psql('texts', q{create collation de (locale = 'de_DE.UTF-8')}) == 0;
if (!$has_locales)
{
	$node->stop;
	plan skip_all => 'the locales en_US.UTF-8 and de_DE.UTF-8 are not installed';
}

# good has no string of 10 bytes, early and late have one.  Most strings come in another order by
# their bytes; the texts of faulty rows sort by place as well as by text.
sub make_text_tables
{
	my ($database) = @_;

	$node->safe_psql($database, qq{
		create extension gpusort;
		create table good as select case when i % 2 = 0 then 'row' else 'Row' end || lpad((i * 7919 % $rows)::text, 6, '0') as t, i as id from generate_series(1, $rows) i;
		create table early as select * from good union all select 'xrow000500', 0;
		create table late as select * from good union all select 'arow09' || '9500', 0;
		create table wide as select t, id, repeat('w', 400) as filler from early;
		create table wide_late as select t, id, repeat('w', 400) as filler from late;
		analyze good, early, late, wide, wide_late;});
}
make_text_tables('texts');

my $fault = 'set gpusort.debug_collation_fault = 10;';
my $native = 'set gpusort.enabled = off;';

sub hash_of
{
	my ($query, $settings, $database) = @_;

	return $node->safe_psql($database // 'texts', "$settings select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($query) q");
}

sub counter
{
	my ($name) = @_;

	return $node->safe_psql('texts', "select $name from gpusort_stats");
}

sub plan_of
{
	my ($query, $settings) = @_;

	return $node->safe_psql('texts', "$settings explain (analyze, costs off, summary off) $query");
}

# The server starts with an empty list of collations that are not trusted.
sub forget_collations
{
	$node->restart;
	wait_for_state($node, 'serving');
}

my ($by_default, $in_german) = map { "order by t$_, id" } '', ' collate de';
my %right = map { my $table = $_; map { ("$table $_" => hash_of("select t, id from $table $_", $native)) } $by_default, $in_german } 'good', 'early', 'late';

# --- no fault
for my $order ($by_default, $in_german)
{
	my $query = "select t, id from good $order";

	is(hash_of($query, ''), $right{"good $order"}, "$order: the order is right");
	like(plan_of($query, ''), qr/GpuSort.*Sort Method: $device.*Order Check Time/s, "$order: on the device, each row is checked");
	unlike(plan_of($query, 'set gpusort.libc_collations = trust;'), qr/Order Check/, "$order: trusted, none is");
	unlike(plan_of($query, 'set gpusort.libc_collations = off;'), qr/GpuSort/, "$order: off, natively");
}
is(counter('native_collation'), 0, 'no sort was native');

# --- the fault would be seen
for my $table ('early', 'late')
{
	isnt(hash_of("select t, id from $table $by_default", "$fault set gpusort.libc_collations = trust;"),
		$right{"$table $by_default"}, "$table: a wrong sort key that is trusted gives a wrong order");
}

# --- in the first block: natively from the beginning, and later sorts too
for my $workers (0, 2)
{
	my $settings = "$fault set max_parallel_workers_per_gather = $workers;";
	my $query = "select t, id from early $by_default";
	my $before = counter('native_collation');

	like($node->safe_psql('texts', "$settings explain $query"), $workers > 0 ? qr/GpuSortFeed/ : qr/GpuSort(?!Feed)/,
		"$workers workers: planned for the device");
	my $prepared = join ' ', $settings, 'set plan_cache_mode = force_generic_plan;',
	  "prepare p as select 'hash: ' || md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from ($query) q; execute p;",
	  'set gpusort.debug_collation_fault = 0; explain (analyze, costs off, summary off) execute p; execute p;';
	my $log = -s $node->logfile;
	my $out = $node->safe_psql('texts', $prepared);
	is(scalar(() = $out =~ /^hash: $right{"early $by_default"}$/mg), 2, "$workers workers: the order is right");
	like($out, qr/GpuSort.*native.*strcoll and strxfrm disagree/s, "$workers workers: the plan made before sorts natively, and says why");
	is(counter('native_collation') - $before, 3, "$workers workers: each is counted");
	my $logged = slurp_file($node->logfile, $log);
	is(scalar(() = $logged =~ /LOG: +gpusort: strcoll and strxfrm disagree for collation "default"/g), 1, "$workers workers: the log says it, once");
	unlike($node->safe_psql('texts', "$settings explain $query"), qr/GpuSort/, "$workers workers: later plans are native");
	my ($status, $out2, $err) = $node->psql('texts', "$settings set client_min_messages = debug1; explain $query");
	like($err, qr/gpusort: collation: .* \("default": its strcoll and strxfrm have disagreed since the server started\)$/m, "$workers workers: the reason is said");
	is(hash_of($query, $settings), $right{"early $by_default"}, "$workers workers: and right");
	my $behind = "select id % 2 as half, t, id from early order by half, t, id";
	is($node->safe_psql('texts', "$settings set gpusort.debug_force = off; set gpusort.debug_providers_off = 'order'; select distinct runs_on, code, reason ~ 'default.*disagreed' from gpusort_why(\$why\$$behind\$why\$)"),
		'native|collation|t', "$workers workers: a key behind one of two values keeps the sort native too");
	is(hash_of($behind, $settings), hash_of($behind, $native), "$workers workers: and where it does not, the order is right");
	like($node->safe_psql('texts', "explain select t, id from good $in_german"), qr/GpuSort/, "$workers workers: the other collation is sorted on the device");
	like($node->safe_psql('texts', 'explain select t, id from good order by t collate "C"'), qr/GpuSort/, "$workers workers: C too");
	forget_collations();
}

# --- what the sort reads need not be read again
my ($status, $out, $err);
$node->safe_psql('texts', 'create sequence s');
is($node->safe_psql('texts', "$fault select md5(string_agg(t, ' ')), count(n) from (select t, n from (select t, nextval('s') as n from early offset 0) e order by t) f"),
	$node->safe_psql('texts', "$native select md5(string_agg(t, ' ')), count(*) from (select t from early order by t) f"), 'a child with side effects: right');
is($node->safe_psql('texts', 'select last_value from s'), $rows + 1, 'it was read once');
forget_collations();

# --- behind the first rows: before any of them goes out
for my $workers (0, 2)
{
	my $settings = "$fault set max_parallel_workers_per_gather = $workers;";
	my $query = "select t, id from late $in_german";
	my $wanted = $node->safe_psql('texts', "$native begin; declare c scroll cursor for $query; fetch 1000 from c; fetch 70000 from c; fetch backward 3 from c; fetch last from c; fetch first from c; rollback;");
	my $before = counter('native_collation');

	is($node->safe_psql('texts', "$settings begin; declare c scroll cursor for $query; fetch 1000 from c; fetch 70000 from c; fetch backward 3 from c; fetch last from c; fetch first from c; rollback;"),
		$wanted, "$workers workers: a cursor gives all rows in order");
	is(counter('native_collation') - $before, 1, "$workers workers: the sort is counted");
	is(hash_of($query, $settings), $right{"late $in_german"}, "$workers workers: from then on natively, and right");
	forget_collations();
	like(plan_of($query, $settings), qr/GpuSort.*Runs Sorted Natively: 1\b/s, "$workers workers: the plan says it");
	forget_collations();
}

# --- at the end of a tie run, whose rows the check does not sort: the wrong row precedes those of other tie runs
my $long_fault = 'set gpusort.debug_collation_fault = 41; set max_parallel_workers_per_gather = 0;';
$node->safe_psql('texts', q{create table tied as select 'row' || lpad((i % 20000)::text, 6, '0') || repeat('z', 31) as t, i as id
	from generate_series(1, 100000) i union all select 'arow000500' || repeat('z', 31), 200000; analyze tied});
my $tied = "select t, id from tied $by_default";
like(plan_of($tied, $long_fault), qr/GpuSort.*Runs Sorted Natively: 1\b.*Tie Runs: 1\b/s, 'a wrong row within a tie run is seen');
forget_collations();
is(hash_of($tied, $long_fault), hash_of($tied, $native), 'and the order is right');
forget_collations();
# the check compares a value once for each tie run: this one is right in the first, with nothing before it, and wrong in the third
$node->safe_psql('texts', q{create table tied_twice as
	with tied as (select t, id from tied where t not like 'a%' union all select 'arow000001' || repeat('z', 31), 200000)
	select 1 as x, t, id from tied union all select 0, t, id from tied where t like '%row000001%'; analyze tied_twice});
my $tied_twice = 'select x, t, id from tied_twice order by x, t, id';
like(plan_of($tied_twice, $long_fault), qr/GpuSort.*Runs Sorted Natively: 1\b/s, 'a value that is right in one tie run is compared again in another');
forget_collations();
is(hash_of($tied_twice, $long_fault), hash_of($tied_twice, $native), 'and the order is right');
forget_collations();
like(plan_of($tied, 'set max_parallel_workers_per_gather = 0;'), qr/Tie Runs: 20000\b.*Order Check Time/s, 'without a fault, tie runs are in order');

# --- sorts in the backend: strcoll decides
is(hash_of("select t, id from early $by_default", "$fault set gpusort.min_rows = 90000; set work_mem = '64MB'; set max_parallel_workers_per_gather = 0;"),
	$right{"early $by_default"}, 'device: right');
forget_collations();
$node->safe_psql('texts', 'create table few as select * from early where id < 3000');
my $before = counter('in_backend');
my $few = "select t, id from few $by_default";
is(hash_of($few, "$fault set gpusort.min_rows = 20000;"), hash_of($few, $native), 'in the backend: right');
is(counter('in_backend') - $before, 1, 'in the backend: it was sorted there');
is(counter('native_collation'), 0, 'in the backend: no fault is noticed');
is(hash_of($few, "$fault set gpusort.min_rows = 1000;"), hash_of($few, $native), 'sent to the device at last: right');
is(counter('native_collation'), 1, 'sent to the device at last: the fault is noticed');
forget_collations();
# planned for many, and there are few: the rows stay in the backend
my $right_few = hash_of("select t, id from early where id <= 2000 $by_default", $native);
my $planned = q{set plan_cache_mode = force_generic_plan; create temp table t1 as select * from early; analyze t1;
	set gpusort.min_rows = 5000; prepare p as select t, id from t1 order by t, id; explain execute p;
	delete from t1 where id > 2000;};
$before = counter('in_backend');
$out = $node->safe_psql('texts', "$fault $planned create temp table f as execute p; select md5(string_agg(hash_record_extended(f, 0)::text, ' ')) from f");
like($out, qr/GpuSort/, 'planned for the device');
like($out, qr/^$right_few$/m, 'and sorted in the backend: right');
is(counter('in_backend') - $before, 1, 'it was sorted there');
is(counter('native_collation'), 0, 'nothing was found out of order');

# --- runs that are spilled: found before any row goes out, wherever it is
$node->append_conf('postgresql.conf', "gpusort.device_memory = '32MB'\n");
for my $table ('wide', 'wide_late')
{
	my $query = "select t, id, filler from $table $by_default";
	my $right = hash_of($query, $native);

	forget_collations();
	my $before = counter('native_collation');
	like(plan_of($query, ''), qr/Runs: [2-9]|Runs: \d\d/, "$table: it spills");
	is(hash_of($query, ''), $right, "$table: without a fault, right");
	isnt(hash_of($query, "$fault set gpusort.libc_collations = trust;"), $right, "$table: trusted, wrong");
	is(hash_of($query, $fault), $right, "$table: right");
	is(counter('native_collation') - $before, 1, "$table: natively");
}
$node->append_conf('postgresql.conf', "gpusort.device_memory = 'auto'\n");
forget_collations();

# --- few rows are compared in the session, more go to the device, also if they are not expected
$node->safe_psql('texts', q{
	create table scant as select md5(i::text) as t, i as id from generate_series(1, 12000) i;
	create table more as select md5(i::text) as t, i as id from generate_series(1, 90000) i;
	create table unexpected as select md5(i::text) as t, i as id from generate_series(1, 90000) i;
	analyze scant, more, unexpected;
	update pg_class set reltuples = 11000 where relname = 'unexpected';});
my $by_cost = 'set gpusort.debug_force = off; set gpusort.min_rows = 10000; set max_parallel_workers_per_gather = 0;';
for my $table (qw(scant more unexpected))
{
	my $method = $table eq 'scant' ? 'in backend' : $device;

	for my $order ($by_default, 'order by t desc', "$in_german desc")
	{
		like(plan_of("select t, id from $table $order", "$by_cost set work_mem = '64MB';"), qr/Sort Method: $method\n/, "$table $order: $method");
		is(hash_of("select t, id from $table $order", "$by_cost set work_mem = '$_';"), hash_of("select t, id from $table $order", $native), "$table $order, $_: right")
		  for '256kB', '64MB';
	}
}

# --- dictionaries: ranks are strcoll's own; among values that are not known sort keys tell, and are checked
$node->safe_psql('texts', qq{
	create table ranked as select 'kind ' || i * 7919 % 7 as t, i as id from generate_series(1, $rows) i;
	create table half_ranked as select case when id < $rows / 2 then t else 'row' || lpad(id::text, 6, '0') end as t, id from ranked;
	create table ranked_early as select * from half_ranked union all select 'xrow060000', 0;
	create table ranked_first as select * from half_ranked union all select 'akin 3 ...', 0;});
# a sort begins as PostgreSQL's own, up to so many rows
my $serial = 'set max_parallel_workers_per_gather = 0; set gpusort.min_rows = 10000;';
# six rows of three names: by the statistics, half of the table's rows are distinct, and not half of a join's
$node->safe_psql('texts', q{create table of_six as select i as n, 'a name that is long ' || i % 3 as name from generate_series(0, 5) i; analyze of_six});
like(plan_of('select name, id from good join of_six on id % 6 = n order by name, id', $serial),
	qr/Dictionary Keys: 1\b.*Tie Runs: 0\b/s, 'a join with few names has a dictionary of them');
# the first rows have two of twenty values, and the statistics all
$node->safe_psql('texts', qq{create table lying_in_order as select 'kind number ' || i / 5000 as t, i as id from generate_series(0, $rows - 1) i; analyze lying_in_order});
for my $workers (0, 2)
{
	my $settings = "$serial set max_parallel_workers_per_gather = $workers;";
	my $query = 'select t, id from lying_in_order order by t desc, id';

	like(plan_of($query, $settings), qr/Dictionary Keys: 1\b.*Tie Runs: 0\b/s, "$workers workers: a dictionary has the column's common values");
	is(hash_of($query, $settings), hash_of($query, $native), "$workers workers: right");
}
for my $order ($by_default, $in_german)
{
	my %right_of = map { $_ => hash_of("select t, id from $_ $order", $native) } qw(ranked half_ranked ranked_early ranked_first);

	for my $statistics ('without', 'with')
	{
		my $plan = plan_of("select t, id from ranked $order", $serial);

		like($plan, qr/Sort Method: $device.*Dictionary Keys: 1.*Tie Runs: 0\b/s, "$order, $statistics statistics: by a dictionary");
		unlike($plan, qr/Order Check/, "$order, $statistics statistics: nothing is checked");
		is(hash_of("select t, id from ranked $order", "$serial $fault"), $right_of{ranked}, "$order, $statistics statistics: right");
		$node->safe_psql('texts', 'analyze ranked');
	}
	like(plan_of("select t, id from half_ranked $order", $serial), qr/Dictionary Keys: 1.*Order Check Time/s, "$order: sort keys of other values are checked");
	is(hash_of("select t, id from half_ranked $order", $serial), $right_of{half_ranked}, "$order: the others are right");
	unlike(plan_of("select t, id from half_ranked $order", "$serial set gpusort.libc_collations = trust;"), qr/Order Check/, "$order: trusted, none is checked");
	for my $table ('ranked_early', 'ranked_first')
	{
		my $before = counter('native_collation');
		is(hash_of("select t, id from $table $order", "$serial $fault"), $right_of{$table}, "$order, $table: right");
		ok($table eq 'ranked_first' || counter('native_collation') > $before, "$order, $table: a wrong sort key has been noticed");
		forget_collations();
	}
	isnt(hash_of("select t, id from ranked_early $order", "$serial $fault set gpusort.libc_collations = trust;"), $right_of{ranked_early}, "$order: one that is trusted gives a wrong order");
}

# --- the setting changes between plan and execution
my $query = "select t, id from good $by_default";
for my $change ([ 'verify', 'off' ], [ 'trust', 'off' ], [ 'trust', 'verify' ], [ 'verify', 'trust' ])
{
	my ($planned_with, $run_with) = @$change;
	my $out = $node->safe_psql('texts', qq{set plan_cache_mode = force_generic_plan; set gpusort.libc_collations = $planned_with;
		prepare p as $query; explain execute p; set gpusort.libc_collations = $run_with;
		explain (analyze, costs off, summary off) execute p; create temp table f as execute p;
		select 'rows: ' || md5(string_agg(hash_record_extended(f, 0)::text, ' ')) from f});

	like($out, qr/rows: $right{"good $by_default"}/, "planned with $planned_with, run with $run_with: right");
	like($out, $run_with eq 'off' ? qr/native.*strcoll and strxfrm disagree/ : $run_with eq 'verify' ? qr/Order Check Time/ : qr/Sort Method: $device/,
		"planned with $planned_with, run with $run_with: as the latter says");
	unlike($out, qr/Order Check Time/, "planned with $planned_with, run with $run_with: nothing is checked") if $run_with eq 'trust';
}

# --- who may say that they are to be trusted
$node->safe_psql('texts', 'create role somebody');
($status, $out, $err) = $node->psql('texts', 'set role somebody; set gpusort.libc_collations = trust');
like($err, qr/permission denied to set parameter/, 'not anybody');
($status, $out, $err) = $node->psql('texts', 'set role somebody; set gpusort.debug_collation_fault = 3');
like($err, qr/permission denied to set parameter/, 'nor set the fault');
is($node->safe_psql('texts', 'grant set on parameter gpusort.libc_collations to somebody; set role somebody; set gpusort.libc_collations = trust; show gpusort.libc_collations'),
	'trust', 'but who is granted it');

# --- the list is each database's own
$node->psql('texts', "$fault select count(*) from (select t from early order by t offset 0) e");
create_database('others', "locale 'en_US.UTF-8'");
$node->safe_psql('others', "create extension gpusort; create table good as select 'row' || i as t from generate_series(1, 20000) i; analyze good");
like($node->safe_psql('others', 'explain select * from good order by t'), qr/GpuSort/, "another database's default is another collation");

# --- ICU's collations: as a database's default, and in another encoding than UTF-8.  Nothing is checked.
for my $database ([ 'icu', "encoding 'UTF8' locale 'en_US.UTF-8' locale_provider icu icu_locale 'en-u-kn'", '' ],
	[ 'latin', "encoding 'LATIN1' locale 'C'", 'collate "fr-x-icu"' ])
{
	my ($name, $options, $collation) = @$database;

  SKIP:
	{
		skip "no database with $options", 3 if $node->psql('postgres', "create database $name template template0 $options") != 0;
		$node->safe_psql($name, q{set client_encoding = 'UTF8'; create extension gpusort;
			create table words as select (array['e', 'E', 'é', 'É', 'z', 'ß', 'ss', '', '10', '9', ' '])[1 + i % 11] || repeat('ä', i % 13) || i % 100 as t, i as id from generate_series(1, 20000) i;
			insert into words select null, 0; analyze words});
		my $query = "select convert_to(t, 'UTF8'), id from words order by t $collation, id";

		is(hash_of($query, '', $name), hash_of($query, $native, $name), "$name: right");
		isnt(hash_of($query, '', $name), hash_of("select convert_to(t, 'UTF8'), id from words order by t collate \"C\", id", '', $name), "$name: not as by bytes");
		my $plan = $node->safe_psql($name, "explain (analyze) select t, id from words order by t $collation, id");
		ok($plan =~ /GpuSort.*Sort Method: $device/s && $plan !~ /Order Check/, "$name: on the device");
	}
}

$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|was terminated/, 'no process was brought down');
done_testing();
