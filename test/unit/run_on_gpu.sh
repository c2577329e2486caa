#!/bin/sh
# Checks and times the CUDA device on a machine with a GPU:
#
#   test/unit/run_on_gpu.sh [LOG_FOLDER]
#
# In:  this source tree (it is copied, not built in place).
# Out: one line for each check on standard output, full logs in LOG_FOLDER
#	   (default: a new folder under /tmp); exit status 1 if any check failed.
#
# Two builds: the ordinary one, and the guard build, in which every device array is
# an allocation of its own, so that compute-sanitizer sees overruns.  The whole
# test runs on both.  The sanitizer's tools slow kernels down by a factor, so they
# watch a small job, after the device's own jobs at opening, and memcheck also what happens
# when calls and allocations fail; SANITIZE_ALL=1 adds memcheck over the whole test.
#
# 'calls' tells what opening takes and the longest call of several jobs at once, the first of a
# fresh process: a kernel that is loaded by a query would show as a call of many milliseconds.
#
# CUDA_ARCH (default: native), TIME_ROWS (default: 100000000, for which the device needs 24 GB and the host as many), CALLS_ROWS (default: 8000000), SEED
# (default: the clock), LIMIT_S (seconds for one check; default: 300).

# shellcheck disable=SC2086	# the options of jobs are words
set -u
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
logs=${1:-$(mktemp -d /tmp/gsort-gpu-XXXXXX)}
mkdir -p "$logs"
work=$(mktemp -d /tmp/gsort-build-XXXXXX)
trap 'rm -rf "$work"' EXIT
limit=${LIMIT_S:-300}
seed=${SEED:-$(date +%s)}
failed=0

# build NAME DEFINES
build()
{
	mkdir -p "$work/$1"
	for part in Makefile gpusort.control bench cuda test; do
		cp -r "$source_folder/$part" "$work/$1/"
	done
	# with the library there, make would not miss the objects it was made of
	find "$work/$1" \( -name '*.o' -o -name '*.a' -o -name gsort_test -o -name gsort_bench \) -delete
	make -C "$work/$1" -j8 unit bench/gsort_bench CUDA=yes CUDA_ARCH="${CUDA_ARCH:-native}" GSORT_DEFINES="$2" \
		>"$logs/build-$1.log" 2>&1
}

# check NAME COMMAND...: runs it, shows its last line and how long it took
check()
{
	name=$1
	shift
	began=$(date +%s)
	timeout "$limit" "$@" >"$logs/$name.log" 2>&1
	status=$?
	[ $status -eq 0 ] || failed=1
	echo "$name: status $status, $(($(date +%s) - began)) s: $(tail -n 1 "$logs/$name.log")"
	[ $status -eq 0 ] || grep -v '^=========     ' "$logs/$name.log" | tail -n 25
}

# sanitize TOOL [OPTIONS...] COMMAND...
sanitize()
{
	tool=$1
	shift
	check "$tool" compute-sanitizer --tool "$tool" --error-exitcode 3 "$@"
}

build normal '' &
build guard -DGSORT_GUARD_BUILD
guard_status=$?
if ! wait $! || [ "$guard_status" != 0 ]; then
	echo 'the build failed'
	tail -n 20 "$logs"/build-*.log
	exit 1
fi
grep -h 'warning' "$logs"/build-*.log

normal=$work/normal/test/unit/gsort_test
guard=$work/guard/test/unit/gsort_test
normal_bench=$work/normal/bench/gsort_bench
guard_bench=$work/guard/bench/gsort_bench

# Jobs of one key and of two, whose rows gsort_bench compares.
jobs='--bits 64 --distributions uniform --algorithms job_cut,job_cut_keys'
small_jobs="$jobs --repeat 1 --rows"
long_jobs='--bits 64 --distributions uniform --algorithms job_cut_long --repeat 1 --rows'

check test-normal "$normal" cuda "$seed"
check time "$normal_bench" $jobs --rows "${TIME_ROWS:-100000000}"
cat "$logs/time.log"
check calls "$normal" cuda --calls "${CALLS_ROWS:-8000000}"
cat "$logs/calls.log"
check fake-cuda make -s -C "$work/normal/test/fake_cuda" check SEED="$seed"
check test-guard "$guard" cuda "$seed"
check lost "$normal" cuda --lose
sanitize memcheck --leak-check full "$guard_bench" $small_jobs 300000
check memcheck-long compute-sanitizer --tool memcheck --error-exitcode 3 "$guard_bench" $long_jobs 2000
check memcheck-failures compute-sanitizer --tool memcheck --error-exitcode 3 "$guard" cuda --failures 15 "$seed"
# it makes each kernel a thousand times slower
sanitize racecheck "$normal_bench" $small_jobs 3000
check racecheck-long compute-sanitizer --tool racecheck --error-exitcode 3 "$normal_bench" $long_jobs 300
sanitize initcheck "$guard_bench" $small_jobs 300000
sanitize synccheck "$normal_bench" $small_jobs 300000
if [ "${SANITIZE_ALL:-0}" = 1 ]; then
	check memcheck-all compute-sanitizer --tool memcheck --error-exitcode 3 "$guard" cuda "$seed"
fi
exit $failed
