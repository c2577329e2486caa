# gpusort_why tells of each sort of a plan where it runs and why, and never runs the query; each reason
# that keeps a Sort native is told and counted.  EXPLAIN (GPUSORT), where PostgreSQL has options of
# extensions, says the same.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('why', 'gpusort.debug_force = off', 'gpusort.min_rows = 10000', 'timezone = UTC');

wait_for_state($node, 'serving');
$node->safe_psql('postgres', q{
	create table t as select hashint8(i)::int8 as k8, i as id, 'x' || i as s, (i % 3)::text as few, array[i] as a
		from generate_series(1, 60000) i;
	create table small as select * from t limit 10;
	create table wide as select i as id, repeat('w', 1000) as filler from generate_series(1, 2000) i;
	create table indexed as select i / 100 as a, i as b from generate_series(1, 60000) i;
	create index on indexed(a);
	create index on indexed(b);
	analyze;
	create function never() returns int8 language plpgsql as $$ begin raise 'it was run'; end $$;
	create role reader;
	create role owner_of_nothing});

# The rows of gpusort_why, columns by '|'.
sub why
{
	my ($query, $columns, $settings) = @_;

	return $node->safe_psql('postgres', ($settings // '') . "; select " . ($columns // 'node, runs_on, code') . " from gpusort_why(\$why\$$query\$why\$)");
}

sub planned_native
{
	my ($name) = @_;

	return $node->safe_psql('postgres', "select planned_native_$name from gpusort_stats");
}

# --- where a sort runs

is(why('select * from t order by k8', '*'), 'GpuSort|k8 bigint|60000|' . 60000 * 45 . '|device||60000 rows are expected|', 'device');
is(why('select * from (select * from t where id < 200) q order by s desc, k8', 'node, sort_key, runs_on, code'),
	'GpuSort|t.s text DESC, t.k8 bigint|backend|few_rows', 'few rows expected: in the backend');
like(why('select * from t where id < 200 order by k8', 'reason, remedy'),
	qr/^\d+ rows are expected, fewer than gpusort\.min_rows \(10000\)\|none; rows go to the device once gpusort.min_rows of them have come, or more than work_mem holds$/, 'and why');
is(why('select * from t where id < 5000 order by k8', 'runs_on, code, reason ~ $$^\d+ rows are expected$$', 'set work_mem = 64'),
	'device||t', 'few rows, but wide ones');
stays('few_rows', 'select * from small order by k8', 'set gpusort.min_rows = -1', qr/the planner expects too few rows, less than a hundredth of gpusort\.min_rows/);
is(why('select * from t', 'node is null, runs_on is null, code, reason, remedy'), 't|t|no_sort|the plan has no sort: rows are hashed, come from an index in order, or need no order|none', 'a plan without a sort');
is(why('select * from (select *, row_number() over (order by k8) as n from t) q order by s'), "GpuSort|device|\nGpuSort|device|", 'a row for each sort');
like(why('select * from t order by k8', 'reason', 'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 1; set min_parallel_table_scan_size = 0'),
	qr/read by parallel workers$/, 'a parallel plan');
like($node->safe_psql('postgres', 'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set min_parallel_table_scan_size = 0; explain select * from t order by k8'),
	qr/GpuSort\).* rows=60000 .*Gather .* rows=60000 .*GpuSortFeed\).* rows=25000 /s, 'which expects rows in all its nodes');

my $in_workers = 'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; set enable_hashjoin = off; set enable_nestloop = off';
is(why('select count(*), sum(a.id) from (select k8 % 1000 as m, id from t) a join (select k8 % 1000 as m from t where id <= 40000) b on a.m = b.m', 'distinct node, runs_on, reason ~ $$^\d+ rows are expected$$', $in_workers),
	'GpuSort in each parallel worker|device|t', 'sorts of workers');

# --- sorts inside aggregates

my $median = 'percentile_disc(0.5) within group (order by k8)';

sub inner_sort
{
	return why("select $_[0]", q{string_agg(concat_ws('|', node, runs_on, code, reason, remedy), E'\n') filter (where node like '%Aggregate')}, $_[1] // 'set gpusort.debug_force = on');
}

like(inner_sort("$median from t"), qr/^Aggregate\|native\|presorted\|the rows arrive in order[^|]*$/, 'an aggregate whose rows arrive in order');
like(inner_sort("few, $median from t group by few"), qr/^GroupAggregate\|native\|presorted\|/, 'in groups');
is(why("select few, $median from t group by few", 'sort_key', 'set gpusort.debug_force = on'),
	"few text, k8 bigint\npercentile_disc('0.5'::double precision) WITHIN GROUP (ORDER BY k8)", 'the sort, then the aggregate');
my $not_in_order = qr/^Aggregate\|native\|aggregate\|rows in order are not expected to save time, or [^|]*\|a query of its own for the aggregate, if /m;
like(inner_sort("array_agg(id), $median from t"), $not_in_order, 'another aggregate depends on the order');
like(inner_sort("few, $median, mode() within group (order by id) filter (where id < 7) from t group by few"), qr/presorted.*\nGroupAggregate\|native\|aggregate\|/, 'two orders');
like(inner_sort('rank(3) within group (order by k8) from t'), $not_in_order, 'a hypothetical set');
like(inner_sort("few, $median from t group by rollup(few)"), qr/\|native\|aggregate\|/, 'grouping sets');
like(inner_sort("$median from small", ''), qr/^Aggregate\|native\|aggregate\|rows in order are not expected to save time/, 'few rows');
like(inner_sort("$median from t", 'set gpusort.enabled = off'), qr/^Aggregate\|native\|disabled\|gpusort\.enabled is off/, 'switched off');
is(inner_sort('sum(id), max(k8), count(*) from t'), '', 'aggregates that do not sort');

# --- each reason that keeps a Sort native, and its counter

sub stays
{
	my ($code, $query, $settings, $reason) = @_;
	my $before = planned_native($code);
	my $rows = why($query, 'node, runs_on, code, reason, remedy', $settings);

	like($rows, qr/^(?:Sort|Incremental Sort)\|native\|$code\|$reason.*\|\S/m, "$code: native, and why");
	cmp_ok(planned_native($code), '>', $before, "$code: counted");
}

stays('disabled', 'select * from t order by k8', 'set gpusort.enabled = off', qr/gpusort\.enabled is off/);
stays('key_words', 'select * from t order by a', '', qr/the device cannot sort by a key's type or operator \(key 1: type integer\[\], operator <\)/);
stays('key_words', 'select to_jsonb(id) as j from t order by j desc', '', qr/.*\(key 1: type jsonb, operator >\)/);
SKIP:
{
	skip 'the locale en_US.UTF-8 is not installed', 3
	  if $node->psql('postgres', q{create collation of_libc (provider = libc, locale = 'en_US.UTF-8')}) != 0;
	stays('collation', 'select * from t order by s collate of_libc', 'set gpusort.libc_collations = off', qr/a key's collation has no reliable sort keys \("of_libc": gpusort\.libc_collations is off\)/);
	is(why('select * from t order by a collate of_libc', 'code', 'set gpusort.libc_collations = off; create temp table t as select array[s] as a from t'), 'key_words', 'not for types that have no words under any');
}
stays('key_words', 'select few, a from t where id < 5000 order by few, a', '', qr/the device cannot sort by a key's type or operator \(key 2: type integer\[\], operator <\)/);
stays('limit', 'select * from t order by k8 limit 10', '', qr/LIMIT needs only the top rows, which is cheaper without the device/);
my $by_index = 'set enable_seqscan = off; set random_page_cost = 0';
stays('incremental', 'select * from indexed order by a, b limit 1000', $by_index, qr/it is an Incremental Sort, whose input is in order by its first keys/);
stays('incremental', 'select a, b, count(*) from indexed group by grouping sets ((a, b), (a))', "$by_index; set enable_hashagg = off", qr/it is an Incremental Sort/);
# the device would spill, at a price, what work_mem holds
append_conf_and_reload("gpusort.device_memory = '32MB'");
$node->poll_query_until('postgres', "select budget_bytes = 32 * 1048576 from gpusort_devices") or die 'no smaller budget';
stays('cost', 'select * from wide order by id', q{set work_mem = '1GB'; set seq_page_cost = 10000; set random_page_cost = 10000},
	qr/the device is expected to take longer than PostgreSQL/);
# over a Gather too that costs its start only, as paths of gpusort's do
stays('cost', 'select id, filler, count(*) from wide group by 1, 2 order by 1',
	q{set work_mem = '1GB'; set random_page_cost = 10000; set cpu_tuple_cost = 0; set parallel_tuple_cost = 0; set parallel_setup_cost = 0;
		set min_parallel_table_scan_size = 0; set max_parallel_workers_per_gather = 2; set enable_gathermerge = off}, qr/the device is expected to take longer than PostgreSQL/);
# more runs than can be merged at once are merged in rounds
$node->safe_psql('postgres', q{update pg_class set reltuples = 1e9 where relname = 'wide'});
is(why('select * from wide order by id', 'node, runs_on', q{set seq_page_cost = 0; set random_page_cost = 0; set cpu_operator_cost = 0}), 'GpuSort|device', 'of many runs');
append_conf_and_reload("gpusort.device = 'off'");
wait_for_state($node, 'off');
stays('no_device', 'select * from t order by k8', '', qr/no device serves/);
append_conf_and_reload("gpusort.device = 'host'");
wait_for_state($node, 'serving');

sub append_conf_and_reload
{
	$node->append_conf('postgresql.conf', $_[0]);
	$node->reload;
}

# Citus plans subqueries while it plans the query; so does who asks from a function that planning runs.  test/run builds
# the module, whose tables have scans with the names of Citus's
my $like_citus = "load '$ENV{TESTDIR}/modules/like_citus/like_citus'";

$node->safe_psql('postgres', q{
	create table distributed as select * from t;
	create function asked_in_planning(query text) returns text immutable language plpgsql as $$
		begin return (select string_agg(concat_ws(', ', node, runs_on, code, remedy), '; ') from gpusort_why(query)); end $$;
	analyze distributed});
my $counted = planned_native('custom_scan');
is($node->safe_psql('postgres', "$like_citus; select asked_in_planning('select * from distributed order by k8')"),
	'Sort, native, custom_scan, none', 'citus: native, and why');
is(planned_native('custom_scan'), $counted + 1, 'citus: counted');
is($node->safe_psql('postgres', "$like_citus; select asked_in_planning('select * from t order by k8')"), 'GpuSort, device', 'a subquery of tables that are not distributed');
is(why('select * from distributed order by k8', undef, $like_citus), 'GpuSort|device|', 'the sort of rows that Citus gathers');

# --- a query is planned, not run, and by the rights of who asks

is(why('select never() as n, s from t order by s'), 'GpuSort|device|', 'it is not run');
is(why('insert into small select * from t order by k8'), 'GpuSort|device|', 'nor does it write');
is(why('create table made as select * from t order by k8'), 'GpuSort|device|', 'nor make anything');
is($node->safe_psql('postgres', q{select count(*), to_regclass('made') is null from small}), '10|t', 'nothing has changed');
is(why('declare c cursor for select * from t order by k8'), 'GpuSort|device|', 'a cursor');
is(why('copy (select * from t order by k8) to stdout'), 'GpuSort|device|', 'COPY of a query');
is(why('select * from t where id > $1 order by k8', 'node, runs_on, expected_rows'), 'GpuSort|device|20000', 'a parameter: a generic plan');
is(why('create table made as select * from t where id > $1 and s <> $2 order by k8'), 'GpuSort|device|', 'two parameters');
is(why('select * from t order by k8 limit $1'), 'Sort|native|limit', 'a LIMIT that is not known');
for my $query ('execute q', 'create table made as execute q')
{
	is(why($query, undef, "prepare q as select * from t order by k8;\n\\o /dev/null\nexplain execute q;\n\\o\n"), 'GpuSort|device|', "$query: its plan is kept");
}
is(why('execute q(1)', undef, 'prepare q(int) as select * from t where id > $1 order by k8'), 'GpuSort|device|', 'one with a parameter');
is(why('execute q', undef, "set gpusort.enabled = off; prepare q as select * from t order by k8;\n\\o /dev/null\nexplain execute q;\n\\o\nset gpusort.enabled = on"),
	'Sort|native|cached_plan', 'a plan that was cached without gpusort');

for (
	[ 'select 1; drop table t', qr/^ERROR:  42601: gpusort_why accepts one statement, not 2$/m, 'two statements' ],
	[ '', qr/^ERROR:  42601: gpusort_why accepts one statement, not 0$/m, 'none' ],
	[ 'drop table t', qr/^ERROR:  42809: gpusort_why does not support DROP TABLE\nHINT:  It supports queries, DECLARE, CREATE TABLE AS, COPY of a query, EXECUTE and CREATE INDEX, each without EXPLAIN\.  For other statements, pass the query that they contain\.$/m, 'no query' ],
	[ 'copy t to stdout', qr/^ERROR:  42809: gpusort_why does not support COPY$/m, 'COPY of a table' ],
	[ 'refresh materialized view t', qr/^ERROR:  42809: gpusort_why does not support REFRESH MATERIALIZED VIEW$/m, 'REFRESH, whose functions would be called' ],
	[ 'explain analyze select * from t', qr/^ERROR:  42809: gpusort_why does not support EXPLAIN$/m, 'EXPLAIN ANALYZE, which would run it' ],
	[ 'select nothing from t', qr/^ERROR:  42703: column "nothing" does not exist\nLINE 1: select \* from gpusort_why\(\$why\$select nothing from t\$why\$\)\n {46}\^$/m, 'an error points into the query' ])
{
	my ($query, $error, $name) = @$_;
	my ($status, $out, $messages) = $node->psql('postgres', "\\set VERBOSITY verbose\nselect * from gpusort_why(\$why\$$query\$why\$)", on_error_stop => 0);

	$messages =~ s/^LOCATION:.*\n?|^psql:\S* //mg;
	like($messages, $error, $name);
}
$node->safe_psql('postgres', 'grant select on small to reader');
my $as_reader = 'set role reader';
is(why('select * from small order by k8', undef, $as_reader), 'Sort|native|few_rows', 'a role with the right to read');
my ($status, $out, $messages) = $node->psql('postgres', "$as_reader; select * from gpusort_why('select * from t order by k8')");
like($messages, qr/permission denied for table t/, 'one without');
is(why('select * from t order by k8'), 'GpuSort|device|', 'after errors it answers as before');

# --- what is reported is the plan that EXPLAIN shows

my $recursive = q{with recursive w as (select 1 as n union all select b from (select w.n, i.b from w join indexed i on i.a = w.n
	where w.n < 10 order by i.b + w.n limit 3) q) select * from w order by n};
is($node->safe_psql('postgres', "explain (costs off) $recursive") =~ s/.*(WorkTable Scan).*/$1/sr, 'WorkTable Scan', 'a recursive query');
like(why($recursive), qr/^Sort\|native\|limit\nSort\|native\|few_rows$/, 'its sorts are told');

# functions that plan and run other queries while a query is explained
$node->safe_psql('postgres', q{
	create table hidden as select i as salary from generate_series(1, 20000) i;
	create function top() returns int stable security definer language plpgsql as $$
		declare n int; begin execute 'select salary from hidden order by salary desc' into n; return n; end $$;
	create function explains() returns int language plpgsql as $$
		declare line text; begin execute 'explain select salary from hidden order by salary' into line; return 500; end $$;
	create table parted (k int, s text) partition by range (k);
	create table part_1 partition of parted for values from (1) to (30000);
	create table part_2 partition of parted for values from (30000) to (60001);
	insert into parted select id, s from t;
	create function counted(query text) returns int8 immutable language plpgsql as $$
		begin return (select count(*) from gpusort_why(query)); end $$;
	analyze});
my $prepared = 'prepare q(int) as select * from t where id < $1 order by k8';

is(why("execute q($_)", 'node, sort_key', $prepared), 'GpuSort|k8 bigint', "a parameter from $_: the query's own sort alone") for 'top()', 'explains()';
like(why('select * from parted where k < top() order by s', 'node, sort_key'), qr/^GpuSort\|(?:parted\.)?s text$/, 'partitions that a function leaves out');
is(why("execute q(999)", 'runs_on', "$prepared;\n\\o /dev/null\n" . 'explain execute q(999);' x 6 . "\n\\o\n"), 'backend', 'a custom plan, beside which a generic one was thought of');
is(why('select counted($$select * from t order by s$$), * from t order by k8', 'node, sort_key'), 'GpuSort|k8 bigint', 'gpusort_why in the planning of a query');
is($node->safe_psql('postgres', 'select counted($$select * from t order by s$$)'), '1', 'which has its own');
$node->safe_psql('postgres', q{create table ruled (like t); create rule also_small as on insert to ruled do also insert into small select * from t order by s});
is(why('insert into ruled select * from t order by k8', 'bool_or(sort_key = $$t.k8 bigint$$), bool_or(sort_key = $$t.s text$$)'), 't|t', 'the plans that rules make of a statement');
is(why('select * from (select * from t where id < 10) t order by k8', 'sort_key'), 't.k8 bigint', "names are those of EXPLAIN");
like(why('select * from t order by s', 'expected_rows, reason', 'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; set gpusort.min_rows = 50000; set enable_seqscan = on')
	, qr/^(?:25000\|.*|([56]0000)\|\1 rows are expected.*)$/, 'in workers or not');

# a reason that holds for all sorts goes before those of some
is(why('select * from indexed order by a, b', undef, 'set enable_seqscan = off; set random_page_cost = 0; set gpusort.enabled = off'), 'Incremental Sort|native|disabled', 'an Incremental Sort where gpusort is off');
is(why('select few, s, count(*) from t group by grouping sets ((few), (s))', 'distinct runs_on, code', 'set enable_hashagg = off; set gpusort.enabled = off'), 'native|disabled', 'grouping sets where it is off');
my $keeps = session_with_cached_plan();

sub session_with_cached_plan
{
	my $session = GpuSortTest::Session->new($node);

	$session->query('prepare kept as select * from t order by k8; explain execute kept');
	return $session;
}
append_conf_and_reload("gpusort.device = 'off'");
wait_for_state($node, 'off');
like($keeps->query(q{select runs_on, code from gpusort_why('execute kept')}), qr/^native\|no_device$/m, 'a plan that was kept while a device served');
my $keeps_native = session_with_cached_plan();
like($keeps_native->query('explain execute kept'), qr/^ *Sort /m, 'and one that was made while none did');
append_conf_and_reload("gpusort.device = 'host'");
wait_for_state($node, 'serving');
like($keeps_native->query('explain execute kept'), qr/GpuSort/, 'is made anew when one does');
$_->close for $keeps, $keeps_native;

# --- at DEBUG1 planning says of each Sort why it stays

my $joined = q{explain select * from (select few, count(*) from t where id < 50 group by few) a
	join (select few, count(*) from t where id < 50 group by few) b using (few) order by few};
my ($done, $plan, $said) = $node->psql('postgres', "set enable_hashagg = off; set client_min_messages = debug1; $joined; $joined");
my $reason = qr/DEBUG:  gpusort: few_rows: the planner expects too few rows, less than a hundredth of gpusort\.min_rows$/m;
is(scalar(() = $said =~ /$reason/g), 4, 'two plans with two such groups each') or diag($said);

# --- EXPLAIN (GPUSORT)

SKIP:
{
	skip 'EXPLAIN has no options of extensions before PostgreSQL 18', 8 if $node->pg_version < 18;

	my $limited = 'select * from t order by k8 limit 10';
	my $joined_sorts = 'select * from (select * from t order by k8 limit 10) q order by s';
	like($node->safe_psql('postgres', "explain (gpusort, costs off) $limited"),
		qr/^ *->  Sort\n *Sort Key: k8\n *GpuSort: k8 bigint: native, because LIMIT needs .*; remedy: none; .*\n *->  Seq Scan on t$/m, 'text: a line of the node');
	like($node->safe_psql('postgres', 'explain (gpusort, costs off) select * from t order by k8'),
		qr/^ *Sort Key: k8\n *GpuSort: k8 bigint: device, because \d+ rows are expected\n/m, 'of a GpuSort');
	is(scalar(() = $node->safe_psql('postgres', "explain (gpusort, analyze, costs off) $joined_sorts") =~ /GpuSort: .*: native, because/g), 2, 'each sort has its own');
	unlike($node->safe_psql('postgres', "explain (costs off) $limited"), qr/native/, 'not without the option');
	unlike($node->safe_psql('postgres', "explain (gpusort off, costs off) $limited"), qr/native/, 'nor when it is off');
	like($node->safe_psql('postgres', "explain (gpusort, costs off, format json) $limited"), qr/"GpuSort": \["k8 bigint: native, because LIMIT needs .*"\]/, 'JSON: a list of the node');
	is(scalar(() = $node->safe_psql('postgres', 'explain (gpusort, costs off) select percentile_disc(0.5) within group (order by k8), mode() within group (order by s) from t')
		=~ /(?:percentile_disc|mode)\(.*?\): native, because /g), 2, 'an Agg tells of each of its sorts');
	like($node->safe_psql('postgres', 'explain (gpusort, costs off) insert into ruled select * from t order by k8'),
		qr/Insert on ruled\n.*GpuSort: \S+ bigint: device.*Insert on small\n.*GpuSort: \S+ text: device/s, 'the plans that a rule makes');
}

SKIP:
{
	skip 'auto_explain has no options of extensions before PostgreSQL 19', 1 if $node->pg_version < 19;

	my ($code, $out, $logged) = $node->psql('postgres', q{load 'auto_explain'; set auto_explain.log_min_duration = 0;
		set auto_explain.log_extension_options = 'gpusort'; set client_min_messages = log; select * from t order by k8 offset 59999});
	like($logged, qr/GpuSort\).*\n *Sort Key: .*\n *GpuSort: k8 bigint: device, because 60000 rows are expected/, 'auto_explain shows it too');
}
done_testing();
