# Link.pm
#	  The way to a server, which can be cut while both of its ends go on.
#
# In:  where to listen and where the server listens: each a socket's path, or a port of 127.0.0.1.
# Out: a process that passes on what comes, both ways.  cut ends all connections that there are; new ones are as before.
package Link;

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();

my @links;

sub new
{
	my ($class, $from, $to) = @_;
	my $listener = $from =~ m{/} ? IO::Socket::UNIX->new(Local => $from, Listen => 50) :
	  IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $from, Listen => 50, ReuseAddr => 1);

	die "$from: $!" unless $listener;
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		# none of the test's own
		$SIG{$_} = 'DEFAULT' for qw(TERM INT);
		eval { serve($listener, $to) };
		POSIX::_exit(0);
	}
	push @links, $pid;
	return bless { pid => $pid }, $class;
}

sub cut { kill 'USR1', $_[0]{pid} }

# A process for each connection.
sub serve
{
	my ($listener, $to) = @_;
	my %relays;
	my $end_all = sub { kill 'KILL', keys %relays };

	local $SIG{USR1} = $end_all;
	local $SIG{TERM} = sub { $end_all->(); POSIX::_exit(0) };
	while (1)
	{
		my $near = $listener->accept // next;

		# until here their ids are theirs, be they alive or not
		while ((my $ended = waitpid -1, POSIX::WNOHANG) > 0)
		{
			delete $relays{$ended};
		}
		my $pid = fork // die;

		if ($pid == 0)
		{
			$SIG{USR1} = 'IGNORE';
			$SIG{TERM} = 'DEFAULT';
			$listener->close;
			relay($near, $to =~ m{/} ? IO::Socket::UNIX->new(Peer => $to) : IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $to));
			POSIX::_exit(0);
		}
		$relays{$pid} = 1;
		$near->close;
	}
}

sub relay
{
	my ($near, $far) = @_;
	my %other;

	return unless $far;
	%other = ($near => $far, $far => $near);
	my $both = IO::Select->new($near, $far);
	while (1)
	{
		for my $socket ($both->can_read)
		{
			my $n = sysread $socket, my $bytes, 65536;

			return unless $n;
			for (my $at = 0; $at < $n;)
			{
				$at += syswrite($other{$socket}, $bytes, $n - $at, $at) // return;
			}
		}
	}
}

END
{
	my $status = $?;

	kill 'TERM', @links;
	$? = $status;
}

1;
