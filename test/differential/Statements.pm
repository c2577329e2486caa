# Statements.pm
#	  Cuts an SQL file into the statements that psql would send, with what the file says
#	  about how to compare each.
#
# In:  an SQL file as psql reads it: quotes, dollar quotes, nested comments, parentheses,
#      BEGIN ATOMIC bodies, data after COPY FROM stdin, and those backslash commands that
#      leave the output alone.
# Out: one hash for each statement:
#      line  where it begins
#      text  as it is sent to psql
#      bare  the same with every string, comment and parenthesis blanked, to look for
#            clauses in
#      tags  { name => value } of the annotations before it
#      and the annotations of the whole file.
package Statements;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(read_statements);

# An annotation is a comment line "-- @name value".  Those of a file stand anywhere in it.
my %statement_tags = map { $_ => 1 } qw(exact rows keys unchecked device native differs);
my %file_tags = map { $_ => 1 } qw(device-sorts spilled-runs requires below also);

# \d and its kin, and those that neither redirect output nor change its format, nor read
# other files or skip lines.
my $harmless_commands = qr/^(d\w*|l|z|sf|sv|set|unset|gset|g|gx|gexec|gdesc|crosstabview|bind|qecho|echo|warn|timing|errverbose|conninfo)$/;

sub read_statements
{
	my ($path) = @_;
	open my $file, '<:raw', $path or die "$path: $!\n";
	my $sql = do { local $/; <$file> };
	my (@statements, %annotations);
	my %tags;
	my $line = 1;

	pos($sql) = 0;
	while (pos($sql) < length $sql)
	{
		if ($sql =~ /\G[ \t\r\n;]+/gc || $sql =~ m{\G--(?!\s*\@)[^\n]*\n?}gc || skip_block_comment(\$sql))
		{
			next;
		}
		$line = 1 + (substr($sql, 0, pos $sql) =~ tr/\n//);
		if ($sql =~ /\G--\s*\@([a-z-]+)[ \t]*([^\n]*?)[ \t\r]*(?:\n|\z)/gc)
		{
			if ($statement_tags{$1})
			{
				$tags{$1} = $2;
			}
			elsif ($file_tags{$1})
			{
				$annotations{$1} = $2;
			}
			else
			{
				die "$path:$line: unknown annotation \@$1\n";
			}
			next;
		}
		my ($text, $bare) = take_statement(\$sql, "$path:$line");
		push @statements, { line => $line, text => $text, bare => $bare, tags => {%tags} };
		%tags = ();
	}
	return (\@statements, \%annotations);
}

sub skip_block_comment
{
	my ($sql) = @_;
	my $depth = 0;

	return 0 unless $$sql =~ m{\G/\*}gc;
	for ($depth = 1; $depth > 0;)
	{
		if    ($$sql =~ m{\G[^/*]+}gc) { }
		elsif ($$sql =~ m{\G/\*}gc)    { $depth++ }
		elsif ($$sql =~ m{\G\*/}gc)    { $depth-- }
		elsif ($$sql !~ m{\G.}gcs)     { last }
	}
	return 1;
}

# Takes one statement, or one backslash command, from where $$sql stands.
sub take_statement
{
	my ($sql, $place) = @_;
	my $begin = pos $$sql;
	my $bare = '';
	my $depth = 0;
	my @words;
	my $bodies = 0;

	# adds what was matched since from to the bare text; blank: as spaces
	my $add = sub {
		my ($from, $blank) = @_;
		my $piece = substr($$sql, $from, pos($$sql) - $from);
		$piece =~ s/[^\n]/ /g if $blank || $depth > 0;
		$bare .= $piece;
	};

	while (pos($$sql) < length $$sql)
	{
		my $from = pos $$sql;

		if ($$sql =~ /\G\\([a-z]+|.)[^\n]*\n?/gc)
		{
			die "$place: \\$1 may not stand in a file that is compared\n" unless $1 =~ $harmless_commands;
			return finish($sql, $begin, $bare);
		}
		if ($$sql =~ /\G--[^\n]*/gc || skip_block_comment($sql)
			|| $$sql =~ /\G[eE]'(?:[^'\\]|\\.|'')*'/gcs || $$sql =~ /\G'[^']*'/gc
			|| $$sql =~ /\G\$([A-Za-z_\x80-\xff][\w\x80-\xff]*|)\$.*?\$\1\$/gcs)
		{
			$add->($from, 1);
		}
		elsif ($$sql =~ /\G;/gc)
		{
			next if $depth > 0 || $bodies > 0;
			take_copy_data($sql) if $bare =~ /^\s*copy\b.*\bfrom\s+stdin\b/is;
			return finish($sql, $begin, $bare);
		}
		elsif ($$sql =~ /\G[(\[]/gc) { $add->($from); $depth++ }
		elsif ($$sql =~ /\G[)\]]/gc) { $depth-- if $depth > 0; $add->($from) }
		elsif ($$sql =~ /\G([A-Za-z_\x80-\xff][\w\$\x80-\xff]*)/gc)
		{
			my $word = lc $1;

			$add->($from);
			push @words, $word;
			if ("@words[0 .. ($#words < 3 ? $#words : 3)]" =~ /^create (or replace )?(function|procedure)\b/)
			{
				$bodies++ if $word eq 'begin' || ($word eq 'case' && $bodies > 0);
				$bodies-- if $word eq 'end' && $bodies > 0;
			}
		}
		elsif ($$sql =~ /\G"[^"]*"/gc || $$sql =~ /\G./gcs) { $add->($from) }
	}
	die "$place: this statement does not end\n" if $depth > 0 || $bodies > 0;
	my ($text) = finish($sql, $begin, $bare);
	return ("$text;", $bare);
}

sub finish
{
	my ($sql, $begin, $bare) = @_;

	return (substr($$sql, $begin, pos($$sql) - $begin), $bare);
}

sub take_copy_data
{
	my ($sql) = @_;

	$$sql =~ /\G[^\n]*\n(?:.*?\n)??\\\.[^\n]*\n?/gcs;
}

1;
