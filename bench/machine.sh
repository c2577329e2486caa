# shellcheck shell=bash
# The machine and versions of a measurement; sourced by the scripts of bench/ after test/cluster.sh, when the
# server runs.

# describe_machine COMMIT: versions, hardware, devices and settings, for the text beside a CSV file.
describe_machine()
{
	echo "date: $(date -u '+%Y-%m-%d %H:%M UTC')"
	echo "commit: $1"
	echo "gpusort: $(query "select extversion from pg_extension where extname = 'gpusort'")"
	query "select version()"
	uname -srm
	echo
	lscpu | grep -E '^(Model name|CPU\(s\)|Thread|Core|Socket|NUMA node\(s\)|L[123]|Hypervisor)' || true
	echo "memory: $(memory_mb) MB"
	if has_nvidia_gpu; then
		nvidia-smi --query-gpu=name,memory.total,driver_version,pcie.link.gen.max,pcie.link.width.max --format=csv
	fi
	echo
	echo "gpusort_devices:"
	run_psql -x -c "select * from gpusort_devices"
	echo "settings that are not the default:"
	query "select name || ' = ' || current_setting(name) from pg_settings
		where (source not in ('default', 'client', 'override') or name like 'gpusort.%') and name <> 'unix_socket_directories' order by name"
	echo
}

# The processors, in one word for a CSV file: their number and what they are.
describe_processors()
{
	echo "$(nproc) $(lscpu | sed -n 's/^Model name: *//p' | head -n 1 | tr -d ,)"
}

# name_of_results DEVICE: today's date and the device, as a file's name begins.
name_of_results()
{
	echo "$(date -u +%Y-%m-%d)-$(tr -cs '[:alnum:]\n' '-' <<<"${1,,}" | sed 's/^-*//; s/-*$//')"
}

# The commit that is measured; COMMIT names it where there is no git.
measured_commit()
{
	echo "${COMMIT:-$(git describe --always --dirty 2>/dev/null || echo unknown)}"
}
