# ALTER EXTENSION UPDATE in another session, in each phase of a sort: sorts go on, whatever the SQL objects are by then.
#
# There must be a version to update to, and the installation may not be the test's to
# write to.  So the server runs from a copy of the installation: PostgreSQL finds its
# files by the place of its programs, hence these are copied and all else is linked.
use strict;
use warnings;

use File::Basename;
use File::Copy;
use File::Path;
use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

sub pg_config
{
	my ($what) = @_;
	my $path = `pg_config --$what`;

	chomp $path;
	return $path;
}

# --- the copy: the folders stand to each other as they do in the installation
my ($programs, $shared, $libraries) = map { pg_config($_) } 'bindir', 'sharedir', 'pkglibdir';
my $copy = PostgreSQL::Test::Utils::tempdir();
mkpath("$copy$programs");
for my $program (glob "$programs/*")
{
	copy($program, "$copy$programs/") or die "copy of $program: $!";
	chmod 0755, "$copy$programs/" . basename($program);
}
mkpath(dirname("$copy$libraries"));
symlink $libraries, "$copy$libraries" or die "link to $libraries: $!";
mkpath("$copy$shared/extension");
for my $file (glob("$shared/*"), glob("$shared/extension/*"))
{
	my $link = "$copy$file";

	symlink $file, $link or die "link to $file: $!" unless $file eq "$shared/extension";
}
my $update = q{
create function gpusort_next_version() returns text language sql as $$ select 'yes' $$;
};
my ($version) = slurp_file("$shared/extension/gpusort.control") =~ /^default_version = '(.+)'/m;
append_to_file("$copy$shared/extension/gpusort--$version--99.0.sql", $update);

# --- the server
$ENV{PATH} = "$copy$programs:$ENV{PATH}";
my $node = new_server('update');
wait_for_state($node, 'serving');
make_tables($node);
is($node->safe_psql('postgres', "select count(*) from pg_extension_update_paths('gpusort') where source = '$version' and target = '99.0' and path is not null"),
	'1', "the server runs from the copy: there is a way from $version to 99.0");

my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select * from big order by k, id) q";
my $right = $node->safe_psql('postgres', "set gpusort.enabled = off; $hash");
my %phases = (
	feed => [ '', $hash, $right ],
	sort => [ '', 'select count(*) from (select * from small order by k) s', '10000' ],
	output => [ 'begin; declare c cursor for select id, filler from big order by id; fetch 1 from c',
		'move 299998 in c; fetch all in c', '300000|' . 'f' x 40 ]);

for my $phase (sort keys %phases)
{
	my ($before, $statement, $rows) = @{ $phases{$phase} };
	my $session = GpuSortTest::Session->new($node);
	my $reader = GpuSortTest::Session->new($node);

	$reader->query('set plan_cache_mode = force_generic_plan; prepare p as select failed from gpusort_stats; execute p');
	$session->query($before) if $before;
	my $service = stop_service($node);
	$session->send($statement);
	ok($session->wait_until_waiting, "$phase: the session waits");
	$node->safe_psql('postgres', "alter extension gpusort update to '99.0'");
	is($node->safe_psql('postgres', 'select gpusort_next_version()'), 'yes', "$phase: updated meanwhile");
	$reader->query('execute p');
	like($reader->error, qr/ERROR:  55000: the extension gpusort is of version 99\.0 in this database, its module of version \Q$version\E/,
		"$phase: a prepared statement over a view says that the module is older");
	continue_service($service);
	is($session->finish, $rows, "$phase: the rows are right");
	is($session->error, '', "$phase: no error");
	$_->close for $session, $reader;
	$node->safe_psql('postgres', "drop extension gpusort; create extension gpusort version '$version'");
	nothing_left_over($node, "$phase, updated");
}
$node->stop;

done_testing();
