# shellcheck shell=bash
# How a suite's results are counted and noted; sourced by test/run and test/tools/suite.
#
# In:  suite_folder: each suite's log is there, NAME.log; RESULTS and COMMIT as test/run has them;
#      pg_config and say of test/cluster.sh.
# Out: in suite_folder/counts a line "passed failed" for each suite, in suite_folder/skipped what
#      could not be run and why, in suite_folder/failures what failed.  Suites that run beside each
#      other share these files.

# run_suite NAME COUNTER COMMAND...: COUNTER reads the log and prints
# "passed failed".  On failure the whole log is shown.
# shellcheck disable=SC2154  # who sources this file sets suite_folder
run_suite()
{
	local name=$1 counter=$2 log status=0 counts suite_passed suite_failed began=$SECONDS
	shift 2

	log=$suite_folder/$name.log
	"$@" >"$log" 2>&1 </dev/null || status=$?
	counts=$("$counter" "$log")
	suite_passed=${counts% *}
	suite_failed=${counts#* }
	if [ "$suite_failed" = 0 ] && { [ "$status" != 0 ] || [ "$suite_passed" = 0 ]; }; then
		echo "the suite ended with status $status after $suite_passed tests" >>"$log"
		suite_failed=1
	fi
	if [ "$suite_failed" != 0 ]; then
		cat "$log"
		note_failures "$name" "$log"
	fi
	say "$name: $suite_passed passed, $suite_failed failed ($((SECONDS - began)) s)"
	echo "$suite_passed $suite_failed" >>"$suite_folder/counts"
	note_result "$name" "$suite_passed" "$suite_failed"
}

# note_failures SUITE LOG: the lines that say what failed, with what follows them.  A log of several suites has
# such a list in its end already.
note_failures()
{
	local lines

	lines=$(sed -n 's/^FAILED: //p' "$2")
	[ -n "$lines" ] ||
		lines=$(grep -E -A 12 '^not ok|Wstat: [1-9]|^# Looks like your test (exited|died)|FAILED|BAD|^/.*\.sql:[0-9]+: |^failures: [1-9]|^the suite ended|ERROR: .*Sanitizer|^WARNING: .*Sanitizer' "$2" |
			grep -vE '^(ok |--$)' || true)
	[ -n "$lines" ] || lines=$(tail -n 20 "$2")
	head -n 60 <<<"$lines" | sed "s/^/$1: /" >>"$suite_folder/failures"
}

# note_skips SUITE...: tests that the log says were left out, "ok - NAME # SKIP why"
note_skips()
{
	local name

	for name in "$@"; do
		sed -nE "s/^ok[ 0-9]*- (.*) # SKIP (.*)/$name: \\1: \\2/p" "$suite_folder/$name.log" >>"$suite_folder/skipped"
	done
}

# note_result SUITE PASSED FAILED: in place of what the suite gave on the same major before.  Other majors'
# suites note theirs themselves.
# shellcheck disable=SC2154,SC2016  # pg_config is of test/cluster.sh; sh -c expands its script itself
note_result()
{
	local version major

	[ -n "${RESULTS:-}" ] && [[ $1 != postgresql-* ]] && [ "$1" != crashes ] || return 0
	version=$("$pg_config" --version | sed -E 's/^PostgreSQL +//')
	major=${version%%[!0-9]*}
	mkdir -p "$(dirname "$RESULTS")"
	[ -s "$RESULTS" ] || echo "major,suite,passed,failed,version,date,commit" >"$RESULTS"
	flock "$RESULTS" sh -c 'sed "/^$1,$2,/d" "$0" >"$0.new" && cat "$0.new" >"$0" && rm "$0.new" && echo "$1,$2,$3" >>"$0"' \
		"$RESULTS" "$major" "$1" "$2,$3,$version,$(date +%F),$COMMIT"
}

# The unit tests' own last line.
count_closing_line()
{
	sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$1" | tail -1 | grep . || echo "0 0"
}

# Lines of the Test Anything Protocol, subtests left out; a known failure
# (TODO) is not a failure.
count_tap_lines()
{
	awk '
		/^ok /                       { passed++ }
		/^not ok / && /# *TODO/      { passed++; next }
		/^not ok /                   { failed++ }
		END                          { print passed + 0, failed + 0 }
	' "$1"
}

# pg_regress before PostgreSQL 16 writes "test NAME ... ok"; later ones write
# the same protocol as above.
count_regress_lines()
{
	sed -E 's/^(test )?([^ ]+) +\.\.\. ok.*/ok \2/; s/^(test )?([^ ]+) +\.\.\. FAILED.*/not ok \2/' "$1" >"$1.tap"
	count_tap_lines "$1.tap"
}

# One line from each program.
count_failure_lines()
{
	awk '/^failures: 0$/ { passed++ } /^failures: [1-9]/ { failed++ } END { print passed + 0, failed + 0 }' "$1"
}
