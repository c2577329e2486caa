# A plain user sees no other's rows in reused buffers, harms the server by no setting, and
# calls no function that is not for all.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('security', "shared_memory_type = 'sysv'", "gpusort.buffer_memory = '16MB'",
	"work_mem = '64MB'", 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
wait_for_state($node, 'serving');
make_tables($node);
$node->safe_psql('postgres', q{
	delete from big where id > 120000;
	create role alice login;
	create role bob login;
	grant select on big, small to alice, bob});

# As bob: exit status, output, errors.
sub as_bob
{
	my ($sql) = @_;

	return $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", extra_params => [ '-U', 'bob' ]);
}

# --- settings
# what is not named here is for all users
my %expected = (
	'gpusort.algorithm' => 'superuser',
	'gpusort.buffer_memory' => 'postmaster',
	'gpusort.device' => 'sighup',
	'gpusort.device_memory' => 'sighup',
	'gpusort.device_timeout' => 'sighup',
	'gpusort.host_nice' => 'sighup',
	'gpusort.host_threads' => 'sighup',
	'gpusort.libc_collations' => 'superuser',
	'gpusort.log_index_builds' => 'superuser',
	'gpusort.max_wait_timeout' => 'superuser',
	'gpusort.service_timeout' => 'sighup');
my $hash = "select md5(string_agg(hash_record_extended(q, 0)::text, ' ')) from (select * from big order by k, id) q";
my $right = $node->safe_psql('postgres', "set gpusort.enabled = off; $hash");
for (split /\n/, $node->safe_psql('postgres', "select name, context, vartype, min_val, max_val, current_setting(name), array_to_string(enumvals, ' ') from pg_settings where name like 'gpusort.%' order by name"))
{
	my ($name, $context, $type, $least, $most, $now, $names) = split /\|/;

	is($context, $expected{$name} // 'user', "$name: who may set it");
	if ($context ne 'user')
	{
		my ($code, $out, $err) = as_bob("set $name = '$now'");
		like($err, qr/ERROR:  (42501|55P02)/, "$name: not by a plain user");
		($code, $out, $err) = as_bob("alter role bob set $name = '$now'");
		like($err, qr/ERROR:  (42501|55P02)/, "$name: not for later sessions either");
		next;
	}
	# few rows on a device cost others more than the session
	$least = 1000 if $name eq 'gpusort.min_rows';
	my @values = $type eq 'bool' ? ('on', 'off') : $type eq 'enum' ? split(/ /, $names) : ($least, $least + 1, int($most / 2), $most);
	for my $value (@values)
	{
		for my $workers (0, 2)
		{
			my ($code, $out, $err) = as_bob("set $name = '$value'; set max_parallel_workers_per_gather = $workers; $hash");
			is("$out$err", $right, "$name = $value, $workers workers: the rows are right");
		}
	}
	my @beyond = $name eq 'gpusort.min_rows' ? (-2, $most + 1) : $type eq 'integer' ? ($least - 1, $most + 1) : ();
	for my $value (@beyond, '-99999999999999999999', 'x')
	{
		my ($code, $out, $err) = as_bob("set $name = '$value'");
		like($err, qr/ERROR:  22023/, "$name = $value: refused");
	}
}
for my $value (0, 999)
{
	for my $sql ("set gpusort.min_rows = $value", "alter role bob set gpusort.min_rows = $value",
		"create function pg_temp.few() returns int4 set gpusort.min_rows = $value return 1")
	{
		my ($code, $out, $err) = as_bob($sql);
		like($err, qr/ERROR:  42501: permission denied to set "gpusort.min_rows"/, "$sql: refused");
	}
}
$node->safe_psql('postgres', 'alter role bob set gpusort.min_rows = 2');
is((as_bob("show gpusort.min_rows; set max_parallel_workers_per_gather = 2; $hash"))[1], "2\n$right", 'a superuser has set it for a plain user');
is((as_bob('set gpusort.min_rows = -1; show gpusort.min_rows; reset gpusort.min_rows; show gpusort.min_rows'))[1], "-1\n2", 'who may go back to it');
$node->safe_psql('postgres', 'alter role bob reset gpusort.min_rows; grant set on parameter gpusort.min_rows to bob');
is((as_bob('set gpusort.min_rows = 0; show gpusort.min_rows'))[1], '0', 'or may set it after a GRANT');
$node->safe_psql('postgres', 'revoke set on parameter gpusort.min_rows from bob');
for my $sql ("alter system set gpusort.device = 'off'", 'set gpusort.nonsense = 1', 'set gpusort.debug_fail_at = 1',
	'set gpusort.debug_force = on', "set gpusort.debug_providers_off = 'window'")
{
	my ($code, $out, $err) = as_bob($sql);
	like($err, qr/ERROR:  (42501|42602|55P02)/, "$sql: refused");
}
nothing_left_over($node, 'settings');

# --- objects
# all that the extension has: who but its owner may do what with it
my %grants = (
	'function gpusort_stats()' => 'X',
	'function gpusort_devices()' => 'X',
	# shows of others' sorts what PostgreSQL shows of their commands
	'function gpusort_progress()' => 'X',
	# plans as its caller
	'function gpusort_why(text)' => 'X',
	'function gpusort_stats_reset()' => '',
	'view gpusort_stats' => 'r',
	'view gpusort_devices' => 'r',
	'view gpusort_progress' => 'r',
	# does what it does as its caller
	'function gpusort_calibrate(integer,integer,integer)' => '');
my %found = map { my ($object, $grants) = split /\|/; $object => $grants // '' } split /\n/, $node->safe_psql('postgres', q{
	select pg_describe_object(d.classid, d.objid, 0), coalesce((
			select string_agg(split_part(split_part(acl::text, '=', 2), '/', 1), '')
			from unnest(coalesce(p.proacl, c.relacl, acldefault(case when p.oid is null then 'r' else 'f' end::"char", 10))) acl
			where acl::text like '=%'), '')
		|| case when p.prosecdef then ' as its owner' else '' end
	from pg_depend d
		left join pg_proc p on d.classid = 'pg_proc'::regclass and d.objid = p.oid
		left join pg_class c on d.classid = 'pg_class'::regclass and d.objid = c.oid
	where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
		and d.classid <> 'pg_type'::regclass
		and d.refobjid = (select oid from pg_extension where extname = 'gpusort')});
is_deeply(\%found, \%grants, 'the extension\'s objects, and what PUBLIC may do with them');

for my $sql ('select gpusort_stats_reset()', 'select * from gpusort_calibrate()')
{
	my ($code, $out, $err) = as_bob($sql);
	like($err, qr/ERROR:  42501: permission denied for function/, "$sql: not for a plain user");
}
my ($code, $out, $err) = as_bob('select state from gpusort_devices; select jobs > 0 from gpusort_stats');
is("$out$err", "serving\nt", 'the views are for all');

# --- buffers
my @lines = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $segment = (split ' ', $lines[6])[1];
my ($pool, $pool_bytes) = split /\|/, $node->safe_psql('postgres',
	"select (off + 4095) / 4096 * 4096, size / 1048576 * 1048576 from pg_shmem_allocations where name = 'gpusort buffer pool'");

sub pool
{
	my $bytes;

	shmread($segment, $bytes, $pool, $pool_bytes) or die "shmread: $!";
	return $bytes;
}

sub count_in
{
	my ($marker, $bytes) = @_;
	my $n = () = $bytes =~ /\Q$marker\E/g;

	return $n;
}

# alice's rows go through the buffers, as text and as key words
my $marker = 'alice-marker-5ec2e7';
my $secret = "select i, repeat('$marker', 3) as text, 6827911331573162606 as key from generate_series(1, 100000) i order by key, i";
$node->safe_psql('postgres', "select count(text) from ($secret) s", extra_params => [ '-U', 'alice' ]);
my $remains = count_in($marker, pool());
cmp_ok($remains, '>', 1000, "alice's marker is in the free buffers $remains times");

# Sorts of every kind, whose rows are known from PostgreSQL's own.
my %kinds = (
	'narrow rows' => 'select k, id from big order by k, id',
	'narrow rows with NULLs' => 'select nullif(k % 7, 3) as a, nullif(id % 5, 2)::int2 as b, id, null::int8 as c from big order by 1 desc, 3',
	'narrow rows with values by reference' => q{select md5(k::text)::uuid as u, nullif(k % 7, 3) * interval '1 h' as i, (id % 100)::text::name as n, id from big order by u, id},
	'rows with text' => 'select * from big order by k desc, id',
	'rows with NULLs' => "select nullif(k % 7, 3) as a, case when id % 3 = 0 then null else filler end as b, id, null::text as c from big order by 1, 3",
	'one column' => 'select k from big order by k',
	'four keys' => 'select k % 3 as a, k % 5 as b, nullif(k % 11, 4) as c, id from big order by 1, 2 desc, 3 nulls first, 4',
	'long rows' => "select i, repeat(chr(97 + i % 26), case when i % 40 = 0 then 2500000 + i * 8 else i % 300 end) as long from generate_series(1, 200) i order by i % 7, i");
my %want = map { $_ => digest($node, $kinds{$_}, 'set gpusort.enabled = off;') } keys %kinds;

sub sorts_are_right
{
	my ($what) = @_;

	for my $kind (sort keys %kinds)
	{
		for my $workers (0, 2)
		{
			# with less memory it might have to wait, or be native
			nobody_sorts($node);
			is(digest($node, $kinds{$kind}, "set max_parallel_workers_per_gather = $workers; set role bob;"),
				$want{$kind}, "$what: $kind, $workers workers");
		}
	}
	nobody_sorts($node);
	is($node->safe_psql('postgres', 'set role bob; begin; declare c scroll cursor for select * from big order by id desc; '
		. 'fetch absolute 80000 from c; fetch prior from c; fetch last from c; fetch first from c'),
		join("\n", map { ($_ * 7919) % 300007 . "|$_|" . 'f' x 40 } 40001, 40002, 1, 120000), "$what: a cursor read to and fro");
}

# bob's rows, as his client gets them
($code, $out, $err) = as_bob('copy (select * from big order by k, id) to stdout');
is(count_in($marker, $out), 0, "no marker of alice's in bob's rows");
cmp_ok(length $out, '>', 120000 * 40, 'which are all there');

# A buffer's old contents are seen nowhere: all of it is overwritten with bytes that would
# be wrong as rows, keys, NULLs and lengths.
my %poisons = ('all bits' => "\xff" x 8, 'offsets' => pack('LL', 8, 1048576));
for my $poison (sort keys %poisons)
{
	nothing_left_over($node, "before the poison of $poison");
	shmwrite($segment, $poisons{$poison} x ($pool_bytes / 8), $pool, $pool_bytes) or die "shmwrite: $!";
	is(count_in($marker, pool()), 0, "$poison: the pool is overwritten");
	sorts_are_right("over $poison");
}

# the same beyond the budget: runs are spilled, and read to and fro
$node->append_conf('postgresql.conf', "gpusort.device_memory = '32MB'\n");
$node->reload;
$node->poll_query_until('postgres', "select budget_bytes = pg_size_bytes('32MB') from gpusort_devices");
my $beyond = "select nullif(k % 100, s) as a, k, id, case when id % 3 = 0 then null else filler end as b, null::text as c from big, generate_series(1, 3) s order by a, k, s";
%kinds = ('rows that are spilled' => $beyond, 'long rows' => $kinds{'long rows'});
$want{'rows that are spilled'} = digest($node, $beyond, 'set gpusort.enabled = off;');
my $fetch = "begin; declare c scroll cursor for $beyond; move 50000 in c; fetch all from c; fetch backward 1000 from c";
my $fetched = $node->safe_psql('postgres', "set gpusort.enabled = off; $fetch");
my $counts = 'select runs_spilled, native_device_memory from gpusort_stats';
my ($runs_before, $native_before) = split /\|/, $node->safe_psql('postgres', $counts);
for my $poison (sort keys %poisons)
{
	shmwrite($segment, $poisons{$poison} x ($pool_bytes / 8), $pool, $pool_bytes) or die "shmwrite: $!";
	sorts_are_right("beyond the budget, over $poison");
	nobody_sorts($node);
	ok($node->safe_psql('postgres', $fetch) eq $fetched, "beyond the budget, over $poison: rows read to and fro");
	nothing_left_over($node, "beyond the budget, over $poison");
}
my ($runs_after, $native_after) = split /\|/, $node->safe_psql('postgres', $counts);
cmp_ok($runs_after - $runs_before, '>=', 8, 'runs were spilled');
is($native_after - $native_before, 0, 'and none sorted natively');
is($node->safe_psql('postgres', 'select failed from gpusort_stats'), '0', 'no job failed');
nothing_left_over($node, 'buffers');

# --- bytes of values do not travel in a plan
$node->safe_psql('postgres', q{
	create table secret as select 'sk_live_9f3a-' || i as s from generate_series(1, 30000) i;
	analyze secret;
	create function last_secret() returns bigint language plpgsql security definer as $$
	declare n bigint;
	begin select count(*) into n from (select s from secret order by s collate "C" offset 0) o; return n; end $$;
	create view by_secret as select 1 as one from secret order by s collate "C";
	create view numbered as select row_number() over (order by s collate "C") as n from secret;
	create role reader login;
	grant select on by_secret, numbered to reader});
# as a bytea of a plan is printed: sk_live_
my $prefix = qr/115 107 95 108 105 118 101 95/;
my $printed = "set debug_print_plan = on; set debug_pretty_print = off; set client_min_messages = log;";

for my $workers (0, 2)
{
	my $parallel = "set max_parallel_workers_per_gather = $workers; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;";
	my ($status, $rows, $plan) = $node->psql('postgres', "$printed $parallel select last_secret()", extra_params => [ '-U', 'reader' ]);

	is($rows, 30000, "$workers workers: the owner's function sorts for another user");
	like($plan, qr/CUSTOMSCAN.*GpuSort/s, "$workers workers: through our node");
	unlike($plan, $prefix, "$workers workers: the plan has no bytes of the values");
	for my $view ('by_secret', 'numbered')
	{
		($status, $rows, $plan) = $node->psql('postgres', "$printed $parallel select count(v::text) from (select * from $view offset 0) v", extra_params => [ '-U', 'reader' ]);
		is($rows, 30000, "$workers workers: the owner's view $view sorts for another user");
		like($plan, qr/CUSTOMSCAN.*GpuSort/s, "$workers workers: through our node in the view $view");
		unlike($plan, $prefix, "$workers workers: the plan of the view $view has no bytes of the values");
	}
	(undef, undef, $plan) = $node->psql('postgres', "$printed $parallel select s from secret order by s collate \"C\"");
	like($plan, qr/CUSTOMSCAN.*GpuSort/s, "$workers workers: the owner's own plan has our node");
	unlike($plan, $prefix, "$workers workers: and none of the bytes");
}
$node->stop;

done_testing();
