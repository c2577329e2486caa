# IndexBuilds.pm
#	  Tables for the tests of index builds, and what compares the indexes with PostgreSQL's own.
#
# make_index_checks comes first.  Databases get amcheck and pageinspect.
package IndexBuilds;

use strict;
use warnings;

use Exporter 'import';
use GpuSortTest;
use Test::More;

our @EXPORT = qw(make_index_checks make_index_tables make_dead_rows make_operator_class build_beside_writer);

# same_pages(a, b) compares the pages of two indexes, but for their LSNs and checksums.  built() has the counters of index
# builds that are not 0.
sub make_index_checks
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		create extension amcheck;
		create extension pageinspect;
		create function same_pages(a regclass, b regclass) returns text language plpgsql as $$
		declare
			pages_of_a int := pg_relation_size(a) / current_setting('block_size')::int;
			pages_of_b int := pg_relation_size(b) / current_setting('block_size')::int;
			differ int;
			first int;
		begin
			if pages_of_a <> pages_of_b then
				return format('%s pages, not %s', pages_of_b, pages_of_a);
			end if;
			select count(*), min(i) into differ, first from generate_series(0, pages_of_a - 1) i
				where substr(get_raw_page(a::text, i), 11) <> substr(get_raw_page(b::text, i), 11);
			return case when differ = 0 then 'same' else format('%s of %s pages differ, the first is %s', differ, pages_of_a, first) end;
		end $$;
		create function built() returns jsonb language sql as $$
			select coalesce(jsonb_object_agg(key, value), '{}') from gpusort_stats s, jsonb_each(to_jsonb(s))
				where (key = 'index_builds' or key like 'native_%') and value <> '0' $$});
	return;
}

# hot: HOT chains, of which some are broken, and rows that are gone.  large: its index spills.
sub make_index_tables
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		create table hot (id int, k int, v int) with (fillfactor = 50);
		insert into hot select i, hashint4(i), i from generate_series(1, 20000) i;
		update hot set v = v + 1 where id % 3 = 0;
		update hot set v = v + 1 where id % 6 = 0;
		update hot set k = k + 1 where id % 5 = 0;
		delete from hot where id % 11 = 0;
		create table large as select hashint8extended(i, 1) as k, md5(i::text) collate "C" as t, i from generate_series(1, 700000) i});
	return;
}

# dead: rows that are dead to all but the snapshot of the session that is returned, and broken HOT chains.
sub make_dead_rows
{
	my ($node) = @_;
	my $old = GpuSortTest::Session->new($node);

	$old->query('begin isolation level repeatable read; select count(*) from pg_class');
	$node->safe_psql('postgres', q{
		create table dead (id int, t text) with (fillfactor = 70);
		insert into dead select i, md5(i::text) from generate_series(1, 20000) i;
		delete from dead where id % 4 = 0;
		insert into dead select i, md5(i::text) from generate_series(1, 20000) i where i % 4 = 0;
		update dead set t = t || 'x' where id % 5 = 0;
		delete from dead where id % 7 = 0});
	return $old;
}

# An operator class for int4 by this comparison function.  It has operators of its own: if they were those of another class, the
# index would be PostgreSQL's.
sub make_operator_class
{
	my ($node, $name, $function) = @_;
	my @operators = ([ '<', 'lt' ], [ '<=', 'le' ], [ '=', 'eq' ], [ '>=', 'ge' ], [ '>', 'gt' ]);

	$node->safe_psql('postgres', "create schema operators_of_$name;"
		  . join('', map { "create operator operators_of_$name.$_->[0] (function = int4$_->[1], leftarg = int4, rightarg = int4);" } @operators)
		  . "create operator class $name for type int4 using btree as function 1 $function(int4, int4)"
		  . join('', map { ", operator $_ operators_of_$name.$operators[$_ - 1][0]" } 1 .. 5));
	return;
}

# Builds an index CONCURRENTLY while a transaction has changed the table, which has so many workers.  Returns what the session
# says.
sub build_beside_writer
{
	my ($node, $workers) = @_;
	my ($writer, $builder) = map { GpuSortTest::Session->new($node) } 1 .. 2;

	$writer->query("create table busy (id int, t text) with (parallel_workers = $workers); insert into busy select i, md5(i::text) from generate_series(1, 20000) i; begin; update busy set t = t || 1 where id % 10 = 0; insert into busy select i, md5(i::text) from generate_series(20001, 21000) i");
	$builder->send('set gpusort.index_builds = on; set client_min_messages = debug1; create index concurrently busy_t on busy (t)');
	ok($node->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $builder->{pid}"), 'CREATE INDEX CONCURRENTLY waits for a writer');
	$writer->query('commit; insert into busy select i, md5(i::text) from generate_series(21001, 22000) i');
	$builder->finish;
	is($node->safe_psql('postgres', q{set client_min_messages = error; select bt_index_parent_check('busy_t', true, true)}), '', 'the index has all rows');
	$_->close for $writer, $builder;
	return $builder->error;
}

1;
