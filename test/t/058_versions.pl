# From 0.1.0's SQL objects to this version's: by ALTER EXTENSION, and behind pg_upgrade.  The catalog is the same
# as that of a fresh CREATE EXTENSION.  Where module and SQL objects differ, the functions say so, and sorts go on.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('old');
wait_for_state($node, 'serving');
my $version = $node->safe_psql('postgres', q{select extversion from pg_extension where extname = 'gpusort'});

# Everything of the extension's that the catalog has, as text.  pg_dump leaves out the privileges of pg_init_privs.
my $catalog = q{
	select p.oid::regprocedure::text as name, concat_ws(' ', pg_get_functiondef(p.oid), proacl, obj_description(p.oid, 'pg_proc'),
		(select initprivs from pg_init_privs where (classoid, objoid, objsubid) = ('pg_proc'::regclass, p.oid, 0))) as definition
	from pg_proc p join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid
	where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e' and d.refobjid = (select oid from pg_extension where extname = 'gpusort')
	union all
	select c.oid::regclass::text, concat_ws(' ', pg_get_viewdef(c.oid), relacl, obj_description(c.oid, 'pg_class'),
		(select initprivs from pg_init_privs where (classoid, objoid, objsubid) = ('pg_class'::regclass, c.oid, 0)), (
		select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) from pg_attribute where attrelid = c.oid and attnum > 0))
	from pg_class c join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid
	where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e' and d.refobjid = (select oid from pg_extension where extname = 'gpusort')
	order by 1, 2};

sub catalog_of
{
	my ($server, $database) = @_;

	return $server->safe_psql($database, $catalog);
}

my $fresh = catalog_of($node, 'postgres');
my $objects = () = $fresh =~ /^gpusort_\w+(?:\(.*?\))?\|/mg;
cmp_ok($objects, '>=', 9, "a fresh $version has $objects objects");

# --- ALTER EXTENSION

$node->safe_psql('postgres', 'create database old');
$node->safe_psql('old', q{create extension gpusort version '0.1.0'; create table t as select hashint4(i) as k from generate_series(1, 30000) i; analyze t});
isnt(catalog_of($node, 'old'), $fresh, '0.1.0 is not the same');

# The module is newer than the SQL objects of database old, and may be older.
sub says
{
	my ($server, $database, $query, $expected, $name) = @_;
	my ($status, $out, $messages) = $server->psql($database, "\\set VERBOSITY verbose\n$query", on_error_stop => 0);

	like($messages, $expected, $name);
}
my $newer = qr/ERROR:  55000: extension gpusort has version 0\.1\.0 in this database, but its library has version \Q$version\E\nHINT:  Run ALTER EXTENSION gpusort UPDATE in this database\./;

says($node, 'old', "select * from $_", $newer, "$_: the module is newer") for 'gpusort_stats', 'gpusort_devices', 'gpusort_stats_reset()', 'gpusort_calibrate()';
like($node->safe_psql('old', 'explain (analyze, costs off, timing off, summary off) select * from t order by k'),
	qr/GpuSort.*Sort Method: (?:host|gpu)$/ms, 'sorts go on');
$node->safe_psql('old', 'alter extension gpusort update');
is(catalog_of($node, 'old'), $fresh, "from 0.1.0 to $version: as if new");
is($node->safe_psql('old', q{select to_regclass('gpusort_stats_0_1') is null}), 't', 'nothing is left of the old views');
is($node->safe_psql('old', q{select count(*) from gpusort_stats, gpusort_devices}), '1', 'and its views work');
is($node->safe_psql('old', q{select runs_on from gpusort_why('select * from t order by k')}), 'device', 'and its new function');

# views of users' go on
$node->safe_psql('old', q{drop extension gpusort; create extension gpusort version '0.1.0';
	create view watched_stats as select jobs, native_run_limit from gpusort_stats;
	create view watched_devices as select state, granted_bytes from gpusort_devices;
	create role watcher; grant select on watched_stats, watched_devices to watcher; revoke select on gpusort_devices from public;
	grant execute on function gpusort_calibrate to public; grant execute on function gpusort_stats_reset to watcher;
	alter extension gpusort update});
is($node->safe_psql('old', 'set role watcher; select w.jobs >= 1, w.native_run_limit is null, d.state, d.granted_bytes from watched_stats w, watched_devices d'),
	't|t|serving|0', 'views of a user\'s read what they read before');
is($node->safe_psql('old', 'select has_table_privilege($$watcher$$, $$gpusort_devices$$, $$select$$)'), 'f', 'a REVOKE from a view that stays does so too');
is($node->safe_psql('old', 'select has_function_privilege($$watcher$$, f, $$execute$$) from unnest(array[$$gpusort_calibrate$$, $$gpusort_stats_reset$$]::regproc[]) f'),
	"t\nt", 'and a GRANT of functions');
$node->safe_psql('old', 'grant select on gpusort_devices to public; revoke execute on function gpusort_calibrate from public; revoke execute on function gpusort_stats_reset from watcher');
is(catalog_of($node, 'old'), $fresh, 'and the extension is as if new');
$node->safe_psql('old', 'drop view watched_stats, gpusort_stats_0_1; drop function gpusort_stats_0_1(); drop view watched_devices; drop role watcher');
is(catalog_of($node, 'old'), $fresh, 'also when the user has dropped the old view');

$node->safe_psql('old', q{update pg_extension set extversion = '99.0.0' where extname = 'gpusort'});
says($node, 'old', 'select * from gpusort_stats',
	qr/ERROR:  55000: extension gpusort has version 99\.0\.0 in this database, but its library has version \Q$version\E\nHINT:  Restart the server, which may have loaded an older library\.  If the error persists, install version 99\.0\.0\./,
	'the module is older');
$node->safe_psql('old', qq{update pg_extension set extversion = '$version' where extname = 'gpusort'});
is($node->safe_psql('postgres', q{select string_agg(source || ' ' || target || ' ' || coalesce(path, ''), ', ' order by source, target)
	from pg_extension_update_paths('gpusort') where path is not null}), "0.1.0 $version 0.1.0--$version", 'the ways from version to version');

# --- pg_upgrade, which makes the objects of the old version one by one

$node->safe_psql('old', q{drop extension gpusort; create extension gpusort version '0.1.0'});
$node->stop;
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$new->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort'\ngpusort.device = 'host'\n");
my $bindir = $node->config_data('--bindir');
# it writes into the folder that it runs in
chdir $new->basedir or die;
$ENV{PGHOST} = $new->host;
command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir,
	'-s', $new->host, '-p', $node->port, '-P', $new->port ], 'pg_upgrade');
$new->start;
$new->poll_query_until('postgres', q{select state = 'serving' from gpusort_devices}) or die 'no device serves';
says($new, 'old', 'select * from gpusort_stats', $newer, 'behind it the objects are still of 0.1.0');
$new->safe_psql('old', 'alter extension gpusort update');
is(catalog_of($new, 'old'), $fresh, 'and of this version then');
is(catalog_of($new, 'postgres'), $fresh, 'those of this version stay so');
$new->stop;
done_testing();
