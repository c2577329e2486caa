# gpusort_calibrate() cancelled early and later, and without a device.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('calibrate');
make_tables($node);
wait_for_state($node, 'serving');
my $left = "select (select count(*) from pg_namespace where nspname = 'gpusort_calibration')
	|| ' schemas, ' || (select count(*) from pg_prepared_statements) || ' statements'";

# --- cancelled, in whatever it does at that time
for my $milliseconds (map { 13 * $_ } 1 .. 12)
{
	# a few milliseconds may be too short for a RESET too, on a machine that has other things to do
	my ($code, $out, $err) = $node->psql('postgres', "set statement_timeout = $milliseconds;
		\\set ON_ERROR_STOP off
		select * from gpusort_calibrate(10000000, 3, 2);
		@{[ 'reset statement_timeout;' x 5 ]}
		$left;
		show enable_sort;
		show gpusort.debug_force;");
	is($out, "0 schemas, 0 statements\non\non", "cancelled after $milliseconds ms: nothing is left, settings are restored");
	like($err, qr/canceling statement due to statement timeout/, "cancelled after $milliseconds ms: so it says");
}
nothing_left_over($node, 'cancelled');

# --- no device
$node->append_conf('postgresql.conf', "gpusort.device = 'off'\n");
$node->reload;
ok(wait_for_state($node, 'off'), 'the device is switched off');
my ($code, $out, $err) = $node->psql('postgres', 'select * from gpusort_calibrate()');
like($err, qr/ERROR:  gpusort_calibrate needs a device that serves/, 'no device: message');
like($err, qr/DETAIL:  The state of the device is "off": gpusort.device is off\./, 'no device: detail');
like($err, qr/HINT:  See the view gpusort_devices and the setting gpusort.device\./, 'no device: hint');
$node->stop;

done_testing();
