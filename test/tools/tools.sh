# shellcheck shell=bash
# The common base of the suites of test/tools; sourced by them, at the top of the tree.
#
# Each works in a folder of its own, in copies of the tree: their objects are built
# with other flags than a user's and must not be mistaken for them.  Results are
# lines of the Test Anything Protocol, counted by test/run.

. test/cluster.sh

# The sanitizers of gcc 12 and clang 14 may not start where the kernel spreads addresses
# widely (vm.mmap_rnd_bits = 32).  Not every container lets a program do without that.
# shellcheck disable=SC2034  # the suites that have sanitizers read it
if setarch -R true 2>/dev/null; then
	fixed_addresses=(setarch -R)
else
	fixed_addresses=()
fi

# What every C file compiles without: PostgreSQL's warnings, for the files that its makefiles do not compile, and some more of gcc's.
postgresql_flags=(-Wmissing-prototypes -Wpointer-arith -Wdeclaration-after-statement -Wvla
	-Wendif-labels -Wmissing-format-attribute -Wimplicit-fallthrough -Wformat-security)
# shellcheck disable=SC2034  # the suites that compile read it
gcc_flags=(-Werror "${postgresql_flags[@]}" -Wcast-function-type -Wshadow=compatible-local -Wwrite-strings -Wlogical-op
	-Wduplicated-cond -Wunused-macros)

# ok NAME COMMAND...: one test, passed when the command succeeds; its output is shown
# in any case.
ok()
{
	local name=$1 status=0

	shift
	"$@" || status=$?
	if [ "$status" = 0 ]; then
		echo "ok - $name"
	else
		echo "not ok - $name"
	fi
}

# A fault that a test must find: the command fails, and is not shown.
fails()
{
	! "$@" >/dev/null
}

# All files of the tree, a line each, without what is built from them as far as git can tell.
tree_files()
{
	{ git ls-files --cached --others --exclude-standard 2>/dev/null || find . -type f; } |
		while IFS= read -r file; do
			[ ! -f "$file" ] || printf '%s\n' "$file"
		done
}

# The sources, without anything that was built from them.
copy_tree()
{
	mkdir -p "$1"
	tar -c --exclude='*.o' --exclude='*.bc' --exclude='*.a' --exclude='*.so' --exclude=build.flags \
		--exclude=gsort_test Makefile gpusort.control cuda expected sql src test | tar -x -C "$1"
}

# make_copy FOLDER COMPILER FLAGS TARGET...: builds targets in a copy of the tree, for the
# host device, with these flags added.
make_copy()
{
	local folder=$1 compiler=$2 flags=$3

	shift 3
	"${MAKE:-make}" -s -k -j"$(nproc)" -C "$folder" CUDA=no with_llvm=no PG_CONFIG="$pg_config" \
		CC="$compiler" COPT="$flags" "$@"
}
