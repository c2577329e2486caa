# shellcheck shell=bash
# Shell functions for a private PostgreSQL cluster; sourced by test/run,
# bench/demo and bench/run.
#
# In:  PG_CONFIG (default pg_config), TMPDIR, and PG_LD_LIBRARY_PATH: where
#      PostgreSQL's libraries are, when the system's loader does not find them; LOCPATH: where
#      the locales are that the system lacks, by default a folder that test/get-locales makes.
# Out: after cluster_create and cluster_start, psql and every other client in
#      this shell reach the cluster, and nothing else, through PGHOST and PGPORT.
#
# The cluster lives in a new folder below TMPDIR, or in one that is named, and listens on a socket in it
# and on no address.  As root, the server runs as the user postgres where there
# is one, else as nobody.  An exit trap stops the server and removes the folder, if it is a new one,
# whatever ended the script, and the servers of TAP tests in tmp_check below it;
# no other cluster is read or touched, and no installation of PostgreSQL is changed.

# a path, since PATH begins with the copy's programs later
pg_config=$(command -v "${PG_CONFIG:-pg_config}" || echo "${PG_CONFIG:-pg_config}")
stage=

# Seconds that PostgreSQL's modules for tests, and pg_ctl, wait at most: on a busy machine everything takes several times as long.
export PG_TEST_TIMEOUT_DEFAULT=${PG_TEST_TIMEOUT_DEFAULT:-600} PGCTLTIMEOUT=${PGCTLTIMEOUT:-600}

# A line for cluster_start, in tests of plans: costs follow the host device's threads, by default as many as processors.
# shellcheck disable=SC2034 # for those who source this
plan_threads='gpusort.host_threads = 2'

say()
{
	printf 'gpusort: %s\n' "$*"
}

die()
{
	printf 'gpusort: %s\n' "$*" >&2
	exit 1
}

# Runs a program of PostgreSQL's with its libraries, as the user who called.
# Compilers and other programs do not get those libraries.
with_pg_libraries()
{
	if [ -n "${PG_LD_LIBRARY_PATH:-}" ]; then
		env LD_LIBRARY_PATH="$PG_LD_LIBRARY_PATH${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
	else
		"$@"
	fi
}

# psql without a person's own settings; stops at the first error.
run_psql()
{
	with_pg_libraries psql -X -q -v ON_ERROR_STOP=1 "$@"
}

# One value, or unaligned rows.
query()
{
	run_psql -A -t -c "$1"
}

# Runs a command as the user who owns the cluster, from the cluster's folder.
as_server_user()
(
	cd "$cluster_dir" || exit
	if [ -n "$server_user" ]; then
		with_pg_libraries setpriv --reuid="$server_user" --regid="$(id -g "$server_user")" \
			--clear-groups env HOME="$cluster_dir" "$@"
	else
		with_pg_libraries "$@"
	fi
)

remove_at_exit()
{
	trap cluster_remove EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
}

cluster_remove()
{
	local status=$? pid_file

	trap '' INT TERM HUP
	if [ -n "${cluster_dir:-}" ]; then
		for pid_file in "$cluster_dir"/data/postmaster.pid "$cluster_dir"/tmp_check/*/pgdata/postmaster.pid; do
			if [ -e "$pid_file" ]; then
				as_server_user pg_ctl -D "$(dirname "$pid_file")" -m "$cluster_stop" -w stop >/dev/null 2>&1 || true
			fi
		done
		[ "$cluster_stop" = fast ] || rm -rf "$cluster_dir"
		cluster_dir=
	fi
	[ -z "$stage" ] || rm -rf "$stage"
	stage=
	return $status
}

# Lets the servers see the locales of test/get-locales, or those of LOCPATH if it is set.  The
# server's user may not look into the folder that has them, so he gets a copy, which goes with the
# cluster.  Without them, what needs them says so.
see_locales()
{
	locales_source=${locales_source:-${LOCPATH:-}}
	if [ -z "$locales_source" ]; then
		locales_source=$("$(dirname "${BASH_SOURCE[0]}")/get-locales") || say "not all locales can be had"
		[ -n "$locales_source" ] || { unset LOCPATH; return 0; }
	fi
	export LOCPATH=$locales_source
	if [ -n "$server_user" ] && [ "${LOCPATH#"$cluster_dir"}" = "$LOCPATH" ]; then
		rm -rf "$cluster_dir/locales"
		cp -RL "$LOCPATH" "$cluster_dir/locales"
		export LOCPATH=$cluster_dir/locales
	fi
}

# Makes a folder and an empty cluster in it.  Sets cluster_dir and server_user.
cluster_create()
{
	cluster_create_in ''
}

# cluster_create_in FOLDER: the same in a FOLDER that stays, and the cluster in it is taken as it is, if there
# is one; '' is a new folder.
cluster_create_in()
{
	local bindir

	# Where these programs do not find their libraries by themselves, wrappers
	# of the same names on PATH may.
	bindir=$("$pg_config" --bindir)
	if with_pg_libraries "$bindir/psql" --version >/dev/null 2>&1; then
		PATH="$bindir:$PATH"
	else
		PATH="$PATH:$bindir"
	fi
	unset PGSERVICE PGSERVICEFILE PGDATA PGPASSWORD PGPASSFILE PGOPTIONS PGHOSTADDR PGSSLMODE PGTZ PGDATESTYLE
	server_user=
	if [ "$(id -u)" = 0 ]; then
		server_user=postgres
		id "$server_user" >/dev/null 2>&1 || server_user=nobody
	fi

	remove_at_exit
	if [ -n "$1" ]; then
		mkdir -p "$1"
		cluster_dir=$(realpath "$1")
		cluster_stop=fast
	else
		cluster_dir=$(mktemp -d "${TMPDIR:-/tmp}/gpusort.XXXXXX")
		cluster_stop=immediate
	fi
	[ -z "$server_user" ] || chown "$server_user" "$cluster_dir"
	see_locales

	export PGHOST=$cluster_dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	[ ! -e "$cluster_dir/data/PG_VERSION" ] || return 0
	as_server_user initdb -D data -U postgres -A trust -E UTF8 --no-locale --no-sync >"$cluster_dir/initdb.log" 2>&1 ||
		{ cat "$cluster_dir/initdb.log" >&2; die "initdb failed"; }
}

# cluster_start [LINE...]: starts the server with these lines added to its
# configuration, and waits until it answers.
cluster_start()
{
	printf '%s\n' \
		"listen_addresses = ''" \
		"unix_socket_directories = '$cluster_dir'" \
		"port = $PGPORT" \
		"jit = off" \
		"fsync = off" \
		"shared_preload_libraries = 'gpusort'" \
		"$@" | as_server_user tee -a data/postgresql.conf >/dev/null
	as_server_user pg_ctl -D data -l server.log -w start >/dev/null ||
		{ tail -n 30 "$cluster_dir/server.log" >&2; die "the server did not start"; }
}

# Memory that this machine lets us use, in MB: a container's limit counts.
memory_mb()
{
	local total limit

	total=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
	for limit in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
		if [ -r "$limit" ]; then
			limit=$(cat "$limit")
			if [ "$limit" != max ] && [ "$((limit / 1048576))" -lt "$total" ]; then
				total=$((limit / 1048576))
			fi
			break
		fi
	done
	echo "$total"
}

has_nvidia_gpu()
{
	command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'
}

built_with_cuda()
{
	grep -q GSORT_WITH_CUDA cuda/build.flags
}

# stage_postgresql: copies the installation of pg_config into a new folder, and sets pg_config to the
# copy's.  PostgreSQL finds its files by the place of its programs.  So these are copied, and all else is
# links, but for this extension.
stage_postgresql()
{
	local programs libraries share includes

	programs=$("$pg_config" --bindir)
	libraries=$("$pg_config" --pkglibdir)
	share=$("$pg_config" --sharedir)
	includes=$("$pg_config" --includedir)
	[ -e "$programs/pg_config" ] || die "there is no pg_config in $programs"
	stage=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-postgresql.XXXXXX")
	chmod 755 "$stage"
	mkdir -p "$stage$programs" "$stage$libraries" "$stage$share" "$stage$(dirname "$includes")"
	cp -R "$programs/." "$stage$programs"
	cp -Rs "$libraries/." "$stage$libraries"
	cp -Rs "$share/." "$stage$share"
	ln -s "$includes" "$stage$includes"
	rm -rf "$stage$libraries"/gpusort* "$stage$libraries"/bitcode/gpusort* "$stage$share"/extension/gpusort*
	pg_config=$stage$programs/pg_config
}

# build_and_install TARGET...: builds these targets of make's and installs this
# checkout into a copy of PostgreSQL, which goes with the cluster.  The installed extension stays as it is.
# Sets pg_config to the copy's; GPUSORT_BUILT_FOR is the one that was built for.  Another checkout, in a
# later call, is installed into the same copy.  A script that a test calls with the
# copy's PG_CONFIG finds all done.  CUDA code is built for one architecture
# where the user asked for none: that of this machine's GPU, or of what is
# built already, else sm_90, since no GPU here will run it.
build_and_install()
{
	local make=${MAKE:-make} jobs built setting arguments

	if [ "$pg_config" != "${GPUSORT_STAGED:-}" ]; then
		export GPUSORT_BUILT_FOR=$pg_config
	elif [ -z "$stage" ]; then
		return 0
	fi
	arguments=(PG_CONFIG="$GPUSORT_BUILT_FOR")
	jobs=$(nproc)
	for setting in CUDA CUDA_HOME with_llvm CC; do
		[ -z "${!setting:-}" ] || arguments+=("$setting=${!setting}")
	done
	built=$(sed -n 's/^CUDA_ARCH=\([0-9a-z ]*[0-9a-z]\) .*/\1/p' cuda/build.flags 2>/dev/null || true)
	if [ -n "${CUDA_ARCH:-}" ]; then
		arguments+=(CUDA_ARCH="$CUDA_ARCH")
	elif [ -n "$built" ] && [ -e cuda/libgsort.a ]; then
		arguments+=(CUDA_ARCH="$built")
	elif has_nvidia_gpu; then
		arguments+=(CUDA_ARCH=native)
	else
		arguments+=(CUDA_ARCH=90)
	fi

	say "building"
	run_quietly "$make" -s -j"$jobs" "${arguments[@]}" "$@"
	if [ "$pg_config" = "$GPUSORT_BUILT_FOR" ]; then
		remove_at_exit
		stage_postgresql
		export GPUSORT_STAGED=$pg_config
	fi
	run_quietly "$make" -s "${arguments[@]}" DESTDIR="$stage" install
}

# Runs a command and shows what it said only when it fails; gpusort's own
# messages are shown in any case.
run_quietly()
{
	local output

	if output=$("$@" 2>&1); then
		grep '^gpusort:' <<<"$output" || true
	else
		printf '%s\n' "$output" >&2
		die "this failed: $*"
	fi
}

# Waits until the service has said what it has: a device, or why there is none.
wait_for_service()
{
	for _ in $(seq 1800); do
		[ "$(query "select count(*) from gpusort_devices where state = 'starting'")" != 0 ] || return 0
		sleep 0.1
	done
	die "the gpusort service is still starting after 180 s"
}

# serving_device KIND: prints the name of the first serving device of that kind
# ("cuda", "host"; empty when there is none).
serving_device()
{
	query "select name from gpusort_devices where kind = '$1' and state = 'serving' order by ordinal limit 1"
}

# The service's last line in the log, which says what it found.
why_no_device()
{
	sed -n 's/.* LOG: *\(.*gpusort.*\)/\1/p' "$cluster_dir/server.log" | tail -n 1
}

# choose_device auto|cuda|host|host,host: makes the cluster use that device, or two of them, and sets
# device_kind and device_name.  auto falls back to the host device.
# shellcheck disable=SC2034  # the scripts that source this file read them
choose_device()
{
	local wanted=$1 hosts=host

	wait_for_service
	if [[ $wanted == host* ]]; then
		hosts=$wanted
	else
		device_kind=cuda
		device_name=$(serving_device cuda)
		if [ -n "$device_name" ]; then
			return
		fi
		[ "$wanted" = auto ] || die "no GPU serves; $(why_no_device)"
	fi

	device_kind=host
	query "alter system set gpusort.device = '$hosts'"
	query "select pg_reload_conf()" >/dev/null
	for _ in $(seq 1800); do
		device_name=$(serving_device host)
		[ -z "$device_name" ] || return 0
		sleep 0.1
	done
	die "the host device does not serve; $(why_no_device)"
}
