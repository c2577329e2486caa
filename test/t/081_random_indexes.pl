# 150 random definitions of btree indexes over random tables: gpusort's index is PostgreSQL's, page by page, or both get
# the same error.
#
# Columns of all common types have NULLs, duplicates, and values that are compressed or stored out of line.  Rows are dead, dead
# to some, or have moved in HOT chains.
#
#   SEED=N           of the tables and definitions
#   DEFINITIONS=N    how many, 150 by default, and 300 with ROUNDS=all
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use IndexBuilds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $definitions = $ENV{DEFINITIONS} || ($GpuSortTest::all_cases ? 300 : 150);
my $definitions_of_table = 10;
seed();

my $node = new_server('random_indexes', "gpusort.device_memory = '32MB'", 'fsync = off', 'timezone = UTC');
my $major = int($node->safe_psql('postgres', q{select current_setting('server_version_num')::int / 10000}));
wait_for_state($node, 'serving');
make_index_checks($node);
$node->safe_psql('postgres', q{
	create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	create type mood as enum ('sad', 'ok', 'fine', 'happy');
	create type pair as (a int4, b text);
	create domain code as text check (value <> '-');

	-- the error without the index's name, or ''
	create function build(mode text, name text, uniq text, rel text, def text) returns text language plpgsql as $$
	begin
		perform set_config('gpusort.index_builds', mode, true);
		execute format('create %s index %I on %s %s', uniq, name, rel, def);
		return '';
	exception when others then
		return 'error ' || sqlstate || ' ' || replace(sqlerrm, name, '');
	end $$;

	-- amcheck's error without the index's name, or ''
	create function check_index(name text) returns text language plpgsql as $$
	begin
		perform bt_index_parent_check(name, true, true);
		return '';
	exception when others then
		return replace(sqlerrm, name, '');
	end $$;

	-- builds both, for a transaction that is to be rolled back: 'same' and gpusort's counters, or 'error' and both builds' error,
	-- or how they differ
	create function build_both(uniq text, rel text, def text) returns text language plpgsql as $$
	declare
		native text := build('off', 'ix_native', uniq, rel, def);
		ours text;
		counted jsonb;
		check_native text;
		check_ours text;
	begin
		perform gpusort_stats_reset();
		ours := build('on', 'ix_ours', uniq, rel, def);
		counted := built();
		if native <> '' or ours <> '' then
			return case when native = ours then native else format('"%s", natively "%s"', ours, native) end;
		end if;
		check_native := check_index('ix_native');
		check_ours := check_index('ix_ours');
		if check_ours <> check_native then
			return format('amcheck says "%s", natively "%s"', check_ours, check_native);
		end if;
		if (select count(distinct reltuples) from pg_class where relname in ('ix_native', 'ix_ours')) <> 1 then
			return 'reltuples differ';
		end if;
		return same_pages('ix_native', 'ix_ours') || ' ' || counted;
	end $$;
});

my @collations = ('"C"', '"POSIX"', '"en-x-icu"', '"de-x-icu"', '"und-x-icu"', 'ci', '"default"');
push @collations, 'us' if $node->psql('postgres', q{create collation us (locale = 'en_US.UTF-8')}) == 0;
push @collations, 'pg_c_utf8' if $major >= 17;

# --- what is drawn from

sub one_of { return $_[ int rand @_ ] }
sub chance { return rand() < $_[0] }

# Texts of a number V that is not negative.
my @texts = (
	q{md5(V::text)}, q{V::text}, q{'customer ' || V}, q{repeat('x', (V % 40)::int) || V}, q{repeat(md5(V::text), (V % 70)::int)},
	q{md5(V::text) || md5((V + 1)::text) || md5((V + 2)::text) || md5((V + 3)::text) || md5((V + 4)::text) || md5((V + 5)::text) || md5((V + 6)::text)},
	q{(array['', 'a', 'A', 'ä', 'Ä', 'ab', 'a b', 'a-b', 'ß', 'ss', 'SS', 'z', 'é', 'e' || chr(769), '日本', ' ', 'a ', chr(1), chr(9), chr(65535), chr(128512)])[V % 21 + 1] || case when V % 3 = 0 then '' else (V % 20)::text end});

# type => its value of V.  Types of the second list have no words, as first keys.
my %types = (
	bool => q{V % 2 = 0},
	int2 => q{(V % 65536 - 32768)::int2},
	int4 => q{(V % 4294967296 - 2147483648)::int4},
	int8 => q{case V % 50 when 0 then -9223372036854775808 when 1 then 9223372036854775807 else (V - 500) * 1000003 end},
	oid => q{(V % 4294967296)::oid},
	float4 => q{case V % 40 when 0 then 'NaN' when 1 then '-0' when 2 then '0' when 3 then '-Infinity' else ((V - 20) / 7.0)::text end::float4},
	float8 => q{case V % 40 when 0 then 'NaN' when 1 then '-0' when 2 then '0' when 3 then 'Infinity' else ((V - 20) / 7.0)::text end::float8},
	numeric => q{case V % 40 when 0 then 'NaN' when 1 then '1.0' when 2 then '1.00' when 3 then '-Infinity' when 4 then '1e300' when 5 then '-1e-300' when 6 then '123456789012345678901234567890.5' else ((V - 500) / 100.0)::text end::numeric},
	'numeric(12,2)' => q{((V % 1000000000 - 500) / 100.0)::numeric(12,2)},
	money => q{(V % 100000)::int::money},
	date => q{case V % 60 when 0 then 'infinity' when 1 then '-infinity' when 2 then '0044-03-15 BC' else (date '2020-01-01' + (V % 20000)::int)::text end::date},
	time => q{time '00:00' + (V % 86400000 || ' ms')::interval},
	timetz => q{((time '00:00' + (V % 86400 || ' s')::interval)::text || case V % 3 when 0 then '+00' when 1 then '+05:30' else '-08' end)::timetz},
	timestamp => q{case V % 60 when 0 then 'infinity' else (timestamp '1999-01-01' + (V % 1000000000000 || ' us')::interval)::text end::timestamp},
	timestamptz => q{timestamptz '2026-01-01' - (V % 1000000000 || ' s')::interval},
	interval => q{case V % 4 when 0 then '1 mon' when 1 then '30 days' when 2 then '720 hours' else (V % 100000)::text || ' s' end::interval},
	uuid => q{md5(V::text)::uuid},
	inet => q{case V % 5 when 0 then '2001:db8::' || to_hex((V % 65536)::int) when 1 then '10.0.0.0/8' else '10.' || V % 4 || '.' || V % 256 || '.' || V / 256 % 256 || '/24' end::inet},
	cidr => q{('10.' || V % 4 || '.' || V % 256 || '.0/24')::cidr},
	macaddr => q{('08:00:2b:01:' || lpad(to_hex((V % 256)::int), 2, '0') || ':03')::macaddr},
	macaddr8 => q{('08:00:2b:01:02:03:' || lpad(to_hex((V % 256)::int), 2, '0') || ':05')::macaddr8},
	bytea => q{decode(repeat(md5(V::text), (V % 9)::int), 'hex')},
	mood => q{(enum_range(null::mood))[V % 4 + 1]},
	code => q{'code ' || V},
	name => q{left(TEXT, 15)::name},
	text => q{TEXT}, varchar => q{TEXT}, 'varchar(90)' => q{left(TEXT, 90)}, 'bpchar(30)' => q{left(TEXT, 30)}, bpchar => q{TEXT});
my %types_without_words = (
	'"char"' => q{chr((V % 127 + 1)::int)::"char"}, 'bit(9)' => q{(V % 512)::int::bit(9)},
	varbit => q{(V % 512)::int::bit(9)::varbit}, pg_lsn => q{('0/' || to_hex((V % 1000000)::int))::pg_lsn}, xid8 => q{(V % 1000000)::text::xid8},
	tid => q{('(' || V % 1000 || ',' || V % 100 || ')')::tid}, 'int4[]' => q{array[V % 10, V % 7]::int4[]}, 'text[]' => q{array[TEXT, V::text]},
	int4range => q{int4range((V % 1000)::int, 2000)}, jsonb => q{('{"a":' || V % 1000 || '}')::jsonb}, tsvector => q{to_tsvector('simple', 'a ' || V % 100)},
	pair => q{row(V % 10, V::text)::pair});
my %is_text = map { $_ => 1 } 'text', 'varchar', 'varchar(90)', 'bpchar(30)', 'bpchar', 'code', 'name';
my %pattern_class = (text => 'text_pattern_ops', code => 'text_pattern_ops', varchar => one_of('varchar_pattern_ops', 'text_pattern_ops'),
	'varchar(90)' => 'varchar_pattern_ops', bpchar => 'bpchar_pattern_ops', 'bpchar(30)' => 'bpchar_pattern_ops');

# A value of the row i, by a hash of its own.
sub value_of
{
	my ($type) = @_;
	my $value = $types{$type} // $types_without_words{$type};
	my $number = sprintf '(abs(hashint8extended(i, %d) %% %s))', int rand 1e9, one_of(1, 2, 5, 30, 200, 3000, 1000000, 1000000000000);
	my $text = one_of(@texts);

	$value =~ s/TEXT/$text/g;
	$value =~ s/\bV\b/$number/g;
	return $value unless chance(0.5);
	return sprintf 'case when hashint8extended(i, %d) %% %d <> 0 then %s end', int rand 1e9, one_of(1, 2, 3, 10, 100), $value;
}

# Creates the table and returns its columns, [name, type].
sub make_table
{
	my ($table) = @_;
	my $rows = one_of(0, 1, 20, 300, 1000, 1000, 3000, 3000, 6000, 15000);
	my @columns = map { [ "c$_", chance(0.85) ? one_of(sort keys %types) : one_of(sort keys %types_without_words) ] } 1 .. 7;
	my @sql = sprintf "create %s table $table (id int8, gone int4, v int4, %s) with (fillfactor = %d, toast_tuple_target = %d)",
	  one_of('', '', 'unlogged'), join(', ', map { "$_->[0] $_->[1]" . (is_text($_) && chance(0.6) ? ' collate ' . one_of(@collations) : '') } @columns),
	  one_of(30, 70, 100), one_of(128, 400, 2040);

	push @sql, map { "alter table $table alter $_->[0] set storage " . one_of('external', 'main', 'extended') } grep { $_->[1] =~ /^(?:text|varchar|bytea|code)/ } @columns;
	push @sql, "insert into $table select i, i, i, " . join(', ', map { value_of($_->[1]) } @columns) . " from generate_series(1, $rows) i";
	push @sql, "alter table $table drop gone" if chance(0.5);
	push @sql, "update $table set v = v + 1 where id % 3 = 0", "update $table set v = v + 1 where id % 6 = 0" if chance(0.5);
	push @sql, "update $table set $columns[0][0] = null where id % 7 = 0" if chance(0.3);
	push @sql, "delete from $table where id % 5 = 0" if chance(0.5);
	push @sql, "insert into $table select * from $table where id % 10 = 1" if chance(0.2);
	push @sql, "alter table $table add added int4 default 7, add c8 text default 'later'" if chance(0.3);
	push @columns, [ 'c8', 'text' ] if $sql[-1] =~ /c8/;
	push @sql, "analyze $table" if chance(0.5);
	push @sql, "vacuum $table" if chance(0.2);
	$node->safe_psql('postgres', join(";\n", @sql));
	return @columns;
}

sub is_text { return $is_text{ $_[0][1] } }

# An expression over the column, and whether it is a text.
sub expression_of
{
	my ($column) = @_;
	my ($name, $type) = @$column;

	return (one_of("(lower($name))", "(left($name, 5))", "($name || 'x')", "(substr($name, 2))"), 1) if is_text($column) && $type ne 'name' && chance(0.8);
	return ("(-$name)", 0) if $type =~ /^(?:float|numeric|interval)/ && chance(0.7);
	return (one_of("($name is null)", '(id % 5)', '(null::int4)', "(id::numeric)", "((id % 100)::text)"), 0);
}

sub key_of
{
	my ($column) = @_;
	my ($key, $is_text) = ($column->[0], is_text($column));
	my $class = $pattern_class{ $column->[1] };

	($key, $is_text, $class) = (expression_of($column), undef) if chance(0.2);
	$key .= ' collate ' . one_of(@collations) if $is_text && chance(0.5);
	$key .= " $class" if defined $class && chance(0.15);
	$key .= one_of('', '', '', ' desc');
	$key .= one_of('', '', '', ' nulls first', ' nulls last');
	return $key;
}

# Whether the index is unique, and its definition.
sub definition
{
	my (@columns) = @_;
	my $unique = chance(0.25);
	my @keys = map { key_of(one_of(@columns)) } 1 .. one_of(1, 1, 1, 2, 2, 3, 5);
	my $definition;

	splice @keys, int rand @keys + 1, 0, 'id' if $unique && chance(0.8);
	$definition = '(' . join(', ', @keys) . ')';
	$definition .= ' include (' . join(', ', map { one_of(@columns)->[0] } 1 .. one_of(1, 2)) . ')' if chance(0.2);
	$definition .= ' nulls not distinct' if $unique && chance(0.2);
	my @with = ((chance(0.3) ? 'fillfactor = ' . one_of(10, 37, 50, 75, 99, 100) : ()), (chance(0.2) ? 'deduplicate_items = ' . one_of('off', 'on') : ()));
	$definition .= ' with (' . join(', ', @with) . ')' if @with;
	$definition .= ' where ' . one_of('id % 3 = 0', 'id % 3 <> 0', 'v > 500', one_of(@columns)->[0] . ' is not null', 'false') if chance(0.2);
	return ($unique ? 'unique' : '', $definition);
}

my @settings = ('', '', 'set gpusort.min_rows = 1000', 'set gpusort.min_rows = 100000', 'set gpusort.min_rows = 100; set gpusort.debug_force = off', 'set maintenance_work_mem = 1024');

# --- the builds

my %ends;
for my $number (1 .. $definitions / $definitions_of_table)
{
	my $table = "t$number";
	my $settings = one_of(@settings);
	my $old;

	if (chance(0.4))
	{
		$old = GpuSortTest::Session->new($node);
		$old->query('begin isolation level repeatable read; select 1');
	}
	my @columns = make_table($table);
	my @drawn = map { [ definition(@columns) ] } 1 .. $definitions_of_table;
	my $script = join "\n", "$settings;", map { "begin; select build_both('$_->[0]', '$table', \$def\$$_->[1]\$def\$); rollback;" } @drawn;
	my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	my @lines = split /\n/, $out;

	is($err, '', "$table: no other error");
	for my $i (0 .. $#drawn)
	{
		my ($unique, $definition) = @{ $drawn[$i] };
		my $end = $lines[$i] // 'nothing';

		# a row that is too large may be found before one that is not unique, or after
		$end = 'error 23505' if $unique && $end =~ /^"error (23505|54000) .*, natively "error (23505|54000) /;
		$ends{ $end =~ /^same .*"index_builds"/ ? 'ours' : $end =~ /^same / ? 'native' : $end =~ /^error (\w+)/ ? "error $1" : 'different' }++;
		like($end, qr/^(?:same|error) /, "$table: create $unique index on $table $definition; with: $settings")
		  or diag($node->safe_psql('postgres', "select count(*), pg_size_pretty(pg_relation_size('$table')) from $table"));
	}
	$old->close if defined $old;
	$node->safe_psql('postgres', "drop table $table") if !exists $ends{different};
}
note join(', ', map { "$ends{$_} $_" } sort keys %ends);
cmp_ok($ends{ours} // 0, '>', $definitions / 2, 'gpusort built most of them');
make_tables($node);
nothing_left_over($node, 'random index builds');
$node->stop;
done_testing();
