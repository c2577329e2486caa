# Strings about which strxfrm and strcoll of glibc contradict each other: those that differ in blanks and
# punctuation.  Under ten locales each sort through the device equals PostgreSQL's own, no query
# fails, and no sort falls back to PostgreSQL's own.
#
# Long names make the words of a key so long that all of a short string's sort key would fit.  Of longer strings the C
# library gets the beginning only: characters that contract, or that the first level ignores, lie at every place of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my @locales = qw(en_US de_DE sv_SE ja_JP fr_FR es_ES cs_CZ pl_PL tr_TR da_DK);
my $device = $GpuSortTest::device eq 'host' ? 'host' : 'gpu';
my $node = new_server('libc_corpus', "gpusort.buffer_memory = '160MB'", 'max_parallel_workers = 8',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');

for my $locale (@locales)
{
	next if $node->psql('postgres', qq{create collation "$locale" (locale = '$locale.UTF-8')}) == 0;
	$node->stop;
	plan skip_all => "the locale $locale.UTF-8 is not installed";
}

# --- the strings: every punctuation character of ASCII, and the blank, between digits and letters
my @strings;
for my $mark (map { chr } grep { chr($_) =~ /[[:punct:] ]/ } 32 .. 126)
{
	for my $digit (0 .. 5)
	{
		push @strings, "$digit$mark Main St", "$digit$mark Main St.", "$digit${mark}Main St", "z$digit$mark$mark.h", "z$digit.h",
		  "a${mark}b$digit", "A${mark}B$digit", "$mark$digit$mark", "$digit$mark", "x$digit${mark}10", "$mark$mark$digit";
	}
}
@strings = do { my %seen; grep { !$seen{$_}++ } @strings };
cmp_ok(scalar @strings, '>=', 1800, scalar(@strings) . ' strings');


my $values = join ', ', map { my $quoted = s/'/''/gr; "('$quoted')" } @strings;
$node->safe_psql('postgres', qq{
	create table corpus as select s, row_number() over () as id, repeat('w', 1800) as filler
		from (select s from (values $values) v(s), generate_series(1, 5)
			union all select md5(i::text) || ' is a rather long name' from generate_series(1, 9000) i
			union all select repeat((array['c', 'h', 'a', 'd', 'l'])[1 + i % 5], i / 5 % 80) || (array['ch', 'aa', 'dz', 'll', U&'e\\0301'])[1 + i / 400 % 5]
				|| repeat(' -', i % 60) || md5((i % 700)::text) || repeat('chaadz', i % 20) from generate_series(1, 3000) i) u;
	analyze corpus;});

sub hash_of
{
	my ($query, $settings) = @_;

	return $node->safe_psql('postgres', "$settings select md5(string_agg(hash_record_extended(q, 0)::text, ' ')), count(*) from ($query) q");
}

sub check_orders
{
	my ($locale, $expected, %ways) = @_;

	for my $order (qq{s collate "$locale", id}, qq{s collate "$locale" desc, id})
	{
		my $query = "select s, id, filler from corpus order by $order";
		my $right = hash_of($query, 'set gpusort.enabled = off;');

		for my $way (sort keys %ways)
		{
			is(hash_of($query, $ways{$way}), $right, "$order, $way: the rows are right");
			like($node->safe_psql('postgres', "$ways{$way} explain (analyze, costs off, summary off) $query"),
				$expected, "$order, $way: our node ran");
		}
	}
}

my %in_memory = (serial => '', fed => 'set max_parallel_workers_per_gather = 2;');
check_orders($_, qr/GpuSort.*Sort Method: $device\n(?!.*Runs Sorted Natively)/s, %in_memory) for @locales;

# --- a locale without rules of collation is in the order of bytes, and costs what that costs
SKIP:
{
	my ($glibc) = `getconf GNU_LIBC_VERSION 2>/dev/null` =~ /^glibc 2\.(\d+)/;
	skip 'C.UTF-8 is in the order of code points from glibc 2.35 on', 1 if ($glibc // 0) < 35;
	$node->safe_psql('postgres', q{create collation code_points (locale = 'C.UTF-8')});
	check_orders('code_points', qr/GpuSort.*Sort Method: $device/s, %in_memory);
	my ($as_bytes, $by_locale) = map { $node->safe_psql('postgres', qq{explain select s, id, filler from corpus order by s collate "$_", id}) } 'C', 'code_points';
	is($by_locale =~ s/code_points/"C"/r, $as_bytes, 'code points: planned, and charged, as bytes');
}

# --- in runs that are spilled
$node->append_conf('postgresql.conf', "gpusort.device_memory = '32MB'\n");
$node->restart;
wait_for_state($node, 'serving');
check_orders($_, qr/GpuSort.*Sort Method: $device.*Runs: [2-9]\n(?!.*Runs Sorted Natively)/s, 'spilled' => '') for 'en_US', 'cs_CZ';
is($node->safe_psql('postgres', 'select native_collation from gpusort_stats'), 0, 'no sort was native');

$node->stop;
done_testing();
