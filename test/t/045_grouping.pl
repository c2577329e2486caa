# Groupings, as gpusort.debug_grouping asks for them: equal rows come together, whatever their
# types and however many keys there are; all rows are there; and no order is promised.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('grouping', "gpusort.device_memory = '32MB'", "gpusort.buffer_memory = '64MB'", "work_mem = '4MB'",
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
my $has_icu = $node->safe_psql('postgres', q{select count(*) from pg_collation where collname = 'en-x-icu'});

wait_for_state($node, 'serving');
make_tables($node);
# values in several forms that are equal, and NULLs
$node->safe_psql('postgres', q{
	create table g as select i as id, i % 4099 as n, nullif('t' || i % 257, 't7') as t,
		case i % 5 when 0 then (i % 100)::numeric when 1 then ((i % 100) || '.0')::numeric when 2 then ((i % 100) || '.000')::numeric when 3 then 'NaN' else null end as num,
		case i % 6 when 0 then 0.0 when 1 then '-0.0' when 2 then 'NaN' when 3 then i % 50 when 4 then null else 1.5 end::float8 as f,
		case i % 3 when 0 then make_interval(months => i % 7) when 1 then make_interval(days => i % 7 * 30) else make_interval(hours => i % 7 * 720) end as span,
		jsonb_build_object('a', i % 301) as doc, array[i % 11, nullif(i % 13, 5)] as numbers, ('b' || i % 97)::bpchar(10) as b,
		decode(md5((i % 997)::text), 'hex') as bytes, point(i, i) as no_order
		from generate_series(1, 100000) i;
	alter table g set (parallel_workers = 2);
	analyze g;});

sub hash_of_rows { return "select sum(hashtextextended(q::text, 0)::numeric), count(*) from ($_[0]) q" }

# How often the keys change from a row to the next: as often as there are groups, if each is in one place.
# The filler is asked for too, or the planner would leave it out of the sort.
sub changes
{
	my ($query, $n) = @_;
	my $keys = join ', ', map { "k$_" } 1 .. $n;
	my $last = join ', ', map { "lag(k$_) over () as l$_" } 1 .. $n;
	my $changed = join ' or ', map { "k$_ is distinct from l$_" } 1 .. $n;

	return "select count(*) filter (where row = 1 or $changed) + 0 * max(length(filler::text)) from (select row_number() over () as row, filler, $keys, $last from ($query) q) s";
}

# keys: expressions; filler: what else a row has
sub grouped
{
	my ($name, $keys, %more) = @_;
	my $n = @$keys;
	my $list = join ', ', map { "$keys->[$_ - 1] as k$_" } 1 .. $n;
	my $from = $more{from} // 'g';
	my $rows = "select $list, " . ($more{filler} // 'id') . " as filler from $from";
	my $query = "$rows order by " . join ', ', map { "k$_" . ($_ % 3 == 0 ? ' desc nulls last' : '') } 1 .. $n;
	my $set = 'set gpusort.debug_grouping = on; set max_parallel_workers_per_gather = ' . ($more{workers} // 0) . ';';
	my $native = 'set gpusort.enabled = off;';
	my $plan = $node->safe_psql('postgres', "$set explain (analyze, timing off, costs off) $query");

	like($plan, $more{method} // qr/Sort Method: (host|gpu)/, "$name: by the device");
	like($plan, qr/Key Words: 1$/m, "$name: by one word");
	is($node->safe_psql('postgres', $set . changes($query, $n)),
		$node->safe_psql('postgres', "$native select count(*) from (select 1 from ($rows) q group by " . join(', ', map { "k$_" } 1 .. $n) . ') s'),
		"$name: each group is in one place");
	is($node->safe_psql('postgres', $set . hash_of_rows($query)), $node->safe_psql('postgres', $native . hash_of_rows($rows)), "$name: all rows are there");
	return $plan;
}

grouped('an integer', ['n']);
isnt(digest($node, 'select n from g order by n', 'set gpusort.debug_grouping = on;'), digest($node, 'select n from g order by n'), 'and they are not in order');
my $groups = 'set enable_hashagg = off; explain (costs off) select n, count(*) from g group by n';
my $plan_of_groups = $node->safe_psql('postgres', $groups);
like($plan_of_groups, qr/GpuSort/, 'GROUP BY sorts through the device');
is($node->safe_psql('postgres', "set gpusort.debug_grouping = on; $groups"), $plan_of_groups, 'and the setting is about ORDER BY alone');
grouped('a text', ['t']);
grouped('eight texts', [ map { "(id % @{[ $_ + 1 ]})::text || 'x'" } 1 .. 8 ]);
grouped('twelve keys', [ 'n % 5', map { "nullif((id % @{[ $_ % 4 + 1 ]})::text, '1')" } 2 .. 12 ]);
grouped('numeric', ['num']);
grouped('float8', ['f']);
grouped('numeric and float8', [ 'num', 'f' ]);
grouped('interval', ['span']);
grouped('types that have no words', [ 'doc', 'numbers' ]);
grouped('bpchar and bytea', [ 'b', 'bytes' ]);
grouped('NULLs alone', ['nullif(id % 1, 0)']);
grouped('one group', ['id % 1']);
like(grouped('rows of their own', [ 'id', 'n % 5' ]), qr/Tie Runs: 0$/m, 'each has a hash of its own');
grouped('NULLs in different keys', [ 'nullif(id % 3, 0)', 'nullif(id % 2, 0)' ]);
SKIP:
{
	skip 'PostgreSQL has no ICU', 1 unless $has_icu;
	$node->safe_psql('postgres', "create collation ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
	grouped('a collation by which different texts are equal', [ q{(case id % 3 when 0 then upper(t) else t end) collate ignoring_case}, 'n % 3' ]);
}

# groups larger than a block, and spilled runs, in which each group has its part
my $wide = "repeat('f', 400) || id";
like(grouped('groups over blocks', ['n % 5'], from => 'small s, lateral (select s.id, s.k as n) l', filler => "repeat('f', 400) || l.id"), qr/Tie Runs: 5/, 'which are all tied');
for my $workers (0, 2)
{
	grouped("spilled runs, $workers workers", [ 't', 'num' ], filler => $wide, workers => $workers, method => qr/Sort Method: (host|gpu) external merge/);
	grouped("spilled runs, few groups, $workers workers", ['n % 5'], filler => $wide, workers => $workers, method => qr/Sort Method: (host|gpu) external merge/);
}

# a row is longer than the device's memory: it is a run of its own
my $runs = $node->safe_psql('postgres', 'select runs_spilled from gpusort_stats');
grouped('runs, one of them of a long row', [ 't', 'n % 100' ], filler => "case when id = 80000 then repeat('x', 40000000) else $wide end", from => '(select * from g offset 0) g',
	method => qr/Sort Method: (host|gpu) external merge/);
cmp_ok($node->safe_psql('postgres', 'select runs_spilled from gpusort_stats'), '>=', $runs + 3, 'runs, one of them of a long row: there were runs each time');

# no hash function goes with its order, or it has no order
like($node->safe_psql('postgres', q{set gpusort.debug_grouping = on; explain (analyze, timing off, costs off) select n, t::tsvector as v from g order by n, v}),
	qr/Sort Method: (host|gpu)(.|\n)*Key Words: 1$/m, 'without a hash function of each key rows come in order');
my $ids = q{select md5(string_agg(id::text, ' ')) from (select n, t::tsvector as v, id from g order by n, v, id) s};
is($node->safe_psql('postgres', "set gpusort.debug_grouping = on; $ids"), $node->safe_psql('postgres', "set gpusort.enabled = off; $ids"), 'as PostgreSQL sorts them');

# sorts whose order the plan needs stay sorts: below merge joins, windows, groups, DISTINCT ON
my $sorts = 'set enable_hashjoin = off; set enable_nestloop = off; set enable_hashagg = off; set enable_material = off;';
for my $needs (
	[ 'a merge join', 'select a.id, b.id as other from g a join small b on a.n = b.k where a.id < 9000', qr/Merge Join\n(?:.*\n)* +->  Custom Scan \(GpuSort\)/ ],
	[ 'a merge join over ordered rows', 'select a.id, b.id as other from (select id, n from g where id < 9000 order by n offset 0) a join small b on a.n = b.k', qr/Merge Join\n(?:.*\n)* +->  Custom Scan \(GpuSort\)/ ],
	[ 'a window', 'select id, row_number() over (partition by t order by n, id) as r from g', qr/WindowAgg\n +->  Custom Scan \(GpuSort\)/ ],
	[ 'two windows', 'select id, rank() over (order by n desc) as r, sum(id) over (partition by t order by num, id) as s from g', qr/WindowAgg\n(?:.*\n)* +->  Custom Scan \(GpuSort\)/ ],
	[ 'groups', 'select n, t, count(*) from g group by n, t order by n, t offset 0', qr/Group(?:Aggregate)?\n(?:.*\n)* +->  Custom Scan \(GpuSort\)/ ],
	[ 'DISTINCT ON', 'select distinct on (n) n, id from g order by n, id', qr/Unique\n +->  Custom Scan \(GpuSort\)/ ],
	[ 'UNION', 'select n from g union select k from small', qr/Unique\n +->  Custom Scan \(GpuSort\)/ ])
{
	my ($name, $query, $plan) = @$needs;

	like($node->safe_psql('postgres', "set gpusort.debug_grouping = on; $sorts explain (costs off) $query"), $plan, "$name: by sorts");
	is($node->safe_psql('postgres', "set gpusort.debug_grouping = on; $sorts " . hash_of_rows($query)),
		$node->safe_psql('postgres', "set gpusort.enabled = off; $sorts " . hash_of_rows($query)), "$name: the rows are right");
}

$node->safe_psql('postgres', 'create role plain');
my ($status, $out, $err) = $node->psql('postgres', 'set role plain; set gpusort.debug_grouping = on');
like($err, qr/permission denied to set parameter "gpusort.debug_grouping"/, 'only superusers may ask for it');

nothing_left_over($node, 'groupings');
$node->stop;
done_testing();
