# ALTER EXTENSION UPDATE in another session, in each phase of a sort: sorts go on, whatever the SQL objects are by then.
#
# There must be a version to update to, and the installation may not be the test's to
# write to: the server runs from a copy of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $copy = copy_of_installation();
my $update = q{
create function gpusort_next_version() returns text language sql as $$ select 'yes' $$;
};
my ($version) = slurp_file("$copy->{sharedir}/extension/gpusort.control") =~ /^default_version = '(.+)'/m;
append_to_file("$copy->{sharedir}/extension/gpusort--$version--99.0.sql", $update);

# --- the server
$ENV{PATH} = "$copy->{bindir}:$ENV{PATH}";
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
	like($reader->error, qr/ERROR:  55000: extension gpusort has version 99\.0 in this database, but its library has version \Q$version\E/,
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
