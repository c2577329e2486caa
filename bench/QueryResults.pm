# QueryResults.pm
#	  Are two results of one query equal, as far as the query says what they are?
#
# In:  a query's text, the names of its columns, its rows as lines of text.
# Out: what differs.
#
# Rows that tie may come in any order.  So the rows are compared as a bag, and of their order only the columns
# that ORDER BY begins with, as far as it names columns of the result: both results must have
# the same sequence of these.  Columns behind an expression there are not compared.
package QueryResults;

use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use Exporter 'import';

our @EXPORT = qw(columns_ordered_by without_limit describe_result difference_of_results);

# The places of those of @columns by which a query orders its result first.
sub columns_ordered_by
{
	my ($sql, @columns) = @_;
	my ($order_by) = (clauses($sql))[1] =~ /^order\s+by\s+(.*)/is or return ();
	my @places;

	for my $item (split_at_commas($order_by))
	{
		my ($name) = $item =~ /^\s*(?:\w+\.)?(\w+)(?:\s+(?:asc|desc))?(?:\s+nulls\s+(?:first|last))?\s*$/i or last;
		my @found = $name =~ /^\d+$/ ? $name - 1 : grep { lc $columns[$_] eq lc $name } 0 .. $#columns;
		last unless @found == 1;
		push @places, $found[0];
	}
	return @places;
}

sub without_limit
{
	my ($sql) = @_;

	return join '', (clauses($sql))[ 0, 1 ];
}

# A query as what comes before its own ORDER BY, that, and what follows: LIMIT, OFFSET.
sub clauses
{
	my ($sql) = @_;
	my $outer = outer_text($sql);
	my $limit = $outer =~ /\b(limit|offset|fetch)\b(?!.*\border\s+by\b)/is ? $-[0] : length $sql;
	my $order = substr($outer, 0, $limit) =~ /.*\b(order\s+by)\b/is ? $-[1] : $limit;

	return (substr($sql, 0, $order), substr($sql, $order, $limit - $order), substr($sql, $limit));
}

# The text with blanks in place of all that is in parentheses, quotes or comments.
sub outer_text
{
	my ($sql) = @_;
	my $depth = 0;
	my $outer = '';

	for my $token ($sql =~ /('[^']*'|"[^"]*"|--[^\n]*|.)/gs)
	{
		$depth-- if $token eq ')';
		$outer .= $depth == 0 && length $token == 1 && $token !~ /[()]/ ? $token : ' ' x length $token;
		$depth++ if $token eq '(';
	}
	return $outer;
}

sub split_at_commas
{
	my ($text) = @_;
	my $outer = outer_text($text);
	my @items;
	my $begin = 0;

	while ($outer =~ /,|\z/g)
	{
		push @items, substr($text, $begin, $-[0] - $begin);
		$begin = $+[0];
	}
	return @items;
}

# The summary of a result, to compare it with others: hashes of its rows as a bag, and of their number and the
# sequence of the columns at these places.
sub describe_result
{
	my ($rows, $places, $separator) = @_;

	return { rows => md5_hex(join "\n", scalar @$rows, sort @$rows),
		order => md5_hex(join "\n", scalar @$rows, map { join $separator, (split /\Q$separator\E/, $_, -1)[@$places] } @$rows) };
}

# '' when two results are equal, else 'order' or 'rows'.
sub difference_of_results
{
	my ($first, $second) = @_;

	return 'order' if $first->{order} ne $second->{order};
	return $first->{rows} ne $second->{rows} ? 'rows' : '';
}

1;
