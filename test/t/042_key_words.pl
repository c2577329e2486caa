# The words of each type against its comparator: of values near each other, at boundaries and at
# random, all pairs, ASC and DESC, with each number of words that the type can have.  Then sorts
# of the same values by the device against PostgreSQL's own.
#
#   SEED=N       of the values
#   ROUNDS=all   all of them; by default a part is drawn, as each value meets each other one
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

seed();

# test/run builds it there
my $module = "$ENV{TESTDIR}/modules/key_words/key_words";

my $node = new_server('key_words', "work_mem = '64MB'");
wait_for_state($node, 'serving');
$node->safe_psql('postgres', qq{
	create function check_key_words(elements anyarray, typmod int, descending bool, words int, prefix bytea) returns int language c as '$module';
	create function most_key_words(value anyelement, typmod int) returns int language c as '$module';

	-- labels before, behind and between the first ones, so many that they are numbered anew
	create type mood as enum ('m1', 'm2', 'm3', 'm4');
	do \$\$ begin
		for i in 1 .. 60 loop
			execute format('alter type mood add value %L %s %L', 'x' || i, case when i % 3 = 0 then 'after' else 'before' end,
				case when i % 10 = 1 then 'm' || i % 4 + 1 else 'x' || i - 1 end);
		end loop;
	end \$\$;
	create type plain_mood as enum ('p1', 'p2', 'p3');

	-- types of an extension: by the three comparators that PostgreSQL exports
	create type tail;
	create function tail_in(cstring) returns tail immutable strict language internal as 'byteain';
	create function tail_out(tail) returns cstring immutable strict language internal as 'byteaout';
	create type tail (input = tail_in, output = tail_out, like = bytea);
	create type thousands;
	create function thousands_in(cstring) returns thousands immutable strict language internal as 'int8in';
	create function thousands_out(thousands) returns cstring immutable strict language internal as 'int8out';
	create type thousands (input = thousands_in, output = thousands_out, like = int8);
	create type halves;
	create function halves_in(cstring) returns halves immutable strict language internal as 'int8in';
	create function halves_out(halves) returns cstring immutable strict language internal as 'int8out';
	create type halves (input = halves_in, output = halves_out, like = int8);
	create function coarse_signed(internal) returns void language c as '$module';
	create function coarse_int32(internal) returns void language c as '$module';
	create function tail_sortsupport(internal) returns void language internal as 'bytea_sortsupport';

	create domain price as numeric(12,2);
	create domain any_mood as mood;});
for my $type ([ 'tail', 'bytea', 'tail_sortsupport' ], [ 'thousands', 'int8', 'coarse_signed' ], [ 'halves', 'int8', 'coarse_int32' ])
{
	my ($name, $like, $support) = @$type;
	my $functions = $like eq 'bytea' ? 'bytea' : 'int8';
	my $compare = $like eq 'bytea' ? 'byteacmp' : 'btint8cmp';
	my %operators = (lt => '<', le => '<=', eq => '=', ge => '>=', gt => '>');

	for my $operator (qw(lt le eq ge gt))
	{
		my %others = (lt => 'commutator = >, negator = >=', le => 'commutator = >=, negator = >', eq => 'commutator = =',
			ge => 'commutator = <=, negator = <', gt => 'commutator = <, negator = <=');

		$node->safe_psql('postgres', "create function ${name}_$operator($name, $name) returns bool immutable strict language internal as '$functions$operator';
			create operator $operators{$operator} (leftarg = $name, rightarg = $name, function = ${name}_$operator, $others{$operator})");
	}
	$node->safe_psql('postgres', "create function ${name}_cmp($name, $name) returns int immutable strict language internal as '$compare';
		create operator class ${name}_ops default for type $name using btree as operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >,
			function 1 ${name}_cmp($name, $name), function 2 $support(internal)");
}

# --- values -------------------------------------------------------------------------

sub pick { return $_[ rand @_ ]; }
sub bytes_of_hex { return join '', map { sprintf '%02x', $_ } @_; }
sub random_bytes { return map { int rand 256 } 1 .. $_[0]; }

# Some of @$from, each with one place changed by change(string, place).
sub near
{
	my ($n, $from, $change) = @_;

	return map { my $value = pick(@$from); length $value ? $change->($value, int rand length $value) : $value } 1 .. $n;
}

sub change_hex
{
	my ($value, $at) = @_;

	substr($value, $at, 1) = sprintf '%x', hex(substr $value, $at, 1) ^ 1 << int rand 4;
	return $value;
}

sub change_digit
{
	my ($value, $at) = @_;

	substr($value, $at, 1) =~ s/\d/int rand 10/e;
	return $value;
}

# Digits of a decimal number, with the point somewhere or far away.
sub random_number
{
	my $digits = join '', map { int rand 10 } 1 .. 1 + int rand pick(3, 6, 20, 45);
	my $point = int rand(length($digits) + 1);

	$digits =~ s/0/pick(0, 9)/e if rand() < 0.3;
	substr($digits, $point, 0) = '.';
	$digits = "0${digits}0";
	$digits .= 'e' . pick(-250, -30, -8, -4, -1, 1, 4, 12, 30, 240, 250, 260) if rand() < 0.2;
	return pick('', '-') . $digits;
}

# Around the powers of 10000, in steps of so much of the number as one digit is.
sub numbers_around_powers
{
	my @numbers;

	for my $weight (-4 .. 4, pick(5 .. 62), pick(-64 .. -5), -65, -64, -63, 62, 63, 64)
	{
		my $power = $weight >= 0 ? '1' . '0' x (4 * $weight) : '0.' . '0' x (-4 * $weight - 1) . '1';
		my $point = $weight >= 0 ? '.' : '';

		for my $zeros (0, 3, 7, 11, 12, 15, 16, 17, 27, 28, 29, 31, 32)
		{
			my $above = "$power$point" . '0' x $zeros . '1';
			my $below = $weight >= 0 ? '9' x (4 * $weight || 1) . '.' . '9' x $zeros : '0.' . '0' x (-4 * $weight) . '9' x ($zeros + 1);

			push @numbers, $above, $below, "-$above", "-$below";
		}
		push @numbers, $power, "-$power";
	}
	return @numbers;
}

sub numbers
{
	my @numbers = (qw(0 0.0 -0.0 1 1.0 1.00 -1 0.00001 -0.00001 -0.00002 0.01 -0.01 0.005 -0.005 NaN Infinity -Infinity 99999999999999.9999
		999999999999999999 -999999999999999999 1000000000000000000 9223372036854775807 92233720368547758.07), '1' x 1000, '1' x 999 . '2', '-' . '1' x 1000,
		'0.' . '0' x 999 . '1', '-0.' . '0' x 999 . '1', '9' x 500 . '.' . '9' x 500);
	my @random = map { random_number() } 1 .. 150;
	my @around_powers = numbers_around_powers();

	push @numbers, @random, near(100, \@random, \&change_digit), map { pick(@around_powers) } 1 .. 160;
	return @numbers;
}

# Values that a column of so many digits can have, and some that it promises not to have.
sub fixed_numbers
{
	my ($precision, $scale) = @_;
	my @digits = map { join '', map { pick(0, 9, int rand 10) } 1 .. $precision } 1 .. 140;
	my @any = numbers();
	my @fixed = map { pick('', '-') . "0$_" } @digits, near(140, \@digits, \&change_digit), '0' x $precision, '9' x $precision;

	return ((map { $_ . 'e' . -$scale } @fixed), map { pick(@any) } 1 .. 150);
}

sub intervals
{
	my @intervals = ('1 mon', '30 days', '29 days 24 hours', '720 hours', '1 mon -30 days', '0', '-1 us', '1 us', '1 day -1 us', '23:59:59.999999',
		'178000000 years', '-178000000 years', '178000000 years -1 us', '2147483647 days', '-2147483648 days', '2562047788 hours', '-2562047788 hours');

	push @intervals, qw(infinity -infinity) if $node->pg_version >= 17;
	for (1 .. 140)
	{
		my ($months, $days) = (int rand pick(2, 100), int rand pick(3, 40, 4000));
		my $us = int rand pick(3, 86400000000, 1e15);

		push @intervals, "$months mons $days days $us us", ($months - 1) . " mons " . ($days + 30) . " days " . ($us + pick(-1, 0, 1)) . ' us',
			"-$months mons " . ($days - 1) . " days " . ($us + 86400000000) . ' us';
	}
	return @intervals;
}

sub times_with_zones
{
	my @times = qw(00:00:00+00 24:00:00+00 00:00:00+15:59:59 24:00:00-15:59:59 00:00:00-15:59:59 24:00:00+15:59:59 12:00:00+00 13:00:00+01 11:00:00-01);

	for (1 .. 130)
	{
		# the same instant, or nearly, in several zones
		my $at = 36000 + int rand 14400;

		for (1 .. 3)
		{
			my $zone = int(rand 20001) - 10000;
			my $local = $at + $zone;

			push @times, sprintf('%02d:%02d:%02d.%06d%s%02d:%02d:%02d', $local / 3600, $local / 60 % 60, $local % 60, pick(0, 0, 1, 999999), $zone < 0 ? '-' : '+',
				abs($zone) / 3600, abs($zone) / 60 % 60, abs($zone) % 60);
		}
	}
	return @times;
}

sub hex_values
{
	my ($digits) = @_;
	my @values = map { bytes_of_hex(random_bytes($digits / 2)) } 1 .. 150;

	return (@values, near(200, \@values, \&change_hex), map { $_ x $digits } 0, 1, 7, 8, 'f');
}

sub addresses
{
	my @addresses;

	for my $is_v6 (0, 1)
	{
		my ($bits, $digits) = $is_v6 ? (128, 32) : (32, 8);
		my @hex = map { pick(bytes_of_hex(random_bytes($digits / 2)), '0' x $digits, 'f' x $digits) } 1 .. 12;

		push @hex, near(60, \@hex, \&change_hex);
		push @hex, near(60, \@hex, \&change_hex);
		for my $mask (0 .. $bits, map { int rand($bits + 1) } 1 .. 100)
		{
			my $hex = pick(@hex);

			push @addresses, ($is_v6 ? join(':', $hex =~ /..../g) : join('.', map { hex } $hex =~ /../g)) . "/$mask";
		}
	}
	return @addresses;
}

# Strings of few different characters, and their beginnings.
sub strings
{
	my ($most, @alphabet) = @_;
	my @strings = ('', map { my $one = $_; map { $one x $_ } 1, 7, 8, 15, 16, 23, 24, 31, 32, 33 } @alphabet);

	push @strings, join '', map { pick(@alphabet) } 1 .. $_ for map { int rand($most + 1) } 1 .. 120;
	push @strings, join '', map { pick(@alphabet) } 1 .. 300;
	for (1 .. 150)
	{
		my $string = pick(@strings);
		my $end = int rand(length($string) / length($alphabet[0]) + 1);

		push @strings, substr($string, 0, $end * length $alphabet[0]) . (rand() < 0.5 ? '' : join '', map { pick(@alphabet) } 1 .. int rand 4);
	}
	return @strings;
}

sub floats
{
	my ($most) = @_;
	my @floats = (qw(NaN Infinity -Infinity 0 -0 1 -1), $most, "-$most");

	push @floats, map { my $one = $_; map { "${one}e$_" } -37, -10, 0, 10, 37 } map { sprintf '%.7f', rand() - 0.5 } 1 .. 40;
	push @floats, map { pick('', '-') . (1 + $_ / 8388608) } 0 .. 100;
	return @floats;
}

sub integers
{
	my ($least, $most) = @_;

	return ($least, $most, map { my $one = int rand(1 << int rand 31); grep { $_ >= $least && $_ <= $most } $one, $one + 1, -$one } 1 .. 120);
}

sub dates
{
	my @dates = ('infinity', '-infinity', '0001-01-01', '0001-12-31 BC', '4713-01-01 BC', '5874897-12-31', '2000-01-01', '1999-12-31');

	return (@dates, map { sprintf '%04d-%02d-%02d%s', 1 + rand 4000, 1 + rand 12, 1 + rand 28, pick('', '', ' BC') } 1 .. 300);
}

sub instants
{
	return ('infinity', '-infinity', '4713-01-01 00:00:00 BC', '294276-12-31 23:59:59',
		map { sprintf '%04d-%02d-%02d %02d:%02d:%02d.%06d%s', 1 + rand 4000, 1 + rand 12, 1 + rand 28, rand 24, rand 60, rand 60, pick(0, 1, 999999), pick('', ' BC') } 1 .. 300);
}

sub typmod
{
	my ($precision, $scale) = @_;

	return ($precision << 16 | $scale & 0x7ff) + 4;
}

# Values that leave a string at many a place, of units as long as the first of those that they go on with.
sub values_around
{
	my ($string, @units) = @_;
	my $unit = length $units[0];
	my @places = map { int rand(length($string) / $unit + 1) } 1 .. 60;
	my @values;

	for my $place (@places, 0, 1, 125 .. 129, length($string) / $unit)
	{
		my $begin = substr $string, 0, $place * $unit;

		push @values, $begin, map { $begin . pick(@units) . $_ } '', $units[0], strings(2, @units);
	}
	return @values;
}

my @bytes = map { my $string = $_; "\\x$string" } strings(60, '00', '61', 'ff', '01');
my @near_bytes = map { "\\x687474703a2f2f$_" } strings(40, '00', '61', 'ff');
my $http = q{'\x687474703a2f2f'};
my @moods = split /\n/, $node->safe_psql('postgres', 'select unnest(enum_range(null::mood))');

# Name, type, values; and: typmod, most words, their prefix, inexact values: none of them, or any number
my @subjects = (
	[ 'numeric', 'numeric', [ numbers() ], most => 2 ],
	(map { [ "numeric($_->[0],$_->[1])", 'numeric', [ fixed_numbers(@$_) ], typmod => typmod(@$_), most => 1 ] }
		[ 18, 0 ], [ 18, 18 ], [ 15, 2 ], [ 12, 4 ], [ 1, 0 ], [ 9, 7 ], [ 17, 13 ], [ 5, 9 ]),
	[ 'numeric(19,2)', 'numeric', [ fixed_numbers(19, 2) ], typmod => typmod(19, 2), most => 2 ],
	[ 'numeric(3,-2)', 'numeric', [ fixed_numbers(3, -2) ], typmod => typmod(3, -2), most => 2 ],
	[ 'a domain', 'price', [ map { sprintf '%.2f', (rand() - 0.5) * 10**(rand 10) } 1 .. 400 ], most => 1, inexact => 0 ],
	[ 'uuid', 'uuid', [ hex_values(32) ], most => 2, inexact => 0 ],
	[ 'interval', 'interval', [ intervals() ], most => 2, inexact => 0 ],
	[ 'timetz', 'timetz', [ times_with_zones() ], most => 2, inexact => 0 ],
	[ 'macaddr', 'macaddr', [ hex_values(12) ], most => 1, inexact => 0 ],
	[ 'macaddr8', 'macaddr8', [ hex_values(16) ], most => 1, inexact => 0 ],
	[ 'enum', 'mood', \@moods, most => 1 ],
	[ 'an enum as it was made', 'plain_mood', [qw(p1 p2 p3)], most => 1, inexact => 0 ],
	[ 'a domain of an enum', 'any_mood', \@moods, most => 1 ],
	[ 'inet', 'inet', [ addresses() ], most => 3 ],
	[ 'IPv4', 'inet', [ grep { !/:/ } addresses() ], least => 2, most => 3, inexact => 0 ],
	[ 'IPv6 hosts', 'inet', [ grep { m{:.*/128} } map { s{/\d+}{/128}r } addresses() ], least => 3, most => 3, inexact => 0 ],
	[ 'cidr', 'cidr', [ addresses() ], from => 'inet', by => 'network(v)', most => 3 ],
	[ 'varbit', 'varbit', [ strings(300, 0, 1) ], most => 4 ],
	[ 'varbit, prefix', 'varbit', [ strings(40, 0, 1), map { "10100000$_" } strings(80, 0, 1) ], most => 4, prefix => q{'\xa0'} ],
	[ 'varbit, long prefix', 'varbit', [ strings(40, 0, 1), values_around('10' x 560, '0', '1') ], most => 4, prefix => q{'\x} . 'aa' x 140 . q{'} ],
	[ 'varbit, a prefix of zeros', 'varbit', [ map { "0$_" } strings(40, 0, 0, 0, 0, 0, 0, 1) ], most => 4, prefix => q{'\x0000'} ],
	[ 'bit(90)', 'bit(90)', [ map { substr $_ . '0' x 90, 0, 90 } strings(90, 0, 1) ], most => 4 ],
	[ 'bytea', 'bytea', \@bytes, most => 4 ],
	[ 'bytea, prefix', 'bytea', [ @near_bytes, @bytes[ 0 .. 200 ] ], most => 4, prefix => $http ],
	[ 'bytea, long prefix', 'bytea', [ map { "\\x$_" } values_around('6a' x 140, '00', '61', '6a', '6b', 'ff') ], most => 4, prefix => q{'\x} . '6a' x 140 . q{'} ],
	[ 'bytea, a prefix of zeros', 'bytea', \@bytes, most => 4, prefix => q{'\x0000'} ],
	[ 'bytea, the highest prefix', 'bytea', \@bytes, most => 4, prefix => q{'\xffff'} ],
	[ 'abbreviated, unsigned', 'tail', \@bytes, most => 1 ],
	[ 'abbreviated, signed', 'thousands', [ integers(-1e9, 1e9) ], most => 1 ],
	[ 'abbreviated, int32', 'halves', [ integers(-1e9, 1e9), map { int((rand() - 0.5) * 2**(rand 63)) } 1 .. 200 ], most => 1 ],
	[ 'float8', 'float8', [ floats('1.7976931348623157e308'), '5e-324', '-5e-324' ], most => 1, inexact => 0 ],
	[ 'float4', 'float4', [ floats('3.4028235e38') ], most => 1, inexact => 0 ],
	[ 'int8', 'int8', [ '-9223372036854775808', '9223372036854775807', integers(-2e9, 2e9) ], most => 1, inexact => 0 ],
	[ 'int4', 'int4', [ integers(-2147483648, 2147483647) ], most => 1, inexact => 0 ],
	[ 'int2', 'int2', [ integers(-32768, 32767) ], most => 1, inexact => 0 ],
	[ 'oid', 'oid', [ integers(0, 4294967295) ], most => 1, inexact => 0 ],
	[ '"char"', '"char"', [ 'a' .. 'z', map { chr } 1 .. 32 ], most => 1, inexact => 0 ],
	[ 'bool', 'bool', [qw(t f)], most => 1, inexact => 0 ],
	[ 'money', 'money', [ map { $_ / 100 } integers(-2e9, 2e9) ], most => 1, inexact => 0 ],
	[ 'pg_lsn', 'pg_lsn', [ 'FFFFFFFF/FFFFFFFF', '0/0', map { sprintf '%X/%X', rand 2**31, rand 2**31 } 1 .. 200 ], most => 1, inexact => 0 ],
	[ 'xid8', 'xid8', [ '18446744073709551615', integers(0, 2e9) ], most => 1, inexact => 0 ],
	[ 'date', 'date', [ dates() ], most => 1, inexact => 0 ],
	[ 'time', 'time', [ map { sprintf '%02d:%02d:%02d.%06d', rand 24, rand 60, rand 60, pick(0, 1, 999999) } 1 .. 200 ], most => 1, inexact => 0 ],
	[ 'timestamp', 'timestamp', [ instants() ], most => 1, inexact => 0 ],
	[ 'timestamptz', 'timestamptz', [ instants() ], most => 1, inexact => 0 ]);

# --- words ---------------------------------------------------------------------------

sub array_of
{
	my ($type, $values, %subject) = @_;
	my $elements = join ',', map { '"' . s/(["\\])/\\$1/gr . '"' } @$values;

	$elements =~ s/'/''/g;
	return "'{$elements}'::${type}[]" unless defined $subject{by};
	return "(select array_agg($subject{by}) from unnest('{$elements}'::$subject{from}\[]) v)";
}

my $began = time;
my $pairs = 0;
for my $entry (@subjects)
{
	my ($name, $type, $all_values, %subject) = @$entry;
	my $values = [ draw(250, @$all_values) ];
	my $typmod = $subject{typmod} // -1;
	my $prefix = $subject{prefix} // 'null';
	my $array = array_of($type, $values, %subject);
	my @calls;

	for my $descending (qw(false true))
	{
		push @calls, map { "check_key_words(a, $typmod, $descending, $_, $prefix)" } ($subject{least} // 1) .. $subject{most}
			unless $type =~ /uuid|interval|timetz/;
		push @calls, "check_key_words(a, $typmod, $descending, 2, $prefix)" if $type =~ /uuid|interval|timetz/;
	}
	my ($status, $out, $err) = $node->psql('postgres',
		"select most_key_words(a[1], $typmod), concat_ws(' ', " . join(', ', @calls) . ") from (select $array as a) s");
	my ($most, $inexact) = split /\|/, $out // '';

	$pairs += @$values * (@$values - 1) / 2 * @calls;
	is($err, '', "$name: words keep their promises, " . @$values . ' values') or next;
	is($most, $subject{most}, "$name: so many words at most");
	note "$name: inexact values $inexact";
	ok($inexact =~ /^[0 ]+$/, "$name: no value is inexact") if defined $subject{inexact};
}
note sprintf '%d pairs in %.1f s', $pairs, time - $began;

for my $type (qw(jsonb int4[] int4range tsvector point))
{
	is($node->safe_psql('postgres', "select most_key_words(null::$type, -1)"), 0, "$type has no words");
}

# --- dictionaries ----------------------------------------------------------------------

# Some of them, none or nearly all, are in the dictionary, and others beside them.
sub check_dictionaries
{
	my ($name, $type, $collation, @values) = @_;

	for my $share (0, 0.05, 0.5, 0.95, 1)
	{
		my @entries = grep { rand() < $share } @values;
		my @others = grep { rand() < 0.8 } @values;
		my ($all, $known) = map { array_of($type, $_) . " collate $collation" } \@others, \@entries;
		my @calls = map { my $descending = $_; map { "check_dictionary_words($all, $known, $descending, $_)" } 1, 2 } qw(false true);
		my ($status, $out, $err) = $node->psql('texts', "select concat_ws(' ', " . join(', ', @calls) . ')');

		is($err, '', "$name: words by a dictionary of " . @entries . ' values keep their promises') or next;
		note "$name: inexact values $out of " . @others;
		ok($out =~ /^[0 ]+$/, "$name: no value of the dictionary is inexact") if $share == 1;
		ok($out =~ /^[1-9]\d* /, "$name: values that are not in it are inexact") if $share == 0;
	}
}

$node->safe_psql('postgres', "create database texts template template0 encoding 'UTF8' locale 'C'");
$node->safe_psql('texts', "create function check_dictionary_words(elements anyarray, entries anyarray, descending bool, words int) returns int language c as '$module'");
my @letters = ('a', 'A', 'b', 'B', 'z', 'Z', "\xc3\xa4", "\xc3\x84", "\xc3\xa9", 'e', 'E', "\xc3\x9f", 'ss', "\xc3\xa5", 'o', "\xc3\xb6", ' ', '-', '1', '10', '.');
my @texts = ('', ' ', 'a' x 40, 'b' x 300, map { my $n = int rand pick(3, 8, 30); join '', map { pick(@letters) } 1 .. $n } 1 .. 200);

# others with the same beginning, with blanks at the end, in other letters
push @texts, map { (pick(@texts) . pick(@letters), "https://www.example.org/$_", pick(@texts) . ' ', pick(@texts) =~ s/a/A/r, 'x' x (56 + rand 20) . $_) } @texts[ 0 .. 40 ];
@texts = keys %{ { map { $_ => 1 } @texts } };
my %collations = ('"C"' => undef, en_us => "locale = 'en_US.UTF-8'", de_de => "locale = 'de_DE.UTF-8'", sv_se => "locale = 'sv_SE.UTF-8'", icu_en => "provider = icu, locale = 'en'",
	icu_few => "provider = icu, locale = 'und-u-ks-level2', deterministic = false", icu_base => "provider = icu, locale = 'und-u-ks-level1', deterministic = false",
	icu_digits => "provider = icu, locale = 'de-u-kn-ka-shifted', deterministic = false");

for my $collation (sort keys %collations)
{
	my $made = !defined $collations{$collation} || $node->psql('texts', "create collation $collation ($collations{$collation})") == 0;

  SKIP:
	{
		skip "no collation $collation", 1 unless $made;
		for my $type ('text', 'bpchar', 'name', 'varchar')
		{
			# entries are of 256 bytes at most
			my @fit = draw(150, grep { length($_) <= ($type eq 'name' ? 60 : 256) } @texts);

			check_dictionaries("$type, $collation", $type, $collation, $type eq 'text' || rand() < 0.5 ? @fit : map { pick(@fit) } 1 .. 120);
		}
	}
}

# --- words of strings that come again ------------------------------------------------------

SKIP:
{
	skip 'no collation of the C library', 9 unless $node->safe_psql('texts', q{select count(*) from pg_collation where collname = 'en_us'});
	$node->safe_psql('texts', "create function remembered_words(elements anyarray, words int, rounds int) returns int language c as '$module'");

	# of n strings, by an expression of i; the first byte of each counts
	my $remembered = sub {
		my ($string, $n, $rounds, $words) = @_;
		return $node->safe_psql('texts', "select remembered_words(array_agg($string order by i) collate en_us, " . ($words // 1) . ", $rounds) from generate_series(1, $n) i");
	};
	my $short = q{chr((97 + i % 26)::int) || 'x' || i};

	is($remembered->($short, 5, 30), 0, 'of few strings no words are kept');
	is($remembered->($short, 5, 100), 5, 'those of strings that come again are');
	is($remembered->($short, 5, 100, 4), 5, 'all of them');
	is($remembered->(q{chr((97 + i % 26)::int) || repeat('x', 46)}, 5, 100), 5, 'those of 47 bytes');
	is($remembered->(q{chr((97 + i % 26)::int) || repeat('x', 47)}, 5, 100), 0, 'not those of 48');
	cmp_ok($remembered->($short, 1000, 3), '>', 700, 'most of 1000 strings, each of which comes three times');
	cmp_ok($remembered->($short, 1000, 3), '<', 1000, 'not those whose place another one has taken');
	is($remembered->($short, 20000, 1), 0, 'strings that do not come again are forgotten');
	cmp_ok($remembered->(q{case when i % 4 > 0 then 'b' || i % 300 else 'b' || i end}, 20000, 1), '>', 8000, 'a quarter of others does not matter');
}

# --- sorts -----------------------------------------------------------------------------

# The ids of a query's rows in their order; they are unique.
sub order_of_ids
{
	my ($query, $settings) = @_;

	$settings //= '';
	return $node->safe_psql('postgres', "$settings select md5(string_agg(id::text, ' ')) from ($query) q");
}

sub same_order
{
	my ($what, $query) = @_;

	is(order_of_ids($query), order_of_ids($query, 'set gpusort.enabled = off;'), "$what: as PostgreSQL does");
}

# A table of values and NULLs, each often; sorted by the device as by PostgreSQL.
sub same_sort
{
	my ($name, $type, $values, %subject) = @_;
	my $array = array_of($type, $values, %subject);

	$node->safe_psql('postgres', qq{
		drop table if exists t;
		create table t as select case when (i + n) % 50 > 0 then k end as k, row_number() over () as id
			from generate_series(1, 16000 / cardinality($array)) i, unnest($array) with ordinality u(k, n);
		analyze t});
	for my $order ('k, id', 'k desc nulls last, id')
	{
		my $query = "select k, id from t order by $order";

		ok(sorts_on_device($node, $query), "$name, $order: sorted by the device");
		same_order("$name, $order", $query);
	}
}

same_sort(@$_) for grep { $_->[0] =~ /^(numeric|numeric\(15,2\)|a domain|uuid|interval|timetz|macaddr8?|enum|inet|cidr|varbit|bytea|abbreviated, .*)$/ } @subjects;

# values in other files, of which words need the beginning only
$node->safe_psql('postgres', q{
	create table wide (k bytea, id int);
	create table wide_numbers (k numeric, id int);
	alter table wide alter k set storage external;
	alter table wide_numbers alter k set storage external;
	insert into wide select decode(repeat(md5((i % 5000)::text), 1 + i % 300), 'hex'), i from generate_series(1, 8000) i;
	insert into wide_numbers select (repeat((i % 3000)::text, 2000))::numeric, i from generate_series(1, 5000) i});
for my $table (qw(wide wide_numbers))
{
	my $query = "select k, id from $table order by k, id";

	is($node->safe_psql('postgres', "select pg_relation_size(reltoastrelid) > 1000000 from pg_class where relname = '$table'"), 't', "$table: values are in another file");
	ok(sorts_on_device($node, $query), "$table: sorted by the device");
	same_order($table, $query);
}

make_tables($node);
nothing_left_over($node, 'words');
$node->stop;
done_testing();
