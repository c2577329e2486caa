# Beside PostGIS, pg_repack, pg_partman and PgBouncer: the rows and their order are those of PostgreSQL's own sorts, and
# gpusort does the sorts.
#
# A module that is not installed is left out.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libraries = use_neighbours();
my $node = new_server('packages');
wait_for_state($node, 'serving');
$node->safe_psql('postgres', 'create table small as select (i * 7919) % 10007 as k, i as id from generate_series(1, 10000) i; analyze small');
my $native = 'set gpusort.enabled = off;';
my $bouncer;
END { $bouncer->kill_kill if $bouncer; }

sub sorts_done
{
	return $node->safe_psql('postgres', 'select jobs from gpusort_stats');
}

# A hash of the rows in their order: of their text, as not all types have hashes.
sub rows_of
{
	my ($query, $settings) = @_;

	return $node->safe_psql('postgres', ($settings // '') . " select count(*), md5(string_agg(q::text, ' ')) from ($query) q");
}

# The query's rows are those of PostgreSQL's sort, in their order, and the device sorts them.
sub same_rows
{
	my ($what, $query) = @_;

	ok(sorts_on_device($node, $query), "$what: on the device");
	is(rows_of($query), rows_of($query, $native), "$what: the rows are the same");
	return;
}

# --- PostGIS

sub beside_postgis
{
	# points, boxes and lines, each seven times; some are empty, and some are NULL
	$node->safe_psql('postgres', q{
		create extension postgis;
		create table places as
			select i as id, case when i % 97 = 0 then null
				when i % 101 = 0 then 'SRID=4326;POINT EMPTY'::geometry
				when n % 3 = 0 then st_setsrid(st_makepoint(x, y), 4326)
				when n % 3 = 1 then st_makeenvelope(x, y, x + 1, y + 1, 4326)
				else st_setsrid(st_makeline(st_makepoint(x, y), st_makepoint(y, x / 2)), 4326) end as geom
			from (select i, n, hashint4(n) % 17800 / 100.0 as x, hashint4(-n) % 8800 / 100.0 as y
				from (select i, i % 3000 as n from generate_series(1, 21000) i) i) p;
		analyze places});
	# PostGIS's abbreviated keys have a comparison of their own, in which an empty geometry equals all others
	is($node->safe_psql('postgres', q{select runs_on, code from gpusort_why('select * from places order by geom')}), 'native|key_words', 'by a geometry: PostgreSQL sorts');
	same_rows('by a geometry behind another key', 'select id, geom from places order by id % 20, geom desc nulls last, id');
	same_rows('groups by a geometry', 'select * from (select geom, count(*) as n, min(id) as id from places group by geom offset 0) g order by n, id');
	same_rows('a window function', 'select id, rank() over (partition by id % 7 order by geom), geom from places order by id % 7, geom, id');
	same_rows('by a distance', q{select id from places order by geom <-> 'SRID=4326;POINT(8 50)'::geometry, id});
	same_rows('by a coordinate', q{select id, st_astext(geom) from places order by st_xmin(geom), id});

	# osm2pgsql orders each table that it has loaded: by a geohash, or by the geometry
	for my $key ('geom', 'st_geohash(st_envelope(geom), 10) collate "C"')
	{
		my %order;

		for my $enabled ('off', 'on')
		{
			my $before = sorts_done();
			my $expected = $enabled eq 'on' && $key ne 'geom' ? 1 : 0;

			$node->safe_psql('postgres', "set gpusort.enabled = $enabled; create table ordered as select * from places order by $key");
			is(sorts_done() - $before, $expected, "gpusort.enabled = $enabled: sorts of CREATE TABLE AS ... ORDER BY $key");
			# rows with equal keys have no order
			$order{$enabled} = rows_of("select $key from ordered", $native) . $node->safe_psql('postgres', 'select sum(hashint4(id)) from ordered; drop table ordered');
		}
		is($order{on}, $order{off}, "CREATE TABLE AS ... ORDER BY $key: the same table");
	}

	# indexes: a btree and a GiST one
	my $builds = $node->safe_psql('postgres', 'select index_builds from gpusort_stats');
	$node->safe_psql('postgres', 'create extension amcheck; set gpusort.index_builds = on; create index places_btree on places (id, geom); create index places_gist on places using gist (geom)');
	is($node->safe_psql('postgres', 'select index_builds from gpusort_stats') - $builds, 1, 'gpusort builds the btree index');
	is($node->safe_psql('postgres', q{select bt_index_parent_check('places_btree', true, true)}), '', 'which is whole');
	my $near = q{select id from places where geom && st_makeenvelope(0, 0, 20, 20, 4326) order by st_xmin(geom), id};
	my $without = 'set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off;';
	is(rows_of($near), rows_of($near, "$native $without"), 'rows that the GiST index finds');
	my $nearest = q{select id from places order by geom <-> 'SRID=4326;POINT(8 50)'::geometry limit 5};
	like($node->safe_psql('postgres', "set gpusort.debug_force = off; explain (costs off) $nearest"), qr/^Limit\n.*Index Scan using places_gist/, 'the nearest ones come from the GiST index');
	return;
}

# --- pg_repack

sub beside_repack
{
	my (%order, %counted);

	$node->safe_psql('postgres', 'create extension pg_repack');
	for my $enabled ('off', 'on')
	{
		local $ENV{PGOPTIONS} = "-c gpusort.enabled=$enabled -c gpusort.index_builds=$enabled -c max_parallel_maintenance_workers=2";

		$node->safe_psql('postgres', "create table loose_$enabled (id int primary key, k int, s text);
			insert into loose_$enabled select i, hashint4(i), md5(i::text) from generate_series(1, 20000) i;
			create index on loose_$enabled (s);
			delete from loose_$enabled where id % 3 = 0");
		my $counters = 'select rows, index_builds from gpusort_stats';
		my @before = split /\|/, $node->safe_psql('postgres', $counters);
		$node->command_ok([ 'pg_repack', '--dbname', 'postgres', '--table', "loose_$enabled", '--order-by', 'k desc, id' ], "pg_repack, gpusort.enabled = $enabled");
		my @after = split /\|/, $node->safe_psql('postgres', $counters);
		$counted{$enabled} = join ' ', $after[0] - $before[0], $after[1] - $before[1];
		$order{$enabled} = rows_of("select * from loose_$enabled", $native);
	}
	is($counted{off}, '0 0', 'pg_repack without gpusort');
	# of its own queries some sort too
	my ($sorted, $built) = split / /, $counted{on};
	cmp_ok($sorted, '>=', 3 * 13334, 'pg_repack: the device sorts the table and two indexes');
	cmp_ok($built, '>=', 2, 'pg_repack: gpusort builds the indexes');
	is($order{on}, $order{off}, 'pg_repack: the same table');
	is($node->safe_psql('postgres', q{create extension if not exists amcheck; select bt_index_parent_check(indexrelid, true, true) from pg_index where indrelid = 'loose_on'::regclass}), "\n", 'pg_repack: its indexes');
	return;
}

# --- pg_partman

sub beside_partman
{
	# partitions by numbers, as those by times depend on the clock
	$node->safe_psql('postgres', q{create schema partman; create extension pg_partman schema partman; create table events (id bigint not null, v int, s text) partition by range (id)});
	my $type = $node->safe_psql('postgres', q{select case when extversion < '5' then 'native' else 'range' end from pg_extension where extname = 'pg_partman'});
	$node->safe_psql('postgres', qq{
		select partman.create_parent(p_parent_table := 'public.events', p_control := 'id', p_type := '$type', p_interval := '5000');
		insert into events select i, hashint4(i), md5((i % 500)::text) from generate_series(0, 24999) i});
	$node->safe_psql('postgres', q{call partman.partition_data_proc('public.events')});
	$node->safe_psql('postgres', 'select partman.run_maintenance(); analyze events');
	cmp_ok($node->safe_psql('postgres', 'select count(distinct tableoid) from events'), '>=', 5, 'pg_partman has made partitions');
	same_rows('by another key than that of partitions', 'select * from events order by s collate "C", v, id');
	same_rows('by the key of partitions behind another', 'select * from events order by v % 10, id');
	same_rows('groups', 'select s, count(*), sum(v) from events group by s order by sum(v), s');
	is(rows_of('select * from events order by id limit 20'), rows_of('select * from events order by id limit 20', $native), 'the first rows');
	return;
}

# --- PgBouncer

sub beside_pgbouncer
{
	my $folder = PostgreSQL::Test::Utils::tempdir_short();
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $user = $node->safe_psql('postgres', 'select current_user');
	my ($out, $err) = ('', '');
	my $database = 'host=' . $node->host . ' port=' . $node->port . " dbname=postgres user=$user";

	append_to_file("$folder/pgbouncer.ini", qq{[databases]
sessions = $database pool_size=1
transactions = $database pool_size=1 pool_mode=transaction
[pgbouncer]
listen_port = $port
unix_socket_dir = $folder
auth_type = any
pool_mode = session
server_reset_query = DISCARD ALL
ignore_startup_parameters = extra_float_digits
});
	$bouncer = IPC::Run::start([ 'pgbouncer', "$folder/pgbouncer.ini" ], '<', \undef, '>', \$out, '2>', \$err);
	my $through = sub {
		my ($pool, $sql) = @_;
		my ($code, $said, $messages) = $node->psql('postgres', $sql, connstr => "host=$folder port=$port dbname=$pool", on_error_stop => 0);

		return "$said$messages";
	};
	my $pid;
	for (1 .. 3000)
	{
		$pid = $through->('sessions', 'select pg_backend_pid()');
		last if $pid =~ /^\d+$/;
		select undef, undef, undef, 0.1;
	}
	$node->safe_psql('postgres', q{create table t as select i as id, hashint4(i) as k, md5(i::text) collate "C" as s from generate_series(1, 20000) i; analyze t});
	my $query = 'select md5(string_agg(s, null)) from (select s from t order by k, id) q';
	my $right = $node->safe_psql('postgres', "$native $query");

	# what a client leaves behind
	my $before = sorts_done();
	is($through->('sessions', "set gpusort.enabled = off; set gpusort.min_rows = 12345; prepare p as select count(*) from (select * from t order by k offset 0) q; execute p;
		reset gpusort.enabled; reset gpusort.min_rows; create temp table mine as select * from t order by s;
		begin; declare c cursor with hold for select * from t order by k; commit; move 10 in c;
		set gpusort.enabled = off; set gpusort.min_rows = 12345; select 'the end'") =~ /^(the end)$/m ? $1 : '', 'the end', 'a client');
	is($through->('sessions', q{select pg_backend_pid(), current_setting('gpusort.enabled'), current_setting('gpusort.min_rows'), (select count(*) from pg_prepared_statements),
		(select count(*) from pg_cursors), to_regclass('mine') is null, (select count(*) from gpusort_progress)}),
		"$pid|on|0|0|0|t|0", 'DISCARD ALL leaves the next client nothing');
	ok(nobody_sorts($node), 'and no job');
	cmp_ok(sorts_done() - $before, '>=', 2, 'the client has sorted on the device');
	is($through->('sessions', $query), $right, 'the next client sorts');

	# clients that take turns on one session
	$before = sorts_done();
	for my $round (1 .. 3)
	{
		is($through->('transactions', "begin; $query; savepoint a; select 1 / 0; rollback to a; $query; commit; $query") =~ s/\n?psql:.*//r, join("\n", ($right) x 3), "pooled transactions, client $round");
	}
	cmp_ok(sorts_done() - $before, '>=', 9, 'they have sorted on the device');

	# a client that leaves in a transaction, with an open sort
	$through->('sessions', 'begin; declare c cursor for select * from t order by k; move 10 in c');
	isnt($through->('sessions', 'select pg_backend_pid()'), $pid, 'a client that leaves in a transaction ends the session');
	is($through->('sessions', $query), $right, 'the next client sorts');
	$bouncer->kill_kill;
	undef $bouncer;
	return;
}

for my $module ([ 'PostGIS', -e "$libraries/postgis-3.so", \&beside_postgis ],
	[ 'pg_repack', -e "$libraries/pg_repack.so", \&beside_repack ],
	[ 'pg_partman', scalar(glob "$libraries/pg_partman*.so"), \&beside_partman ],
	[ 'PgBouncer', !!(grep { -x "$_/pgbouncer" } split /:/, $ENV{PATH}), \&beside_pgbouncer ])
{
	SKIP:
	{
		my ($name, $is_there, $test) = @$module;

		skip "$name is not installed", 1 unless $is_there;
		$test->();
		nothing_left_over($node, $name);
	}
}
$node->stop;
unlike(slurp_file($node->logfile), qr/terminated by signal|TRAP:|PANIC/, 'no process ended');
done_testing();
