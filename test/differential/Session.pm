# Session.pm
#	  A psql that is given one statement at a time.
#
# In:  statements; the database and the settings to run them with; GPUSORT_TEST_MODULES, the
#      folder of libraries that a file finds as :modules.
# Out: for each what psql printed, as two texts: results and command tags; errors,
#      notices and warnings.
#
# psql writes results to a file of their own for each statement, and closes it before it
# writes a marker to stderr; the marker ends the wait.  That needs no pseudo-terminal and
# no flush that psql might not make.
package Session;

use strict;
use warnings;

use IO::Handle;
use IPC::Open3;
use Symbol qw(gensym);

# Columns and rows are told apart by bytes that no test prints in a row: a "char" can be each of them.
our $column_end = "\x1f~\x1f";
our $row_end = "\x1e~\x1e";

# new Session(database, folder for output, { setting => value })
sub new
{
	my ($class, $database, $folder, $settings) = @_;
	my @options = map { my $value = $settings->{$_}; $value =~ s/([ \\])/\\$1/g; "-c $_=$value" } sort keys %$settings;
	my $self = bless { folder => $folder, number => 0, alive => 1 }, $class;
	my $to_psql;
	my $from_psql = gensym;

	local $ENV{PGOPTIONS} = join ' ', @options;
	open my $nowhere, '>', '/dev/null' or die "/dev/null: $!\n";
	$self->{pid} = open3($to_psql, '>&' . fileno($nowhere), $from_psql,
		'psql', '-X', '-A', '-d', $database, '-F', $column_end, '-R', $row_end,
		'-v', 'modules=' . ($ENV{GPUSORT_TEST_MODULES} // ''),
		'-P', 'footer=off', '-P', 'null=<null>', '-P', 'pager=off');
	binmode $_ for $to_psql, $from_psql;
	@$self{qw(to_psql from_psql)} = ($to_psql, $from_psql);
	$to_psql->autoflush(1);
	return $self;
}

# Runs one statement, or several lines; returns (results, messages).
sub run
{
	my ($self, $text) = @_;
	my $number = ++$self->{number};
	my $path = "$self->{folder}/$number";
	my $marker = "end of statement $number";
	my $messages = '';

	return ('', "psql had ended\n") unless $self->{alive};
	local $SIG{PIPE} = 'IGNORE';
	print { $self->{to_psql} } "\\o '$path'\n$text\n\\o\n\\warn '$marker'\n";
	until ($messages =~ s/\Q$marker\E\n\z//)
	{
		next if sysread $self->{from_psql}, $messages, 65536, length $messages;
		$self->{alive} = 0;
		$messages .= "psql ended\n";
		last;
	}
	my $results = '';
	if (open my $file, '<:raw', $path)
	{
		local $/;
		$results = <$file> // '';
		close $file;
		unlink $path;
	}
	return ($results, $messages);
}

sub close
{
	my ($self) = @_;

	close $self->{to_psql};
	waitpid $self->{pid}, 0;
}

1;
