# The tables and links of Markdown pages.
#
# In:  pages as text.
# Out: the names in a table's first column, and links as [line, target].
#
# Nothing here talks to a server.
package Tables;

use strict;
use warnings;

use Exporter qw(import);
our @EXPORT = qw(section_of rows_of names_of links_of anchors_of differences);

# The lines of a text that are not in blocks of code, each with its number before it.
sub prose_of
{
	my ($text) = @_;
	my $line = 0;
	my $in_block = 0;
	my @prose;

	for (split /\n/, $text)
	{
		$line++;
		$in_block = !$in_block if /^\s*```/;
		push @prose, [ $line, $_ ] unless $in_block || /^\s*```/;
	}
	return @prose;
}

# The text below a heading, up to the next one of its level or a higher one.
sub section_of
{
	my ($text, $heading) = @_;
	my $level = 0;
	my $section = '';

	for (map { $_->[1] } prose_of($text))
	{
		if (/^(#+) (.*)$/ && (!$level || length $1 <= $level))
		{
			$level = $2 eq $heading ? length $1 : 0;
		}
		elsif ($level)
		{
			$section .= "$_\n";
		}
	}
	return $section;
}

# The cells of each row of all tables; the head and the line below it are none.
sub rows_of
{
	my ($text) = @_;
	my @rows;
	my $is_table = 0;

	for (split /\n/, $text)
	{
		if (/^\|[-| ]+\|$/)
		{
			$is_table = 1;
		}
		elsif ($is_table && /^\|(.*)\|$/)
		{
			push @rows, [ map { s/^\s+|\s+$//gr } split /(?<!\\)\|/, $1, -1 ];
		}
		else
		{
			$is_table = 0;
		}
	}
	return @rows;
}

# The names in backticks in the first column of a text's tables.
sub names_of
{
	return map { $_->[0] =~ /`([^`]+)`/g } rows_of($_[0]);
}

sub links_of
{
	my ($text) = @_;
	my @links;

	for (prose_of($text))
	{
		my ($line, $prose) = @$_;

		push @links, [ $line, $1 ] while $prose =~ /\]\(([^)\s]+)\)/g;
	}
	return @links;
}

# The names by which headings can be linked to, as GitHub makes them.
sub anchors_of
{
	my ($text) = @_;

	return map { lc =~ s/[^\w\- ]//gr =~ tr/ /-/r } map { $_->[1] =~ /^#+ (.*)$/ } prose_of($text);
}

# The elements that one list has and the other lacks, in words; empty if they are the same sets.
sub differences
{
	my ($wanted, $found, $where) = @_;
	my %wanted = map { $_ => 1 } @$wanted;
	my %found = map { $_ => 1 } @$found;

	return ((map { "$_ is missing in $where" } grep { !$found{$_} } sort keys %wanted),
		(map { "$_ is in $where and nowhere else" } grep { !$wanted{$_} } sort keys %found));
}

1;
