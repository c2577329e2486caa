# shellcheck shell=bash
# Shell function: PostgreSQL's source, from Debian's source package.
#
# Neither root nor deb-src lines are needed: apt works in a folder of its own, with the machine's binary
# sources read as sources of source packages.

# download_source MAJOR FOLDER: sets tarball, a file in FOLDER, and version.  Returns 1 if apt cannot download it; what
# apt has said is in FOLDER/log.
# shellcheck disable=SC2034  # those who source this file read version
download_source()
{
	local major=$1 work=$2 sources_list='' sources_folder='' file options package

	command -v apt-get >/dev/null || { echo "this machine has no apt" >>"$work/log"; return 1; }
	eval "$(apt-config shell sources_list Dir::Etc::sourcelist/f sources_folder Dir::Etc::sourceparts/d)"
	mkdir -p "$work"/apt/{sources,lists/partial,cache/archives/partial}
	for file in "$sources_list" "$sources_folder"*.list "$sources_folder"*.sources; do
		[ -r "$file" ] || continue
		sed -E 's/^deb /deb-src /; s/^Types:.*/Types: deb-src/' "$file" >"$work/apt/sources/$(basename "$file")"
	done
	options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/apt/sources"
		-o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
		-o "APT::Sandbox::User=$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=3)
	# A source without source packages is an error, which need not matter.
	apt-get "${options[@]}" update >>"$work/log" 2>&1 || true

	# A mirror may list what it does not have: an older one then does as well.
	for package in $(apt-cache "${options[@]}" showsrc --only-source "postgresql-$major" 2>/dev/null |
		sed -n 's/^Version: //p' | sort -rVu); do
		if (cd "$work" && apt-get "${options[@]}" source --download-only --tar-only "postgresql-$major=$package") >>"$work/log" 2>&1; then
			tarball=$(ls "$work/postgresql-${major}_"*.orig.tar.*[!c])
			version=${tarball##*/postgresql-"${major}"_}
			version=${version%.orig.tar*}
			return 0
		fi
	done
	return 1
}
