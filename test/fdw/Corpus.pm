# Corpus.pm
#	  The statements of test/differential, over tables that lie on other servers: the same rows as
#	  over local ones.
#
# In:  a database whose tables lie elsewhere, and one with the same rows in tables of its own; the
#      files of test/differential; settings of all servers, several sets of them.
# Out: for each file a test for each set: every statement gave what it gives locally.
#
# A statement is compared if PostgreSQL itself gives the same for it there: if it reads only; if
# gpusort, switched off everywhere, leaves it as it is over local tables; and if it does not tell
# in which order rows lie or how they are grouped, which is seen in a second local database, where
# they lie in another order and groups are sorted, not hashed: statistics of foreign tables are of
# rows drawn at random, so the plan may be the one or the other.
# Nor does it count if what differs with gpusort differs natively too: where PostgreSQL sorts groups, as some plans over custom
# scans and foreign scans are not read backward, whatever a cursor was told; or when it is run again, as what is not
# ordered at the top comes from several servers in the order in which they answer.
# How many are left out is said; these last ones too, and they may be few only.
package Corpus;

use strict;
use warnings;

use Exporter 'import';
use File::Temp qw(tempdir);
use Test::More;

use GpuSortTest ();
use Nodes;
use Outcome;
use Session;
use Statements;

our @EXPORT = qw(create_corpus move_rows drop_keys compare_corpus files_of_corpus);

our @tables = qw(events narrow customers orders measures tree documents odd no_rows one_row one_key only_nulls ordered typed texts toasted);

my $folder = tempdir('gpusort-corpus.XXXXXX', TMPDIR => 1, CLEANUP => 1);
# At most this many statements may have two results in PostgreSQL itself, plus one for every 200 compared.
my ($most_unsteady, $one_more_of) = (3, 200);
# How often what differs is run natively again.
my $native_runs = 5;
my %plain = ('statement_timeout' => '600s', 'client_min_messages' => 'notice', 'jit' => 'off');

sub session
{
	my ($node, $database, $settings) = @_;

	return Session->new($node->connstr($database), $folder, { %plain, %$settings });
}

# A quarter of the files, SEED or the time says which; all with ROUNDS=all; or those that GPUSORT_TEST_FILES names: "*" for all.
sub files_of_corpus
{
	my $names = $ENV{GPUSORT_TEST_FILES};
	my $seed = $ENV{SEED} // time;
	my @all = sort glob "$ENV{GPUSORT_DIFFERENTIAL}/*.sql";

	return map { glob "$ENV{GPUSORT_DIFFERENTIAL}/$_.sql" } split ' ', $names if ($names // '') ne '';
	note "SEED=$seed";
	return @all if $GpuSortTest::all_cases;
	return @all[ grep { $_ % 4 == $seed % 4 } 0 .. $#all ];
}

# Creates the corpus's tables in a database that is there.
sub create_corpus
{
	my ($node, $database) = @_;
	my $session = session($node, $database, { 'gpusort.enabled' => 'off' });

	for my $name (qw(tables collations keys))
	{
		for my $statement (@{ (read_statements("$ENV{GPUSORT_DIFFERENTIAL}/setup/$name.sql"))[0] })
		{
			my ($results, $messages) = $session->run($statement->{text});

			die "setup/$name.sql:$statement->{line}:\n$messages" if $messages =~ /^(?:ERROR|FATAL)|^psql ended/m;
		}
	}
	$session->close;
}

# Puts rows of all tables into other places, and takes away what tells the planner that they are
# unique: elsewhere nothing does.
sub move_rows
{
	my ($node, $database) = @_;

	for my $table (@tables)
	{
		my ($column) = $table eq 'narrow' ? 'b' : 'id';

		$node->safe_psql($database, join "\n", map { "update $table set $column = $column where hashint8($column) % $_ = 0; vacuum $table;" } 2, 3, 5);
	}
	drop_keys($node, $database);
	$node->safe_psql($database, 'analyze');
}

sub drop_keys
{
	my ($node, $database) = @_;

	$node->safe_psql($database, q{
		do $$
		declare
			c record;
		begin
			for c in select conname, conrelid::regclass as rel from pg_constraint where contype in ('f', 'p') and connamespace = 'public'::regnamespace and conislocal order by contype loop
				execute format('alter table %s drop constraint %I', c.rel, c.conname);
			end loop;
		end $$});
}

# --- statements ------------------------------------------------------------------------

# Statements that say where a row lies, change something, or depend on the machine.
my $not_compared = qr/\b(?:ctid|tableoid|xmin|xmax|cmin|cmax|tablesample|nextval|setval|currval|insert|update|delete|merge|truncate
	|for\s+(?:no\s+key\s+)?(?:update|share|key\s+share)|pg_\w+|gpusort\w*|random|setseed|clock_timestamp|now|set_config|current_setting|dblink|differential)\b/xi;

# SETs come along: they shape plans.
sub may_be_compared
{
	my ($statement) = @_;
	my ($text, $bare) = @$statement{qw(text bare)};

	return 0 if exists $statement->{tags}{differs} || $text =~ $not_compared;
	return 1 if $bare =~ /^\s*(?:set|reset)\s+(?!gpusort|session|role|constraints)\w/i;
	return $bare =~ /^[\s(]*(?:select|with|values|table|prepare|execute|deallocate|begin|start\s+transaction|declare|fetch|move|close|commit|rollback|end)\b/i
	  && $bare !~ /\binto\b/i;
}

# Each statement's outcome in one session.
sub run_in
{
	my ($statements, $node, $database, $settings) = @_;
	my $session = session($node, $database, $settings // {});
	my @outcomes;

	for my $statement (@$statements)
	{
		my ($results, $messages) = $session->run($statement->{text});

		# a foreign server's error comes with the statement that it was sent
		$messages =~ s/^(?:CONTEXT|remote SQL command|DETAIL|HINT|LINE \d+|\s+\^).*\n//mgi;
		push @outcomes, { results => $results, messages => $messages };
	}
	$session->close;
	return \@outcomes;
}

# compare_corpus(nodes => [...], local => [node, database], moved => ..., elsewhere => ...,
#   modes => [[name, { setting => value }], ...], files => [...])
sub compare_corpus
{
	my (%of) = @_;
	my ($compared, $left_out) = (0, 0);
	my @unsteady;
	my %unset = map { map { $_ => undef } keys %{ $_->[1] } } @{ $of{modes} };
	# all servers: for a mode, or to sort natively
	my $set = sub { set_on_all($of{nodes}, { %unset, 'gpusort.enabled' => @_ }) };

	for my $path (@{ $of{files} })
	{
		my $name = $path =~ s{.*/}{}r;
		my @statements = grep { may_be_compared($_) } @{ (read_statements($path))[0] };
		my $run = sub { return run_in(\@statements, @{ $of{ $_[0] } }, $_[1]) };

		$set->('off');
		my $local = $run->('local');
		my $moved = $run->('moved', { 'enable_hashagg' => 'off' });
		my $native = $run->('elsewhere');
		my @chosen = grep { tells_no_order($statements[$_], $local->[$_], $moved->[$_], $native->[$_]) } 0 .. $#statements;
		# those whose outcome is another than locally
		my $different = sub { my $outcomes = shift; return grep { defined difference($statements[$_], $local->[$_], $outcomes->[$_]) } @_ };
		my $leave_out = sub {
			my %out = map { $_ => 1 } @_;

			push @unsteady, map { "$name:$statements[$_]{line}: $statements[$_]{text}" } @_;
			@chosen = grep { !$out{$_} } @chosen;
		};

		for my $mode (@{ $of{modes} })
		{
			my ($mode_name, $settings) = @$mode;

			$set->('on', %$settings);
			my $outcomes = $run->('elsewhere');
			my $native_again = 0;

			# most give what they should, and then nothing is run natively
			for my $natively ({ 'enable_hashagg' => 'off' }, ({}) x $native_runs)
			{
				my @suspects = $different->($outcomes, @chosen);

				last unless @suspects;
				$set->('off') unless $native_again++;
				$leave_out->($different->($run->('elsewhere', $natively), @suspects));
			}
			my @wrong = $different->($outcomes, @chosen);

			is(scalar @wrong, 0, "$name: $mode_name: " . scalar @chosen . ' statements give their local rows')
			  or diag(map { "$name:$statements[$_]{line}: " . difference($statements[$_], $local->[$_], $outcomes->[$_]) . "\n$statements[$_]{text}\n$outcomes->[$_]{messages}\n" } splice @wrong, 0, 3);
		}
		$compared += @chosen;
		$left_out += @statements - @chosen;
	}
	note "left out, as PostgreSQL itself gives the one or the other: $_" for @unsteady;
	cmp_ok(scalar @unsteady, '<=', $most_unsteady + $compared / $one_more_of, 'PostgreSQL itself gives the one or the other for few statements');
	note "SUMMARY $compared statements compared, $left_out left out, " . scalar @unsteady . ' of them as PostgreSQL itself gives the one or the other';
	return $compared;
}

# Is a statement's outcome the same whatever order rows come in, and wherever they lie?
sub tells_no_order
{
	my ($statement, $local, $moved, $native) = @_;

	return 0 if $local->{messages} =~ /does not exist|current transaction is aborted/;
	return !defined difference($statement, $local, $moved) && !defined difference($statement, $local, $native);
}

1;
