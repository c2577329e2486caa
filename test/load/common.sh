# shellcheck shell=bash
# Shell function for the load tests; sourced by the scripts beside this one.
#
# The tests are those of test/t, at larger sizes; CI runs them small.  They make
# their own servers.  DEVICE=host|cuda chooses the device under test.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. test/cluster.sh

# run_load_test FILE [NAME=VALUE...]: builds and installs this checkout, runs a test of
# test/t with these variables, and shows it.  The last line is the test's summary; the
# exit status is 0 if all went well.
run_load_test()
{
	local file=$1 pgxs_folder status=0
	shift

	test/install-packages test
	build_and_install all
	cluster_create
	pgxs_folder=$(dirname "$("$pg_config" --pgxs)")/..
	cp -R test/t "$cluster_dir/t"
	[ -z "$server_user" ] || chown -R "$server_user" "$cluster_dir/t"
	as_server_user env GPUSORT_TEST_DEVICE="${DEVICE:-host}" \
		PG_REGRESS="$pgxs_folder/test/regress/pg_regress" TESTDIR="$cluster_dir" "$@" \
		prove --verbose --ext .pl -I "$pgxs_folder/test/perl" -I t "t/$file" 2>&1 |
		tee "$cluster_dir/load.log" | grep --line-buffered -E '^(not )?ok |^# [0-9 ]' ||
		status=1
	grep -q '^Result: PASS' "$cluster_dir/load.log" || { status=1; tail -n 40 "$cluster_dir/load.log"; }
	sed -n 's/^# SUMMARY //p' "$cluster_dir/load.log"
	return $status
}
