# shellcheck shell=bash
# Shell function of the scripts beside this one: amcheck of a database's indexes.

# check_indexes DATABASE: prints how many indexes amcheck has looked at, and what it has found.
# shellcheck disable=SC2154  # cluster_dir is of test/cluster.sh
check_indexes()
{
	local unique=

	[ "$(query "show server_version_num")" -lt 170000 ] || unique=", true"
	PGDATABASE=$1 query "set client_min_messages = warning; create extension if not exists amcheck" 2>&1
	PGDATABASE=$1 query "
		select c.oid::regclass, c.oid from pg_class c join pg_index i on i.indexrelid = c.oid
			where c.relkind = 'i' and c.relam = 403 and c.relpersistence <> 't' and i.indisvalid" >"$cluster_dir/indexes"
	sed -E "s/^.*\\|([0-9]+)$/select bt_index_parent_check(\\1, true, true$unique);/" "$cluster_dir/indexes" |
		PGDATABASE=$1 with_pg_libraries psql -X -q -A -t -o "$cluster_dir/checked" 2>&1 | sed 's/^/amcheck: /'
	say "$1: amcheck looked at $(wc -l <"$cluster_dir/indexes") indexes"
}
