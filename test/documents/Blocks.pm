# The blocks of code in Markdown pages, and whether an example's output is what it shows.
#
# In:  pages as text.
# Out: blocks: { page, line, language, mark, reason, lines }; statements of a block with psql's
#      prompts: { sql, output }, output as the page shows it.
#
# A comment on the line before a block marks it: "not run: REASON", "output not compared: REASON" or
# "from PostgreSQL: MAJOR", which is in reason then.
# Nothing here talks to a server.
package Blocks;

use strict;
use warnings;

use Exporter qw(import);
our @EXPORT = qw(blocks_of statements_of is_transcript commands_of output_matches shown_output);

sub blocks_of
{
	my ($page, $text) = @_;
	my (@blocks, $block, $indent);
	my $before = '';
	my $line = 0;

	for (split /\n/, $text)
	{
		$line++;
		if ($block && /^\s*```\s*$/)
		{
			push @blocks, $block;
			undef $block;
		}
		elsif ($block)
		{
			push @{ $block->{lines} }, s/^ {0,$indent}//r;
		}
		elsif (/^(\s*)```(\w*)\s*$/)
		{
			$indent = length $1;
			$block = { page => $page, line => $line, language => $2, lines => [], mark => '', reason => '' };
			@$block{qw(mark reason)} = ($1, $2) if $before =~ /^\s*<!-- (not run|output not compared|from PostgreSQL): (\S.*) -->$/;
		}
		$before = $_;
	}
	die "$page: the block of line $block->{line} has no end\n" if $block;
	return @blocks;
}

# With psql's prompts and what statements give, or statements alone.
sub is_transcript
{
	return grep { /^=# / } @{ $_[0]{lines} };
}

sub statements_of
{
	my ($block) = @_;
	my (@statements, $is_open);

	return ({ sql => join("\n", @{ $block->{lines} }), output => [] }) unless is_transcript($block);
	for (@{ $block->{lines} })
	{
		if (s/^=# //)
		{
			push @statements, { sql => $_, output => [] };
			$is_open = !/;$/;
		}
		elsif ($is_open)
		{
			$statements[-1]{sql} .= "\n$_";
			$is_open = !/;$/;
		}
		else
		{
			die "$block->{page}: line $block->{line}: output before the first prompt\n" unless @statements;
			push @{ $statements[-1]{output} }, s/\s+$//r;
		}
	}
	return @statements;
}

# The programs that lines of a shell block call: [program, arguments...].  Comments, variables
# before a program and sudo are left out.
sub commands_of
{
	my ($block) = @_;
	my @commands;

	for my $line (@{ $block->{lines} })
	{
		for my $command (split /\s*(?:&&|\|\||;)\s*/, $line =~ s/(?:^|\s)#.*//r)
		{
			my @words = $command =~ /((?:[^\s"']|"[^"]*"|'[^']*')+)/g;

			shift @words while @words && $words[0] =~ /^(?:\w+=|sudo$)/;
			push @commands, \@words if @words;
		}
	}
	return @commands;
}

# psql's output, as pages show it, whatever the version of PostgreSQL: without the head of a plan and
# places in psql's input, rows without decimals.
sub shown_output
{
	my ($text) = @_;
	my @lines = map { s/\s+$//r } split /\n/, $text;

	s/^psql:\S+?: //, s/(actual rows=\d+)\.\d\d /$1 / for @lines;
	for my $i (0 .. $#lines - 1)
	{
		splice(@lines, $i, 2), last if $lines[$i] =~ /^\s+QUERY PLAN$/ && $lines[ $i + 1 ] =~ /^-+$/;
	}
	pop @lines while @lines && $lines[-1] eq '';
	# a line of WindowAgg that is new in PostgreSQL 18
	return grep { !/^\s+Window: \w+ AS / } @lines;
}

# "..." stands for any characters of a line; by itself for any lines.
sub output_matches
{
	my ($shown, $printed) = @_;
	my $pattern = join '', map {
		/^\s*\.\.\.$/ ? '(?:.*\n)*?' : join('.*?', map { quotemeta } split /\.\.\./, $_, -1) . '\n'
	} @$shown;

	return join('', map { "$_\n" } @$printed) =~ /^$pattern$/;
}

1;
