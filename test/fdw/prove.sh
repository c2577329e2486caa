# shellcheck shell=bash
# Shell function for tests with several servers; sourced by fdw/run and citus/run.
. test/cluster.sh

# prove_nodes FOLDER [FILE.pl...]: installs this checkout and runs tests of test/FOLDER.  The server's
# user may not be able to read this checkout, so they run from a copy.  SEED and GPUSORT_TEST_FILES
# choose files of test/differential (Corpus.pm).
prove_nodes()
{
	local folder=$1 files pgxs_folder
	shift

	files=("${@/#/$folder/}")
	[ $# -gt 0 ] || files=("$folder")
	build_and_install all
	cluster_create
	cp -R test/t test/fdw test/citus test/differential "$cluster_dir"
	[ -z "$server_user" ] || chown -R "$server_user" "$cluster_dir"/{t,fdw,citus,differential}
	pgxs_folder=$(dirname "$("$pg_config" --pgxs)")/..
	# each server is a copy of this one, as PostgreSQL's modules would make it
	as_server_user env -u LANGUAGE -u LC_ALL LC_MESSAGES=C initdb -D template -A trust -N >"$cluster_dir/template.log" 2>&1 ||
		{ cat "$cluster_dir/template.log"; die "initdb failed"; }
	as_server_user env GPUSORT_TEST_DEVICE="${DEVICE:-host}" GPUSORT_DIFFERENTIAL="$cluster_dir/differential" \
		INITDB_TEMPLATE="$cluster_dir/template" PG_REGRESS="$pgxs_folder/test/regress/pg_regress" TESTDIR="$cluster_dir" TESTDATADIR="$cluster_dir/tmp_check" TESTLOGDIR="$cluster_dir/log" \
		prove --verbose --ext .pl -I "$pgxs_folder/test/perl" -I t "${files[@]}"
}
