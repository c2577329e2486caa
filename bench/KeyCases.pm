# KeyCases.pm
#	  The cases that sort by keys of many types, and how the order of their rows is checked.
#
# In:  names of cases.
# Out: what to order by, in which table, and a query that tells whether rows come in that
#      order.  bench/table.sh makes the tables.
#
# The proof needs no sort of PostgreSQL's: each row's keys are compared, by the type's own
# operators, with those of the row before it; the number of rows and the sum of their hashes
# must be those of the table.  Rows in order that are the table's rows are the answer: equal
# keys may come in any order.  No key of these tables is NULL.
package KeyCases;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(key_cases key_case order_check_query rows_query);

my %keys_of_case = (
	order_float8 => ['f'],
	order_uuid => ['u'],
	order_numeric_15_2 => ['n15'],
	order_numeric => ['n'],
	order_text_c => ['s_c'],
	order_text_icu => ['s_icu'],
	order_text_libc => ['s_libc'],
	order_url => ['url'],
	order_date_text => [ 'd', 's_c' ],
	order_few_text => [ 'few', 'k8' ],
	order_few_text_libc => [ 'few COLLATE bench_en_us', 'k8' ],
	order_lower => ['lower(s_c)']);
my @cases = qw(order_float8 order_uuid order_numeric_15_2 order_numeric order_text_c order_text_icu
  order_text_libc order_url order_date_text order_few_text order_few_text_libc order_lower);

# The cases of the table keys; order_s_c is one of the table t.
sub key_cases { return @cases }

# A case by its name, or undef.
sub key_case
{
	my ($name) = @_;

	return { name => $name, consumer => 'select_all', table => 't', keys => ['s COLLATE "C"'] }
	  if $name eq 'order_s_c';
	return undef unless $keys_of_case{$name};
	return { name => $name, consumer => 'select_all', table => 'keys', keys => $keys_of_case{$name} };
}

# A query of three columns: the number of rows, the sum of their hashes, and how many come
# before a row that should precede them.
sub order_check_query
{
	my ($case) = @_;
	my @numbers = 1 .. @{ $case->{keys} };
	my $keys = join ', ', map { "$case->{keys}[$_ - 1] AS key$_" } @numbers;
	my $both = join ', ', map { "key$_, lag(key$_) OVER () AS before$_" } @numbers;

	return sprintf 'SELECT count(*), sum(hash), count(*) FILTER (WHERE (%s) > (%s))'
	  . ' FROM (SELECT hash, %s FROM (SELECT hash_record_extended(o, 0) AS hash, %s'
	  . ' FROM (SELECT * FROM %s ORDER BY %s OFFSET 0) o OFFSET 0) k) b',
	  join(', ', map { "before$_" } @numbers), join(', ', map { "key$_" } @numbers), $both, $keys,
	  $case->{table}, join(', ', @{ $case->{keys} });
}

# The first two of its columns, without a sort.
sub rows_query
{
	my ($case) = @_;

	return "SELECT count(*), sum(hash_record_extended(o, 0)) FROM $case->{table} o";
}

1;
