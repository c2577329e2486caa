# Sort keys of ASCII strings, which are put together of characters' parts: each is the provider's own, under
# collations that sort pairs of letters as one, digits as numbers, or leave out punctuation.  Then sorts of the
# same strings by the device against PostgreSQL's own.
#
#   SEED=N   of the strings
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;

seed();

# test/run builds it there
my $module = "$ENV{TESTDIR}/modules/key_words/key_words";
my $node = new_server('ascii_keys', "work_mem = '64MB'", "gpusort.min_rows = 1000");
wait_for_state($node, 'serving');

# Collations, and how many of the strings of ASCII have keys by their parts: all of them, some, or none.
my %libc = map { $_ => "locale = '$_.UTF-8'" } qw(en_US de_DE sv_SE ja_JP fr_FR es_ES cs_CZ pl_PL tr_TR da_DK uz_UZ);
my %icu = (
	icu_root => "locale = 'und'", icu_en => "locale = 'en'", icu_de => "locale = 'de-u-co-phonebk'", icu_sv => "locale = 'sv'",
	icu_shifted => "locale = 'en-u-ka-shifted'", icu_upper => "locale = 'en-u-kf-upper'", icu_cases => "locale = 'und-u-kc-ks-level1'",
	icu_digits_last => "locale = 'en-u-kr-latn-digit'", icu_base => "locale = 'und-u-ks-level1', deterministic = false",
	icu_fr => "locale = 'fr-CA'", icu_es => "locale = 'es'",
	icu_numbers => "locale = 'en-u-kn'", icu_cs => "locale = 'cs'", icu_hu => "locale = 'hu'", icu_trad => "locale = 'es-u-co-trad'");
my %none = map { $_ => 1 } qw(icu_numbers icu_cs icu_hu icu_trad uz_UZ);
my %some = map { $_ => 1 } qw(cs_CZ da_DK);
my $major = $node->safe_psql('postgres', q{select current_setting('server_version_num')::int / 10000});

# letters of two and three characters, letters behind others, and one that ends with another character
my @rules = ('&a < xyz', '&a < xy|z', '&a < b|c', '&a < p|xy', "&h < ab\xc3\xa5");
for my $i ($major >= 16 ? (0 .. $#rules) : ())
{
	$icu{"icu_rules_$i"} = "locale = 'und', rules = '$rules[$i]'";
	$none{"icu_rules_$i"} = 1;
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
	return join '', map { character() } 1 .. int rand 40;
}

my @ascii = ('', 'ayz', 'xyz', 'xyb', 'axyzb', 'pxy', 'ch', 'dzs', "c'h", 'aa', 'bc', "b\x01c", "bo'l", "o''zbek", "o'zbek", map { string() } 1 .. 3000);

# what follows a letter may belong to it, even behind the bytes that are needed
my @others = ("1234567ab\x{e5}", '1234567d', map { my $s = string(); $_ . $s, $s . $_, $s . 'a' . $_ . string() } ("\x{e9}", "a\x{30a}", "\x{30a}", "e\x{301}", "l\x{b7}", "\x{df}", "\x{3042}\x{30fc}"));
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
	my $status = $node->psql('strings', "create collation $name ($collations{$name})");

  SKIP:
	{
		# the server has ICU, but the C library may lack a locale
		skip "no locale $name", 9 if $libc{$name} && $status != 0;
		is($status, 0, "$name: $collations{$name}");
		for my $needed (8, 24, 256)
		{
			my ($wrong, $out, $error) = $node->psql('strings', "select check_sort_keys(array_agg(s collate $name order by id), $needed, 3), count(*) filter (where is_ascii) from strings");

			is($wrong, 0, "$name: $needed bytes are the provider's") or diag $error;
			my ($by_parts, $ascii) = split /\|/, $out;
			if ($none{$name}) { is($by_parts, 0, "$name: no string by its parts"); }
			elsif ($icu{$name} && $major >= 16 && $by_parts == 0) { note "$name: the server's ICU is not that of the headers"; }
			elsif ($some{$name}) { cmp_ok($by_parts, '>', $ascii / 3, "$name: strings by their parts"); }
			else { cmp_ok($by_parts, '>=', $ascii * 0.99, "$name: the strings of ASCII by their parts"); }
		}
		my $order = "select s, id from many order by s collate $name, id";
		my ($right, @hashes) = map { $node->safe_psql('strings', "$_ select md5(string_agg(hash_record_extended(q, 0)::text, ' ')), count(*) from ($order) q") }
		  'set gpusort.enabled = off;', '', 'set gpusort.libc_collations = trust;';

		is("@hashes", "$right $right", "$name: the rows are right, and without a check of their order");
		like($node->safe_psql('strings', "explain (analyze, costs off, summary off) $order"), qr/GpuSort.*Sort Method: (?:host|gpu)/s, "$name: our node ran");
	}
}

$node->stop;
done_testing();
