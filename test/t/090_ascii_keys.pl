# Sort keys of ASCII strings, which are put together of characters' parts: each is the provider's own, under
# collations that sort pairs of letters as one, digits as numbers, or leave out punctuation.  Then sorts of the
# same strings by the device against PostgreSQL's own.
#
#   GPUSORT_SEED   of the strings
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{GPUSORT_SEED} || int(time);
srand $seed;
note "seed $seed";

# test/run builds it there
my $module = "$ENV{TESTDIR}/modules/key_words/key_words";
my $node = new_server('ascii_keys', "work_mem = '64MB'", "gpusort.min_rows = 1000");
wait_for_state($node, 'serving');

# Collations, and how many of the strings of ASCII have keys by their parts: all of them, some, or none.
my %libc = map { $_ => "locale = '$_.UTF-8'" } qw(en_US de_DE sv_SE ja_JP fr_FR es_ES cs_CZ pl_PL tr_TR da_DK);
my %icu = (
	icu_root => "locale = 'und'", icu_en => "locale = 'en'", icu_de => "locale = 'de-u-co-phonebk'", icu_sv => "locale = 'sv'",
	icu_shifted => "locale = 'en-u-ka-shifted'", icu_upper => "locale = 'en-u-kf-upper'", icu_cases => "locale = 'und-u-kc-ks-level1'",
	icu_digits_last => "locale = 'en-u-kr-latn-digit'", icu_base => "locale = 'und-u-ks-level1', deterministic = false",
	icu_fr => "locale = 'fr-CA'", icu_es => "locale = 'es'",
	icu_numbers => "locale = 'en-u-kn'", icu_cs => "locale = 'cs'", icu_hu => "locale = 'hu'", icu_trad => "locale = 'es-u-co-trad'");
my %none = map { $_ => 1 } qw(icu_numbers icu_cs icu_hu icu_trad);
my %some = map { $_ => 1 } qw(cs_CZ da_DK);
my $major = $node->safe_psql('postgres', q{select current_setting('server_version_num')::int / 10000});

# strings that only three characters together make a letter
if ($major >= 16)
{
	$icu{icu_rules} = "locale = 'und', rules = '&a < xyz'";
	$none{icu_rules} = 1;
}
my %collations = (%libc, map { $_ => "provider = icu, $icu{$_}" } keys %icu);

# one of the digits and letters that collations like to take together, or any character of ASCII
sub character
{
	my $which = rand;

	return substr 'abcdehlnsyz0123456789', int rand 21, 1 if $which < 0.5;
	return substr " -',.ACDHSZ", int rand 11, 1 if $which < 0.8;
	return chr 1 + int rand 127;
}

sub string
{
	return join '', map { character() } 1 .. int rand 2 + rand 40;
}

my @ascii = ('', 'xyz', 'axyzb', 'ch', 'dzs', "c'h", 'aa', map { string() } 1 .. 3000);

# what follows a letter may belong to it, even behind the bytes that are needed
my @others = map { my $s = string(); $_ . $s, $s . $_, $s . 'a' . $_ . string() } ("\x{e9}", "a\x{30a}", "\x{30a}", "e\x{301}", "l\x{b7}", "\x{df}", "\x{3042}\x{30fc}");
my @strings = (@ascii, map { my $s = $_; utf8::encode($s); $s } (@others) x 20);

$node->safe_psql('postgres', "create database strings template template0 encoding 'UTF8' locale 'C'");
$node->safe_psql('strings', qq{
	create function check_sort_keys(elements text[], needed int, rounds int) returns int language c as '$module';
	create table strings as select s, i as id, i <= @{[scalar @ascii]} as is_ascii from unnest(array[} .
		join(', ', map { my $hex = unpack 'H*', $_; "convert_from('\\x$hex', 'UTF8')" } @strings) . q{]) with ordinality u(s, i);
	-- as many as make sort keys be put together
	create table many as select s || i % 7 as s, id from strings, generate_series(1, 10) i;
	analyze many;});

for my $name (sort keys %collations)
{
  SKIP:
	{
		skip "no collation $name", 4 if $node->psql('strings', "create collation $name ($collations{$name})") != 0;
		for my $needed (8, 24, 256)
		{
			my ($status, $by_parts, $error) = $node->psql('strings', "select check_sort_keys(array_agg(s collate $name order by id), $needed, 3), count(*) filter (where is_ascii) from strings");

			is($status, 0, "$name: $needed bytes are the provider's") or diag $error;
			my ($made, $ascii) = split /\|/, $by_parts;
			if ($none{$name}) { is($made, 0, "$name: no string by its parts"); }
			elsif ($some{$name}) { cmp_ok($made, '>', $ascii / 2, "$name: more than half of the strings by their parts"); }
			else { cmp_ok($made, '>=', $ascii * 0.99, "$name: the strings of ASCII by their parts"); }
		}
		my $order = "select s, id from many order by s collate $name, id";
		my @hashes = map { $node->safe_psql('strings', "$_ select md5(string_agg(hash_record_extended(q, 0)::text, ' ')), count(*) from ($order) q") } '', 'set gpusort.enabled = off;';

		is($hashes[0], $hashes[1], "$name: the rows are right");
		like($node->safe_psql('strings', "explain (analyze, costs off, summary off) $order"), qr/GpuSort.*Sort Method: (?:host|gpu)/s, "$name: our node ran");
	}
}

$node->stop;
done_testing();
