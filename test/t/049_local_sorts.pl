# The sort of rows that stay in the backend, by radix and by comparing, against PostgreSQL's own:
# inputs around the sizes where its ways change, keys that differ in some bytes only, equal ones, NULLs; rows
# with equal keys stay in the order they came in.
#
#   SEED=N   of the values
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = seed();

# test/run builds it there
my $module = "$ENV{TESTDIR}/modules/local_sorts/local_sorts";
my $node = new_server('local_sorts', "work_mem = '64MB'");

wait_for_state($node, 'serving');
$node->safe_psql('postgres', qq{
	create function local_sort(a int8[], b int8[], keys int, descending bool, nulls_first bool) returns int4[] language c as '$module';
	-- the bits of a row's, of which b has others than a
	create function bits(i int8, salt int8) returns int8 language sql immutable as 'select hashint8extended(i, $seed + salt)';
	create unlogged table input (i int4, a int8, b int8);});

# Sorts of the rows of input, as asked for and by PostgreSQL: NULL if they agree, else the options.
sub sorted
{
	my ($keys, $direction) = @_;
	my $descending = $direction =~ /desc/ ? 'true' : 'false';
	my $nulls_first = $direction =~ /nulls first/ ? 'true' : 'false';
	my $order = join ', ', map { "$_ $direction" } ('a', 'b')[ 0 .. $keys - 1 ];

	return "select case when local_sort(coalesce(array_agg(a order by i), '{}'), coalesce(array_agg(b order by i), '{}'), $keys, $descending, $nulls_first)
		is distinct from coalesce(array_agg(i order by $order, i), '{}') then '$keys keys, $direction' end as wrong from input";
}

# Fills input with rows of these keys, and compares all ways to sort them.
sub same_sorts
{
	my ($what, $rows, $a, $b, @directions) = @_;
	my @sorts = map { (sorted(1, $_), sorted(2, $_)) } @directions;

	return $node->safe_psql('postgres', "truncate input; insert into input select i, $a, $b from generate_series(1, $rows) i;
		select string_agg('$what, $rows rows: ' || wrong, e'\\n') from (" . join(' union all ', @sorts) . ') s');
}

my @both = ('asc nulls last', 'desc nulls first');
my %keys = (
	'random' => 'bits(i, 1)',
	'the lowest byte' => '(bits(i, 1) & 255)',
	'the lowest byte behind others' => '(x\'0123456789abcd00\'::int8 | (bits(i, 1) & 255))',
	'the highest byte' => '(bits(i, 1) & 255) << 56',
	'a byte in the middle' => '(bits(i, 1) & 255) << 24',
	'the first and the last byte' => '(bits(i, 1) & 255) << 56 | (bits(i, 2) & 255)',
	'three bytes' => '(bits(i, 1) & x\'00ff00ff0000ff00\'::int8)',
	'one bit' => '(bits(i, 1) & 1) << 63',
	'all equal' => '42::int8',
	'one is less' => 'case when i = 100 then 41 else 42 end::int8',
	'one is greater' => 'case when i = 1 then x\'7f00000000000000\'::int8 else 42 end',
	'in order' => 'i::int8',
	'backward' => '-i::int8',
	'each byte as often' => '(i % 256)::int8 << 8',
	'few' => '(bits(i, 1) % 7)',
	'extremes' => 'case (bits(i, 1) & 7) when 0 then x\'8000000000000000\'::int8 when 1 then x\'7fffffffffffffff\'::int8 when 2 then -1 when 3 then 0 else 1 end::int8');

for my $name (sort keys %keys)
{
	my $wrong = '';

	for my $rows (0 .. 3, 127 .. 129, 255 .. 257, 1000)
	{
		$wrong .= same_sorts("few second keys", $rows, $keys{$name}, 'bits(i, 9) % 3', @both);
	}
	$wrong .= same_sorts('random second keys', 500, $keys{$name}, 'bits(i, 9)', @both);
	$wrong .= same_sorts('NULLs among the second keys', 500, $keys{$name}, 'nullif(bits(i, 9) % 3, 0)', @both, 'asc nulls first');
	# those of 1 in 10, the first, the last, all but one
	$wrong .= same_sorts('NULLs', 500, "case when bits(i, 3) % 10 <> 0 then $keys{$name} end", 'nullif(bits(i, 9) % 3, 0)', @both, 'asc nulls first', 'desc nulls last');
	$wrong .= same_sorts('a NULL first', 300, "case when i > 1 then $keys{$name} end", 'bits(i, 9) % 3', @both, 'asc nulls first');
	$wrong .= same_sorts('a NULL last', 300, "case when i < 300 then $keys{$name} end", 'bits(i, 9) % 3', @both, 'asc nulls first');
	$wrong .= same_sorts('one is not NULL', 300, "case when i = 7 then $keys{$name} end", 'bits(i, 9) % 3', @both);
	is($wrong, '', "$name: as PostgreSQL sorts them");
}
for my $name ('random', 'three bytes', 'few')
{
	is(same_sorts('many rows', 70000, $keys{$name}, 'bits(i, 9) % 3', 'asc'), '', "$name, many rows: as PostgreSQL sorts them");
}

$node->stop;
done_testing();
