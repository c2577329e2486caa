# SiteCases.pm
#	  The cases whose sort stands below another node: windows, DISTINCT, GROUP BY, aggregates and joins.
#
# In:  names of cases.
# Out: the query of each, and the tables that it reads, which bench/table.sh makes.
#
# Any plan is right on either side: native is PostgreSQL's best.  But gpusort's must have sorted on
# the device, and both sides must give the same numbers.  The merge join is gpusort's even where a hash
# join is planned: what it takes tells whether that was right.
#
# returns: rows of the query, if they are not as many as the table's, which must have more than enough for that.
#
# unordered: the same rows through the same nodes but the sort, in whatever order they come, which is the floor.  A join has none.
package SiteCases;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(site_cases site_case);

my @cases = (
	{ name => 'window_partition', tables => ['keys'],
		query => 'SELECT count(*), sum(place * (k8 % 1000)) FROM (SELECT k8, row_number() OVER (PARTITION BY d ORDER BY u) AS place FROM keys OFFSET 0) o',
		unordered => 'SELECT count(*), sum(place * (k8 % 1000)) FROM (SELECT k8, row_number() OVER () AS place FROM keys OFFSET 0) o' },
	{ name => 'window_few_text', tables => ['keys'],
		query => 'SELECT count(*), sum(before % 1000) FROM (SELECT lag(k8) OVER (PARTITION BY few, d ORDER BY u) AS before FROM keys OFFSET 0) o',
		unordered => 'SELECT count(*), sum(before % 1000) FROM (SELECT lag(k8) OVER () AS before FROM keys OFFSET 0) o' },
	{ name => 'distinct_on_few', tables => ['keys'], returns => 8192 * 4,
		query => 'SELECT count(*), ordered_hash(hashint8extended(k8, 0)) FROM (SELECT DISTINCT ON (d, few) d, few, k8 FROM keys ORDER BY d, few, k8 OFFSET 0) o',
		unordered => 'SELECT count(*), ordered_hash(hashint8extended(k8, 0)) FROM (SELECT k8 FROM keys OFFSET 0) o' },
	{ name => 'distinct_sorted', tables => ['keys'],
		query => 'SELECT count(*), ordered_hash(uuid_hash_extended(u, 0)) FROM (SELECT DISTINCT u FROM keys ORDER BY u OFFSET 0) o',
		unordered => 'SELECT count(*), ordered_hash(uuid_hash_extended(u, 0)) FROM (SELECT u FROM keys OFFSET 0) o' },
	{ name => 'group_sorted', tables => ['keys'],
		query => 'SELECT count(*), ordered_hash(uuid_hash_extended(u, n)) FROM (SELECT u, count(*) AS n FROM keys GROUP BY u ORDER BY u OFFSET 0) o',
		unordered => 'SELECT count(*), ordered_hash(uuid_hash_extended(u, 1)) FROM (SELECT u FROM keys OFFSET 0) o' },
	{ name => 'percentile_groups', tables => ['keys'], returns => 4,
		query => 'SELECT count(*), ordered_hash(hashfloat8extended(m, 0)) FROM (SELECT few, percentile_cont(0.5) WITHIN GROUP (ORDER BY f) AS m FROM keys GROUP BY few ORDER BY few OFFSET 0) o',
		unordered => 'SELECT sum(n), ordered_hash(hashfloat8extended(m, 0)) FROM (SELECT few, count(*) AS n, max(f) AS m FROM keys GROUP BY few ORDER BY few OFFSET 0) o' },
	{ name => 'median', tables => ['t'], returns => 1,
		query => 'SELECT 1, percentile_cont(0.5) WITHIN GROUP (ORDER BY k8) FROM t',
		unordered => 'SELECT count(*), max(k8::float8) FROM t' },
	{ name => 'count_distinct', tables => ['keys'], returns => 1,
		query => 'SELECT 1, count(DISTINCT u) FROM keys',
		unordered => 'SELECT count(u), 1 FROM keys' },
	{ name => 'array_agg_ordered', tables => ['keys'], returns => 4,
		query => 'SELECT count(*), ordered_hash(hash_array_extended(a, 0)) FROM (SELECT few, array_agg(k8 ORDER BY u) AS a FROM keys GROUP BY few ORDER BY few OFFSET 0) o',
		unordered => 'SELECT sum(n), ordered_hash(hash_array_extended(a, 0)) FROM (SELECT few, count(*) AS n, array_agg(k8) AS a FROM keys GROUP BY few ORDER BY few OFFSET 0) o' },
	{ name => 'merge_join', tables => [ 't', 't_w8' ], gpusort_setting => 'enable_hashjoin',
		query => 'SELECT count(*), sum(v) FROM t JOIN t_w8 USING (k8)' });

sub site_cases { return map { $_->{name} } @cases }

# A case by its name, or undef.
sub site_case
{
	my ($name) = @_;
	my ($case) = grep { $_->{name} eq $name } @cases;

	return $case && { %$case, consumer => 'site', table => $case->{tables}[0] };
}

1;
