# shellcheck shell=bash
# The tables that demo and bench sort; sourced after test/cluster.sh.
#
# Every table has a key k8, uniform over all of int8, and holds the same rows
# every time.  The table keys has columns of many types to sort by, none of them NULL.  After loading, its pages are frozen, analyzed and, where shared
# buffers have room, in memory.

# Makes ordered_hash(k8), a hash of keys in the order in which they come.
create_ordered_hash()
{
	query "create aggregate ordered_hash(int8)
		(sfunc = hashint8extended, stype = int8, initcond = '0', parallel = safe)"
}

# Makes in_turn() of bench/in_turn.sql.
make_in_turn()
{
	run_psql <bench/in_turn.sql
}

# load_table ROWS [NAME]: makes t, or a table of another name, about 65 bytes a row on disk.
load_table()
{
	fill_table "${2:-t}" "$1" "k8 int8, k4 int4, v int4, s text" \
		"hashint8extended(i, 1), hashint8(i), i % 2147483647,
			rpad(to_hex(hashint8extended(i, 2)), 20, 'x')"
}

# load_width_table 8|64|500 ROWS: makes t_w8, which has the key alone; t_w64, which
# is like t; or t_w500, 500 bytes a row on disk.
load_width_table()
{
	case $1 in
		8) fill_table t_w8 "$2" "k8 int8" "hashint8extended(i, 1)" ;;
		64) load_table "$2" t_w64 ;;
		500) fill_table t_w500 "$2" "k8 int8, v int4, s text" \
			"hashint8extended(i, 1), i % 2147483647,
				rpad(to_hex(hashint8extended(i, 2)), 456, 'x')" ;;
	esac
}

# has_libc_locale NAME: can the server load it?
has_libc_locale()
{
	query "create collation pg_temp.wanted (provider = libc, locale = '$1')" >/dev/null 2>&1
}

# load_keys_table ROWS: makes keys, about 190 bytes a row on disk.  A collation that cannot be
# had is not among its columns' (see missing_collation).
load_keys_table()
{
	local icu='' libc=''

	[ -n "$(missing_collation icu)" ] || icu='collate "en-x-icu"'
	if [ -z "$(missing_collation libc)" ]; then
		query "create collation bench_en_us (provider = libc, locale = 'en_US.UTF-8')"
		libc='collate bench_en_us'
	fi
	query "create function bench_word(i int8, salt int8) returns text language sql immutable parallel safe
		return left(md5((i # (salt << 40))::text), 20)"
	# letters small and large, and blanks, as names have them
	query "create function bench_name(i int8, salt int8) returns text language sql immutable parallel safe
		return translate(bench_word(i, salt), '0123456789', 'NopQrsTu -')"
	fill_table keys "$1" "k8 int8, u uuid, f float8, d date, n15 numeric(15,2), n numeric, few text,
			s_c text collate \"C\", s_icu text $icu, s_libc text $libc, url text collate \"C\"" \
		"hashint8extended(i, 1), md5(i::text)::uuid, hashint8extended(i, 3) / 1e9, date '2000-01-01' + (hashint8(i) & 8191),
			(hashint8extended(i, 4) % 1000000000000000) / 100.0, (hashint8extended(i, 5) % 1000000000) / 1000.0,
			(array['open', 'paid', 'shipped', 'returned'])[1 + (hashint8(i) >> 13 & 3)],
			bench_word(i, 1), bench_name(i, 2), bench_name(i, 3),
			'https://www.example' || (hashint8(i) & 255) || '.com/item/' || left(bench_word(i, 4), 20)"
}

# missing_collation icu|libc: why a column cannot have that collation; nothing when it can.
missing_collation()
{
	case $1 in
		icu) [ "$(query "select count(*) from pg_collation where collname = 'en-x-icu'")" != 0 ] ||
			echo "this PostgreSQL has no collation en-x-icu: it was built without ICU" ;;
		libc) has_libc_locale en_US.UTF-8 ||
			echo "the C library has no locale en_US.UTF-8: test/get-locales makes it and LOCPATH names its folder" ;;
	esac
}

# show_loaded TABLE LOADED ROWS SECONDS; bench/demo has one that draws.
show_loaded()
{
	say "$1: loaded $2 of $3 rows ($4 s)"
}

# fill_table NAME ROWS COLUMNS VALUES: VALUES are expressions of i, the row's number.
# Several sessions load it, and progress is shown.
fill_table()
{
	local table=$1 rows=$2 columns=$3 values=$4
	local chunk first last loaded=0 part pid pids sessions began=$SECONDS

	sessions=$(nproc)
	[ "$sessions" -le 16 ] || sessions=16
	query "create unlogged table $table ($columns)"
	chunk=$(((rows + 9) / 10))
	while [ "$loaded" -lt "$rows" ]; do
		pids=()
		for part in $(seq "$sessions"); do
			first=$((loaded + chunk * (part - 1) / sessions + 1))
			last=$((loaded + chunk * part / sessions))
			[ "$last" -le "$rows" ] || last=$rows
			query "insert into $table select $values
				from generate_series($first::int8, $last::int8) i" &
			pids+=($!)
		done
		for pid in "${pids[@]}"; do
			wait "$pid"
		done
		loaded=$((loaded + chunk))
		[ "$loaded" -le "$rows" ] || loaded=$rows
		show_loaded "$table" "$loaded" "$rows" "$((SECONDS - began))"
	done
	query "vacuum (freeze, analyze) $table"
	# shellcheck disable=SC2154  # pg_config is of test/cluster.sh
	if [ -e "$("$pg_config" --sharedir)/extension/pg_prewarm.control" ]; then
		query "set client_min_messages = warning; create extension if not exists pg_prewarm"
		query "select pg_prewarm('$table')" >/dev/null
	fi
	query "select count(*) from $table" >/dev/null
	query "checkpoint"
}
