# shellcheck shell=bash
# Steps of a run on a machine with a GPU; sourced by the scripts of bench/ that have them.
#
# In:  out, the folder of their logs; ends, the second (of SECONDS) by which all steps must have ended.
# Out: a line for each step on standard output; failed is 1 once one has not ended well.

failed=0

# step NAME LIMIT_S LOG COMMAND...: runs it into the log, and says how it ended.  It gets what time is left, at most
# its own limit.
# shellcheck disable=SC2034,SC2154  # who sources this file sets out and ends, and reads failed
step()
{
	local name=$1 limit=$2 log=$out/$3 status=0 began=$SECONDS
	shift 3

	[ "$limit" -le $((ends - SECONDS)) ] || limit=$((ends - SECONDS))
	if [ "$limit" -le 0 ]; then
		echo "$name: no time left"
		failed=1
		return 0
	fi
	printf '\n==== %s: %s\n' "$name" "$*" >>"$log"
	timeout "$limit" "$@" >"$out/step" 2>&1 || status=$?
	cat "$out/step" >>"$log"
	echo "$name: status $status, $((SECONDS - began)) s: $(tail -n 1 "$out/step")"
	if [ "$status" != 0 ]; then
		failed=1
		tail -n 15 "$out/step"
	fi
	rm -f "$out/step"
}
