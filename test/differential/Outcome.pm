# Outcome.pm
#	  Do two outcomes of one statement agree, ties and plans set aside?
#
# In:  a statement as Statements.pm gives it, and its results and messages from two
#      sessions.
# Out: undef if they agree, else one line that says in what they differ.
#
# How results are compared:
#
# exact      byte by byte
# rows       the same rows in any order
# keys       the same rows, and the same values of the key columns in the same order: ties
#            may come in any order.  Where LIMIT or OFFSET cuts, the first and the last
#            tie run may be cut elsewhere, so their rows are not compared.
# unchecked  not at all: only messages are compared
#
# An annotation says which: "-- @exact", "-- @rows", "-- @keys 1,2" (columns), "-- @unchecked".
# Without one, EXPLAIN is unchecked; a SELECT without an ORDER BY of its own is compared by
# rows; one with it by its keys if all of them are columns of its result, else exactly: where
# such a statement has ties, say how to compare it.  Anything else is compared exactly.
# Equal outputs agree however they are compared.
package Outcome;

use strict;
use warnings;

use Exporter 'import';
use Session;

our @EXPORT = qw(difference readable);

sub difference
{
	my ($statement, $native, $other) = @_;
	my ($how, $columns) = method($statement, $native->{results});

	($native, $other) = ({%$native}, {%$other});
	return 'other messages' if plain($native->{messages}) ne plain($other->{messages});
	return undef if $how eq 'unchecked' || $native->{results} eq $other->{results};
	return 'other output' if $how eq 'exact' && !is_query($statement);
	return 'other command tags' if take_tag($native) ne take_tag($other);

	my @native = records($statement, $native->{results});
	my @other = records($statement, $other->{results});

	return "$#other rows instead of $#native" if @native != @other;
	return 'other rows' if $how ne 'keys' && !same_rows(\@native, \@other);
	return 'other order' if $how eq 'exact';
	return undef if $how eq 'rows';

	my $column_end = is_copy($statement) ? "\t" : $Session::column_end;
	my @native_keys = map { key($_, $columns, $column_end) } @native;
	my @other_keys = map { key($_, $columns, $column_end) } @other;

	for my $i (0 .. $#native)
	{
		return "other keys, first in row $i" if $native_keys[$i] ne $other_keys[$i];
	}
	if (is_cut($statement))
	{
		my ($first, $last) = @native_keys[1, -1];
		my @inner = grep { $native_keys[$_] ne $first && $native_keys[$_] ne $last } 1 .. $#native;

		@native = @native[@inner];
		@other = @other[@inner];
	}
	return same_rows(\@native, \@other) ? undef : 'same keys, other rows';
}

# The method for a statement, and the columns of method keys, counted from 0.
sub method
{
	my ($statement, $results) = @_;
	my ($tags, $bare) = @$statement{qw(tags bare)};

	for my $how (qw(unchecked exact rows))
	{
		return ($how) if exists $tags->{$how};
	}
	return ('keys', [ map { $_ - 1 } split /\s*,\s*/, $tags->{keys} ]) if exists $tags->{keys};
	return ('unchecked') if $bare =~ /^\s*explain\b/i;
	return ('exact') unless is_query($statement);

	return ('rows') unless $bare =~ /.*\border\s+by\b(.*)/is;

	my $columns = columns_of_keys($1, $results);
	return defined $columns ? ('keys', $columns) : ('exact');
}

# The columns of the result that the sort keys name; undef if one of them is none.
sub columns_of_keys
{
	my ($list, $results) = @_;
	my ($header) = split /$Session::row_end/, $results, 2;
	my @names = split /$Session::column_end/, $header // '', -1;
	my @columns;

	$list =~ s/\b(limit|offset|fetch|for)\b.*//is;
	for my $item (split /,/, $list)
	{
		my ($name) = $item =~ /^\s*(?:\w+\.)*("[^"]+"|\w+)\s*(?:\b(?:asc|desc|nulls\s+(?:first|last))\b\s*)*$/i;

		return undef unless defined $name;
		if ($name =~ /^\d+$/)
		{
			push @columns, $name - 1;
			next;
		}
		$name = $name =~ /^"(.*)"$/ ? $1 : lc $name;
		my @found = grep { $names[$_] eq $name } 0 .. $#names;
		return undef if @found != 1;
		push @columns, $found[0];
	}
	return \@columns;
}

# Has it rows whose order may be free?
sub is_query
{
	my ($statement) = @_;

	return $statement->{bare} =~ /^[\s(]*(select|with|values|table)\b/i || $statement->{bare} =~ /\breturning\b/i;
}

sub is_cut
{
	my ($statement) = @_;

	return $statement->{bare} =~ /\b(limit|offset|fetch\s+(first|next))\b/i;
}

sub is_copy
{
	my ($statement) = @_;

	return $statement->{bare} =~ /^\s*copy\b/i;
}

# Takes off the command tag that follows a RETURNING's rows.
sub take_tag
{
	my ($outcome) = @_;

	return $outcome->{results} =~ s/\n((?:INSERT|UPDATE|DELETE|MERGE) [0-9 ]+\n)\z/\n/ ? $1 : '';
}

# The header and then the rows, or the lines that COPY wrote, behind an empty header.
sub records
{
	my ($statement, $results) = @_;

	$results =~ s/\n\z//;
	return ('', split /\n/, $results, -1) if is_copy($statement);
	return split /$Session::row_end/, $results, -1;
}

sub key
{
	my ($record, $columns, $column_end) = @_;
	my @values = split /$column_end/, $record, -1;

	return join $column_end, map { $values[$_] // '' } @$columns;
}

sub same_rows
{
	my ($left, $right) = @_;
	my @left = sort @$left;
	my @right = sort @$right;

	return join($Session::row_end, @left) eq join($Session::row_end, @right);
}

# Messages without what only says in which process they arose.
sub plain
{
	my ($messages) = @_;

	$messages =~ s/^(CONTEXT:  )?parallel worker\n//mg;
	return $messages;
}

# An outcome for people.
sub readable
{
	my ($outcome) = @_;
	my $text = "$outcome->{messages}$outcome->{results}";

	$text =~ s/$Session::row_end/\n/g;
	$text =~ s/$Session::column_end/|/g;
	$text .= "\n" unless $text =~ /\n\z/;
	return $text;
}

1;
